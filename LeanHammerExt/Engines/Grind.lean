/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem
import LeanHammerExt.Select

/-!
# `grind`

In: a goal and premises. Out: a call of `grind` with the premises that it takes.

Premises from modules that are annotated for `grind` by hand are left out: `grind` knows them, or was not meant to.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- Whether `grind` may be given a fact. -/
def isForGrind (env : Environment) (fact : Fact) : Bool :=
  match fact.name? with
  | none => true
  | some name => fact.given || !isGrindAnnotated env name

/-- `grind`, first without premises. -/
def grindEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let plain : Candidate := { engine := .grind, form := .grind, facts := #[] }
    let (plainTrial, plainResult?) ← tryCandidate goal plain
    match plainResult? with
    | some result => return result
    | none => pure ()
    let env : Environment ← getEnv
    let wanted : Array Fact :=
      (problem.first problem.config.grindPremises).filter fun (fact : Fact) => isForGrind env fact
    let facts : Array Term ← usableFacts grindTactic (factTerms wanted)
    if facts.isEmpty then
      let detail : String ← plainTrial.explanation
      return .noProof detail
    let (trial, result?) ← tryCandidate goal { engine := .grind, form := .grind, facts := facts }
    match result? with
    | some result => return result
    | none =>
      let detail : String ← trial.explanation
      return .noProof detail

/-- The `grind only` calls that `grind?` suggests with these facts. -/
def grindOnly (goal : MVarId) (facts : Array Term) : TacticM (Array Script) := do
  let trace : TSyntax `tactic ← grindTraceTactic facts
  let found : IO.Ref (Array Script) ← IO.mkRef #[]
  let saved : Tactic.SavedState ← Tactic.saveState
  tryCatchRuntimeEx
    (do
      let run : TacticM Unit := do
        let tactics : Array (TSyntax `tactic) ← evalGrindTraceCore trace
        found.set (tactics.map fun (tac : TSyntax `tactic) => tacticsIn tac.raw)
      discard <| (Tactic.run goal run : TermElabM (List MVarId)))
    (fun _ => pure ())
  saved.restore (restoreInfo := true)
  found.get

end LeanHammerExt
