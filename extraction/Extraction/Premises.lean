/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Rows
import Extraction.Steps
import LeanHammerExt.Premises

/-!
# The premises of a proof

In: the constants of a proof term, and what the source and `simp` say about the proof. Out: the premises with where they
came from.

Proofs are looked through: a theorem that Lean made for a part of a proof, and a private theorem, stand for what they use
themselves. The equation of a definition stands for the definition. Lemmas of plain logic with which tactics put proofs
together, and lemmas that a tactic brings along for its own use, are premises only where the source names them.
-/

namespace LeanHammerExt.Extraction

open Lean Meta

/-! ## Constants of a proof term -/

/-- A constant that a proof uses. -/
structure Used where
  /-- The constant. -/
  name : Name
  /-- Whether it is used inside a private theorem, whose source stands elsewhere in the file. -/
  behind : Bool
deriving Inhabited

/-- Constants that were found, and those that were looked at. -/
structure UseSearch where
  /-- The constants that were looked at. -/
  visited : NameSet := {}
  /-- The constants that were found, in the order in which they were found. -/
  found : Array Used := #[]
deriving Inhabited

/-- Whether a constant is not to be shown to people. -/
def isHidden (name : Name) : Bool :=
  isPrivateName name || name.isInternalDetail || name.hasMacroScopes

/-- Whether the last component of a name says that it is an equation of a definition. -/
def isEquationComponent (component : String) : Bool :=
  let digits : List Char := component.toList.drop 3
  component == "eq_def" || component == "eq_unfold"
    || (component.startsWith "eq_" && !digits.isEmpty && digits.all Char.isDigit)

/-- The definition whose equation a constant is. -/
def unfoldedBy? (env : Environment) : Name → Option Name
  | .str definition component =>
    if isEquationComponent component then
      match getOriginalConstKind? env definition with
      | some ConstantKind.defn => some definition
      | _ => none
    else
      none
  | _ => none

/-- The constant that a hidden constant belongs to, if that one is visible. -/
def visibleOwner? (env : Environment) (name : Name) : Option Name :=
  let owner : Name := name.getPrefix
  if isHidden owner || !env.contains owner then none else some owner

/-- Adds a constant; a hidden theorem is replaced by what it uses. -/
partial def UseSearch.add (search : UseSearch) (env : Environment) (behind : Bool) (name : Name) :
    UseSearch :=
  if search.visited.contains name then
    search
  else
    let marked : UseSearch := { search with visited := search.visited.insert name }
    if (unfoldedBy? env name).isSome || !isHidden name then
      { marked with found := marked.found.push { name := name, behind := behind } }
    else
      match env.find? name with
      | some (.thmInfo theoremInfo) =>
        let inside : Bool := behind || isPrivateName name
        theoremInfo.value.getUsedConstants.foldl
          (fun (state : UseSearch) (inner : Name) => state.add env inside inner)
          marked
      | some (.axiomInfo _) =>
        -- An imported theorem without its proof.
        match visibleOwner? env name with
        | some owner => marked.add env behind owner
        | none => marked
      | _ => marked

/-- The constants of a proof term. -/
def usedConstants (env : Environment) (term : Expr) : Array Used :=
  let start : UseSearch := {}
  let search : UseSearch :=
    term.getUsedConstants.foldl
      (fun (state : UseSearch) (name : Name) => state.add env false name)
      start
  search.found

/-! ## Which constants are premises -/

/-- What a premise is. -/
inductive PremiseKind where
  /-- It proves something. -/
  | fact
  /-- It can be unfolded. -/
  | definition
  /-- Instance search finds it. -/
  | found
deriving BEq, Inhabited

/-- The module that declares a constant. -/
def moduleOf (env : Environment) (name : Name) : Name :=
  match env.getModuleIdxFor? name with
  | some index => env.header.moduleNames[index]!
  | none => env.header.mainModule

