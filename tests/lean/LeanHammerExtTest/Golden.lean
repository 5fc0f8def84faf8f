/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Golden.Sums
import LeanHammerExt.ContentHash
import LeanHammerExt.Text
import LeanHammerExtTest.Notation

/-!
# Texts against the golden files

The same files hold the sidecar and the extraction to these texts: how a goal is cut, how a premise is hashed, how the
declarations of `Golden.Numbers` and `Golden.Sums` are spelled, and the goals of their theorems.
-/

namespace LeanHammerExtTest.GoldenTest

open Lean Meta
open LeanHammerExt

/-! ## The cap -/

/-- A text of a golden file: written out, or as a part, how often it stands there, and what follows. -/
def wholeText (json : Json) : Except String String :=
  match json with
  | .str text => .ok text
  | _ => do
    let parts : Array Json ← json.getArr?
    let part : String ← parts[0]!.getStr?
    let times : Nat ← parts[1]!.getNat?
    let rest : String ← parts[2]!.getStr?
    return repeatedText part times ++ rest

/-- The golden caps. -/
def caps : String := include_str ".."/".."/"golden"/"text"/"caps.json"

/-- All caps. -/
def checkCaps : Except String Unit := do
  let document : Json ← Json.parse caps
  let rows : Array Json ← document.getArr?
  check (10 < rows.size) "the golden file has too few caps"
  for row in rows do
    let name : String ← row.getObjValAs? String "name"
    let goal : String ← wholeText (← row.getObjVal? "goal")
    let limit : Nat ← row.getObjValAs? Nat "limit"
    let capped : String ← wholeText (← row.getObjVal? "capped")
    let dropped : Nat ← row.getObjValAs? Nat "dropped"
    check (capGoal goal limit == (capped, dropped)) s!"{name}: the goal is cut otherwise"

#eval runTest checkCaps

/-! ## Hashes -/

/-- The golden hashes of texts. -/
def hashes : String := include_str ".."/".."/"golden"/"text"/"hashes.json"

/-- The golden hashes of the sidecar's selection. -/
def moreHashes : String := include_str ".."/".."/"golden"/"content-hashes.json"

/-- All hashes of a file. -/
def checkHashes (text : String) : Except String Unit := do
  let document : Json ← Json.parse text
  let rows : Array Json ← document.getArr?
  check (5 < rows.size) "the golden file has too few hashes"
  for row in rows do
    let name : String ← row.getObjValAs? String "name"
    let premise : String ← row.getObjValAs? String "text"
    let hash : String ← row.getObjValAs? String "hash"
    check (contentHash name premise == hash) s!"{name} has the hash {contentHash name premise}"

#eval runTest (checkHashes hashes)

#eval runTest (checkHashes moreHashes)

/-! ## Declarations and goals -/

/-- The golden extraction of `Golden.Numbers`. -/
def numbers : String := include_str ".."/".."/"golden"/"extraction"/"Golden.Numbers.jsonl"

/-- The golden extraction of `Golden.Sums`. -/
def sums : String := include_str ".."/".."/"golden"/"extraction"/"Golden.Sums.jsonl"

/-- The rows of one kind. -/
def rowsOf (text kind : String) : Except String (Array Json) := do
  let mut rows : Array Json := #[]
  for line in text.splitOn "\n" do
    if line != "" then
      let row : Json ← Json.parse line
      let found : String ← row.getObjValAs? String "row"
      if found == kind then
        rows := rows.push row
  return rows

/-- Ends a test with a message unless two texts are equal. -/
def same (what found expected : String) : MetaM Unit := do
  unless found == expected do
    throwError "{what} is\n{found}\nand not\n{expected}"

/-- Signature, docstring and constants of a declaration. -/
def checkDeclaration (row : Json) : MetaM Unit := do
  let text : String ← ofExcept (row.getObjValAs? String "name")
  let name : Name := text.toName
  let signature : String ← ofExcept (row.getObjValAs? String "signature")
  let docstring : String ← ofExcept (row.getObjValAs? String "docstring")
  let constants : Array String ← ofExcept (row.getObjValAs? (Array String) "constants")
  let count : Nat ← ofExcept (row.getObjValAs? Nat "conclusion_count")
  same s!"the signature of {text}" (← canonicalSignature name) signature
  same s!"the docstring of {text}" (← docstringOf name) docstring
  let info : ConstantVal ← getConstVal name
  let (found, foundCount) := statementConstants (← getEnv) info.type
  let names : Array String := found.map fun (constant : Name) => constant.toString
  same s!"what {text} mentions" s!"{names} {foundCount}" s!"{constants} {count}"

/-- The text of the goal of a theorem behind its variables. -/
def goalOf (name : Name) : MetaM String := do
  let info : ConstantVal ← getConstVal name
  forallTelescope info.type fun _ target => do
    let goal : Expr ← mkFreshExprMVar target
    let (text, _) ← goalText goal.mvarId!
    return text

/-- The first goal of each theorem, which is the one that it states. -/
def checkGoals (rows : Array Json) : MetaM Unit := do
  let mut seen : Array String := #[]
  for row in rows do
    let name : String ← ofExcept (row.getObjValAs? String "theorem")
    unless seen.contains name do
      seen := seen.push name
      let state : String ← ofExcept (row.getObjValAs? String "state")
      same s!"the goal of {name}" (← goalOf name.toName) state

run_meta do
  for text in [numbers, sums] do
    let declarations : Array Json ← ofExcept (rowsOf text "declaration")
    if declarations.isEmpty then
      throwError "the golden file has no declaration"
    for row in declarations do
      checkDeclaration row
    checkGoals (← ofExcept (rowsOf text "example"))

end LeanHammerExtTest.GoldenTest
