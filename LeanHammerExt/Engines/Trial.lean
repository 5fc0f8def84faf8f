/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Candidate

/-!
# Trying tactics

In: a goal and a tactic text. Out: whether the text closes the goal, how long it took, and what "Try this" it
showed. The state is afterwards what it was before.

Interrupts are never caught here: a cancelled search ends.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- How a trial ended. -/
structure Trial where
  /-- Whether a complete proof closed the goal. -/
  closed : Bool
  /-- How long it took. -/
  milliseconds : Nat
  /-- What was thrown. -/
  failure? : Option Exception

/-- Runs the tactics of a script on the main goal. -/
def runScript (script : Script) : TacticM Unit := do
  for tac in script do
    evalTactic tac

/-- Runs a script on a goal; says whether a complete proof closed it. -/
def closes (goal : MVarId) (script : Script) : TacticM Bool := do
  let left : List MVarId ←
    (Term.withSynthesize (Tactic.run goal (withoutRecover (runScript script))) : TermElabM (List MVarId))
  if left.isEmpty then
    let type : Expr ← instantiateMVars (← goal.getType)
    let proof : Expr ← instantiateMVars (mkMVar goal)
    let isOpen : Bool := proof.hasExprMVar && !type.hasExprMVar
    return !(isOpen || proof.hasSorry)
  else
    return false

/-- Tries a script on a goal. -/
def tryScript (goal : MVarId) (script : Script) : TacticM Trial := do
  let saved : Tactic.SavedState ← Tactic.saveState
  let start : Nat ← IO.monoMsNow
  let outcome : Bool × Option Exception ← tryCatchRuntimeEx
    (do
      -- Heartbeats are counted from here: the tactic will be run again on its own.
      let closed : Bool ← Core.withCurrHeartbeats (closes goal script)
      return (closed, none))
    (fun (failure : Exception) => return (false, some failure))
  saved.restore (restoreInfo := true)
  let now : Nat ← IO.monoMsNow
  return { closed := outcome.1, milliseconds := now - start, failure? := outcome.2 }

/-- Runs an action with at most so many heartbeats, as users count them, and never more than the user allows. -/
def withHeartbeatLimit {α : Type} (heartbeats : Nat) (action : TacticM α) : TacticM α := do
  let allowed : Nat := (← readThe Core.Context).maxHeartbeats
  -- The context counts allocations, the option counts them by the thousand.
  let wanted : Nat := 1000 * heartbeats
  let limit : Nat := if allowed == 0 then wanted else min allowed wanted
  withTheReader Core.Context (fun (context : Core.Context) => { context with maxHeartbeats := limit }) action

/-- The first script that closes the goal, and how long it took. -/
def firstClosing? (goal : MVarId) (scripts : Array Script) : TacticM (Option (Script × Nat)) := do
  for script in scripts do
    Core.checkInterrupted
    let trial : Trial ← tryScript goal script
    if trial.closed then
      return some (script, trial.milliseconds)
  return none

/-! ## What a failure says -/

/-- A text on one line, shortened. -/
def shortened (text : String) (limit : Nat := 100) : String :=
  let words : List String :=
    ((text.map fun (character : Char) => if character.isWhitespace then ' ' else character).splitOn " ").filter
      fun (word : String) => word != ""
  let line : String := " ".intercalate words
  if line.length ≤ limit then line else String.ofList (line.toList.take (limit - 3)) ++ "..."

/-- An exception on one short line. -/
def exceptionText (failure : Exception) : CoreM String := do
  let text : String ← failure.toMessageData.toString
  return shortened text

/-- Why a trial did not close the goal, on one short line. -/
def Trial.explanation (trial : Trial) : CoreM String := do
  match trial.failure? with
  | some failure =>
    if failure.isRuntime then
      return "out of heartbeats or of stack"
    else
      exceptionText failure
  | none => return "goals are left"

/-! ## "Try this" of other tactics -/

