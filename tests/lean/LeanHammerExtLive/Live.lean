/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt
import LeanHammerExt.Register

/-!
# With a real sidecar

These tests need the sidecar (`lake exe sidecar`) and serve the example library or a larger index. They are not part of
`lake test`; `lake build LeanHammerExtLive` runs them.
-/

namespace LeanHammerExtLive

open Lean Meta Elab Tactic
open LeanHammerExt

set_option hammer.sidecar.timeout 120
-- A test that falls back would prove nothing.
set_option hammer.fallback false

/-! ## The server answers -/

run_meta do
  let answer ← Sidecar.call "status" #[]
  match Protocol.readAnswer Protocol.Status.read answer with
  | .error error => throwError error.render
  | .ok status =>
    unless status.protocol == Protocol.version do
      throwError "the server speaks protocol {status.protocol}"
    unless 0 < status.declarations do
      throwError "the index is empty"

-- Many requests at once, each with its own answer.
run_meta do
  let settings := SidecarSettings.ofOptions (← getOptions)
  let ask (number : Nat) : BaseIO Bridge.Answer :=
    Sidecar.ask settings "search" #[("query", .str "addition"), ("k", Protocol.ofNat number)] 60000 (pure false)
  let tasks ← (Array.range 16).mapM fun number => BaseIO.asTask (ask (number + 1)) .dedicated
  for index in [0:tasks.size] do
    match Protocol.readAnswer Protocol.SearchAnswer.read tasks[index]!.get with
    | .error error => throwError error.render
    | .ok answer =>
      unless answer.results.size ≤ index + 1 do
        throwError "an answer went to the wrong request"

-- An error of the sidecar names field and way out.
run_meta do
  match ← Sidecar.call "premises" #[("goal", .str "⊢ True"), ("k", .int 0)] with
  | .ok _ => throwError "k = 0 is accepted"
  | .error error =>
    unless error.kind == .refused && error.field? == some "k" do
      throwError error.render

-- A request whose time is too short ends in time, and the next one works.
run_meta do
  let start ← IO.monoMsNow
  match ← Sidecar.call "premises" #[("goal", .str "⊢ True"), ("k", .int 5)] (some 1) with
  | .ok _ => pure ()
  | .error error =>
    unless error.kind == .deadline || error.code == "deadline" do
      throwError error.render
  unless (← IO.monoMsNow) - start < 5000 do
    throwError "a deadline of 1 ms took too long"
  match ← Sidecar.call "status" #[] with
  | .ok _ => pure ()
  | .error error => throwError error.render

/-! ## Premises -/

/-- A function that no index knows. -/
def peculiar (n : Nat) : Nat := n + n

theorem peculiar_eq (n : Nat) : peculiar n = n + n := rfl

example (a b : Nat) : a + b = b + a := by
  run_tac do
    let selection ← selectPremises (← getMainGoal) { count := 32 }
    unless selection.names.contains ``Nat.add_comm do
      throwError "{``Nat.add_comm} is not among {selection.names}"
  exact Nat.add_comm a b

-- The current file's premises take part.
example (n : Nat) : peculiar n = n + n := by
  run_tac do
    let selection ← selectPremises (← getMainGoal) { count := 8 }
    let some premise := selection.premises.find? fun premise => premise.name == ``peculiar_eq
      | throwError "{``peculiar_eq} is not among {selection.names}"
    unless premise.source == .file do
      throwError "its source is wrong"
  exact peculiar_eq n

-- Every way of ranking answers.
set_option hammer.method "symbolic" in
example (a b : Nat) : a + b = b + a := by
  premises 3
  exact Nat.add_comm a b

set_option hammer.method "locality" in
example (n : Nat) : peculiar n = n + n := by
  premises 3
  exact peculiar_eq n

-- Lean's own tactics profit.
example (n : Nat) : peculiar n = n + n := by
  grind +suggestions

/-! ## Search -/

#find "Nat.add_comm"

#find "addition of natural numbers is commutative" (kind := theorem)

example (a b : Nat) : a + b = b + a := by
  #find "Nat.add_comm"
  exact Nat.add_comm a b

#hammer_doctor

end LeanHammerExtLive
