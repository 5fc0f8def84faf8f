/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem

/-!
# `simp_all` and `simp`

In: a goal and premises. Out: a call of `simp_all` or `simp`, first without premises, then with a few, then with all.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- `simp only` with facts; closes `True` whenever `simp` can use the facts. -/
def simpOnlyTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  let arguments : TSyntaxArray ``Parser.Tactic.simpLemma ← facts.mapM simpArgument
  `(tactic| simp only [$arguments,*])

/-- The candidates for these usable facts, in the order in which they are tried. -/
def simpCandidates (facts : Array Term) : Array Candidate :=
  let few : Array Term := facts.extract 0 4
  let withoutFacts : Array Candidate := #[
    { engine := .simp, form := .simpAll, facts := #[] },
    { engine := .simp, form := .simp, facts := #[] }
  ]
  let withFew : Array Candidate := #[
    { engine := .simp, form := .simpAll, facts := few },
    { engine := .simp, form := .simp, facts := few }
  ]
  let withAll : Array Candidate := #[
    { engine := .simp, form := .simpAll, facts := facts },
    { engine := .simp, form := .simp, facts := facts }
  ]
  if facts.isEmpty then withoutFacts
  else if facts.size ≤ few.size then withoutFacts ++ withFew
  else withoutFacts ++ withFew ++ withAll

/-- `simp_all` and `simp`. -/
def simpEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let wanted : Array Term := factTerms (problem.first problem.config.simpPremises)
    -- Looked at only when it is needed: most goals for `simp` need no premise at all.
    for candidate in simpCandidates #[] do
      Core.checkInterrupted
      let (_, result?) ← tryCandidate goal candidate
      match result? with
      | some result => return result
      | none => pure ()
    let facts : Array Term ← usableFacts simpOnlyTactic wanted
    let mut detail : String := "no progress"
    for candidate in (simpCandidates facts).extract 2 6 do
      Core.checkInterrupted
      let (trial, result?) ← tryCandidate goal candidate
      match result? with
      | some result => return result
      | none => detail ← trial.explanation
    return .noProof detail

end LeanHammerExt
