/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Options
import LeanHammerExt.Protocol
import LeanHammerExt.Registration
import LeanHammerExt.Sidecar

/-!
# `#find "…"`

In: words, a name or a formula. Out: the declarations that answer, from the sidecar's search.

* As a command it shows what was found, imported or not, with the module to import where that is needed.
* As a tactic it offers only what works on the main goal: with `exact`, `apply` or `rw`.

Mathlib has a command of the same name that takes a term; a string literal in its place means this one.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic Command

/-- `(in A.B C)`: only what modules `A.B` and `C` and those below them declare. -/
syntax findIn := atomic(" (" "in ") ident+ ")"

/-- A kind of declaration. -/
syntax findKindWord :=
  "theorem" <|> "axiom" <|> "def" <|> "abbrev" <|> "instance" <|> "opaque" <|> "structure" <|> "class" <|>
  "inductive" <|> &"lemma" <|> &"ctor" <|> &"field"

/-- `(kind := theorem)`: only theorems; several kinds may be given. -/
syntax findKind := atomic(" (" &"kind" " := ") findKindWord+ ")"

/--
`#find "words"` searches for declarations by meaning, by name or by formula, and shows the best ones.

* `#find "sum of two even numbers is even"`
* `#find "Nat.add_comm"` (exact and similar names come first)
* `#find "a * (b + c) = a * b + a * c" (in Mathlib.Algebra)`: only in these modules
* `#find "prime" (kind := theorem)`: only these kinds of declarations

As a tactic, it tries what it found on the main goal and offers what works with `exact`, `apply` or `rw`.

Options: `hammer.find.results`, `hammer.sidecar.*`.
-/
syntax (name := findCommand) (priority := high) "#find " str (findIn)? (findKind)? : command

@[inherit_doc findCommand]
syntax (name := findTactic) (priority := high) "#find " str (findIn)? (findKind)? : tactic

/-! ## Reading the syntax -/

/-- All identifiers in a piece of syntax, in order. -/
partial def identifiersIn (stx : Syntax) : Array Name :=
  match stx with
  | .ident _ _ name _ => #[name.eraseMacroScopes]
  | .node _ _ children =>
    children.foldl (fun (found : Array Name) (child : Syntax) => found ++ identifiersIn child) #[]
  | _ => #[]

/-- The words for kinds of declarations in a piece of syntax, in order. -/
partial def kindWordsIn (stx : Syntax) : Array String :=
  match stx with
  | .node _ kind children =>
    if kind == ``findKindWord then
      match children[0]? with
      | some (.atom _ text) => #[text]
      | _ => #[]
    else
      children.foldl (fun (found : Array String) (child : Syntax) => found ++ kindWordsIn child) #[]
  | _ => #[]

/-- The question that a `#find` asks for `count` declarations: its parts stand at places 1, 2 and 3. -/
def readFind (stx : Syntax) (count : Nat) : Protocol.SearchRequest :=
  let query : String := (stx[1].isStrLit?).getD ""
  let modules : Array String := (identifiersIn stx[2]).map fun (name : Name) => name.toString
  let count : Nat := max 1 (min count Protocol.mostResults)
  { query := query, count := count, modules := modules, kinds := kindWordsIn stx[3] }

/-- Asks the sidecar. -/
def search (request : Protocol.SearchRequest) : CoreM (Except SidecarError Protocol.SearchAnswer) := do
  let answer : Bridge.Answer ← Sidecar.call "search" request.params
  return Protocol.readAnswer Protocol.SearchAnswer.read answer

/-! ## The command -/

/-- The first line of a docstring, shortened. -/
def firstLine (docstring : String) : String :=
  let line : String := (docstring.splitOn "\n").headD ""
  if line.length ≤ 120 then line else String.ofList (line.toList.take 117) ++ "..."

/-- One declaration that was found. -/
def resultMessage (env : Environment) (number : Nat) (result : Protocol.SearchResult) : MessageData :=
  let name : Name := result.name.toName
  let shown : MessageData :=
    if env.contains name then
      m!"{result.kind} {MessageData.signature name}"
    else
      m!"{result.signature}\n   import {result.moduleName}"
  let note : String :=
    if result.docstring == "" then "" else "\n   " ++ firstLine result.docstring
  m!"{number}. {shown}{note}"

