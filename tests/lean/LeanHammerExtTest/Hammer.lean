/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Hammer

/-!
# The tactic `hammer`: what users write and see

Everything here runs without the sidecar.
-/

namespace LeanHammerExtTest.HammerTest

open Lean Meta Elab Tactic
open Lean.Parser.Tactic (optConfig)
open LeanHammerExt

set_option hammer.sidecar.enabled false
set_option hammer.timeout 60

/-! ## "Try this" -/

/--
info: Try this:
  [apply] rfl
-/
#guard_msgs in
example (a : Nat) : a = a := by
  hammer

/--
info: Try this:
  [apply] assumption
-/
#guard_msgs in
example (p : Prop) (h : p) : p := by
  hammer

/--
info: Try this:
  [apply] omega
-/
#guard_msgs in
example (a b : Nat) (h : a ≤ b) : a ≤ b + 1 := by
  hammer

/-- A proposition that only an axiom proves. -/
axiom Mystery : Prop

axiom mystery : Mystery

/-- A function of which nothing but an axiom is known. -/
axiom secret : Nat → Nat

axiom secret_eq (n : Nat) : secret n = n

/--
info: Try this:
  [apply] exact mystery
-/
#guard_msgs in
example : Mystery := by
  hammer -simp -aesop -auto -duper -grind

-- The same from the user's own list, without any selection.
/--
info: Try this:
  [apply] exact mystery
-/
#guard_msgs in
example : Mystery := by
  hammer -simp -aesop -auto -duper -grind (premises := 0) [secret_eq, mystery]

-- Terms may be given.
/--
info: Try this:
  [apply] exact secret_eq n
-/
#guard_msgs in
example (n : Nat) : secret n = n := by
  hammer -simp -aesop -auto -duper -grind (premises := 0) [secret_eq n]

-- A local name that hides a premise is no obstacle.
#guard_msgs (drop info) in
example (secret_eq : Nat) : secret secret_eq = secret_eq := by
  hammer -simp -aesop -auto -duper -grind

-- Only the main goal is closed.
#guard_msgs (drop info) in
example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  hammer
  exact hq

/-! ## `hammer?` -/

#guard_msgs (drop info) in
example (a b : Nat) : a + b = b + a := by
  hammer?

#guard_msgs (drop info) in
example (p q : Prop) (h : p ∧ q) : q ∧ p := by
  hammer? -exact [h]

/-! ## Failure -/

/-- The message of a `hammer` call that must fail. -/
def messageOf (tac : TSyntax `tactic) : TacticM String := do
  let saved ← Tactic.saveState
  let text ← tryCatchRuntimeEx
    (do
      evalTactic tac
      return "")
    (fun failure => do
      let text ← failure.toMessageData.toString
      return text)
  saved.restore
  return text

/-- Whether a text has a part. -/
def mentions (text part : String) : Bool :=
  (text.splitOn part).length > 1

-- It fails as a tactic, so that others get their turn.
#guard_msgs in
example : Mystery := by
  first
  | hammer (premises := 0) -exact -auto
  | exact mystery

-- Every engine has its line.
#guard_msgs in
example : Mystery := by
  run_tac do
    let text ← messageOf (← `(tactic| hammer (premises := 0) -exact -auto))
    for part in ["no engine closed the goal", "simp: no proof", "aesop: no proof", "duper: no proof",
        "grind: no proof", "exact: not run: switched off", "auto: not run: switched off",
        "premises: no premises were wanted"] do
      unless mentions text part do
        throwError "'{part}' is not said in: {text}"
  exact mystery

