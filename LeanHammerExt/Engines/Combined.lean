/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Aesop
import LeanHammerExt.Engines.Auto

/-!
# Aesop and external provers together

In: a goal and premises. Out: a call of `aesop` whose rules are premises and calls of `duper`.

During the search, a rule of last resort hands a goal that Aesop is stuck at to external provers (`hammer_auto`). What
succeeds is written down, and the text that is proposed calls `duper` with the facts that were needed, so that nothing
outside Lean takes part when it is run again.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- A search that is under way. -/
structure CombinedSearch where
  /-- What the engine was given. -/
  problem : Problem
  /-- The facts for external provers. -/
  facts : Array Term
  /-- The calls of `duper` that closed a goal. -/
  calls : Array DuperCall := #[]
deriving Inhabited

/-- The searches that are under way, by number. An entry is removed when its search ends. -/
initialize combinedRef : IO.Ref (Std.HashMap Nat CombinedSearch) ← IO.mkRef {}

/-- The number of the next search. -/
initialize combinedCounterRef : IO.Ref Nat ← IO.mkRef 0

/--
`hammer_auto n` closes the main goal with external provers and `duper`, as part of the search with number `n`. It is
written by `hammer (mode := "full")` for its own use.
-/
syntax (name := hammerAuto) "hammer_auto " num : tactic

/-- Milliseconds for the provers at one goal of a search. -/
def combinedProverTime : Nat := 3000

/-- Closes the main goal with external provers and `duper`. -/
def runCombined (number : Nat) : TacticM Unit :=
  withMainContext do
    let searches : Std.HashMap Nat CombinedSearch ← combinedRef.get
    match searches.get? number with
    | none => throwError "`hammer_auto` is for the use of `hammer` only"
    | some search =>
      let goal : MVarId ← getMainGoal
      let now : Nat ← IO.monoMsNow
      -- Many goals may come up in one search: none of them may take all the time.
      let problem : Problem :=
        { search.problem with deadline := min search.problem.deadline (now + combinedProverTime) }
      match ← neededFacts problem true search.facts with
      | .error (.noProof detail) => throwError detail
      | .error (.notRun reason) => throwError reason
      | .error (.proof _ _) => throwError "internal error: `neededFacts` returned a proof"
      | .ok needed =>
        match ← rebuildWithDuper .auto goal true needed with
        | .proof candidate _ =>
          match candidate.form with
          | .duper _ instanceNumber =>
            let call : DuperCall := { facts := candidate.facts, number := instanceNumber }
            runScript (← candidate.script)
            combinedRef.modify fun (known : Std.HashMap Nat CombinedSearch) =>
              match known.get? number with
              | some entry => known.insert number { entry with calls := entry.calls.push call }
              | none => known
          | _ => throwError "internal error: `rebuildWithDuper` returned another tactic"
        | .noProof detail => throwError detail
        | .notRun reason => throwError reason

@[tactic hammerAuto, inherit_doc hammerAuto]
def evalHammerAuto : Tactic := fun (stx : Syntax) => do
  match stx with
  | `(tactic| hammer_auto $number:num) => runCombined number.getNat
  | _ => throwUnsupportedSyntax

/-- Whether two calls of `duper` are written the same. -/
def sameCall (left right : DuperCall) : Bool :=
  left.number == right.number && left.facts.map (fun (fact : Term) => toString fact)
    == right.facts.map (fun (fact : Term) => toString fact)

/-- The calls without repeats. -/
def distinctCalls (calls : Array DuperCall) : Array DuperCall :=
  calls.foldl
    (fun (kept : Array DuperCall) (call : DuperCall) =>
      if kept.any (sameCall call) then kept else kept.push call)
    #[]

/-- Aesop with these rules and `hammer_auto`; returns the calls of `duper` that it wrote down. -/
def searchCombined (goal : MVarId) (problem : Problem) (rules provable : Array Term) :
    TacticM (Trial × Array DuperCall) := do
  let number : Nat ← combinedCounterRef.modifyGet fun (next : Nat) => (next, next + 1)
  let start : CombinedSearch := { problem := problem, facts := provable }
  combinedRef.modify fun (known : Std.HashMap Nat CombinedSearch) => known.insert number start
  try
    let literal : NumLit := Syntax.mkNatLit number
    let ask : TSyntax `tactic ← `(tactic| hammer_auto $literal:num)
    let clauses : Array (TSyntax `Aesop.tactic_clause) :=
      (← aesopRules rules).push (← aesopTacticRule 10 ask)
    let tac : TSyntax `tactic ← `(tactic| aesop $clauses*)
    let trial : Trial ← tryScript goal #[tac]
    let searches : Std.HashMap Nat CombinedSearch ← combinedRef.get
    match searches.get? number with
    | some search => return (trial, distinctCalls search.calls)
    | none => return (trial, #[])
  finally
    combinedRef.modify fun (known : Std.HashMap Nat CombinedSearch) => known.erase number

/-- Aesop and external provers together, with or without premises as rules. -/
def combinedEngine (withRules : Bool) (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let engine : Engine := if withRules then .full else .aesopAuto
    let wanted : Array Fact ← (problem.first problem.config.autoPremises).filterM
      fun (fact : Fact) => (isTranslatable fact : MetaM Bool)
    let provable : Array Term := factTerms wanted
    let rules : Array Term ←
      if withRules then aesopFacts (problem.first problem.config.aesopPremises) else pure #[]
    let (search, calls) ← searchCombined goal problem rules provable
    if search.closed then
      let (trial, result?) ←
        tryCandidate goal { engine := engine, form := .aesop calls, facts := rules }
      match result? with
      | some result => return result
      | none =>
        let detail : String ← trial.explanation
        return .noProof s!"the search succeeded, but not without external provers: {detail}"
    else
      let detail : String ← search.explanation
      return .noProof detail

end LeanHammerExt
