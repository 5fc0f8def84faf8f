/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean

/-!
# What the info trees of a file know about its proofs

In: the info trees, and the tactics that messages suggest. Out: the steps of tactic proofs in source order, the constants
that the source names and where, the lemmas that `simp` says it used, and where the bodies of declarations stand.

Positions are bytes from the start of the file. Only what stands in the source counts: tactics that a macro made are part
of the tactic that the macro stands for.
-/

namespace LeanHammerExt.Extraction

open Lean Elab

/-- A part of the source, from its first byte to the byte behind it. -/
structure Span where
  /-- The first byte. -/
  start : Nat
  /-- The byte behind it. -/
  stop : Nat
deriving Inhabited, BEq

/-- Whether one span lies inside another. -/
def Span.isInside (inner outer : Span) : Bool :=
  outer.start ≤ inner.start && inner.stop ≤ outer.stop

/-- Whether a position lies in a span. -/
def Span.has (span : Span) (position : Nat) : Bool :=
  span.start ≤ position && position < span.stop

/-- The span of a piece of syntax that stands in the source. -/
def spanOf? (stx : Syntax) : Option Span :=
  match stx.getPos?, stx.getTailPos? with
  | some start, some stop => some { start := start.byteIdx, stop := stop.byteIdx }
  | _, _ => none

/-- Whether the first token of a piece of syntax stands in the source. -/
def isOriginal (stx : Syntax) : Bool :=
  match stx.getHeadInfo? with
  | some (.original _ _ _ _) => true
  | _ => false

/-- A step of a tactic proof. -/
structure Step where
  /-- The declaration that is being proved. -/
  declaration : Name
  /-- Where the step stands. -/
  span : Span
  /-- The tactic. -/
  stx : Syntax
  /-- The goals before the step. -/
  goals : List MVarId
  /-- The goals before the step that are closed or replaced by it. -/
  solved : List MVarId
  /-- The goals that it made. -/
  made : List MVarId
  /-- The metavariables before the step. -/
  before : MetavarContext
  /-- The metavariables after the step. -/
  after : MetavarContext
  /-- The metavariables at the end of the outermost tactic block around the step, where every goal is closed. -/
  closing : MetavarContext
  /-- Names for new metavariables that are not in use there. -/
  names : NameGenerator

/-- A constant that the source names. -/
structure Mention where
  /-- Where. -/
  position : Nat
  /-- The constant. -/
  name : Name
  /-- Whether its name stands there; notation such as `⟨…⟩` may stand for it instead. -/
  written : Bool

/-- Lemmas that `simp` says it used. -/
structure SimpRecord where
  /-- Where the call stands. -/
  position : Nat
  /-- The names, as `simp only […]` would show them. -/
  names : Array Name
  /-- The environment at the end of the command, or of the `open … in` around the call. -/
  env : Environment
  /-- The namespace that is open there. -/
  currNamespace : Name
  /-- What else is open there. -/
  openDecls : List OpenDecl

/-- The body of a declaration. -/
structure Body where
  /-- The declaration. -/
  declaration : Name
  /-- Where the body stands. -/
  span : Span
  /-- Whether it is a tactic block. -/
  tactic : Bool

/-- What the info trees know. -/
structure Found where
  /-- The steps. -/
  steps : Array Step := #[]
  /-- The constants that the source names. -/
  mentions : Array Mention := #[]
  /-- Suggested tactics by the place that they are about; those of places that were met are in `records`. -/
  suggestions : Std.HashMap Nat (Array String) := {}
  /-- What `simp` says it used. -/
  records : Array SimpRecord := #[]
  /-- The bodies of declarations. -/
  bodies : Array Body := #[]
  /-- Where the source names rules: arguments of `simp` and `rw`, and what `unfold` and `delta` unfold. -/
  rules : Array Span := #[]
deriving Inhabited

/-! ## Syntax -/

/-- Kinds of syntax that have a tactic state without being a tactic. -/
def structuralKinds : List SyntaxNodeKind := [
  nullKind, groupKind, choiceKind,
  ``Parser.Tactic.tacticSeq, ``Parser.Tactic.tacticSeq1Indented, `Lean.Parser.Tactic.tacticSeqBracketed,
  `Lean.Parser.Tactic.rwRuleSeq, ``Parser.Tactic.rwRule, `Lean.Parser.Tactic.paren, ``Parser.Term.byTactic,
  `Lean.Parser.Tactic.Conv.convSeq, `Lean.Parser.Tactic.Conv.convSeq1Indented,
  `Lean.Parser.Tactic.Conv.convSeqBracketed, `Lean.cdot, `Lean.cdotTk
]

