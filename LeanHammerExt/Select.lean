/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Lean.LibrarySuggestions
import LeanHammerExt.Fallback
import LeanHammerExt.Registration

/-!
# Choosing premises for a goal

In: a goal, a number, and a time. Out: the premises that matter, best first, from the sidecar or, when it does not answer,
from Lean's own library suggestions.

* `selectPremises`: what the tactics of this library use.
* `sidecarSelector`: the same as a `Selector` of `Lean.LibrarySuggestions`, so that `grind +suggestions`,
  `simp? +suggestions` and `try?` can use it. It is registered by the module `LeanHammerExt.Register` and by no other.
-/

namespace LeanHammerExt

open Lean Meta

/-- Where a selected premise comes from. -/
inductive PremiseSource where
  /-- A module that the sidecar's index knows. -/
  | index
  /-- An imported module that the index does not know. -/
  | environment
  /-- The current file. -/
  | file
  /-- Lean's own library suggestions. -/
  | core
deriving Inhabited, BEq, Repr

/-- A premise that was selected. -/
structure SelectedPremise where
  /-- Its name. -/
  name : Name
  /-- Its score; larger is better, and scores of one selection can be compared. -/
  score : Float
  /-- Where it comes from. -/
  source : PremiseSource
  /-- Rank by each method of the sidecar that found it. -/
  ranks : Array (String × Nat) := #[]
deriving Inhabited

/-- The outcome of premise selection. -/
structure Selection where
  /-- The premises, best first, without repeats, all of them constants of the environment. -/
  premises : Array SelectedPremise
  /-- Why the sidecar did not answer, if it did not. -/
  failure? : Option SidecarError
  /-- What the sidecar wants the user to know. -/
  notices : Array Protocol.Notice
  /-- Number of declarations among which was chosen; 0 without the sidecar. -/
  visible : Nat
  /-- How long it took. -/
  milliseconds : Nat
deriving Inhabited

/-- The names of the selected premises, best first. -/
def Selection.names (selection : Selection) : Array Name :=
  selection.premises.map fun (premise : SelectedPremise) => premise.name

/-- What is wanted of a selection. -/
structure SelectionRequest where
  /-- How many premises. -/
  count : Nat
  /-- Most milliseconds; never more than `hammer.sidecar.timeout`. -/
  milliseconds? : Option Nat := none
  /-- The theorem that is being proved, which must not prove itself. -/
  theoremName? : Option Name := none
  /-- Constants that are not wanted. -/
  exclude : Array Name := #[]
deriving Inhabited

/-- The premises of the current file that can be described by `deadline`. -/
def describeFile (filter : PremiseFilter) (deadline : Nat) (stop : BaseIO Bool) :
    CoreM (Array Premise) := do
  let limit : Nat := min Protocol.mostPremises (hammer.filePremises.get (← getOptions))
  let names : Array (Name × Option Name) :=
    (filePremises filter limit).map fun (name : Name) => (name, none)
  let tasks : Array (Task (Except Exception (Array Premise))) ← startDescribing names
  let (premises, _) ← collectDescribed tasks deadline stop
  return premises

/-- The name that the sidecar means. -/
def resolvePremise (env : Environment) (inFile : Std.HashMap String Name) (text : String) :
    Option Name :=
  match inFile.get? text with
  | some name => some name
  | none =>
    let name : Name := text.toName
    if env.contains name then some name else none

/-- The premises of an answer that the environment has, without repeats and unwanted ones. -/
def resolvePremises (env : Environment) (inFile : Std.HashMap String Name)
    (ranked : Array Protocol.RankedPremise) (exclude : NameSet) (count : Nat) :
    Array SelectedPremise := Id.run do
  let mut found : Array SelectedPremise := #[]
  let mut seen : NameSet := exclude
  for premise in ranked do
    match resolvePremise env inFile premise.name with
    | none => pure ()
    | some name =>
      if found.size < count && !seen.contains name then
        seen := seen.insert name
        let source : PremiseSource :=
          if inFile.contains premise.name then .file
          else if premise.origin == "environment" then .environment
          else .index
        found := found.push {
          name := name
          score := premise.score
          source := source
          ranks := premise.ranks
        }
  return found