/-- What a constant is as a premise, or nothing when it is none. -/
def premiseKind? (filter : PremiseFilter) (name : Name) : Option PremiseKind :=
  let env : Environment := filter.env
  match env.findConstVal? name, getOriginalConstKind? env name with
  | some info, some kind =>
    let moduleName : Name := moduleOf env name
    if !filter.acceptsModule moduleName then
      none
    else if !filter.accepts moduleName false name kind info.type then
      none
    else if isInstanceCore env name then
      some PremiseKind.found
    else
      match kind with
      | ConstantKind.defn => some PremiseKind.definition
      | _ => some PremiseKind.fact
  | _, _ => none

/-- The rules for premises of proofs: instances count, and nothing depends on options. -/
def extractionFilter (env : Environment) : PremiseFilter where
  env := env
  instances := true
  excludedModules := metaLibraries
  excludedNames := []

/-- Lemmas of plain logic with which tactics put proofs together. -/
def glueLemmas : List Name := [
  `Eq.mpr, `Eq.mp, `Eq.refl, `Eq.symm, `Eq.trans, `Eq.subst, `rfl, `id, `congrArg, `congrFun, `congr, `congrFun',
  `HEq.refl, `HEq.rfl, `HEq.symm, `HEq.trans, `eq_of_heq, `heq_of_eq, `Eq.mpr_prop, `Eq.mpr_not,
  `of_eq_true, `of_eq_false, `eq_true, `eq_false, `eq_false', `eq_self, `True.intro, `trivial, `False.elim, `absurd,
  `not_false_eq_true, `not_true_eq_false, `propext, `funext, `implies_congr, `implies_congr_ctx,
  `implies_dep_congr_ctx, `forall_congr, `forall_prop_congr_dom, `forall_prop_domain_congr, `let_congr,
  `let_val_congr, `let_body_congr, `ite_congr, `dite_congr, `Iff.of_eq, `iff_of_eq, `Iff.rfl, `Iff.refl, `Iff.symm,
  `Iff.trans, `Iff.mp, `Iff.mpr, `Iff.intro, `And.intro, `And.left, `And.right, `Or.inl, `Or.inr, `Exists.intro,
  `of_decide_eq_true, `decide_eq_true, `of_decide_eq_self_eq_true, `Decidable.byContradiction,
  `Decidable.of_not_not, `Classical.byContradiction, `Classical.em, `Classical.of_not_not, `noConfusion_of_Nat,
  `eq_mp_eq_cast, `eq_mpr_eq_cast, `cast_eq, `dif_pos, `dif_neg, `Acc.intro, `WellFounded.fix, `WellFounded.fix_eq
]

/-- Namespaces of lemmas that tactics bring along for their own use. -/
def toolNamespaces : List Name := [
  `Lean, `Aesop, `Auto, `Batteries.Tactic, `Duper, `Int.Linear, `Linarith, `Mathlib.Meta, `Mathlib.Tactic, `Nat.Linear,
  `Nat.SOM, `Qq, `Std.Tactic
]

/-- Whether a lemma counts only where the source names it. -/
def isTool (name : Name) : Bool :=
  glueLemmas.contains name || isBelow toolNamespaces name

/-! ## Where premises come from -/

/-- What one step of a proof uses without arranging other steps. -/
structure StepUse where
  /-- Where the step stands. -/
  span : Span
  /-- How it finds lemmas that the source does not name. -/
  origin : PremiseOrigin
  /-- The constants of the terms that it built. -/
  names : NameSet

/-- What is known about one proof. -/
structure Evidence where
  /-- Which constants are premises. -/
  filter : PremiseFilter
  /-- The theorem. -/
  theoremName : Name
  /-- Whether the proof stands in the source; an attribute may have made it. -/
  inSource : Bool
  /-- The constants that the source of the proof names. -/
  mentions : Array Mention
  /-- The constants that the file names anywhere. -/
  fileNames : NameSet
  /-- The lemmas that calls of `simp` say they used. -/
  records : Array Mention
  /-- Where the source names rules. -/
  rules : Array Span
  /-- What the steps use. -/
  uses : Array StepUse

