/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem

/-!
# Aesop

In: a goal and premises. Out: a call of `aesop` with premises as unsafe rules, whose success probabilities follow
their ranks.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- Whether a constant states an equivalence, which Aesop cannot apply and warns about. -/
def isEquivalence (env : Environment) (fact : Fact) : Bool :=
  match fact.name? with
  | none => false
  | some name =>
    match env.findConstVal? name with
    | some info => info.type.getForallBody.isAppOfArity ``Iff 2
    | none => false

/-- The facts that Aesop can use as rules. -/
def aesopFacts (facts : Array Fact) : TacticM (Array Term) := do
  let env : Environment ← getEnv
  let applicable : Array Fact := facts.filter fun (fact : Fact) =>
    isApplicable env fact && !isEquivalence env fact
  usableFacts (fun (terms : Array Term) => aesopTactic terms #[]) (factTerms applicable)

/-- Aesop, first without premises. -/
def aesopEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let (plainTrial, plainResult?) ←
      tryCandidate goal { engine := .aesop, form := .aesop #[], facts := #[] }
    match plainResult? with
    | some result => return result
    | none => pure ()
    let facts : Array Term ← aesopFacts (problem.first problem.config.aesopPremises)
    if facts.isEmpty then
      let detail : String ← plainTrial.explanation
      return .noProof detail
    let (trial, result?) ← tryCandidate goal { engine := .aesop, form := .aesop #[], facts := facts }
    match result? with
    | some result => return result
    | none =>
      let detail : String ← trial.explanation
      return .noProof detail

end LeanHammerExt
