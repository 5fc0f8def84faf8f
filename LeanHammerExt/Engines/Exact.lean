/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem

/-!
# Short proofs

In: a goal and premises. Out: a proof of one line: a tactic without arguments, one premise, or what `exact?` finds.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- Heartbeats for each tactic without arguments and each premise: a tenth of what a command usually has. -/
def shortHeartbeats : Nat := 20000

/-- Tactics without arguments, cheapest first. -/
def shortScripts : CoreM (Array Script) := do
  return #[
    #[← `(tactic| rfl)],
    #[← `(tactic| assumption)],
    #[← `(tactic| trivial)],
    #[← `(tactic| contradiction)],
    #[← `(tactic| omega)],
    #[← `(tactic| decide)],
    #[← `(tactic| intros), ← `(tactic| rfl)],
    #[← `(tactic| intros), ← `(tactic| assumption)],
    #[← `(tactic| intros), ← `(tactic| omega)]
  ]

/-- A tactic without arguments that closes the goal, and how long it took. -/
def shortProof? (goal : MVarId) : TacticM (Option (Script × Nat)) := do
  let scripts : Array Script ← shortScripts
  withHeartbeatLimit shortHeartbeats (firstClosing? goal scripts)

/-- The proof by a script that needs no facts. -/
def fixedProof (item : Script × Nat) : EngineResult :=
  .proof { engine := .exact, form := .fixed item.1, facts := #[] } item.2

/-- The ways to close a goal with one fact. -/
def usesOfFact (fact : Term) : CoreM (Array Script) := do
  if fact.raw.isIdent then
    -- With hygiene the field would be shown as `symm✝`, which nobody can paste.
    let turned : TSyntax `tactic ← (set_option hygiene false in `(tactic| exact ($fact ..).symm))
    return #[
      #[← `(tactic| exact $fact)],
      #[← `(tactic| exact $fact ..)],
      #[turned],
      #[← `(tactic| apply $fact <;> assumption)],
      #[← `(tactic| intros), ← `(tactic| apply $fact <;> assumption)]
    ]
  else
    return #[
      #[← `(tactic| exact $fact)],
      #[← `(tactic| apply $fact <;> assumption)]
    ]

/-- The first fact that closes the goal by itself. -/
def closingFact? (goal : MVarId) (facts : Array Term) : TacticM (Option (Script × Nat)) := do
  for fact in facts do
    let scripts : Array Script ← usesOfFact fact
    match ← firstClosing? goal scripts with
    | some found => return some found
    | none => pure ()
  return none

/-- Short proofs. -/
def exactEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    unless problem.shortTried do
      match ← shortProof? goal with
      | some item => return fixedProof item
      | none => pure ()
    let env : Environment ← getEnv
    let facts : Array Fact :=
      (problem.first problem.config.exactPremises).filter fun (fact : Fact) => isStatement env fact
    let single? : Option (Script × Nat) ←
      withHeartbeatLimit shortHeartbeats (closingFact? goal (factTerms facts))
    match single? with
    | some item => return fixedProof item
    | none => pure ()
    let search : TSyntax `tactic ← `(tactic| exact?)
    let suggested : Array Script ← suggestionsOf goal search
    match ← firstClosing? goal suggested with
    | some item => return fixedProof item
    | none => return .noProof s!"tried short tactics, {facts.size} premises, and `exact?`"

end LeanHammerExt
