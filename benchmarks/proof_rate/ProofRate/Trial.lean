/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Json
import Lean

/-!
# One trial of a tactic

In: a goal and the text of a tactic, in which `{known}` stands for the premises that are known to close the theorem.
Out: whether the tactic closes the goal, how long it took, and what it said when it failed; and the line in which that
is written down.

Statements and steps are tried in the same way, and under no other limit than that of the tactic itself.
-/

namespace LeanHammerExt.ProofRate

open Lean Meta
open LeanHammerExt.Extraction

/-- How a trial ended. -/
structure Trial where
  /-- Whether the goal was closed. -/
  closed : Bool
  /-- How long it took. -/
  milliseconds : Nat
  /-- What the tactic said when it failed. -/
  message : String

/-- A trial that ended before it began. -/
def untried (reason : String) : Trial :=
  { closed := false, milliseconds := 0, message := reason }

/-- A constant in a goal that the environment lacks, because the command that states the goal declares it, too. -/
def ownConstant? (goal : MVarId) : MetaM (Option Name) :=
  goal.withContext do
    let env : Environment ← getEnv
    let target : Expr ← goal.getType
    let mut stated : Array Expr := #[target]
    for decl in ← getLCtx do
      unless decl.isImplementationDetail do
        stated := stated.push decl.type
    for expression in stated do
      let complete : Expr ← instantiateMVars expression
      let missing? : Option Name := complete.getUsedConstants.find? fun (name : Name) => !env.contains name
      if missing?.isSome then
        return missing?
    return none

/-- Runs a tactic on a goal; nothing when it proves it completely, and otherwise why not. -/
def complaint? (goal : MVarId) (tactic : Syntax) : MetaM (Option String) :=
  tryCatchRuntimeEx
    (do
      match ← ownConstant? goal with
      | some name => return some s!"the goal mentions `{name}`, which its own command declares"
      | none =>
        let (rest, _) ← Elab.runTactic goal tactic
        let proof : Expr ← instantiateMVars (mkMVar goal)
        if rest.isEmpty && !proof.hasExprMVar && !proof.hasSorry then
          return none
        else
          return some "goals are left")
    (fun (exception : Exception) => do
      let text : String ← exception.toMessageData.toString
      return some text)

/-- Tries a tactic on a goal. -/
def tryGoal (goal : MVarId) (text : String) : MetaM Trial := do
  let env : Environment ← getEnv
  match Parser.runParserCategory env `tactic ("(" ++ text ++ ")") with
  | .error reason => return untried s!"the tactic `{text}` does not parse: {reason}"
  | .ok tactic =>
    let started : Nat ← IO.monoMsNow
    let message? : Option String ←
      withTheReader Core.Context (fun (context : Core.Context) => { context with maxHeartbeats := 0 })
        (complaint? goal tactic)
    let spent : Nat := (← IO.monoMsNow) - started
    return { closed := message?.isNone, milliseconds := spent, message := message?.getD "" }

/-- The premises that are known to close theorems, by their names. -/
def readKnown (file? : Option String) : IO Lean.Json :=
  match file? with
  | none => return Lean.Json.mkObj []
  | some file => do
    let text : String ← IO.FS.readFile file
    match Lean.Json.parse text with
    | .ok json => return json
    | .error reason => throw (IO.userError s!"{file}: {reason}")

/-- The tactic for one theorem. -/
def tacticText (template : String) (known : Lean.Json) (name : Name) : String :=
  let premises : Array String :=
    match known.getObjValAs? (Array String) name.toString with
    | .ok premises => premises
    | .error _ => #[]
  let terms : String := if premises.isEmpty then "" else "[" ++ ", ".intercalate premises.toList ++ "]"
  template.replace "{known}" terms

/-- The mark of the lines that hold results; a file that is elaborated may say other things, too. -/
def resultMark : String := "proof-rate "

/-- A result on one line: the declaration that is proved, the place in the file, and how the trial ended. -/
def resultLine (name : Name) (place : Position) (trial : Trial) : String :=
  resultMark ++ Json.object [
    ("theorem", Json.text name.toString),
    ("line", Json.number place.line),
    ("column", Json.number place.column),
    ("closed", Json.boolean trial.closed),
    ("milliseconds", Json.number trial.milliseconds),
    ("message", Json.text trial.message)
  ]

end LeanHammerExt.ProofRate
