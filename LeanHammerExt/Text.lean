/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean

/-!
# Canonical texts

In: a constant or a goal. Out: the one text that stands for it wherever the plugin, the extractor, the index and the
training meet.

* A premise: an optional line `/-- docstring -/`, then one line `kind name binders : type` without universe parameters.
* A goal: its hypotheses, one a line, as `names : type` or `name : type := value`, then `⊢ target`.

Terms are printed without notation and with full names, under options that are all given here, so that a text depends
neither on what is imported or open nor on who builds. What is too long for the wire is cut by a rule that the sidecar
knows too (`capGoal`).
-/

namespace LeanHammerExt

open Lean Meta

/-! ## Options -/

/-- Every Boolean option that changes how a term is printed, with the value that canonical texts use. -/
def canonicalSwitches : List (Name × Bool) := [
  (`pp.all, false),
  (`pp.notation, false),
  (`pp.fullNames, true),
  (`pp.parens, false),
  (`pp.unicode, true),
  (`pp.unicode.fun, false),
  (`pp.match, true),
  (`pp.coercions, true),
  (`pp.coercions.types, false),
  (`pp.universes, false),
  (`pp.privateNames, false),
  (`pp.funBinderTypes, false),
  (`pp.piBinderTypes, true),
  (`pp.piBinderNames, false),
  (`pp.piBinderNames.hygienic, true),
  (`pp.foralls, true),
  (`pp.letVarTypes, false),
  (`pp.natLit, false),
  (`pp.numericTypes, false),
  (`pp.instantiateMVars, true),
  (`pp.mvars, false),
  (`pp.mvars.levels, false),
  (`pp.mvars.anonymous, false),
  (`pp.mvars.withType, false),
  (`pp.mvars.delayed, false),
  (`pp.beta, false),
  (`pp.structureInstances, true),
  (`pp.structureInstances.flatten, true),
  (`pp.structureInstances.defaults, false),
  (`pp.structureInstanceTypes, false),
  (`pp.fieldNotation, false),
  (`pp.fieldNotation.generalized, false),
  (`pp.explicit, false),
  (`pp.safeShadowing, true),
  (`pp.tagAppFns, false),
  (`pp.proofs, false),
  (`pp.proofs.withType, false),
  (`pp.instances, true),
  (`pp.instanceTypes, false),
  (`pp.deepTerms, false),
  (`pp.motives.pi, true),
  (`pp.motives.nonConst, false),
  (`pp.motives.all, false),
  (`pp.sorrySource, false),
  (`pp.analyze, false),
  (`pp.raw, false),
  (`pp.sanitizeNames, true),
  (`pp.numericProj.prod, false),
  (`pp.mathlib.binderPredicates, false)
]

/-- Every numeric option that changes how a term is printed, with the value that canonical texts use. -/
def canonicalNumbers : List (Name × Nat) := [
  (`pp.proofs.threshold, 0),
  (`pp.deepTerms.threshold, 50),
  (`pp.maxSteps, 5000)
]

/-- Sets everything that changes how a term is printed. -/
def canonicalOptions (options : Options) : Options :=
  let switched : Options :=
    canonicalSwitches.foldl
      (fun (result : Options) (entry : Name × Bool) => result.set entry.1 entry.2) options
  canonicalNumbers.foldl
    (fun (result : Options) (entry : Name × Nat) => result.set entry.1 entry.2) switched

/-- Runs `action` under the options of canonical texts. -/
def withCanonicalOptions {α : Type} (action : MetaM α) : MetaM α :=
  withOptions canonicalOptions action

/-! ## One line -/

/-- Replaces every run of white space by one blank and drops it at both ends. -/
def oneLine (text : String) : String :=
  let step (state : List Char × Bool) (character : Char) : List Char × Bool :=
    if character.isWhitespace then
      (state.1, true)
    else if state.2 && !state.1.isEmpty then
      (character :: ' ' :: state.1, false)
    else
      (character :: state.1, false)
  let collected : List Char × Bool := text.toList.foldl step ([], false)
  String.ofList collected.1.reverse

/-- A width at which nothing is broken into lines. -/
def unlimitedWidth : Nat := 1000000000

/-- An expression on one line, under the options at hand. -/
def expressionText (expression : Expr) : MetaM String := do
  let format : Format ← ppExpr expression
  return oneLine (format.pretty unlimitedWidth)

/-! ## Premises -/

