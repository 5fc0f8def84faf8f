/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Source

/-!
# Elaborating a source file again

In: a module and its source file. Out: the environment at the end of the file, the info trees of its commands, which
know every state of every tactic, and the tactics that messages suggest.

The file is elaborated as Lake does it: with the options, plugins and libraries that Lake wrote down when it built the
module, or that `lake setup-file` tells; options that Lake marks as weak, which choose linters, are left out. In
addition `simp` is asked to say which lemmas it used (`tactic.simp.trace`), and nothing runs in the background.
-/

namespace LeanHammerExt.Extraction

open Lean Elab
open System (FilePath)

/-- A file that was elaborated. -/
structure Elaborated where
  /-- The environment behind the header. -/
  start : Environment
  /-- The environment at the end. -/
  env : Environment
  /-- One info tree a command. -/
  trees : PersistentArray InfoTree
  /-- The lines of the file. -/
  fileMap : FileMap
  /-- What its commands said. -/
  messages : MessageLog
  /-- The errors among it. -/
  errors : Array String
  /-- The tactics that messages suggest, by the first byte of what they are about. -/
  suggestions : Std.HashMap Nat (Array String)

/-- What Lake wrote down when it built the module: a file beside its intermediate files. -/
def setupFile (package : Package) (moduleName : Name) : FilePath :=
  modToFilePath (package.folder / ".lake" / "build" / "ir") moduleName "setup.json"

/-- What Lake says about a module, out of the JSON in which it says it. -/
def decodeSetup? (text : String) : Option ModuleSetup :=
  match Json.parse text with
  | .error _ => none
  | .ok json =>
    let decoded : Except String ModuleSetup := fromJson? json
    match decoded with
    | .ok setup => some setup
    | .error _ => none

/-- What `lake setup-file` tells of a file whose imports are built; several of these may run at the same time. -/
def askLake (file : FilePath) : IO (Option ModuleSetup) := do
  let lake : String := (← IO.getEnv "LAKE").getD "lake"
  let printed? : Option String ← outputOf? lake #["setup-file", file.toString, "--no-build"]
  return printed?.bind decodeSetup?

/-- How the module is to be elaborated, as far as Lake tells. -/
def readSetup? (moduleName : Name) (provenance : Provenance) : IO (Option ModuleSetup) := do
  let written? : Option String ←
    match provenance.package? with
    | some package => attempt (IO.FS.readFile (setupFile package moduleName))
    | none => pure none
  match written?.bind decodeSetup? with
  | some setup => return some setup
  | none => askLake provenance.file

/-- A module about which Lake tells nothing: no options, no plugins. -/
def plainSetup (moduleName : Name) : ModuleSetup :=
  { name := moduleName }

/-- The options under which the file is elaborated. -/
def elaborationOptions (setup : ModuleSetup) : Options :=
  let options : Options := setup.options.toOptions
  let synchronous : Options := options.set `Elab.async false
  synchronous.set `tactic.simp.trace true

/-- The texts of the errors among messages. -/
def errorTexts (messages : MessageLog) : IO (Array String) := do
  let mut found : Array String := #[]
  for message in messages.reportedPlusUnreported do
    match message.severity with
    | .error =>
      let text : String ← message.toString
      found := found.push text.trimAscii.toString
    | _ => pure ()
  return found

/-- What is left of a text behind its start, if it starts so. -/
def behindStart? (text start : String) : Option String :=
  if text.startsWith start then
    some (String.ofList (text.toList.drop start.length))
  else
    none

/-- The tactic that a message suggests. -/
def suggestedTactic? (message : String) : Option String :=
  match behindStart? message "Try this:" with
  | none => none
  | some shown =>
    let trimmed : String := shown.trimAscii.toString
    -- `simp?` and `simpa` offer their suggestion as an action; `simp` with `tactic.simp.trace` only writes it.
    some ((behindStart? trimmed "[apply]").getD trimmed).trimAscii.toString

/-- The tactics that messages suggest, by the first byte of what they are about. -/
def suggestedTactics (fileMap : FileMap) (messages : MessageLog) : IO (Std.HashMap Nat (Array String)) := do
  let mut found : Std.HashMap Nat (Array String) := {}
  for message in messages.reportedPlusUnreported do
    match message.severity with
    | .information =>
      let text : String ← message.data.toString
      match suggestedTactic? text with
      | none => pure ()
      | some tactic =>
        let position : Nat := (fileMap.ofPosition message.pos).byteIdx
        found := found.insert position ((found.getD position #[]).push tactic)
    | _ => pure ()
  return found

/-- Elaborates the commands behind a header whose imports are loaded; fails when they could not be loaded. -/
def elaborateCommands (input : Parser.InputContext) (parserState : Parser.ModuleParserState)
    (env : Environment) (messages : MessageLog) (options : Options) : IO Elaborated := do
  if messages.hasErrors then
    let texts : Array String ← errorTexts messages
    throw (IO.userError ("its imports cannot be loaded: " ++ "; ".intercalate texts.toList))
  let initial : Command.State := Command.mkState env messages options
  let commandState : Command.State := { initial with infoState.enabled := true }
  let finished : Frontend.State ← IO.processCommands input parserState commandState
  let said : MessageLog := finished.commandState.messages
  let errors : Array String ← errorTexts said
  let suggestions : Std.HashMap Nat (Array String) ← suggestedTactics input.fileMap said
  return {
    start := env
    env := finished.commandState.env.setExporting false
    trees := finished.commandState.infoState.trees
    fileMap := input.fileMap
    messages := said
    errors := errors
    suggestions := suggestions
  }

/-- Elaborates a source file. -/
def elaborate (moduleName : Name) (file : FilePath) (setup : ModuleSetup) : IO Elaborated := do
  for library in setup.dynlibs do
    loadDynlib library
  let source : String ← IO.FS.readFile file
  let input : Parser.InputContext := Parser.mkInputContext source file.toString
  let (header, parserState, headerMessages) ← Parser.parseHeader input
  let options : Options := elaborationOptions setup
  let (env, messages) ← processHeaderCore (HeaderSyntax.startPos header) (HeaderSyntax.imports header)
    (HeaderSyntax.isModule header) options headerMessages input 0 setup.plugins (mainModule := moduleName)
  elaborateCommands input parserState env messages options

end LeanHammerExt.Extraction
