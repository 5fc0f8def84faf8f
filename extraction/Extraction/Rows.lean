/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Json

/-!
# The rows of an extraction

In: what was found in a module. Out: the lines of its file. The format, version 1, is described in
`sidecar/corpus/extraction_format.md`; the fields here have the names and the order of that page.
-/

namespace LeanHammerExt.Extraction

/-- The version of the format. -/
def formatVersion : Nat := 1

/-- The first row of a file. -/
structure ModuleRow where
  /-- The module. -/
  name : String
  /-- Its direct imports in source order. -/
  imports : Array String
  /-- Its module docstrings, joined by a blank line. -/
  docstring : String
  /-- The address of its source. -/
  source? : Option String
  /-- The Lake package that has it. -/
  package? : Option String
  /-- The commit of that package. -/
  revision? : Option String
  /-- The content of `lean-toolchain`. -/
  toolchain? : Option String

/-- A declaration. -/
structure DeclarationRow where
  /-- Its name. -/
  name : String
  /-- What it was declared as. -/
  kind : String
  /-- Its canonical statement. -/
  signature : String
  /-- Its statement as people read it. -/
  display : String
  /-- Its docstring. -/
  docstring : String
  /-- The constants of its statement, those of the conclusion first. -/
  constants : Array String
  /-- How many of them are of the conclusion. -/
  conclusionCount : Nat
  /-- Its attributes, as a person writes them. -/
  attributes : Array String
  /-- Its first line. -/
  line? : Option Nat
  /-- Its last line. -/
  endLine? : Option Nat
  /-- The structure or inductive type of a field or constructor. -/
  parent? : Option String
  /-- Whether a prover can unfold it. -/
  hasEquations : Bool

/-- How a premise came into a proof. -/
inductive PremiseOrigin where
  /-- It is named in the source of the proof. -/
  | explicit
  /-- A rewriting tactic used it without naming it. -/
  | rw
  /-- `simp`, or another tactic that looks for lemmas by itself, used it without naming it. -/
  | simp
  /-- It is a definition that was unfolded. -/
  | definitional
  /-- Instance search found it. -/
  | instanceSearch
deriving BEq, Inhabited

/-- The word for an origin. -/
def PremiseOrigin.word : PremiseOrigin → String
  | .explicit => "explicit"
  | .rw => "rw"
  | .simp => "simp"
  | .definitional => "definitional"
  | .instanceSearch => "instance"

/-- A premise of a proof. -/
structure PremiseEntry where
  /-- Its name. -/
  name : String
  /-- How it came into the proof; not empty, without repeats. -/
  origins : Array PremiseOrigin
deriving Inhabited

/-- A state of a proof with the premises that close it. -/
structure ExampleRow where
  /-- The theorem that is being proved. -/
  theoremName : String
  /-- Whether the state is one of a tactic block; otherwise it is the expected type of a term. -/
  tactic : Bool
  /-- The goal in canonical form. -/
  state : String
  /-- The line where the step begins, from 1. -/
  line? : Option Nat
  /-- The column where the step begins, from 0. -/
  column? : Option Nat
  /-- The premises. -/
  premises : Array PremiseEntry

/-- The line of a module. -/
def ModuleRow.written (row : ModuleRow) : String :=
  Json.object [
    ("row", Json.text "module"),
    ("format", Json.number formatVersion),
    ("module", Json.text row.name),
    ("imports", Json.texts row.imports),
    ("docstring", Json.text row.docstring),
    ("source", Json.text? row.source?),
    ("package", Json.text? row.package?),
    ("revision", Json.text? row.revision?),
    ("toolchain", Json.text? row.toolchain?)
  ]

/-- The line of a declaration. -/
def DeclarationRow.written (row : DeclarationRow) : String :=
  Json.object [
    ("row", Json.text "declaration"),
    ("name", Json.text row.name),
    ("kind", Json.text row.kind),
    ("signature", Json.text row.signature),
    ("display", Json.text row.display),
    ("docstring", Json.text row.docstring),
    ("constants", Json.texts row.constants),
    ("conclusion_count", Json.number row.conclusionCount),
    ("attributes", Json.texts row.attributes),
    ("line", Json.number? row.line?),
    ("end_line", Json.number? row.endLine?),
    ("parent", Json.text? row.parent?),
    ("has_equations", Json.boolean row.hasEquations)
  ]

/-- A premise inside the line of an example. -/
def PremiseEntry.written (entry : PremiseEntry) : String :=
  Json.object [
    ("name", Json.text entry.name),
    ("from", Json.texts (entry.origins.map PremiseOrigin.word))
  ]

/-- The line of an example. -/
def ExampleRow.written (row : ExampleRow) : String :=
  Json.object [
    ("row", Json.text "example"),
    ("theorem", Json.text row.theoremName),
    ("proof", Json.text (if row.tactic then "tactic" else "term")),
    ("state", Json.text row.state),
    ("line", Json.number? row.line?),
    ("column", Json.number? row.column?),
    ("premises", Json.list (row.premises.map PremiseEntry.written))
  ]

/-- The last line of a file. -/
def endWritten (declarations examples : Nat) : String :=
  Json.object [
    ("row", Json.text "end"),
    ("declarations", Json.number declarations),
    ("examples", Json.number examples)
  ]

/-- The whole file of a module. -/
def fileText (moduleRow : ModuleRow) (declarations : Array DeclarationRow)
    (examples : Array ExampleRow) : String :=
  let lines : Array String :=
    #[moduleRow.written]
      ++ declarations.map DeclarationRow.written
      ++ examples.map ExampleRow.written
      ++ #[endWritten declarations.size examples.size]
  "\n".intercalate lines.toList ++ "\n"

end LeanHammerExt.Extraction
