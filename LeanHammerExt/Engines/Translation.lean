/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Auto
import Duper
import LeanHammerExt.Engines.Problem

/-!
# From a goal to a problem for external provers

In: the main goal and facts. Out: a problem in TPTP syntax as Lean-auto writes it, and for each of its formulas the
facts that it comes from.

Facts are read by Duper, because Lean-auto alone refuses a whole problem for one fact that it cannot use; the rest is
Lean-auto's: preprocessing, monomorphisation, reification, and the printer. Formula number `n` is called `factn` in
the text.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- A problem for external provers. -/
structure Translation where
  /-- Its text. -/
  text : String
  /-- By the number of a formula, what Lean-auto remembers of the facts it was made from. -/
  origins : Array (Array String)
deriving Inhabited

/--
Sets the options of Lean-auto and Duper under which unusable facts are left out and external provers are
allowed.
-/
def translationOptions (seconds : Nat) (options : Options) : Options :=
  let options : Options := options.set `duper.ignoreUnusableFacts true
  let options : Options := options.set `auto.lamReif.ignoreUnusable true
  let options : Options := options.set `auto.mono.ignoreNonQuasiHigherOrder true
  let options : Options := options.set `auto.smt false
  let options : Options := options.set `auto.native true
  let options : Options := options.set `auto.tptp true
  let options : Options := options.set `auto.tptp.premiseSelection true
  let options : Options := options.set `auto.tptp.solver.name "zipperposition"
  options.set `auto.tptp.timeout seconds

/-- The leaves of a derivation, which name the facts at its start. -/
partial def leavesOf (derivation : Auto.DTr) : Array String :=
  match derivation with
  | .node _ children =>
    children.foldl (fun (found : Array String) (child : Auto.DTr) => found ++ leavesOf child) #[]
  | .leaf text => #[text]

/-- The formula of an entry of Lean-auto's table. -/
def formulaOf (entry : Auto.Embedding.Lam.REntry) : Auto.LamReif.ReifM Auto.Embedding.Lam.LamTerm := do
  match entry with
  | .valid [] formula => return formula
  | _ => throwError "internal error: `formulaOf` was given an entry that is not a formula"

/-- Writes what monomorphisation left as a problem. -/
def exportProblem (facts : Array Auto.UMonoFact) (inhabitations : Array Auto.UMonoFact)
    (inductives : Array (Array Auto.SimpleIndVal)) : Auto.LamReif.ReifM Translation := do
  let reified : Array Auto.Embedding.Lam.LamTerm ← Auto.LamReif.reifFacts facts
  let entries : Array Auto.Embedding.Lam.REntry := reified.map (Auto.Embedding.Lam.REntry.valid [])
  let _ ← Auto.LamReif.reifInhabitations inhabitations
  let mutuals : Array Auto.Embedding.Lam.MutualIndInfo ← Auto.LamReif.reifMutInds inductives
  let (entries, _) ← Auto.LamReif.preprocess entries mutuals
  let formulas : Array Auto.Embedding.Lam.LamTerm ← entries.mapM formulaOf
  let variableTypes : Array Auto.Embedding.Lam.LamSort := (← Auto.LamReif.getVarVal).map Prod.snd
  let auxiliaryTypes : Array Auto.Embedding.Lam.LamSort ← Auto.LamReif.getLamEVarTy
  let text : String ← Auto.lam2TH0 variableTypes auxiliaryTypes formulas
  let mut origins : Array (Array String) := #[]
  for entry in entries do
    let derivation : Auto.DTr ← Auto.LamReif.collectDerivFor entry
    origins := origins.push (leavesOf derivation)
  return { text := text, origins := origins }

/-- Monomorphises lemmas and writes them as a problem. -/
def translateLemmas (lemmas : Array Auto.Lemma) (inhabited : Array Auto.Lemma) : MetaM Translation :=
  Meta.withDefault do
    let rewritten : Array Auto.Lemma ← Auto.rewriteIteCondDecide lemmas
    let (translation, _) ← Auto.Monomorphization.monomorphize rewritten inhabited
      (@id (Auto.Reif.ReifM Translation) do
        let state ← get
        let level : Level ← Auto.computeMaxLevel state.facts
        (exportProblem state.facts state.inhTys state.inds).run' { u := level })
    return translation

/-- What Lean-auto remembers of a fact that Duper read from this term. -/
def originOf (fact : Term) : String :=
  s!"{false}, {true}, {fact}"

/--
Translates the main goal with these facts, and with the whole local context when `star` is true. The goal is used
up: it is negated on the way.
-/
def translateGoal (star : Bool) (facts : Array Term) : TacticM Translation :=
  withMainContext do
    let before : LocalContext ← getLCtx
    let goal : MVarId ← getMainGoal
    let (_, introduced) ← goal.intros
    let [doubled] ← introduced.apply (.const ``Classical.byContradiction [])
      | throwError "internal error: `Classical.byContradiction` left another number of goals"
    let (_, negated) ← doubled.intro1
    replaceMainGoal [negated]
    withMainContext do
      let after : LocalContext ← getLCtx
      let goalDecls : Array LocalDecl := Duper.getGoalDecls before after
      let formulas ← Duper.collectAssumptions facts star goalDecls
      let lemmas : Array Auto.Lemma ← Duper.formulasToAutoLemmas formulas true
      let prepared : Array Auto.Lemma ← lemmas.mapM (m := MetaM) (Auto.unfoldConstAndPreprocessLemma #[])
      let inhabited : Array Auto.Lemma ← Auto.Inhabitation.getInhFactsFromLCtx
      translateLemmas prepared inhabited

/-- The facts that formulas with these numbers come from. -/
def factsBehind (translation : Translation) (numbers : Array Nat) (facts : Array Term) : Array Term :=
  let origins : Array String :=
    numbers.foldl
      (fun (found : Array String) (number : Nat) => found ++ translation.origins.getD number #[])
      #[]
  facts.filter fun (fact : Term) => origins.contains (originOf fact)

end LeanHammerExt