/-- Tokens of tactics that rewrite. -/
def rewritingTokens : List String := [
  "rw", "rwa", "erw", "rewrite", "nth_rw", "nth_rewrite", "grw", "grewrite", "rw_mod_cast", "rw!", "subst",
  "subst_vars", "subst_eqs"
]

/-- Tokens of tactics that find nothing by themselves; what they use without naming it, elaboration put there. -/
def plainTokens : List String := [
  "absurd", "apply", "by_cases", "by_contra", "by_contra!", "calc", "cases", "cases'", "change", "choose", "clear",
  "constructor", "contrapose", "contrapose!", "conv", "conv_lhs", "conv_rhs", "delta", "exact", "exacts", "exfalso",
  "exists", "existsi", "fapply", "eapply", "fconstructor", "generalize", "have", "haveI", "induction", "induction'",
  "injection", "injections", "intro", "intros", "left", "let", "letI", "letFun", "match", "nomatch", "obtain",
  "pick_goal", "rcases", "refine", "refine'", "rename", "rename_i", "replace", "revert", "right", "rintro",
  "rotate_left", "rotate_right", "set", "show", "show_term", "specialize", "split", "split_ifs", "suffices", "swap",
  "trans", "unfold", "use", "wlog"
]

/-- How a tactic finds lemmas that the source does not name; nothing when it finds none. -/
def originOfTactic? (token : String) : Option PremiseOrigin :=
  if rewritingTokens.contains token then
    some PremiseOrigin.rw
  else if plainTokens.contains token then
    none
  else
    some PremiseOrigin.simp

/-- Whether a position lies in one of several spans. -/
def liesIn (spans : Array Span) (position : Nat) : Bool :=
  spans.any fun (span : Span) => span.has position

/-- Whether a mention names a premise; notation that stands for a lemma of plain logic does not. -/
def Mention.counts (mention : Mention) : Bool :=
  mention.written || !isTool mention.name

/-- Whether the source names a constant in these spans. -/
def Evidence.names (evidence : Evidence) (spans : Array Span) (name : Name) : Bool :=
  evidence.mentions.any fun (mention : Mention) =>
    mention.name == name && mention.counts && liesIn spans mention.position

/-- How steps in these spans came to a fact that the source does not name there. -/
def Evidence.unnamedOrigins (evidence : Evidence) (spans : Array Span) (name : Name) :
    Array PremiseOrigin := Id.run do
  let mut origins : Array PremiseOrigin := #[]
  for use in evidence.uses do
    if use.names.contains name && !origins.contains use.origin then
      if spans.any (fun (span : Span) => use.span.isInside span) then
        origins := origins.push use.origin
  return origins

/-- How a proof came to a fact of its term; nothing when it is no premise. -/
def Evidence.originsOf (evidence : Evidence) (spans : Array Span) (used : Used) : Array PremiseOrigin :=
  if evidence.names spans used.name then
    #[PremiseOrigin.explicit]
  else if used.behind && evidence.fileNames.contains used.name then
    #[PremiseOrigin.explicit]
  else if isTool used.name then
    #[]
  else if !evidence.inSource then
    #[PremiseOrigin.explicit]
  else
    evidence.unnamedOrigins spans used.name

