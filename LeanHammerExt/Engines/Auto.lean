/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Auto
import LeanHammerExt.Engines.Duper
import LeanHammerExt.Engines.Translation
import LeanHammerExt.Protocol
import LeanHammerExt.Sidecar

/-!
# External provers

In: a goal and premises. Out: a call of `duper` with those facts that an external prover's proof used.

The provers run in the sidecar, several at once. Without a sidecar, or when it has no prover, Zipperposition is run
the way Lean-auto does it; that process ends with its own limit of time only.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- What external provers said. -/
inductive ProverAnswer where
  /-- A proof, with the origins of the formulas that it uses. -/
  | proof (origins : Array String)
  /-- No proof, with how the provers fared. -/
  | noProof (detail : String)
  /-- Nothing could be asked, and why. -/
  | unavailable (reason : String)
deriving Inhabited

/-- The number in the name of a formula. -/
def formulaNumber? (name : String) : Option Nat :=
  if "fact".isPrefixOf name then
    (String.ofList (name.toList.drop 4)).toNat?
  else
    none

/-- How the provers fared, on one line. -/
def describeRuns (runs : Array Protocol.ProverRun) : String :=
  let texts : Array String := runs.map fun (run : Protocol.ProverRun) =>
    s!"{run.name} {run.status} ({run.milliseconds} ms)"
  ", ".intercalate texts.toList

/--
Milliseconds for the provers: what is left but for a quarter, in which the proof is rebuilt. Without a deadline that
ever comes, half a minute.
-/
def proverTime (problem : Problem) : BaseIO Nat := do
  let left : Nat ← problem.left
  return min 30000 (left - left / 4)

/-- Asks the provers of the sidecar. -/
def askSidecarProvers (problem : Problem) (entries : Array Auto.Embedding.Lam.REntry) :
    Auto.LamReif.ReifM ProverAnswer := do
  let text : String ← problemText entries
  let params : Protocol.Entries := Protocol.proveParams text problem.config.proverNames
  let milliseconds : Nat ← proverTime problem
  let answer : Bridge.Answer ← Sidecar.call "prove" params (some milliseconds)
  match Protocol.readAnswer Protocol.ProveAnswer.read answer with
  | .error error => return .unavailable error.render
  | .ok found =>
    if found.status == "theorem" then
      let numbers : Array Nat := found.used.filterMap formulaNumber?
      let used : Array Auto.Embedding.Lam.REntry := numbers.filterMap fun (number : Nat) => entries[number]?
      let origins : Array String ← originsOf used
      return .proof origins
    else if found.status == "no_prover" then
      return .unavailable "the sidecar has no prover (`#hammer_doctor` says more)"
    else
      return .noProof s!"{found.status}: {describeRuns found.runs}"

/-- Runs Zipperposition as Lean-auto does it. -/
def askZipperposition (entries : Array Auto.Embedding.Lam.REntry) : Auto.LamReif.ReifM ProverAnswer := do
  try
    match ← Auto.queryTPTP entries with
    | (_, some used) =>
      let origins : Array String ← originsOf used
      return .proof origins
    | (_, none) => return .noProof "zipperposition found no proof"
  catch failure =>
    let text : String ← exceptionText failure
    return .unavailable text

/-- Asks the sidecar's provers, or Zipperposition when these cannot be asked. -/
def askProvers (problem : Problem) (entries : Array Auto.Embedding.Lam.REntry) :
    Auto.LamReif.ReifM ProverAnswer := do
  match ← askSidecarProvers problem entries with
  | .unavailable reason =>
    match ← askZipperposition entries with
    | .unavailable second => return .unavailable s!"no external prover: {reason}; {second}"
    | answer => return answer
  | answer => return answer

/-- The facts that an external prover needs for the main goal, or why there are none. The goal stays as it is. -/
def neededFacts (problem : Problem) (star : Bool) (facts : Array Term) :
    TacticM (Except EngineResult (Array Term)) := do
  let milliseconds : Nat ← proverTime problem
  let seconds : Nat := max 1 (milliseconds / 1000)
  let saved : Tactic.SavedState ← Tactic.saveState
  let answer : ProverAnswer ← withOptions (translationOptions seconds) do
    tryCatchRuntimeEx
      (translateGoal star facts (askProvers problem))
      (fun (failure : Exception) => do
        let text : String ← exceptionText failure
        return .noProof s!"the goal could not be translated: {text}")
  saved.restore
  match answer with
  | .proof origins => return .ok (factsBehind origins facts)
  | .noProof detail => return .error (.noProof detail)
  | .unavailable reason => return .error (.notRun reason)

/-- External provers, then `duper`. -/
def autoEngine (problem : Problem) : TacticM EngineResult :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let wanted : Array Fact ← (problem.first problem.config.autoPremises).filterM
      fun (fact : Fact) => (isTranslatable fact : MetaM Bool)
    let (star, facts) ← withHypotheses (factTerms wanted)
    match ← neededFacts problem star facts with
    | .error result => return result
    | .ok needed =>
      match ← rebuildWithDuper .auto goal star needed with
      | .noProof detail =>
        return .noProof s!"a prover found a proof from {needed.size} facts, which `duper` could not rebuild: {detail}"
      | result => return result

end LeanHammerExt
