/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem

/-!
# Duper

In: a goal and facts. Out: a call of `duper` with these facts that names the portfolio instance which found the
proof, so that it need not be searched for again.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- Whether `*` is needed besides the named hypotheses, and the facts with the named hypotheses in front. -/
def withHypotheses (facts : Array Term) : TacticM (Bool × Array Term) := do
  let (hypotheses, complete) ← namedHypotheses
  if complete then
    let given : Array String := hypotheses.map fun (term : Term) => toString term.raw.getId
    -- A hypothesis that the user named as well would be there twice.
    let others : Array Term := facts.filter fun (fact : Term) =>
      !(fact.raw.isIdent && given.contains (toString fact.raw.getId))
    return (false, hypotheses ++ others)
  else
    return (true, facts)

/-- The first portfolio instance that closes the goal with these facts. -/
def rebuildWithDuper (engine : Engine) (goal : MVarId) (star : Bool) (facts : Array Term) :
    TacticM EngineResult := do
  let mut detail : String := "no instance of `duper` was tried"
  for number in duperInstances do
    Core.checkInterrupted
    let candidate : Candidate := { engine := engine, form := .duper star number, facts := facts }
    let (trial, result?) ← tryCandidate goal candidate
    match result? with
    | some result => return result
    | none => detail ← trial.explanation
  return .noProof detail

/-- Duper alone. -/
def duperEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let wanted : Array Fact ← (problem.first problem.config.duperPremises).filterM
      fun (fact : Fact) => (isTranslatable fact : MetaM Bool)
    let (star, facts) ← withHypotheses (factTerms wanted)
    rebuildWithDuper .duper goal star facts

end LeanHammerExt
