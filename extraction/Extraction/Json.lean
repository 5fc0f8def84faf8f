/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/

/-!
# Writing JSON

In: texts, numbers, lists and fields. Out: JSON on one line, with the fields in the order in which they are given and
every character that JSON allows written as itself. `Lean.Json` sorts the fields, so that a row would not begin with
what it is.
-/

namespace LeanHammerExt.Extraction.Json

/-- One character inside the quotation marks of a JSON text. -/
def escaped (character : Char) : String :=
  if character == '"' then
    "\\\""
  else if character == '\\' then
    "\\\\"
  else if character == '\n' then
    "\\n"
  else if character == '\r' then
    "\\r"
  else if character == '\t' then
    "\\t"
  else if character.toNat < 32 then
    let digits : List Char := Nat.toDigits 16 character.toNat
    "\\u" ++ digits.foldl String.push ("".pushn '0' (4 - digits.length))
  else
    character.toString

/-- A JSON text. -/
def text (value : String) : String :=
  let step (written : String) (character : Char) : String := written ++ escaped character
  (value.toList.foldl step "\"") ++ "\""

/-- A JSON text, or `null`. -/
def text? (value? : Option String) : String :=
  match value? with
  | some value => text value
  | none => "null"

/-- A JSON number. -/
def number (value : Nat) : String :=
  toString value

/-- A JSON number, or `null`. -/
def number? (value? : Option Nat) : String :=
  match value? with
  | some value => number value
  | none => "null"

/-- `true` or `false`. -/
def boolean (value : Bool) : String :=
  if value then "true" else "false"

/-- A JSON list of what is written already. -/
def list (items : Array String) : String :=
  "[" ++ ",".intercalate items.toList ++ "]"

/-- A JSON list of texts. -/
def texts (values : Array String) : String :=
  list (values.map text)

/-- A JSON object; the values are written already. -/
def object (fields : List (String × String)) : String :=
  let written : List String := fields.map fun (field : String × String) => text field.1 ++ ":" ++ field.2
  "{" ++ ",".intercalate written ++ "}"

end LeanHammerExt.Extraction.Json
