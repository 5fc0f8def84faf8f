/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Arguments
import Extraction.Examples

/-!
# One module

In: the name of a module. Out: its file in the output folder, and a report of what is in it and what is missing.

The file is written under a temporary name and renamed when it is complete, so that an interrupted run leaves nothing
half-written behind.
-/

namespace LeanHammerExt.Extraction

open Lean
open System (FilePath)

/-- What came of a module. -/
structure Report where
  /-- How many declarations were written. -/
  declarations : Nat
  /-- How many examples were written. -/
  examples : Nat
  /-- What is missing, and why. -/
  skipped : Array Skipped

/-- The mark of the line of a child's output that holds its report; the file that it elaborates may print, too. -/
def reportMark : String := "extraction-report "

/-- A report on one line. -/
def Report.written (report : Report) : String :=
  let skipped : Array String := report.skipped.map fun (item : Skipped) =>
    Json.object [("name", Json.text item.name), ("reason", Json.text item.reason)]
  Json.object [
    ("declarations", Json.number report.declarations),
    ("examples", Json.number report.examples),
    ("skipped", Json.list skipped)
  ]

/-- Reads what is missing. -/
def readSkipped (json : Lean.Json) : Except String Skipped := do
  let name : String ← json.getObjValAs? String "name"
  let reason : String ← json.getObjValAs? String "reason"
  return { name := name, reason := reason }

/-- Reads a report. -/
def readReport (text : String) : Except String Report := do
  let json : Lean.Json ← Lean.Json.parse text
  let declarations : Nat ← json.getObjValAs? Nat "declarations"
  let examples : Nat ← json.getObjValAs? Nat "examples"
  let items : Array Lean.Json ← json.getObjValAs? (Array Lean.Json) "skipped"
  let skipped : Array Skipped ← items.mapM readSkipped
  return { declarations := declarations, examples := examples, skipped := skipped }

/-- The file of a module. -/
def outputFile (folder : String) (moduleName : Name) : FilePath :=
  FilePath.mk folder / (moduleName.toString ++ ".jsonl")

/-- Writes a file under a temporary name and renames it. -/
def writeWhole (file : FilePath) (text : String) : IO Unit := do
  let temporary : FilePath := FilePath.mk (file.toString ++ ".tmp")
  let handle : IO.FS.Handle ← IO.FS.Handle.mk temporary IO.FS.Mode.write
  handle.putStr text
  handle.flush
  IO.FS.rename temporary file

/-- The direct imports of the file, without repeats. -/
def importsOf (env : Environment) : Array String :=
  env.imports.foldl
    (fun (found : Array String) (item : Import) =>
      let name : String := item.module.toString
      if found.contains name then found else found.push name)
    #[]

/-- The module docstrings, joined by a blank line. -/
def moduleDocstring (env : Environment) : String :=
  let texts : Array String :=
    (getMainModuleDoc env).toArray.map fun (part : ModuleDoc) => part.doc.trimAscii.toString
  "\n\n".intercalate texts.toList

/-- The row of a module. -/
def moduleRow (env : Environment) (moduleName : Name) (provenance : Provenance) : ModuleRow where
  name := moduleName.toString
  imports := importsOf env
  docstring := moduleDocstring env
  source? := provenance.address?
  package? := provenance.package?.map fun (package : Package) => package.name
  revision? := provenance.package?.bind fun (package : Package) => package.revision?
  toolchain? := provenance.toolchain?

/-- Everything that is found in an elaborated file. -/
def contentOf (elaborated : Elaborated) :
    CoreM (Array DeclarationRow × Array ExampleRow × Array Skipped) := do
  let env : Environment ← getEnv
  let declared : Array Declared ← declarationsOf env
  let (declarations, unprinted) ← declarationRows declared
  let printed : Std.HashSet String :=
    declarations.foldl
      (fun (names : Std.HashSet String) (row : DeclarationRow) => names.insert row.name)
      {}
  -- An example belongs to a declaration of the same file.
  let provable : Array Declared :=
    declared.filter fun (item : Declared) => printed.contains item.name.toString
  let file : FileEvidence ← gatherEvidence env elaborated
  let (examples, unproved) ← exampleRows file provable
  return (declarations, examples, unprinted ++ unproved)

/-- Runs an action on the environment at the end of a file, without a limit of heartbeats. -/
def runCore {α : Type} (elaborated : Elaborated) (file : FilePath) (action : CoreM α) : IO α := do
  let context : Core.Context := {
    fileName := file.toString
    fileMap := elaborated.fileMap
    maxHeartbeats := 0
  }
  let state : Core.State := { env := elaborated.env }
  let (result, _) ← action.toIO context state
  return result

/-- Extracts one module. -/
def extractModule (folder : String) (moduleName : Name) : IO Report := do
  let provenance : Provenance ← provenanceOf moduleName
  let setup? : Option ModuleSetup ← readSetup? moduleName provenance
  let setup : ModuleSetup := setup?.getD (plainSetup moduleName)
  let elaborated : Elaborated ← elaborate moduleName provenance.file setup
  let (declarations, examples, missing) ← runCore elaborated provenance.file (contentOf elaborated)
  let row : ModuleRow := moduleRow elaborated.env moduleName provenance
  IO.FS.createDirAll folder
  writeWhole (outputFile folder moduleName) (fileText row declarations examples)
  let errors : Array Skipped := elaborated.errors.map fun (text : String) =>
    { name := moduleName.toString, reason := "error in the source: " ++ text }
  let warnings : Array Skipped :=
    match setup? with
    | some _ => #[]
    | none =>
      let reason : String := "Lake does not tell its options; it was elaborated without them"
      #[{ name := moduleName.toString, reason := reason }]
  return {
    declarations := declarations.size
    examples := examples.size
    skipped := warnings ++ errors ++ missing
  }

/-- The work of a child process: extracts one module and prints the report. -/
def workOn (folder : String) (moduleName : Name) : IO UInt8 := do
  match ← EIO.toBaseIO (extractModule folder moduleName) with
  | .ok report =>
    IO.println ("\n" ++ reportMark ++ report.written)
    let output : IO.FS.Stream ← IO.getStdout
    output.flush
    return 0
  | .error error =>
    IO.eprintln s!"{error}"
    return 1

end LeanHammerExt.Extraction
