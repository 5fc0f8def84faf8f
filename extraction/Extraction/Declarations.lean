/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Attributes
import Extraction.Rows
import LeanHammerExt.Premises

/-!
# The declarations of a module

In: the environment at the end of a source file. Out: one row for every declaration that people may see, in source order,
and the reasons why others are missing that should be there.

What Lean or a macro made, and what is private, is left out.
-/

namespace LeanHammerExt.Extraction

open Lean Meta

/-- Something that is missing from an extraction. -/
structure Skipped where
  /-- What is missing. -/
  name : String
  /-- Why. -/
  reason : String

/-- A declaration of the file. -/
structure Declared where
  /-- Its name. -/
  name : Name
  /-- What it is. -/
  info : ConstantInfo
  /-- Its lines, from the first to the last. -/
  lines? : Option (Nat × Nat)

/-- The options under which people see statements: those of an empty file. -/
def displayOptions (_ : Options) : Options := {}

/-- The structure or inductive type that a declaration belongs to. -/
def parentOf? (env : Environment) (name : Name) : Option Name :=
  let constructor? : Option Name :=
    match env.getProjectionFnInfo? name with
    | some projection => some projection.ctorName
    | none =>
      match env.find? name with
      | some (.ctorInfo _) => some name
      | _ => none
  match constructor? with
  | none => none
  | some constructorName =>
    match env.find? constructorName with
    | some (.ctorInfo constructorInfo) => some constructorInfo.induct
    | _ => none

/-- Whether a prover can unfold a declaration by equations. -/
def hasEquations (env : Environment) (name : Name) (info : ConstantInfo) : Bool :=
  match info with
  | .defnInfo definition =>
    match definition.safety with
    | .safe => (env.getProjectionFnInfo? name).isNone && !isMatcherCore env name
    | _ => false
  | _ => false

/-- The lines of a declaration; those of its parent for a field or a constructor. -/
def linesOf? (env : Environment) (name : Name) : CoreM (Option (Nat × Nat)) := do
  let shown : Name := (parentOf? env name).getD name
  match ← findDeclarationRanges? shown with
  | some ranges => return some (ranges.range.pos.line, ranges.range.endPos.line)
  | none => return none

/-- Whether people may see a declaration. -/
def isVisible (env : Environment) (name : Name) (info : ConstantInfo) : Bool :=
  !isPrivateName name && !isGenerated env name name (ConstantKind.ofConstantInfo info)

/-- Whether one declaration stands before another. -/
def Declared.isBefore (first second : Declared) : Bool :=
  let firstLine : Nat := (first.lines?.getD (0, 0)).1
  let secondLine : Nat := (second.lines?.getD (0, 0)).1
  firstLine < secondLine || (firstLine == secondLine && Name.lt first.name second.name)

/-- The declarations of the file that people may see, in source order. -/
def declarationsOf (env : Environment) : CoreM (Array Declared) := do
  let mut found : Array Declared := #[]
  for (name, info) in env.constants.map₂ do
    if isVisible env name info then
      let lines? : Option (Nat × Nat) ← linesOf? env name
      found := found.push { name := name, info := info, lines? := lines? }
  return found.qsort Declared.isBefore

/-- The row of a declaration. -/
def declarationRow (declared : Declared) : MetaM DeclarationRow := do
  let env : Environment ← getEnv
  let name : Name := declared.name
  let kind : String := kindWord env name
  let signature : String ← canonicalSignature name
  let display : String ← withOptions displayOptions (signatureText name)
  let docstring : String ← docstringOf name
  let (constants, conclusionCount) := statementConstants env declared.info.type
  let attributes : Array String ← attributesOf env name kind
  let hasParent : Bool := ["ctor", "field", "parent_proj"].contains kind
  let parent? : Option Name := if hasParent then parentOf? env name else none
  return {
    name := name.toString
    kind := kind
    signature := signature
    display := kind ++ " " ++ display
    docstring := docstring
    constants := constants.map fun (constant : Name) => constant.toString
    conclusionCount := conclusionCount
    attributes := attributes
    line? := declared.lines?.map fun (lines : Nat × Nat) => lines.1
    endLine? := declared.lines?.map fun (lines : Nat × Nat) => lines.2
    parent? := parent?.map fun (parent : Name) => parent.toString
    hasEquations := hasEquations env name declared.info
  }

/-- The text of an exception. -/
def exceptionText (exception : Exception) : CoreM String := do
  let text : String ← exception.toMessageData.toString
  return oneLine text

/-- The rows of declarations, and what could not be printed. -/
def declarationRows (declared : Array Declared) : CoreM (Array DeclarationRow × Array Skipped) := do
  let mut rows : Array DeclarationRow := #[]
  let mut skipped : Array Skipped := #[]
  for item in declared do
    let printed : Except String DeclarationRow ←
      tryCatchRuntimeEx
        (do
          let row : DeclarationRow ← MetaM.run' (declarationRow item)
          return Except.ok row)
        (fun (exception : Exception) => do
          let reason : String ← exceptionText exception
          return Except.error reason)
    match printed with
    | .ok row => rows := rows.push row
    | .error reason => skipped := skipped.push { name := item.name.toString, reason := reason }
  return (rows, skipped)

end LeanHammerExt.Extraction