/-- The first token of a piece of syntax; `""` when it begins with an identifier. -/
partial def firstToken? : Syntax → Option String
  | .atom _ token => some token.trimAscii.toString
  | .ident _ _ _ _ => some ""
  | .node _ _ children => children.findSome? firstToken?
  | .missing => none

/-- The first token, or `""` when there is none. -/
def firstToken (stx : Syntax) : String :=
  (firstToken? stx).getD ""

/-- Whether a tactic has other tactics inside, which stand for themselves. -/
def hasBlock (stx : Syntax) : Bool :=
  let isBlock (inner : Syntax) : Bool :=
    inner.isOfKind ``Parser.Tactic.tacticSeq || inner.isOfKind ``Parser.Tactic.tacticSeq1Indented
      || inner.isOfKind `Lean.Parser.Tactic.«tactic_<;>_»
  (stx.find? isBlock).isSome

/-- Tactics that only arrange other tactics. -/
def arrangingTokens : List String := [
  "case", "case'", "next", "all_goals", "any_goals", "on_goal", "focus", "try", "repeat", "repeat'", "repeat1'",
  "first", "iterate", "skip", "done", "by", "open", "set_option", "stop", "with", "with_reducible",
  "with_reducible_and_instances", "with_unfolding_all", "classical"
]

/-- Whether a token is a word; tactics begin with one, but bullets, brackets and alternatives do not. -/
def isWord (token : String) : Bool :=
  match token.toList with
  | first :: _ => first.isAlpha
  | [] => false

/-- Whether a tactic is a step of its own. -/
def isStep (stx : Syntax) : Bool :=
  match stx with
  | .node _ kind _ =>
    let token : String := firstToken stx
    isOriginal stx && !structuralKinds.contains kind && isWord token && !arrangingTokens.contains token
  | _ => false

/-- Kinds of syntax that name rules and nothing else. -/
def ruleKinds : List SyntaxNodeKind := [
  ``Parser.Tactic.simpLemma, ``Parser.Tactic.rwRule, `Lean.Parser.Tactic.unfold, `Lean.Parser.Tactic.delta
]

/-- Adds where a piece of syntax names rules. -/
partial def addRules (found : Array Span) (stx : Syntax) : Array Span :=
  match stx with
  | .node _ kind children =>
    if ruleKinds.contains kind then
      match spanOf? stx with
      | some span => found.push span
      | none => found
    else
      children.foldl addRules found
  | _ => found

/-- Adds the identifiers of a piece of syntax. -/
partial def addIdentifiers (found : Array Name) (stx : Syntax) : Array Name :=
  match stx with
  | .ident _ _ name _ => found.push name
  | .node _ _ children => children.foldl addIdentifiers found
  | _ => found

/-- Adds the identifiers among the arguments of `simp`. -/
partial def addSimpArguments (found : Array Name) (stx : Syntax) : Array Name :=
  match stx with
  | .node _ kind children =>
    if kind == ``Parser.Tactic.simpLemma then
      addIdentifiers found stx
    else
      children.foldl addSimpArguments found
  | _ => found

/-! ## Nodes -/

/-- Adds the identifiers among the `simp` arguments of a suggested tactic. -/
def addSuggested (env : Environment) (found : Array Name) (text : String) : Array Name :=
  match Parser.runParserCategory env `tactic text with
  | .ok stx => addSimpArguments found stx
  | .error _ => found

/-- Adds what messages at the first byte of a tactic say that it used. -/
def Found.addRecord (found : Found) (context : ContextInfo) (info : TacticInfo) : Found :=
  match spanOf? info.stx with
  | none => found
  | some span =>
    match found.suggestions[span.start]? with
    | none => found
    | some texts =>
      -- Several nodes begin at the same byte: the outermost one takes the messages.
      let record : SimpRecord := {
        position := span.start
        names := texts.foldl (addSuggested context.env) #[]
        env := context.env
        currNamespace := context.currNamespace
        openDecls := context.openDecls
      }
      { found with records := found.records.push record, suggestions := found.suggestions.erase span.start }

