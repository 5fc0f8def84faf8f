/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt

/-!
# What users see when there is no sidecar

These tests run on a machine without the sidecar, so they switch it off or name an executable that does not exist.
-/

namespace LeanHammerExtTest.MessagesTest

open Lean Meta Elab Tactic
open LeanHammerExt

/-! ## Words of the syntax stay usable as identifiers -/

def premises : Nat := 1
def hammer (kind : Nat) : Nat := kind + premises
def ctor (field lemma : Nat) : Nat := hammer field + lemma

/-! ## `#find` -/

/--
error: `#find` got no answer: the sidecar is switched off — `set_option hammer.sidecar.enabled true` switches it on
-/
#guard_msgs in
set_option hammer.sidecar.enabled false in
#find "sum of two even numbers"

/--
error: `#find` got no answer: `/no/such/lean-sidecar` was not found — run `lake exe sidecar` once, or name the executable with `set_option hammer.sidecar.command`
-/
#guard_msgs in
set_option hammer.sidecar.command "/no/such/lean-sidecar" in
#find "sum of two even numbers" (in Nat) (kind := theorem)

/--
error: `#find` got no answer: the sidecar is switched off — `set_option hammer.sidecar.enabled true` switches it on
-/
#guard_msgs in
set_option hammer.sidecar.enabled false in
example : True := by
  #find "truth"
  trivial

run_meta do
  let stx ← `(command| #find "a b" (in Nat List) (kind := theorem ctor lemma))
  let request := readFind stx 5
  unless request.query == "a b" && request.count == 5 do
    throwError "wrong question: {request.query}"
  unless request.modules == #["Nat", "List"] do
    throwError "wrong modules: {request.modules}"
  unless request.kinds == #["theorem", "ctor", "lemma"] do
    throwError "wrong kinds: {request.kinds}"

run_meta do
  let stx ← `(tactic| #find "a b")
  let request := readFind stx 5
  unless request.query == "a b" && request.modules.isEmpty && request.kinds.isEmpty do
    throwError "wrong question"

/-! ## `premises` -/

set_option hammer.sidecar.enabled false

/--
error: premise selection failed: the sidecar is switched off — `set_option hammer.sidecar.enabled true` switches it on
-/
#guard_msgs in
set_option hammer.fallback false in
example : True := by
  premises
  trivial

/-- A function that nothing else mentions. -/
def peculiar (n : Nat) : Nat := n

theorem peculiar_eq (n : Nat) : peculiar n = n := rfl

-- The fallback knows the current file, keeps the number, and repeats nothing.
example (n : Nat) : peculiar n = n := by
  run_tac do
    let selection ← selectPremises (← getMainGoal) { count := 6 }
    let names := selection.names
    unless names.contains ``peculiar_eq do
      throwError "{``peculiar_eq} is not among {names}"
    unless names.size ≤ 6 && names.toList.eraseDups.length == names.size do
      throwError "too many premises, or one twice: {names}"
    unless selection.failure? == some SidecarError.switchedOff do
      throwError "the failure is not told"
  exact peculiar_eq n

-- What is not wanted is left out.
example (n : Nat) : peculiar n = n := by
  run_tac do
    let selection ← selectPremises (← getMainGoal) { count := 6, exclude := #[``peculiar_eq] }
    if selection.names.contains ``peculiar_eq then
      throwError "{``peculiar_eq} was not wanted"
  exact peculiar_eq n

#guard_msgs (drop info) in
example (n : Nat) : peculiar n = n := by
  premises 3
  exact peculiar_eq n

/-! ## A failure is told once -/

set_option hammer.sidecar.enabled true
set_option hammer.sidecar.command "/no/such/lean-sidecar"

/--
info: The sidecar did not answer; Lean's own library suggestions are used instead.
`/no/such/lean-sidecar` was not found — run `lake exe sidecar` once, or name the executable with `set_option hammer.sidecar.command`
(`set_option hammer.notices false` hides this.)
-/
#guard_msgs in
example (n : Nat) : peculiar n = n := by
  run_tac discard <| selectPremises (← getMainGoal) { count := 2 }
  exact peculiar_eq n

#guard_msgs in
example (n : Nat) : peculiar n = n := by
  run_tac discard <| selectPremises (← getMainGoal) { count := 2 }
  exact peculiar_eq n

/-! ## A project that does not fit is told once -/

-- Where nobody may be told, it is kept for later.
set_option hammer.notices false in
#guard_msgs in
run_meta do
  mismatchRef.set (some "the index was made from another Mathlib")
  reportMismatch

/--
info: the index was made from another Mathlib; premises that have changed their names are missed.
(`#hammer_doctor` says more, `set_option hammer.notices false` hides this.)
-/
#guard_msgs in
run_meta reportMismatch

#guard_msgs in
run_meta reportMismatch

/-! ## The bridge -/

-- A program that is no bridge ends at once, which is told and holds nothing up.
run_meta do
  let settings : SidecarSettings := { enabled := true, command := "cat", url := "", timeout := 60000 }
  match ← Sidecar.ask settings "status" #[] 60000 (pure false) with
  | .ok _ => throwError "a program that is no bridge answered"
  | .error error =>
    unless error.kind == .ended do
      throwError error.render

-- No server gives a request more time than this.
set_option hammer.sidecar.timeout 100000 in
run_meta do
  let settings := SidecarSettings.ofOptions (← getOptions)
  unless settings.timeout == 600000 do
    throwError "requests may take {settings.timeout} ms"

/-! ## `#hammer_doctor` -/

set_option hammer.sidecar.enabled false

run_meta do
  let findings ← examine
  let some last := findings.back?
    | throwError "the doctor found nothing"
  unless last.render == "PROBLEM: sidecar: the sidecar is switched off\n    -> \
      `set_option hammer.sidecar.enabled true` switches it on" do
    throwError last.render

/-- A status of a server for Mathlib. -/
def served : Protocol.Status where
  version := "0.1.0"
  protocol := Protocol.version
  revision := "5ca1ab1e"
  isExample := false
  declarations := 300000
  revisions := #[("mathlib", "0123")]
  encoder := "small"
  provers := #["e"]

/-- What is not as it should be. -/
def wrong (status : Protocol.Status) (mathlib? : Option String) : Array String :=
  ((checkStatus status mathlib?).filter fun finding => !finding.good).map fun finding => finding.subject

#guard wrong served (some "0123") == #[]
#guard wrong served none == #[]
#guard wrong { served with revisions := #[("leanprover-community/mathlib4", "0123")] } (some "0123") == #[]
#guard wrong served (some "4567") == #["Mathlib"]
#guard wrong { served with revisions := #[] } (some "4567") == #["Mathlib"]
#guard wrong { served with provers := #[] } none == #["external provers"]
#guard wrong { served with isExample := true } none == #["index"]
#guard wrong { served with protocol := 0 } none == #["server"]

end LeanHammerExtTest.MessagesTest