/-- Asks for premises under an environment. -/
def askPremises (settings : SidecarSettings) (registered : Registered)
    (request : Protocol.PremisesRequest) (deadline : Nat) (stop : BaseIO Bool) :
    BaseIO (Except SidecarError Protocol.PremisesAnswer) := do
  let now : Nat ← IO.monoMsNow
  let body : Protocol.PremisesRequest := { request with environment := registered.environment }
  let answer : Bridge.Answer ← Sidecar.ask settings "premises" body.params (deadline - now) stop
  return Protocol.readAnswer Protocol.PremisesAnswer.read answer

/-- Whether the sidecar says that it does not know the environment (any more). -/
def isForgotten (error : SidecarError) : Bool :=
  error.kind == .refused && error.field? == some "environment"
    && (error.code == "not_found" || error.code == "conflict")

/-- Registers the imports and asks for premises. -/
def registerAndAskOnce (settings : SidecarSettings) (request : Protocol.PremisesRequest)
    (patience deadline : Nat) (stop : BaseIO Bool) :
    CoreM (Except SidecarError Protocol.PremisesAnswer) := do
  let registration : Registration ← startRegistration settings
  match ← awaitRegistration registration patience deadline stop with
  | .error error => return .error error
  | .ok registered => askPremises settings registered request deadline stop

/-- Registers the imports and asks for premises; a forgotten environment is registered again once. -/
def registerAndAsk (settings : SidecarSettings) (request : Protocol.PremisesRequest)
    (patience deadline : Nat) (stop : BaseIO Bool) :
    CoreM (Except SidecarError Protocol.PremisesAnswer) := do
  let outcome : Except SidecarError Protocol.PremisesAnswer ←
    registerAndAskOnce settings request patience deadline stop
  match outcome with
  | .ok _ => return outcome
  | .error error =>
    if isForgotten error then
      forgetRegistration
      registerAndAskOnce settings request patience deadline stop
    else
      return outcome

/-- What the sidecar answers. -/
def selectBySidecar (goal : MVarId) (wanted : SelectionRequest) :
    MetaM (Except SidecarError (Array SelectedPremise × Protocol.PremisesAnswer)) := do
  let options : Options ← getOptions
  let settings : SidecarSettings := SidecarSettings.ofOptions options
  unless settings.enabled do
    return .error SidecarError.switchedOff
  let budget : Nat := min settings.timeout (wanted.milliseconds?.getD settings.timeout)
  let start : Nat ← IO.monoMsNow
  let deadline : Nat := start + budget
  -- A part of the time for what can be left out: unknown modules, and statements never printed before.
  let patience : Nat := start + budget / 2
  let token? : Option IO.CancelToken := (← readThe Core.Context).cancelTk?
  let stop : BaseIO Bool := Sidecar.stopOf token?
  -- Started first, so that it goes on while the goal and the file are printed.
  showInterest deadline
  discard <| startRegistration settings
  let (text, _) ← goalText goal
  let symbols : Array Name ← goalConstants goal
  let filter : PremiseFilter ← PremiseFilter.current
  let inFile : Array Premise ← describeFile filter patience stop
  let nameOfText : Std.HashMap String Name :=
    inFile.foldl
      (fun (known : Std.HashMap String Name) (premise : Premise) =>
        known.insert premise.name.toString premise.name)
      {}
  let count : Nat := max 1 (min wanted.count Protocol.mostResults)
  let namespaceName : Name ← getCurrNamespace
  let request : Protocol.PremisesRequest := {
    goal := text
    count := count
    environment := ""
    -- The sidecar wants them in the order of the file: the last one is the nearest.
    premises := inFile.reverse.map fun (premise : Premise) => premise.describe
    symbols := symbols.map fun (name : Name) => name.toString
    theoremName? := wanted.theoremName?.map fun (name : Name) => name.toString
    moduleName? := some filter.env.mainModule.toString
    namespaceName? := if namespaceName.isAnonymous then none else some namespaceName.toString
    exclude := wanted.exclude.map fun (name : Name) => name.toString
    method := hammer.method.get options
  }
  match ← registerAndAsk settings request patience deadline stop with
  | .error error => return .error error
  | .ok answer =>
    let unwanted : NameSet :=
      wanted.exclude.foldl (fun (names : NameSet) (name : Name) => names.insert name) {}
    let premises : Array SelectedPremise :=
      resolvePremises filter.env nameOfText answer.premises unwanted wanted.count
    return .ok (premises, answer)