/-- Everything that was found. -/
def searchMessage (env : Environment) (answer : Protocol.SearchAnswer) : MessageData := Id.run do
  let count : Nat := answer.results.size
  let noun : String := if count == 1 then "declaration" else "declarations"
  let mut message : MessageData := m!"{count} {noun}"
  match answer.rewritten? with
  | some text => message := m!"{message} for \"{text}\""
  | none => pure ()
  message := m!"{message}:"
  let mut number : Nat := 1
  for result in answer.results do
    message := m!"{message}\n{resultMessage env number result}"
    number := number + 1
  for notice in answer.notices do
    message := m!"{message}\nnote: {notice.message}"
  return message

@[command_elab findCommand, inherit_doc findCommand]
def elabFind : CommandElab := fun (stx : Syntax) => do
  let count : Nat := hammer.find.results.get (← getOptions)
  let request : Protocol.SearchRequest := readFind stx count
  match ← liftCoreM (search request) with
  | .error error => throwError "`#find` got no answer: {error.render}"
  | .ok answer =>
    if answer.results.isEmpty then
      logInfo "nothing was found"
    else
      logInfo (searchMessage (← getEnv) answer)

/-! ## The tactic -/

/-- How many declarations the tactic tries. -/
def findCandidates : Nat := 50

/-- Milliseconds for which the tactic tries them. -/
def findTrialTime : Nat := 5000

/-- The number of goals that `tac` leaves of `goal`, if it works; nothing is changed. -/
def trial (goal : MVarId) (tac : TSyntax `tactic) : TacticM (Option Nat) := do
  let saved : Tactic.SavedState ← Tactic.saveState
  let left? : Option Nat ← tryCatchRuntimeEx
    (do
      let goals : List MVarId ← Tactic.run goal (Tactic.withoutRecover (evalTactic tac))
      return some goals.length)
    (fun _ => pure none)
  saved.restore
  return left?

/-- The tactics that may use a declaration, those that finish the goal first. -/
def usesOf (name : Name) : TacticM (Array (TSyntax `tactic × Bool)) := do
  let short : Name ← (unresolveNameGlobalAvoidingLocals name : MetaM Name)
  let ident : Ident := mkIdent short
  return #[
    (← `(tactic| exact $ident), true),
    (← `(tactic| exact $ident ..), true),
    (← `(tactic| apply $ident), false),
    (← `(tactic| rw [$ident:ident]), false),
    (← `(tactic| rw [← $ident:ident]), false)
  ]

/-- The first use of a declaration that works on the goal. -/
def workingUse? (goal : MVarId) (name : Name) : TacticM (Option (TSyntax `tactic × Nat)) := do
  for (tac, mustFinish) in ← usesOf name do
    match ← trial goal tac with
    | some left =>
      if left == 0 || !mustFinish then
        return some (tac, left)
    | none => pure ()
  return none

/-- What works on the main goal, what finishes it first. -/
def workingUses (goal : MVarId) (names : Array Name) (count : Nat) : TacticM (Array (TSyntax `tactic)) := do
  let deadline : Nat := (← IO.monoMsNow) + findTrialTime
  let mut finishing : Array (TSyntax `tactic) := #[]
  let mut helping : Array (TSyntax `tactic) := #[]
  for name in names do
    let now : Nat ← IO.monoMsNow
    if now < deadline && finishing.size < count then
      Core.checkInterrupted
      match ← workingUse? goal name with
      | some (tac, 0) => finishing := finishing.push tac
      | some (tac, _) => helping := helping.push tac
      | none => pure ()
  return (finishing ++ helping).take count

@[tactic findTactic, inherit_doc findTactic]
def evalFind : Tactic := fun (stx : Syntax) =>
  withMainContext do
    let count : Nat := hammer.find.results.get (← getOptions)
    let request : Protocol.SearchRequest := readFind stx (max count findCandidates)
    match ← search request with
    | .error error => throwError "`#find` got no answer: {error.render}"
    | .ok answer =>
      let env : Environment ← getEnv
      let found : Array Name := answer.results.map fun (result : Protocol.SearchResult) =>
        result.name.toName
      let names : Array Name := found.filter fun (name : Name) => env.contains name
      let goal : MVarId ← getMainGoal
      let uses : Array (TSyntax `tactic) ← workingUses goal names count
      if uses.isEmpty then
        logInfo m!"{names.size} imported declarations were found, but none works here with `exact`, \
          `apply` or `rw`"
      else
        let suggestions : Array Lean.Meta.Tactic.TryThis.Suggestion :=
          uses.map fun (tac : TSyntax `tactic) =>
            { suggestion := Lean.Meta.Tactic.TryThis.SuggestionText.tsyntax tac }
        Lean.Meta.Tactic.TryThis.addSuggestions stx suggestions

end LeanHammerExt
