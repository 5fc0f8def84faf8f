/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Declarations
import Extraction.Frontend
import LeanHammerExt.ContentHash
import ProofRate.Trial

/-!
# Trying a tactic in a module

In: a module and a tactic. Out: one line a trial on the standard output.

The source of the module is elaborated again with the plugin among its imports, as a file without `module`, because
such a file cannot import the plugin. The tactic runs where a theorem stands: it sees what is imported and the commands
before that of the theorem, and neither the theorem itself nor what follows.

There are two measures. At the statements, the tactic is given the statement of each theorem when the module has been
elaborated. At the steps, it is given the goal of each step of each proof while the module is elaborated, by Mathlib's
hook for this; see `ProofRate.Steps`, which the module then imports, too.
-/

namespace LeanHammerExt.ProofRate

open Lean Meta Elab
open LeanHammerExt.Extraction
open System (FilePath)

/-! ## The module -/

/-- The module that brings the tactic. -/
def pluginModule : Name := `LeanHammerExt.Hammer

/-- The libraries that Lake loads for the plugin. Without them `duper` is interpreted, and far slower than elsewhere. -/
def readPluginSetup : IO ModuleSetup := do
  let provenance : Provenance ← provenanceOf pluginModule
  match ← readSetup? pluginModule provenance with
  | some setup => return setup
  | none =>
    IO.eprintln s!"Lake tells nothing about {pluginModule}; `duper` is interpreted, and slower than elsewhere"
    return plainSetup pluginModule

/-- Elaborates a module with the plugin and further modules among its imports and with options of its own. -/
def elaborateWithPlugin (moduleName : Name) (further : Array Name) (adjusted : Options → Options) :
    IO Elaborated := do
  let provenance : Provenance ← provenanceOf moduleName
  let setup? : Option ModuleSetup ← readSetup? moduleName provenance
  let setup : ModuleSetup := setup?.getD (plainSetup moduleName)
  let plugin : ModuleSetup ← readPluginSetup
  for library in setup.dynlibs ++ plugin.dynlibs do
    loadDynlib library
  let source : String ← IO.FS.readFile provenance.file
  let input : Parser.InputContext := Parser.mkInputContext source provenance.file.toString
  let (header, parserState, headerMessages) ← Parser.parseHeader input
  -- What `simp` used is of no interest here.
  let options : Options := adjusted ((elaborationOptions setup).set `tactic.simp.trace false)
  let own : Array Import := (HeaderSyntax.imports header).map fun (item : Import) => { module := item.module }
  let added : Array Import := (#[pluginModule] ++ further).map fun (name : Name) => { module := name }
  let (env, messages) ← processHeaderCore (HeaderSyntax.startPos header) (own ++ added) false options headerMessages
    input 0 (setup.plugins ++ plugin.plugins) (mainModule := moduleName)
  let elaborated : Elaborated ← elaborateCommands input parserState env messages options
  match elaborated.errors[0]? with
  | none => pure ()
  | some first =>
    IO.eprintln s!"{elaborated.errors.size} errors in {moduleName} beside the plugin, the first one: {first}"
  return elaborated

/-! ## At the statements -/

/-- A theorem whose statement the tactic is tried on. -/
structure Target where
  /-- The theorem. -/
  name : Name
  /-- The environment before the command that declares it. -/
  env : Environment
  /-- The options and open namespaces where its proof stands. -/
  context : ContextInfo
  /-- Where its proof stands. -/
  place : Position

/-- Adds the declaration whose body a node is; `env` is the environment before its command. -/
def addTarget (env : Environment) (context : ContextInfo) (info : Info) (found : Array Target) : Array Target :=
  match info with
  | .ofCustomInfo custom =>
    match context.parentDecl?, custom.stx.getPos? with
    | some name, some position =>
      if custom.value.typeName == ``Term.BodyInfo then
        found.push { name := name, env := env, context := context, place := context.fileMap.toPosition position }
      else
        found
    | _, _ => found
  | _ => found

/-- The environment behind a command, as far as its tree tells. -/
def envBehind? (tree : InfoTree) : Option Environment :=
  match tree with
  | .context (.commandCtx info) _ => some info.env
  | _ => none

/-- The declarations of a file that have a body. The trees are those of its commands, one after the other. -/
def targetsOf (start : Environment) (trees : PersistentArray InfoTree) : Array Target :=
  let step (state : Array Target × Environment) (tree : InfoTree) : Array Target × Environment :=
    (InfoTree.foldInfo (addTarget state.2) state.1 tree, (envBehind? tree).getD state.2)
  (trees.foldl step (#[], start)).1

/-- Whether a theorem belongs to the sample of one in `fraction`. -/
def isSampled (fraction : Nat) (name : Name) : Bool :=
  fraction ≤ 1 || (fnv1a name.toString.toUTF8).toNat % fraction == 0

/-- Tries a tactic on the statement of a theorem. -/
def tryStatement (target : Target) (type : Expr) (text : String) : IO Trial := do
  let context : Core.Context := {
    fileName := "<proof_rate>"
    fileMap := target.context.fileMap
    options := target.context.options
    currNamespace := target.context.currNamespace
    openDecls := target.context.openDecls
  }
  let state : Core.State := {
    env := target.env.setExporting false
    ngen := target.context.ngen
    auxDeclNGen := { namePrefix := target.name }
  }
  let action : MetaM Trial := do
    let goal : Expr ← mkFreshExprSyntheticOpaqueMVar type
    tryGoal goal.mvarId! text
  let (trial, _) ← (MetaM.run' action).toIO context state
  return trial

/-- Tries a tactic on the sampled theorems of a module and prints a line for each. -/
def tryStatements (moduleName : Name) (template : String) (known? : Option String) (fraction : Nat) :
    IO Unit := do
  let known : Lean.Json ← readKnown known?
  let elaborated : Elaborated ← elaborateWithPlugin moduleName #[] id
  let output : IO.FS.Stream ← IO.getStdout
  for target in targetsOf elaborated.start elaborated.trees do
    if isSampled fraction target.name && !isPrivateName target.name then
      match elaborated.env.find? target.name with
      | some (.thmInfo theoremInfo) =>
        let trial : Trial ← tryStatement target theoremInfo.type (tacticText template known target.name)
        IO.println ("\n" ++ resultLine target.name target.place trial)
        output.flush
      | _ => pure ()

/-! ## At the steps -/

/-- The module that tries the tactic at each step. -/
def stepsModule : Name := `ProofRate.Steps

/-- The options that make it do so, for one in `fraction` goals. -/
def stepOptions (fraction : Nat) (options : Options) : Options :=
  let sampled : Options := options.set `linter.tacticAnalysis.tryAtEachStep.fraction fraction
  sampled.set `linter.tacticAnalysis.proofRate true

/-- Tries the tactic in `TRY_AT_EACH_STEP_TACTIC` at the sampled steps of a module and prints a line for each. -/
def trySteps (moduleName : Name) (fraction : Nat) : IO Unit := do
  match ← IO.getEnv "TRY_AT_EACH_STEP_TACTIC" with
  | none => throw (IO.userError "TRY_AT_EACH_STEP_TACTIC is not set; it holds the tactic, as `proof_rate_trial \"…\"`")
  | some tactic =>
    let elaborated : Elaborated ← elaborateWithPlugin moduleName #[stepsModule] (stepOptions fraction)
    -- The hook passes in silence over a tactic that it cannot read.
    match Parser.runParserCategory elaborated.env `tactic tactic with
    | .error reason => throw (IO.userError s!"TRY_AT_EACH_STEP_TACTIC does not parse: {reason}")
    | .ok _ => pure ()
    for message in elaborated.messages.toList do
      let text : String ← message.data.toString
      if text.startsWith resultMark then
        IO.println text

end LeanHammerExt.ProofRate
