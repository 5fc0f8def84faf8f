/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Locate
import LeanHammerExt.Msgpack
import LeanHammerExt.Premises

/-!
# Texts of imported modules, kept between processes

In: an imported module and the names of its premises. Out: their texts, as an earlier Lean process printed them.

A Lean process lives as long as one file is open, and printing thousands of statements takes seconds. So what was printed
of a module is kept in the sidecar's cache folder, one file a module, and counts as long as the compiled module is the same
file with the same time and size. A file that is missing, foreign or damaged only means that the module is printed again.
-/

namespace LeanHammerExt

open Lean Meta
open Msgpack (Value)
open System (FilePath)

/-- An imported module with the names of its premises. -/
structure ModuleNames where
  /-- Its name. -/
  moduleName : Name
  /-- Its premises. -/
  names : Array Name
deriving Inhabited

/-- Version of the rules by which texts are printed; raised when they change. -/
def textRules : Nat := 1

/-- The folder of the files. -/
def moduleTextsFolder : IO FilePath := do
  return (← cacheFolder) / "module-texts"

/-- The file of a module. -/
def moduleTextsFile (folder : FilePath) (moduleName : Name) : FilePath :=
  folder / (hexadecimal (fnv1a moduleName.toString.toUTF8) ++ ".msgpack")

/-- What the texts of a module depend on. -/
def moduleTextsKey (moduleName : Name) : IO String := do
  let file : FilePath ← findOLean moduleName
  let metadata : IO.FS.Metadata ← file.metadata
  let seconds : Int := metadata.modified.sec
  let nanoseconds : UInt32 := metadata.modified.nsec
  return s!"{textRules} {Lean.versionString} {moduleName} {file} {seconds}.{nanoseconds} {metadata.byteSize}"

/-- A premise as it is kept: name, text, constants. -/
def keptPremise (premise : Premise) : Value :=
  let constants : Array Value :=
    premise.constants.map fun (name : Name) => Value.str name.toString
  .array #[.str premise.name.toString, .str premise.text, .array constants]

/-- The bytes of a file. -/
def keptModule (key : String) (size : Nat) (premises : Array Premise) : Except Msgpack.Fault ByteArray :=
  Msgpack.encode <| .map #[
    ("key", .str key),
    ("size", .int (Int.ofNat size)),
    ("premises", .array (premises.map keptPremise))
  ]

/-- Reads a premise back; `names` has the names of the module by their texts. -/
def readKeptPremise (moduleName : Name) (names : Std.HashMap String Name) (place : String)
    (value : Value) : Except String Premise := do
  let parts : Array Value ← Protocol.readItems place value
  match parts.toList with
  | [nameValue, textValue, constantsValue] =>
    let nameText : String ← Protocol.readText "name" nameValue
    let text : String ← Protocol.readText "text" textValue
    let constantValues : Array Value ← Protocol.readItems "constants" constantsValue
    let mut constants : Array Name := #[]
    for constantValue in constantValues do
      let constantText : String ← Protocol.readText "constant" constantValue
      constants := constants.push constantText.toName
    match names.get? nameText with
    | some name =>
      return { name := name, text := text, constants := constants, moduleName? := some moduleName }
    | none => throw s!"`{nameText}` is no premise of the module any more"
  | _ => throw "a premise has three parts"

/-- Reads the premises of a module back, if the bytes are about just this state of it. -/
def readKeptModule (key : String) (entry : ModuleNames) (bytes : ByteArray) :
    Except String (Array Premise) := do
  let names : Std.HashMap String Name :=
    entry.names.foldl
      (fun (known : Std.HashMap String Name) (name : Name) => known.insert name.toString name) {}
  match Msgpack.decode bytes with
  | .error fault => throw (toString fault)
  | .ok value =>
    let entries : Protocol.Entries ← Protocol.readEntries "the file" value
    let found : String ← Protocol.textOf entries "key"
    unless found == key do
      throw "the file is about another state of the module"
    let sizeValue : Value ← Protocol.requiredOf entries "size"
    let size : Nat ← Protocol.readCount "size" sizeValue
    unless size == entry.names.size do
      throw "the module has other premises now"
    Protocol.listOf entries "premises" (readKeptPremise entry.moduleName names)

/-- The kept premises of a module. -/
def loadModule (folder : FilePath) (entry : ModuleNames) : IO (Option (Array Premise)) := do
  let key : String ← moduleTextsKey entry.moduleName
  let file : FilePath := moduleTextsFile folder entry.moduleName
  unless ← file.pathExists do
    return none
  let bytes : ByteArray ← IO.FS.readBinFile file
  match readKeptModule key entry bytes with
  | .ok premises => return some premises
  | .error _ => return none

/-- Keeps the premises of a module; a reader sees the old file or the new one, never half of one. -/
def keepModule (folder : FilePath) (entry : ModuleNames) (premises : Array Premise) : IO Unit := do
  let key : String ← moduleTextsKey entry.moduleName
  match keptModule key entry.names.size premises with
  | .error _ => pure ()
  | .ok bytes =>
    IO.FS.createDirAll folder
    let file : FilePath := moduleTextsFile folder entry.moduleName
    let process : UInt32 ← IO.Process.getPID
    let temporary : FilePath := FilePath.mk s!"{file}.{process}"
    IO.FS.writeBinFile temporary bytes
    IO.FS.rename temporary file

/-- The kept premises of modules, and the modules of which none are kept. -/
def loadModules (modules : Array ModuleNames) : IO (Array Premise × Array ModuleNames) := do
  let folder : FilePath ← moduleTextsFolder
  let mut premises : Array Premise := #[]
  let mut others : Array ModuleNames := #[]
  for entry in modules do
    unless entry.names.isEmpty do
      match ← EIO.toBaseIO (loadModule folder entry) with
      | .ok (some found) => premises := premises ++ found
      | _ => others := others.push entry
  return (premises, others)

/-- Keeps what was printed of modules. -/
def keepModules (modules : Array ModuleNames) (premises : Array Premise) : IO Unit := do
  let folder : FilePath ← moduleTextsFolder
  let byModule : Std.HashMap Name (Array Premise) :=
    premises.foldl
      (fun (known : Std.HashMap Name (Array Premise)) (premise : Premise) =>
        let moduleName : Name := premise.moduleName?.getD Name.anonymous
        known.insert moduleName ((known.getD moduleName #[]).push premise))
      {}
  for entry in modules do
    -- A disk that is full or read-only costs time, not answers.
    discard <| EIO.toBaseIO (keepModule folder entry (byModule.getD entry.moduleName #[]))

end LeanHammerExt
