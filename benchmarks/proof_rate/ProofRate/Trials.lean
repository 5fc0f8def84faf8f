/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Declarations
import Extraction.Frontend
import Extraction.Json
import LeanHammerExt.ContentHash

/-!
# Trying a tactic on the theorems of a module

In: a module and the text of a tactic. Out: for every theorem whether the tactic closes its statement, how long it took,
and what it said when it failed.

The source of the module is elaborated again with the plugin among its imports, as a file without `module`, because such a
file cannot import the plugin. The tactic runs where the theorem stands: it sees what is imported and the commands before
that of the theorem, and neither the theorem itself nor what follows.
-/

namespace LeanHammerExt.ProofRate

open Lean Meta Elab
open LeanHammerExt.Extraction
open System (FilePath)

/-- A theorem that the tactic is tried on. -/
structure Target where
  /-- The theorem. -/
  name : Name
  /-- The environment before the command that declares it. -/
  env : Environment
  /-- The options and open namespaces where its proof stands. -/
  context : ContextInfo
  /-- The line of its proof. -/
  line : Nat

/-- How a trial ended. -/
structure Trial where
  /-- Whether the goal was closed. -/
  closed : Bool
  /-- How long it took. -/
  milliseconds : Nat
  /-- What the tactic said when it failed. -/
  message : String

/-- Adds the declaration whose body a node is; `env` is the environment before its command. -/
def addTarget (env : Environment) (context : ContextInfo) (info : Info) (found : Array Target) : Array Target :=
  match info with
  | .ofCustomInfo custom =>
    match context.parentDecl?, custom.stx.getPos? with
    | some name, some position =>
      if custom.value.typeName == ``Term.BodyInfo then
        let place : Position := context.fileMap.toPosition position
        found.push { name := name, env := env, context := context, line := place.line }
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

/-- Elaborates a source file with the plugin among its imports. -/
def elaborateWithPlugin (moduleName : Name) (file : FilePath) (setup : ModuleSetup) : IO Elaborated := do
  let plugin : ModuleSetup ← readPluginSetup
  for library in setup.dynlibs ++ plugin.dynlibs do
    loadDynlib library
  let source : String ← IO.FS.readFile file
  let input : Parser.InputContext := Parser.mkInputContext source file.toString
  let (header, parserState, headerMessages) ← Parser.parseHeader input
  let options : Options := elaborationOptions setup
  let own : Array Import := (HeaderSyntax.imports header).map fun (item : Import) => { module := item.module }
  let imports : Array Import := own ++ #[{ module := pluginModule }]
  let (env, messages) ← processHeaderCore (HeaderSyntax.startPos header) imports false options headerMessages
    input 0 (setup.plugins ++ plugin.plugins) (mainModule := moduleName)
  elaborateCommands input parserState env messages options

/-- Runs a tactic on a statement; says whether it proves it completely. -/
def closes (type : Expr) (tactic : Syntax) : MetaM Bool := do
  let goal : Expr ← mkFreshExprSyntheticOpaqueMVar type
  let (rest, _) ← Elab.runTactic goal.mvarId! tactic
  let proof : Expr ← instantiateMVars goal
  return rest.isEmpty && !proof.hasExprMVar && !proof.hasSorry

/-- The same, with the text of the exception when it fails. -/
def verdict (type : Expr) (tactic : Syntax) : CoreM (Except String Bool) :=
  tryCatchRuntimeEx
    (do
      let closed : Bool ← MetaM.run' (closes type tactic)
      return Except.ok closed)
    (fun (exception : Exception) => do
      let text : String ← exception.toMessageData.toString
      return Except.error text)

/-- Tries a tactic on a theorem. -/
def tryTactic (target : Target) (type : Expr) (tactic : Syntax) : IO Trial := do
  let context : Core.Context := {
    fileName := "<proof_rate>"
    fileMap := target.context.fileMap
    -- What `simp` used is of no interest here.
    options := target.context.options.set `tactic.simp.trace false
    currNamespace := target.context.currNamespace
    openDecls := target.context.openDecls
    maxHeartbeats := 0
  }
  let state : Core.State := {
    env := target.env.setExporting false
    ngen := target.context.ngen
    auxDeclNGen := { namePrefix := target.name }
  }
  let started : Nat ← IO.monoMsNow
  let finished : Except IO.Error (Except String Bool × Core.State) ←
    EIO.toBaseIO ((verdict type tactic).toIO context state)
  let spent : Nat := (← IO.monoMsNow) - started
  match finished with
  | .ok (.ok closed, _) =>
    return { closed := closed, milliseconds := spent, message := if closed then "" else "goals are left" }
  | .ok (.error text, _) => return { closed := false, milliseconds := spent, message := text }
  | .error error => return { closed := false, milliseconds := spent, message := toString error }

/-- The mark of the lines that hold results; the file may print, too. -/
def resultMark : String := "proof-rate "

/-- A result on one line. -/
def resultLine (target : Target) (trial : Trial) : String :=
  resultMark ++ Json.object [
    ("theorem", Json.text target.name.toString),
    ("line", Json.number target.line),
    ("closed", Json.boolean trial.closed),
    ("milliseconds", Json.number trial.milliseconds),
    ("message", Json.text trial.message)
  ]

/-- The premises that are known to close a theorem, by its name. -/
def readKnown (file? : Option String) : IO Lean.Json :=
  match file? with
  | none => return Lean.Json.mkObj []
  | some file => do
    let text : String ← IO.FS.readFile file
    match Lean.Json.parse text with
    | .ok json => return json
    | .error reason => throw (IO.userError s!"{file}: {reason}")

/-- The tactic for one theorem: `{known}` stands for the premises that are known to close it. -/
def tacticText (template : String) (known : Lean.Json) (name : Name) : String :=
  let premises : Array String :=
    match known.getObjValAs? (Array String) name.toString with
    | .ok premises => premises
    | .error _ => #[]
  let terms : String := if premises.isEmpty then "" else "[" ++ ", ".intercalate premises.toList ++ "]"
  template.replace "{known}" terms

/-- Tries a tactic on the sampled theorems of a module and prints a line for each. -/
def tryModule (moduleName : Name) (template : String) (known? : Option String) (fraction : Nat) :
    IO Unit := do
  let known : Lean.Json ← readKnown known?
  let provenance : Provenance ← provenanceOf moduleName
  let setup? : Option ModuleSetup ← readSetup? moduleName provenance
  let setup : ModuleSetup := setup?.getD (plainSetup moduleName)
  let elaborated : Elaborated ← elaborateWithPlugin moduleName provenance.file setup
  match elaborated.errors[0]? with
  | none => pure ()
  | some first =>
    IO.eprintln s!"{elaborated.errors.size} errors in {moduleName} beside the plugin, the first one: {first}"
  let output : IO.FS.Stream ← IO.getStdout
  for target in targetsOf elaborated.start elaborated.trees do
    if isSampled fraction target.name && !isPrivateName target.name then
      match elaborated.env.find? target.name with
      | some (.thmInfo theoremInfo) =>
        let text : String := "(" ++ tacticText template known target.name ++ ")"
        match Parser.runParserCategory target.env `tactic text with
        | .error reason => throw (IO.userError s!"the tactic `{text}` does not parse: {reason}")
        | .ok tactic =>
          let trial : Trial ← tryTactic target theoremInfo.type tactic
          IO.println ("\n" ++ resultLine target trial)
          output.flush
      | _ => pure ()

end LeanHammerExt.ProofRate
