/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Mathlib.Tactic.TacticAnalysis.Declarations
import ProofRate.Trial

/-!
# Trying a tactic at each step of each proof

In: a file that is elaborated with this one among its imports and the option `linter.tacticAnalysis.proofRate`, and
the environment variable `TRY_AT_EACH_STEP_TACTIC`, which holds `proof_rate_trial "…"`. Out: a message at each step that
was tried, with a line as `resultLine` writes it.

Mathlib's hook for this variable, `tryAtEachStepFromEnvImpl`, finds the steps, takes a sample of them as the option
`linter.tacticAnalysis.tryAtEachStep.fraction` wants it, and runs the tactic. Two things are added here.

* The hook tells of successes only. It is given one step at a time, and the tactic `proof_rate_trial` notes how each
  trial ended, so that failures are told, too, each at its place.
* The hook runs the tactic in the environment that is saved with the proof, and that holds the theorem which is being
  proved. `proof_rate_trial` runs in the environment before the command of the theorem.
-/

/-- Tries the tactic in `TRY_AT_EACH_STEP_TACTIC`, which is a `proof_rate_trial`, at each step of each proof. -/
register_option linter.tacticAnalysis.proofRate : Bool := {
  defValue := false
  descr := "try a tactic at each step of each proof and say how it went"
}

namespace LeanHammerExt.ProofRate

open Lean Meta Elab Tactic

/-- The environment behind the last command whose linters were run. -/
initialize behindRef : IO.Ref (Option Environment) ← IO.mkRef none

/-- How the trial of the current step ended; nothing when the hook left the step out. -/
initialize trialRef : IO.Ref (Option Trial) ← IO.mkRef none

/-- The premises that are known, once they were read; a process reads one file. -/
initialize knownRef : IO.Ref (Option Lean.Json) ← IO.mkRef none

/--
Keeps the environment behind each command. Linters are run in the order in which they were added, and the one that calls
the hook was added by an import of this file: while the steps of a command are tried, what is kept is the environment
behind the command before it.
-/
def rememberEnvironment : Linter where
  run _ := do
    let env : Environment ← getEnv
    behindRef.set (some env)

initialize addLinter rememberEnvironment

/--
`proof_rate_trial "tac"` runs `tac` on the main goal, in the environment before the current command, and notes how that
ended. `proof_rate_trial "tac" with "file.json"` puts the premises that the file gives for the current theorem in place
of `{known}`.
-/
syntax (name := trialTactic) "proof_rate_trial " str (" with " str)? : tactic

/-- The premises that are known to close theorems, read at the first call. -/
def knownPremises (file? : Option String) : IO Lean.Json := do
  match ← knownRef.get with
  | some known => return known
  | none =>
    let known : Lean.Json ← readKnown file?
    knownRef.set (some known)
    return known

/-- Tries a tactic on a goal of the current declaration, as it would be tried in front of the declaration. -/
def tryBefore (goal : MVarId) (template : String) (file? : Option String) : MetaM Trial := do
  match ← behindRef.get with
  | none => return untried "nothing stands in front of the command of this proof"
  | some env =>
    let state : Core.State ← getThe Core.State
    let name : Name := state.auxDeclNGen.namePrefix
    if env.contains name then
      return untried s!"the environment in front of the command has `{name}` already"
    else
      let known : Lean.Json ← knownPremises file?
      withEnv (env.setExporting false) (tryGoal goal (tacticText template known name))

/-- The same; what is wrong around the trial, such as a file that cannot be read, is its message. -/
def tryBeforeOrTell (goal : MVarId) (template : String) (file? : Option String) : MetaM Trial :=
  tryCatchRuntimeEx
    (tryBefore goal template file?)
    (fun (exception : Exception) => do
      let text : String ← exception.toMessageData.toString
      return untried text)

/-- Tries a tactic on the main goal, notes how that ended, and fails when the goal is not closed. -/
def runTrial (template : String) (file? : Option String) : TacticM Unit := do
  let goal : MVarId ← getMainGoal
  -- The hook takes every exception for a failure, so that a trial without a note would be lost.
  let trial : Trial ← tryBeforeOrTell goal template file?
  trialRef.set (some trial)
  unless trial.closed do
    throwError trial.message

@[tactic trialTactic, inherit_doc trialTactic]
def evalTrial : Tactic := fun (stx : Syntax) => do
  match stx with
  | `(tactic| proof_rate_trial $text:str with $file:str) => runTrial text.getString (some file.getString)
  | `(tactic| proof_rate_trial $text:str) => runTrial text.getString none
  | _ => throwUnsupportedSyntax

/-- Hands the steps of a sequence to Mathlib's hook, one by one, and says of each that it tried how that ended. -/
@[tacticAnalysis linter.tacticAnalysis.proofRate]
def stepTrials : Mathlib.TacticAnalysis.Config where
  run sequence := do
    let fileMap : FileMap ← getFileMap
    for step in sequence do
      trialRef.set none
      Mathlib.TacticAnalysis.tryAtEachStepFromEnvImpl.run #[step]
      let trial? : Option Trial ← trialRef.get
      match trial?, step.tacI.stx.getPos? with
      | some trial, some position =>
        let name : Name := step.ctxI.parentDecl?.getD Name.anonymous
        logInfoAt step.tacI.stx (resultLine name (fileMap.toPosition position) trial)
      | _, _ => pure ()

end LeanHammerExt.ProofRate