/-- Ranks names by their place: the first one gets 1, the last one almost 0. -/
def rankedByPlace (names : Array Name) (source : PremiseSource) : Array SelectedPremise :=
  let size : Nat := max 1 names.size
  names.mapIdx fun (index : Nat) (name : Name) =>
    { name := name
      score := (size - index).toFloat / size.toFloat
      source := source }

/-- Says once in a file that project and index do not fit. -/
def reportMismatch : CoreM Unit := do
  unless hammer.notices.get (← getOptions) do
    return
  let mismatch? : Option String ← mismatchRef.get
  match mismatch? with
  | none => pure ()
  | some mismatch =>
    mismatchRef.set none
    logInfo m!"{mismatch}; premises that have changed their names are missed.\n\
      (`#hammer_doctor` says more, `set_option hammer.notices false` hides this.)"

/--
Selects premises for a goal. Fails only when the sidecar does not answer and `hammer.fallback` is false, or when the
elaboration is cancelled.
-/
def selectPremises (goal : MVarId) (wanted : SelectionRequest) : MetaM Selection := do
  let start : Nat ← IO.monoMsNow
  let outcome : Except SidecarError (Array SelectedPremise × Protocol.PremisesAnswer) ←
    selectBySidecar goal wanted
  Core.checkInterrupted
  match outcome with
  | .ok (premises, answer) =>
    reportMismatch
    return {
      premises := premises
      failure? := none
      notices := answer.notices
      visible := answer.visible
      milliseconds := (← IO.monoMsNow) - start
    }
  | .error error =>
    unless hammer.fallback.get (← getOptions) do
      throwError "premise selection failed: {error.render}"
    reportOnce error
    let names : Array Name ← fallbackPremises goal (wanted.count + wanted.exclude.size)
    let kept : Array Name := names.filter fun (name : Name) => !wanted.exclude.contains name
    return {
      premises := rankedByPlace (kept.take wanted.count) .core
      failure? := some error
      notices := #[]
      visible := 0
      milliseconds := (← IO.monoMsNow) - start
    }

/-! ## For `Lean.LibrarySuggestions` -/

/-- Whether the module of a constant is annotated for `grind` by hand, so that `grind` wants nothing more from it. -/
def isGrindAnnotated (env : Environment) (name : Name) : Bool :=
  match env.getModuleIdxFor? name with
  | some index => Elab.Tactic.Grind.isGrindAnnotatedModule env index
  | none => false

/-- Premise selection as Lean's own tactics ask for it. -/
def sidecarSelector : LibrarySuggestions.Selector :=
  fun (goal : MVarId) (config : LibrarySuggestions.Config) => do
    -- Some of them will not pass the caller's filter.
    let request : SelectionRequest := { count := 2 * config.maxSuggestions }
    let selection : Selection ← selectPremises goal request
    let env : Environment ← getEnv
    let forGrind : Bool := config.caller == some "grind"
    let mut found : Array LibrarySuggestions.Suggestion := #[]
    for premise in selection.premises do
      if found.size < config.maxSuggestions && !(forGrind && isGrindAnnotated env premise.name) then
        let wanted : Bool ← config.filter premise.name
        if wanted then
          found := found.push { name := premise.name, score := premise.score }
    return found

end LeanHammerExt
