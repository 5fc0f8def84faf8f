/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Mathlib.Algebra.Order.Ring.Int
import Mathlib.Tactic.Find
import LeanHammerExt

/-!
# The plugin beside Mathlib

Nothing here needs the sidecar: names, tokens and the fallback must get along with Mathlib.
-/

open Lean Meta Elab Tactic
open LeanHammerExt

set_option hammer.sidecar.enabled false

-- Mathlib's `#find` still takes terms, and this library's takes string literals.
/--
error: `#find` got no answer: the sidecar is switched off — `set_option hammer.sidecar.enabled true` switches it on
-/
#guard_msgs in
#find "multiplication is monotone"

-- Mathlib's options do not change a text.
set_option pp.unicode.fun true in
/-- info: theorem mul_comm {G : Type u_1} [CommMagma G] (a b : G) : Eq (HMul.hMul a b) (HMul.hMul b a) -/
#guard_msgs in
run_meta do
  let signature ← canonicalSignature ``mul_comm
  logInfo signature

-- Theorems of Mathlib are premises, its tactics are none.
run_meta do
  let env ← getEnv
  let filter ← PremiseFilter.current
  let accepted (name : Name) : MetaM Bool := do
    let info ← getConstInfo name
    let some index := env.getModuleIdxFor? name
      | throwError "{name} is not imported"
    let moduleName := env.header.moduleNames[index.toNat]!
    return filter.acceptsModule moduleName
      && filter.accepts moduleName false name (ConstantKind.ofConstantInfo info) info.type
  for name in [``mul_comm, ``mul_le_mul_of_nonneg_left] do
    unless ← accepted name do
      throwError "{name} is no premise"
  for name in [``Mathlib.Tactic.Find.findType, ``CommMagma.toMul] do
    if ← accepted name then
      throwError "{name} is a premise"

-- The fallback answers with Mathlib's own theorems.
example (a b : ℤ) : a * b = b * a := by
  run_tac do
    let selection ← selectPremises (← getMainGoal) { count := 16 }
    if selection.premises.isEmpty then
      throwError "nothing was found"
  exact mul_comm a b