-- One engine after the other says the same.
#guard_msgs in
example : Mystery := by
  run_tac do
    let text ← messageOf (← `(tactic| hammer (premises := 0) -exact -auto -parallel))
    for part in ["simp: no proof", "aesop: no proof", "duper: no proof", "grind: no proof"] do
      unless mentions text part do
        throwError "'{part}' is not said in: {text}"
  exact mystery

-- The deadline is kept, whatever the engines do.
#guard_msgs in
example : Mystery := by
  run_tac do
    let start ← IO.monoMsNow
    let _ ← messageOf (← `(tactic| hammer (timeout := 1) (premises := 0) -exact))
    unless (← IO.monoMsNow) - start < 20000 do
      throwError "a deadline of one second took too long"
  exact mystery

/--
error: `hammer` has no mode "nonsense"; it has "aesop", "auto", "aesop+auto", "full", "union"
-/
#guard_msgs in
example : Mystery := by
  hammer (mode := "nonsense")

-- A term that makes no sense is an error at once.
-- leancheck: ignore no_such_lemma
#guard_msgs in
example : Mystery := by
  fail_if_success hammer [no_such_lemma]
  exact mystery

/-! ## Options -/

run_meta do
  let config := HammerConfig.ofOptions (← getOptions)
  unless config.timeout == 60 && config.premises == 64 && config.mode == "" && config.grind do
    throwError "wrong options"

set_option hammer.duper false in
set_option hammer.premises 7 in
set_option hammer.mode "full" in
run_meta do
  let config := HammerConfig.ofOptions (← getOptions)
  unless !config.duper && config.premises == 7 && config.mode == "full" do
    throwError "wrong options"

-- What is written at the call counts more than `set_option`.
set_option hammer.premises 7 in
set_option hammer.aesop false in
example : True := by
  run_tac do
    match ← `(tactic| hammer +aesop -duper (timeout := 9) (mode := "union")) with
    | `(tactic| hammer $options:optConfig) =>
      let config ← readConfig options
      unless config.aesop && !config.duper && config.timeout == 9 && config.premises == 7
          && config.mode == "union" && config.simp do
        throwError "wrong options"
    | _ => throwError "the call is read as something else"
  trivial

#guard enginesOfMode? "union" == some [.aesop, .auto, .aesopAuto, .full]
#guard enginesOfMode? "Aesop" == none
#guard ({ aesop := false } : HammerConfig).enables .full == false
#guard ({ provers := "e, vampire ,," } : HammerConfig).proverNames == #["e", "vampire"]
#guard ({} : HammerConfig).proverNames == #[]

run_meta do
  let (engines, skipped) ← chooseEngines { grind := false }
  unless engines == #[.exact, .simp, .aesop, .auto, .duper] do
    throwError "wrong engines"
  unless skipped == #[{ engine := .grind, outcome := .notRun "switched off", milliseconds := 0 }] do
    throwError "wrong reports"

/-! ## Reports -/

#guard ({ engine := .aesop, outcome := .noProof "goals are left", milliseconds := 12 } : EngineReport).render
  == "aesop: no proof (12 ms): goals are left"
#guard ({ engine := .auto, outcome := .timedOut, milliseconds := 10000 } : EngineReport).render
  == "auto: timed out (10000 ms)"
#guard ({ engine := .auto, outcome := .notRun "no prover", milliseconds := 0 } : EngineReport).render
  == "auto: not run: no prover"
#guard ({ engine := .duper, outcome := .error "boom", milliseconds := 3 } : EngineReport).render
  == "duper: error (3 ms): boom"
#guard failureText #[] == "every engine is switched off"
#guard failureText #[{ engine := .grind, outcome := .proof, milliseconds := 1 }]
  == "no engine closed the goal\n  grind: proof (1 ms)"

/-! ## Words of the syntax stay usable as identifiers -/

def hammer (timeout mode : Nat) : Nat := timeout + mode

def hammer_auto (premises : Nat) : Nat := hammer premises 1

example : hammer_auto 1 = hammer 1 1 := by
  exact rfl

#guard_msgs (drop info) in
example : hammer_auto 1 = 2 := by
  hammer

end LeanHammerExtTest.HammerTest