/-- The word for what kind of declaration `name` was declared as, as documentation pages use it. -/
def kindWord (env : Environment) (name : Name) : String :=
  match env.getProjectionFnInfo? name with
  | some projection =>
    match getStructureInfo? env projection.ctorName.getPrefix with
    | some info =>
      let isParent : Bool := info.fieldInfo.any fun (field : StructureFieldInfo) =>
        field.projFn == name && field.subobject?.isSome
      if isParent then "parent_proj" else "field"
    | none => "field"
  | none =>
    -- Of an imported theorem a module may show an axiom only: the kind at its declaration counts.
    match getOriginalConstKind? env name with
    | some ConstantKind.thm => if isInstanceCore env name then "instance" else "theorem"
    | some ConstantKind.axiom => "axiom"
    | some ConstantKind.opaque => "opaque"
    | some ConstantKind.ctor => "ctor"
    | some ConstantKind.induct =>
      match isClass env name, isStructure env name with
      | true, true => "class"
      | true, false => "class inductive"
      | false, true => "structure"
      | false, false => "inductive"
    | some ConstantKind.defn =>
      if isInstanceCore env name then
        "instance"
      else
        match getReducibilityStatusCore env name with
        | .reducible => "abbrev"
        | _ => "def"
    | _ => "def"

/-- `name binders : type` on one line, under the options at hand. -/
def signatureText (name : Name) : MetaM String := do
  let info : ConstantVal ← getConstVal name
  let constant : Expr := Expr.const name (info.levelParams.map Level.param)
  let (stx, _) ← PrettyPrinter.delabCore constant
    (delab := PrettyPrinter.Delaborator.delabConstWithSignature (universes := false))
  let format : Format ← PrettyPrinter.ppTerm ⟨stx⟩
  return oneLine (format.pretty unlimitedWidth)

/-- `kind name binders : type` in canonical form. -/
def canonicalSignature (name : Name) : MetaM String := do
  let signature : String ← withCanonicalOptions (signatureText name)
  return kindWord (← getEnv) name ++ " " ++ signature

/-- The docstring of a constant without white space around it; `""` when there is none. -/
def docstringOf (name : Name) : MetaM String := do
  match ← findDocString? (← getEnv) name with
  | some text => return text.trimAscii.toString
  | none => return ""

/-- Most code points of a premise's text; four bytes each fit into what the sidecar takes. -/
def premiseLimit : Nat := 16384

/-- Joins docstring and signature; a docstring that makes the text too long is left out. -/
def joinPremise (docstring signature : String) : String :=
  let short : String :=
    if signature.length ≤ premiseLimit then signature
    else String.ofList (signature.toList.take premiseLimit)
  if docstring == "" then
    short
  else
    let whole : String := "/-- " ++ docstring ++ " -/\n" ++ short
    if whole.length ≤ premiseLimit then whole else short

/-- The text of the premise `name`. -/
def premiseText (name : Name) : MetaM String := do
  let signature : String ← canonicalSignature name
  let docstring : String ← docstringOf name
  return joinPremise docstring signature

/-! ## Constants -/

/-- Whether a constant says what a statement is about: instances and the wrappers of numerals do not. -/
def isMeaningful (env : Environment) (name : Name) : Bool :=
  !(name.isInternalDetail || name == ``OfNat.ofNat || name == ``outParam || name == ``optParam
    || name == ``autoParam || isInstanceCore env name)

/-- How the arguments of a function of this type are given. -/
def binderInfos : Expr → List BinderInfo
  | .forallE _ _ body info => info :: binderInfos body
  | _ => []

/-- Constants that were found, and the expressions that were looked at. -/
structure ConstantSearch where
  /-- The constants, in the order in which they were found. -/
  found : Array Name := #[]
  /-- The expressions. -/
  visited : Std.HashSet Expr := {}
deriving Inhabited

/--
Adds the constants that a reader sees: those of the expression without its implicit arguments, as documentation pages show
it.
-/
partial def ConstantSearch.visit (env : Environment) (expression : Expr) (search : ConstantSearch) :
    ConstantSearch :=
  match expression with
  | .const name _ =>
    if isMeaningful env name && !search.found.contains name then
      { search with found := search.found.push name }
    else
      search
  | .forallE _ type body _ => (search.visit env type).visit env body
  | .lam _ type body _ => (search.visit env type).visit env body
  | .letE _ type value body _ => ((search.visit env type).visit env value).visit env body
  | .mdata _ body => search.visit env body
  | .proj _ _ body => search.visit env body
  | .app _ _ =>
    if search.visited.contains expression then
      search
    else
      let head : Expr := expression.getAppFn
      let infos : List BinderInfo :=
        match head with
        | .const name _ =>
          match env.findConstVal? name with
          | some info => binderInfos info.type
          | none => []
        | _ => []
      let started : ConstantSearch :=
        ({ search with visited := search.visited.insert expression } : ConstantSearch).visit env head
      let step (state : ConstantSearch × List BinderInfo) (argument : Expr) :
          ConstantSearch × List BinderInfo :=
        match state.2 with
        | [] => (state.1.visit env argument, [])
        | info :: rest => if info.isExplicit then (state.1.visit env argument, rest) else (state.1, rest)
      (expression.getAppArgs.foldl step (started, infos)).1
  | _ => search

/-- Adds the constants of `expression` that are not yet among `found`. -/
def addConstants (env : Environment) (found : Array Name) (expression : Expr) : Array Name :=
  (({ found := found } : ConstantSearch).visit env expression).found

