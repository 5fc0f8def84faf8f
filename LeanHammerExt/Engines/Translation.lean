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

In: the main goal and facts. Out: formulas of Lean-auto, which can be written as a problem in TPTP syntax, and of each
of which it is known what facts it comes from.

Facts are read by Duper, because Lean-auto alone refuses a whole problem for one fact that it cannot use; the rest is
Lean-auto's: preprocessing, monomorphisation, reification, and the printer. Formula number `n` is called `factn` in
the text.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

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

/-- Makes formulas of what monomorphisation left. -/
def reifyProblem (facts : Array Auto.UMonoFact) (inhabitations : Array Auto.UMonoFact)
    (inductives : Array (Array Auto.SimpleIndVal)) :
    Auto.LamReif.ReifM (Array Auto.Embedding.Lam.REntry) := do
  let reified : Array Auto.Embedding.Lam.LamTerm ← Auto.LamReif.reifFacts facts
  let entries : Array Auto.Embedding.Lam.REntry := reified.map (Auto.Embedding.Lam.REntry.valid [])
  let _ ← Auto.LamReif.reifInhabitations inhabitations
  let mutuals : Array Auto.Embedding.Lam.MutualIndInfo ← Auto.LamReif.reifMutInds inductives
  let (entries, _) ← Auto.LamReif.preprocess entries mutuals
  return entries

/-- Formulas as a problem in TPTP syntax. -/
def problemText (entries : Array Auto.Embedding.Lam.REntry) : Auto.LamReif.ReifM String := do
  let formulas : Array Auto.Embedding.Lam.LamTerm ← entries.mapM formulaOf
  let variableTypes : Array Auto.Embedding.Lam.LamSort := (← Auto.LamReif.getVarVal).map Prod.snd
  let auxiliaryTypes : Array Auto.Embedding.Lam.LamSort ← Auto.LamReif.getLamEVarTy
  let text : String ← Auto.lam2TH0 variableTypes auxiliaryTypes formulas
  return text

/-- What Lean-auto remembers of the facts that formulas come from. -/
def originsOf (entries : Array Auto.Embedding.Lam.REntry) : Auto.LamReif.ReifM (Array String) := do
  let mut origins : Array String := #[]
  for entry in entries do
    let derivation : Auto.DTr ← Auto.LamReif.collectDerivFor entry
    origins := origins ++ leavesOf derivation
  return origins

/-- Makes formulas and uses them. -/
def useProblem {α : Type} (use : Array Auto.Embedding.Lam.REntry → Auto.LamReif.ReifM α)
    (facts : Array Auto.UMonoFact) (inhabitations : Array Auto.UMonoFact)
    (inductives : Array (Array Auto.SimpleIndVal)) : Auto.LamReif.ReifM α := do
  let entries : Array Auto.Embedding.Lam.REntry ← reifyProblem facts inhabitations inductives
  use entries

/-- Monomorphises lemmas, makes formulas of them, and uses these. -/
def translateLemmas {α : Type} (lemmas : Array Auto.Lemma) (inhabited : Array Auto.Lemma)
    (use : Array Auto.Embedding.Lam.REntry → Auto.LamReif.ReifM α) : MetaM α :=
  Meta.withDefault do
    let rewritten : Array Auto.Lemma ← Auto.rewriteIteCondDecide lemmas
    let (result, _) ← Auto.Monomorphization.monomorphize rewritten inhabited
      (@id (Auto.Reif.ReifM α) do
        let state ← get
        let level : Level ← Auto.computeMaxLevel state.facts
        (useProblem use state.facts state.inhTys state.inds).run' { u := level })
    return result

/--
Translates the main goal with these facts, and with the whole local context when `star` is true, and uses the formulas.
The goal is used up: it is negated on the way.
-/
def translateGoal {α : Type} (star : Bool) (facts : Array Term)
    (use : Array Auto.Embedding.Lam.REntry → Auto.LamReif.ReifM α) : TacticM α :=
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
      translateLemmas prepared inhabited use

/-- The term of the fact that an origin names, behind two flags of Duper's; `""` for an origin that names none. -/
def originTerm (origin : String) : String :=
  match origin.splitOn ", " with
  | _ :: _ :: rest => ", ".intercalate rest
  | _ => ""

/-- The facts that these origins name. -/
def factsBehind (origins : Array String) (facts : Array Term) : Array Term :=
  let terms : Array String := origins.map originTerm
  facts.filter fun (fact : Term) => terms.contains (toString fact)

end LeanHammerExt