/-- Adds an origin of a premise. -/
def addOrigin (premises : Array (Name × Array PremiseOrigin)) (name : Name) (origin : PremiseOrigin) :
    Array (Name × Array PremiseOrigin) :=
  match premises.findIdx? (fun (premise : Name × Array PremiseOrigin) => premise.1 == name) with
  | none => premises.push (name, #[origin])
  | some index =>
    premises.modify index fun (premise : Name × Array PremiseOrigin) =>
      if premise.2.contains origin then premise else (premise.1, premise.2.push origin)

/-- Adds a definition that was unfolded. -/
def Evidence.addDefinition (evidence : Evidence) (spans : Array Span)
    (premises : Array (Name × Array PremiseOrigin)) (name : Name) : Array (Name × Array PremiseOrigin) :=
  let extended : Array (Name × Array PremiseOrigin) := addOrigin premises name PremiseOrigin.definitional
  if evidence.names spans name then addOrigin extended name PremiseOrigin.explicit else extended

/-- Adds the premise that a constant of the proof term stands for. -/
def Evidence.addUsed (evidence : Evidence) (spans : Array Span) (stated : NameSet)
    (premises : Array (Name × Array PremiseOrigin)) (used : Used) : Array (Name × Array PremiseOrigin) :=
  match unfoldedBy? evidence.filter.env used.name with
  | some definition =>
    match premiseKind? evidence.filter definition with
    | some PremiseKind.definition => evidence.addDefinition spans premises definition
    | _ => premises
  | none =>
    match premiseKind? evidence.filter used.name with
    | some PremiseKind.fact =>
      (evidence.originsOf spans used).foldl
        (fun (state : Array (Name × Array PremiseOrigin)) (origin : PremiseOrigin) =>
          addOrigin state used.name origin)
        premises
    | some PremiseKind.found =>
      if evidence.names spans used.name then
        addOrigin premises used.name PremiseOrigin.explicit
      else if stated.contains used.name then
        premises
      else
        addOrigin premises used.name PremiseOrigin.instanceSearch
    | _ => premises

/-- Adds what a call of `simp` says it used. -/
def Evidence.addRecord (evidence : Evidence) (spans : Array Span)
    (premises : Array (Name × Array PremiseOrigin)) (record : Mention) : Array (Name × Array PremiseOrigin) :=
  if !liesIn spans record.position then
    premises
  else
    match premiseKind? evidence.filter record.name with
    | some PremiseKind.fact =>
      if evidence.names spans record.name then
        addOrigin premises record.name PremiseOrigin.explicit
      else if isTool record.name then
        premises
      else
        addOrigin premises record.name PremiseOrigin.simp
    | some PremiseKind.definition => evidence.addDefinition spans premises record.name
    | _ => premises

/-- Adds a definition that the source names as a rule. -/
def Evidence.addRule (evidence : Evidence) (spans : Array Span)
    (premises : Array (Name × Array PremiseOrigin)) (mention : Mention) : Array (Name × Array PremiseOrigin) :=
  if liesIn spans mention.position && liesIn evidence.rules mention.position then
    match premiseKind? evidence.filter mention.name with
    | some PremiseKind.definition => evidence.addDefinition spans premises mention.name
    | _ => premises
  else
    premises

/--
The premises of a part of a proof. `spans` is where that part stands, `used` are the constants of its term, and `stated`
the constants of the goal that it closes.
-/
def Evidence.premises (evidence : Evidence) (spans : Array Span) (used : Array Used)
    (stated : NameSet) : Array PremiseEntry :=
  let ofTerm : Array (Name × Array PremiseOrigin) := used.foldl (evidence.addUsed spans stated) #[]
  let ofSimp : Array (Name × Array PremiseOrigin) := evidence.records.foldl (evidence.addRecord spans) ofTerm
  let all : Array (Name × Array PremiseOrigin) := evidence.mentions.foldl (evidence.addRule spans) ofSimp
  let others : Array (Name × Array PremiseOrigin) :=
    all.filter fun (premise : Name × Array PremiseOrigin) => premise.1 != evidence.theoremName
  let entries : Array PremiseEntry := others.map fun (premise : Name × Array PremiseOrigin) =>
    { name := premise.1.toString, origins := premise.2 }
  -- The order in a proof term says nothing, so the names give one that two runs share.
  entries.qsort fun (first second : PremiseEntry) => decide (first.name < second.name)

end LeanHammerExt.Extraction
