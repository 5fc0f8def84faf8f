/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Portfolio

/-!
# Making a proof smaller

In: a text that closes the goal. Out: one with fewer facts, with hypotheses by name in place of `*`, and, where a
tactic can say what it did (`simp_all?`, `grind?`, `aesop?`), that text if it is faster or shorter.

Every text is tried before it counts. The work runs on a copy of the goal in the background and writes down each
improvement, so that it can be stopped at any time.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- A script that closes the goal. -/
structure FinalProof where
  /-- The script. -/
  script : Script
  /-- The facts that it names. -/
  facts : Array Term
  /-- How long it took when it was tried. -/
  milliseconds : Nat
deriving Inhabited

/-- A proof as it was found. -/
def FinalProof.ofFound (found : FoundProof) : CoreM FinalProof := do
  let script : Script ← found.candidate.script
  return { script := script, facts := found.candidate.facts, milliseconds := found.milliseconds }

/-- The number of words in a piece of syntax. -/
partial def syntaxSize (stx : Syntax) : Nat :=
  match stx with
  | .node _ _ children =>
    children.foldl (fun (size : Nat) (child : Syntax) => size + syntaxSize child) 0
  | .missing => 0
  | _ => 1

/-- The number of words in a script. -/
def scriptSize (script : Script) : Nat :=
  script.foldl (fun (size : Nat) (tac : TSyntax `tactic) => size + syntaxSize tac.raw) 0

/-- Milliseconds that do not matter when two texts are compared: timing a text twice differs by as much. -/
def timingNoise : Nat := 10

/-- Most words of a script that is preferred to a call of the tactic that wrote it. -/
def readableSize : Nat := 120

/-- Whether a text is to be preferred to another one. -/
def FinalProof.isBetterThan (left right : FinalProof) : Bool :=
  let leftSize : Nat := scriptSize left.script
  let rightSize : Nat := scriptSize right.script
  if leftSize > max readableSize rightSize then
    false
  else if left.milliseconds + timingNoise < right.milliseconds then
    true
  else
    left.milliseconds ≤ right.milliseconds + timingNoise && leftSize < rightSize

/-- The facts but for those from `start` up to `stop`. -/
def withoutRange (facts : Array Term) (start stop : Nat) : Array Term :=
  facts.extract 0 start ++ facts.extract stop facts.size

/-- The sizes of the parts that are left out at once: everything, a half, a quarter, …, one fact. -/
def partSizes (count : Nat) : List Nat :=
  let sizes : List Nat := (List.range 12).map fun (step : Nat) => count / 2 ^ step
  (sizes.filter fun (size : Nat) => size != 0).eraseDups

/-- Tries a candidate; if it closes the goal, writes it down as the best proof so far. -/
def keepIfClosed (goal : MVarId) (candidate : Candidate) (best : IO.Ref FinalProof) : TacticM Bool := do
  Core.checkInterrupted
  let script : Script ← candidate.script
  let trial : Trial ← tryScript goal script
  if trial.closed then
    best.set { script := script, facts := candidate.facts, milliseconds := trial.milliseconds }
  return trial.closed

/-- Leaves out facts, the least relevant ones first, as long as the goal is still closed. -/
def dropFacts (goal : MVarId) (start : Candidate) (best : IO.Ref FinalProof) : TacticM Candidate := do
  let mut candidate : Candidate := start
  for size in partSizes start.facts.size do
    let mut stop : Nat := candidate.facts.size
    while 0 < stop do
      let first : Nat := stop - size
      let smaller : Candidate := { candidate with facts := withoutRange candidate.facts first stop }
      let closed : Bool ← keepIfClosed goal smaller best
      if closed then
        candidate := smaller
      stop := first
  return candidate

/-- Names hypotheses in place of `*`, if all of them have names. -/
def nameHypotheses (goal : MVarId) (start : Candidate) (best : IO.Ref FinalProof) : TacticM Candidate := do
  match start.form with
  | .duper true number =>
    let (star, facts) ← withHypotheses start.facts
    if star then
      return start
    else
      let named : Candidate := { start with form := .duper false number, facts := facts }
      let closed : Bool ← keepIfClosed goal named best
      return if closed then named else start
  | _ => return start

/-- `simp? [facts]`. -/
def simpTraceTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| simp?)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.simpLemma ← facts.mapM simpArgument
    `(tactic| simp? [$arguments,*])

/-- `simp_all? [facts]`. -/
def simpAllTraceTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| simp_all?)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.simpLemma ← facts.mapM simpArgument
    `(tactic| simp_all? [$arguments,*])

/-- Other texts for the same proof. -/
def otherTexts (goal : MVarId) (candidate : Candidate) : TacticM (Array Script) := do
  match candidate.form with
  | .simp =>
    let trace : TSyntax `tactic ← simpTraceTactic candidate.facts
    suggestionsOf goal trace
  | .simpAll =>
    let trace : TSyntax `tactic ← simpAllTraceTactic candidate.facts
    suggestionsOf goal trace
  | .aesop calls =>
    let trace : TSyntax `tactic ← aesopTraceTactic candidate.facts calls
    suggestionsOf goal trace
  | .grind => grindOnly goal candidate.facts
  | .duper _ _ => return #[]
  | .fixed _ => return #[]

/-- Takes another text for the same proof where it is better. -/
def preferOtherTexts (goal : MVarId) (candidate : Candidate) (best : IO.Ref FinalProof) : TacticM Unit := do
  let texts : Array Script ← otherTexts goal candidate
  for script in texts do
    Core.checkInterrupted
    let trial : Trial ← tryScript goal script
    let current : FinalProof ← best.get
    let other : FinalProof :=
      { script := script, facts := candidate.facts, milliseconds := trial.milliseconds }
    if trial.closed && other.isBetterThan current then
      best.set other

/-- Makes a proof smaller on the main goal; every improvement is written down. -/
def improve (found : FoundProof) (best : IO.Ref FinalProof) : TacticM Unit :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let named : Candidate ← nameHypotheses goal found.candidate best
    let smaller : Candidate ← dropFacts goal named best
    preferOtherTexts goal smaller best

/-- The best text for a proof that can be found in so many milliseconds. The main goal stays as it is. -/
def minimise (found : FoundProof) (milliseconds : Nat) : TacticM FinalProof := do
  let start : FinalProof ← FinalProof.ofFound found
  let best : IO.Ref FinalProof ← IO.mkRef start
  let deadline : Nat := (← IO.monoMsNow) + milliseconds
  -- What was written down counts, however this ended.
  let _ ← runOnCopy (improve found best) deadline
  best.get

end LeanHammerExt