/-- The texts of all suggestions in an info tree. -/
partial def suggestionsIn (found : Array Meta.Tactic.TryThis.SuggestionText) (tree : InfoTree) :
    Array Meta.Tactic.TryThis.SuggestionText :=
  match tree with
  | .context _ inner => suggestionsIn found inner
  | .node info children =>
    let withOwn : Array Meta.Tactic.TryThis.SuggestionText :=
      match info with
      | .ofCustomInfo custom =>
        match custom.value.get? Meta.Tactic.TryThis.TryThisInfo with
        | some item => found.push item.suggestion.suggestion
        | none => found
      | _ => found
    children.foldl (init := withOwn) fun (texts : Array Meta.Tactic.TryThis.SuggestionText) (child : InfoTree) =>
      suggestionsIn texts child
  | .hole _ => found

/-- The number of blanks at the beginning of a line. -/
def indentation (line : String) : Nat :=
  (line.toList.takeWhile fun (character : Char) => character == ' ').length

/--
Moves the first line of a suggested script to where the other lines are: a suggestion is made for the place where it
will be inserted, so its first line has no indentation.
-/
def alignFirstLine (text : String) : String :=
  let lines : List String := text.splitOn "\n"
  let others : List String := (lines.drop 1).filter fun (line : String) => shortened line != ""
  match others with
  | [] => text
  | first :: rest =>
    let least : Nat := rest.foldl (fun (best : Nat) (line : String) => min best (indentation line)) (indentation first)
    let missing : Nat := least - indentation (lines.headD "")
    "".pushn ' ' missing ++ text

/-- Reads a tactic sequence. -/
def parseScript? (env : Environment) (text : String) : Option Script :=
  let parser : Parser.ParserFn := Parser.andthenFn Parser.whitespace Parser.Tactic.tacticSeq.fn
  let input : Parser.InputContext := Parser.mkInputContext text "<hammer>"
  let state : Parser.ParserState :=
    parser.run input { env, options := {} } (Parser.getTokenTable env) (Parser.mkParserState text)
  if state.hasError then
    none
  else if state.pos.atEnd text then
    some (tacticsIn state.stxStack.back)
  else
    none

/-- The tactics of a suggestion. -/
def suggestedScript? (env : Environment) (text : Meta.Tactic.TryThis.SuggestionText) : Option Script :=
  match text with
  | .tsyntax stx => some (tacticsIn stx.raw)
  | .string text => parseScript? env (alignFirstLine text)

/-- What a tactic such as `simp_all?` suggests for a goal. -/
def suggestionsOf (goal : MVarId) (tac : TSyntax `tactic) : TacticM (Array Script) := do
  let env : Environment ← getEnv
  let saved : Tactic.SavedState ← Tactic.saveState
  let texts : Array Meta.Tactic.TryThis.SuggestionText ← tryCatchRuntimeEx
    (do
      modifyThe Core.State fun (state : Core.State) =>
        { state with messages := {}, infoState.enabled := true, infoState.trees := {} }
      let _ ← (Core.withCurrHeartbeats (Tactic.run goal (withoutRecover (evalTactic tac))) :
        TermElabM (List MVarId))
      let info ← getInfoState
      return info.trees.foldl (init := #[])
        fun (texts : Array Meta.Tactic.TryThis.SuggestionText) (tree : InfoTree) =>
          suggestionsIn texts (tree.substitute info.assignment))
    (fun _ => pure #[])
  saved.restore (restoreInfo := true)
  return texts.filterMap (suggestedScript? env)

/-! ## Facts that a tactic takes -/

/--
The facts that a tactic takes without complaint. The tactic is tried on `True`, which each of the tactics used here
closes as soon as it has read its arguments; where it fails, the halves are looked at.
-/
partial def usableFacts (makeTactic : Array Term → CoreM (TSyntax `tactic)) (facts : Array Term) :
    TacticM (Array Term) := do
  if facts.isEmpty then
    return #[]
  Core.checkInterrupted
  let goal : Expr ← mkFreshExprSyntheticOpaqueMVar (mkConst ``True)
  let tac : TSyntax `tactic ← makeTactic facts
  let trial : Trial ← tryScript goal.mvarId! #[tac]
  if trial.closed then
    return facts
  else if facts.size == 1 then
    return #[]
  else
    let middle : Nat := facts.size / 2
    let first : Array Term ← usableFacts makeTactic (facts.extract 0 middle)
    let second : Array Term ← usableFacts makeTactic (facts.extract middle facts.size)
    return first ++ second

end LeanHammerExt