/-- Adds a step. -/
def Found.addStep (found : Found) (context : ContextInfo) (info : TacticInfo)
    (closing : MetavarContext) : Found :=
  match spanOf? info.stx, context.parentDecl? with
  | some span, some declaration =>
    if isStep info.stx && !info.goalsBefore.isEmpty then
      let step : Step := {
        declaration := declaration
        span := span
        stx := info.stx
        goals := info.goalsBefore
        solved := info.goalsBefore.filter fun (goal : MVarId) => !info.goalsAfter.contains goal
        made := info.goalsAfter.filter fun (goal : MVarId) => !info.goalsBefore.contains goal
        before := info.mctxBefore
        after := info.mctxAfter
        closing := closing
        names := context.ngen
      }
      { found with steps := found.steps.push step }
    else
      found
  | _, _ => found

/-- Adds the constant that an identifier of the source stands for. -/
def Found.addTerm (found : Found) (info : TermInfo) : Found :=
  let isName : Bool := info.stx.isIdent || info.stx.isOfKind `Lean.Parser.Term.dotIdent
  match spanOf? info.stx, info.expr.getAppFn.constName? with
  | some span, some name =>
    if isName then
      let mention : Mention := { position := span.start, name := name, written := isOriginal info.stx }
      { found with mentions := found.mentions.push mention }
    else
      found
  | _, _ => found

/-- Adds the body of a declaration. -/
def Found.addBody (found : Found) (context : ContextInfo) (info : CustomInfo) : Found :=
  match spanOf? info.stx, context.parentDecl? with
  | some span, some declaration =>
    if info.value.typeName == ``Term.BodyInfo then
      let body : Body := {
        declaration := declaration
        span := span
        tactic := info.stx.isOfKind ``Parser.Term.byTactic
      }
      { found with bodies := found.bodies.push body }
    else
      found
  | _, _ => found

/-- Adds what a node tells. -/
def Found.addNode (found : Found) (context : ContextInfo) (info : Info)
    (closing? : Option MetavarContext) : Found :=
  match info with
  | .ofTacticInfo tactic =>
    let recorded : Found := found.addRecord context tactic
    match closing? with
    | some closing => recorded.addStep context tactic closing
    | none =>
      -- The outermost block holds the syntax of all blocks inside.
      let extended : Found := { recorded with rules := addRules recorded.rules tactic.stx }
      extended.addStep context tactic tactic.mctxAfter
  | .ofTermInfo term => found.addTerm term
  | .ofCustomInfo custom => found.addBody context custom
  | _ => found

/--
The context of a part of a tree. A term `open … in` or `set_option … in` saves one of its own, and does so before the
tactic blocks inside are run: the names in use are those at the end of the command even there.
-/
def enterContext? (inner : PartialContextInfo) (outer? : Option ContextInfo) : Option ContextInfo :=
  match inner.mergeIntoOuter? outer?, outer? with
  | some entered, some outer => some { entered with ngen := outer.ngen }
  | entered?, _ => entered?

/-- Adds what a tree tells. `closing?` belongs to the outermost tactic block around it. -/
partial def Found.addTree (found : Found) (context? : Option ContextInfo)
    (closing? : Option MetavarContext) (tree : InfoTree) : Found :=
  match tree with
  | .context inner rest => found.addTree (enterContext? inner context?) closing? rest
  | .hole _ => found
  | .node info children =>
    let extended : Found :=
      match context? with
      | some context => found.addNode context info closing?
      | none => found
    let innerClosing? : Option MetavarContext :=
      match closing?, info with
      | none, .ofTacticInfo tactic => some tactic.mctxAfter
      | _, _ => closing?
    let innerContext? : Option ContextInfo := info.updateContext? context?
    children.foldl
      (fun (state : Found) (child : InfoTree) => state.addTree innerContext? innerClosing? child)
      extended

/-- Everything that the trees of a file tell; `suggestions` are the tactics that messages suggest, by position. -/
def searchTrees (trees : PersistentArray InfoTree) (suggestions : Std.HashMap Nat (Array String)) : Found :=
  let start : Found := { suggestions := suggestions }
  trees.foldl (fun (found : Found) (tree : InfoTree) => found.addTree none none tree) start

end LeanHammerExt.Extraction