/-- Adds the constants of the types of the binders before the conclusion. -/
def addBinderConstants (env : Environment) : Array Name → Expr → Array Name
  | found, .forallE _ type body _ => addBinderConstants env (addConstants env found type) body
  | found, _ => found

/-- The constants of a statement without repeats, those of the conclusion first, and how many those are. -/
def statementConstants (env : Environment) (type : Expr) : Array Name × Nat :=
  let conclusion : Array Name := addConstants env #[] type.getForallBody
  (addBinderConstants env conclusion type, conclusion.size)

/-! ## Goals -/

/-- A goal taken apart. -/
structure GoalLines where
  /-- Hypotheses in the order of the context, one a line. -/
  hypotheses : Array String
  /-- What is to be shown, without the turnstile. -/
  target : String
deriving Inhabited, BEq, Repr

/-- Adds `names : type` unless there are no names. -/
def closeGroup (lines : Array String) (names : Array String) (type : String) : Array String :=
  if names.isEmpty then lines
  else lines.push (" ".intercalate names.toList ++ " : " ++ type)

/-- The lines of a goal in canonical form. Neighbours of the same type share a line, as in Lean's own display. -/
def goalLines (goal : MVarId) : MetaM GoalLines :=
  withCanonicalOptions <| goal.withContext do
    let context : LocalContext := (← getLCtx).sanitizeNames.run' { options := (← getOptions) }
    withLCtx' context do
      let mut lines : Array String := #[]
      let mut names : Array String := #[]
      let mut shared : String := ""
      for decl in ← getLCtx do
        unless decl.isImplementationDetail do
          let type : String ← expressionText (← instantiateMVars decl.type)
          let name : String := decl.userName.toString
          match decl.value? with
          | some value =>
            let valueText : String ← expressionText (← instantiateMVars value)
            lines := closeGroup lines names shared
            lines := lines.push (name ++ " : " ++ type ++ " := " ++ valueText)
            names := #[]
          | none =>
            if type != shared then
              lines := closeGroup lines names shared
              names := #[]
              shared := type
            names := names.push name
      lines := closeGroup lines names shared
      let target : String ← expressionText (← instantiateMVars (← goal.getType))
      return { hypotheses := lines, target := target }

/-- The text of a goal. -/
def GoalLines.text (lines : GoalLines) : String :=
  "\n".intercalate (lines.hypotheses.push ("⊢ " ++ lines.target)).toList

/-- Drops lines from the front, at most `count`, until the text has at most `limit` code points. -/
def dropLines (limit : Nat) : Nat → Nat → Nat → List String → List String × Nat
  | count + 1, size, dropped, line :: rest =>
    if limit < size then
      dropLines limit count (size - (line.length + 1)) (dropped + 1) rest
    else
      (line :: rest, dropped)
  | _, _, dropped, lines => (lines, dropped)

/--
Shortens the text of a goal to at most `limit` code points and says how many lines of hypotheses were dropped. The
sidecar has the same rule (`sidecar/text/goal.py`):

1. A text of at most `limit` code points stays as it is.
2. The lines before the first one that starts with `⊢` are hypotheses; without such a line there are none.
3. Lines of hypotheses are dropped from the first on until what is left, line ends included, is short enough.
4. When none is left, the first `limit` code points of the rest are kept.
-/
def capGoal (text : String) (limit : Nat) : String × Nat :=
  let size : Nat := text.length
  if size ≤ limit then
    (text, 0)
  else
    let lines : List String := text.splitOn "\n"
    let before : List String := lines.takeWhile fun (line : String) => !"⊢".isPrefixOf line
    let hypotheses : Nat := if before.length < lines.length then before.length else 0
    let (kept, dropped) := dropLines limit hypotheses size 0 lines
    let joined : String := "\n".intercalate kept
    if joined.length ≤ limit then
      (joined, dropped)
    else
      (String.ofList (joined.toList.take limit), dropped)

/-- Most code points of a goal's text; four bytes each fit into what the sidecar takes. -/
def goalLimit : Nat := 65536

/-- The text of a goal, short enough for the wire, and how many lines of hypotheses were dropped for that. -/
def goalText (goal : MVarId) : MetaM (String × Nat) := do
  let lines : GoalLines ← goalLines goal
  return capGoal lines.text goalLimit

/-- The constants of a goal, those of the target first, then those of the hypotheses from the last to the first. -/
def goalConstants (goal : MVarId) : MetaM (Array Name) :=
  goal.withContext do
    let env : Environment ← getEnv
    let target : Expr ← instantiateMVars (← goal.getType)
    let mut found : Array Name := addConstants env #[] target
    let mut types : Array Expr := #[]
    for decl in ← getLCtx do
      unless decl.isImplementationDetail do
        types := types.push (← instantiateMVars decl.type)
    for type in types.reverse do
      found := addConstants env found type
    return found

end LeanHammerExt
