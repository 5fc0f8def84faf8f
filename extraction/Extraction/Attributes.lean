/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Text

/-!
# The attributes of a declaration

In: a declaration. Out: those of its attributes that matter to provers and readers, as a person writes them: `simp`,
`instance` with its priority, `deprecated` with its replacement, how far it is unfolded, and `match_pattern`.
-/

namespace LeanHammerExt.Extraction

open Lean Meta

/-- A text between quotation marks, as Lean writes it. -/
def quotedText (text : String) : String :=
  let step (written : String) (character : Char) : String :=
    if character == '"' || character == '\\' then
      (written.push '\\').push character
    else
      written.push character
  ((oneLine text).toList.foldl step "\"").push '"'

/-- The `deprecated` attribute. -/
def deprecatedAttribute? (env : Environment) (name : Name) : Option String :=
  match Linter.deprecatedAttr.getParam? env name with
  | none => none
  | some entry =>
    let replacement : String :=
      match entry.newName? with
      | some newName => " " ++ newName.toString
      | none => ""
    let advice : String :=
      match entry.text? with
      | some text => " " ++ quotedText text
      | none => ""
    let date : String :=
      match entry.since? with
      | some since => " (since := " ++ quotedText since ++ ")"
      | none => ""
    some ("deprecated" ++ replacement ++ advice ++ date)

/-- The `simp` attribute. -/
def simpAttribute? (name : Name) : CoreM (Option String) := do
  let lemmas : SimpTheorems ← getSimpTheorems
  let before : Origin := Origin.decl name (post := false)
  let reversed : Origin := Origin.decl name (inv := true)
  let unfolded : Bool := lemmas.isDeclToUnfold name || lemmas.toUnfoldThms.contains name
  if lemmas.isLemma (Origin.decl name) || unfolded then
    return some "simp"
  else if lemmas.isLemma before then
    return some "simp ↓"
  else if lemmas.isLemma reversed then
    return some "simp ←"
  else
    return none

/-- The `instance` attribute. -/
def instanceAttribute? (env : Environment) (name : Name) : CoreM (Option String) := do
  if isInstanceCore env name then
    match ← getInstancePriority? name with
    | some 1000 => return some "instance"
    | some priority => return some s!"instance {priority}"
    | none => return some "instance"
  else
    return none

/-- How far a definition is unfolded, unless that is as usual for its kind. -/
def reducibilityAttribute? (env : Environment) (name : Name) (kind : String) : Option String :=
  if kind == "def" then
    match getReducibilityStatusCore env name with
    | .irreducible => some "irreducible"
    | _ => none
  else if kind == "abbrev" then
    some "reducible"
  else
    none

/-- The attributes of a declaration. -/
def attributesOf (env : Environment) (name : Name) (kind : String) : CoreM (Array String) := do
  let simpText? : Option String ← simpAttribute? name
  let instanceText? : Option String ← instanceAttribute? env name
  let patternText? : Option String := if matchPatternAttr.hasTag env name then some "match_pattern" else none
  let candidates : Array (Option String) := #[
    simpText?,
    instanceText?,
    reducibilityAttribute? env name kind,
    patternText?,
    deprecatedAttribute? env name
  ]
  return candidates.filterMap id

end LeanHammerExt.Extraction
