/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Bridge.Poll
import LeanHammerExt.ContentHash
import LeanHammerExt.Options
import LeanHammerExt.Protocol
import LeanHammerExt.Text

/-!
# Which constants are premises

In: an environment. Out: the names of the constants that may help to prove something, those of imported modules by
module, those of the current file latest first, and their texts and content hashes.

The rules are those of the sidecar's table (`sidecar/corpus/policy.py`): theorems, axioms that are not a back door, laws of
structures and classes, constructors of inductive propositions, and definitions (which stand for their equations) are
premises; instances only when asked for; what Lean or its macros made, what is private elsewhere, what is deprecated, and
what belongs to meta-programming is not. Deny lists are anchored at the root component of a name, so that a user's own
module called `Util` or `Test` is not lost.

Nothing here waits for a declaration that is still being elaborated in another thread: imported constants are read from the
module data, those of the current file from the table of declaration ranges, and of a theorem only its statement is looked
at.

## Main declarations

* `PremiseFilter.accepts`: the rules.
* `modulePremises`, `filePremises`: the names.
* `startDescribing`, `collectDescribed`: texts, in parallel; those of the current file are kept as long as their
  statements stay the same.
* `hammer_exclude_modules`, `hammer_exclude_names`: commands that add to the deny lists.
-/

namespace LeanHammerExt

open Lean Meta Elab Command

/-! ## Deny lists -/

/-- Roots of modules and of names that belong to meta-programming. -/
def metaLibraries : List Name := [
  `Lean, `Lake, `Aesop, `Qq, `ProofWidgets, `Plausible, `ImportGraph, `LeanSearchClient, `Duper, `Auto, `Smt,
  `cvc5, `Cli, `MD4Lean, `DocGen4, `UnicodeBasic, `LeanHammerExt
]

/-- Modules of tactics and tools, whose theorems may be premises but whose definitions are not. -/
def tacticModules : List Name := [
  `Batteries.CodeAction, `Batteries.Lean, `Batteries.Linter, `Batteries.Tactic, `Batteries.Util,
  `Mathlib.Lean, `Mathlib.Tactic, `Mathlib.Util, `Std.Tactic
]

/-- Axioms that no honest proof may use. -/
def unsoundAxioms : List Name := [
  `Lean.ofReduceBool, `Lean.ofReduceNat, `Lean.trustCompiler, `Quot.lcInv, `lcAny, `lcCast, `lcErased,
  `lcProof, `lcUnreachable, `lcVoid, `sorryAx
]

/-- Namespaces inside `Lean` that hold ordinary mathematics. -/
def objectLevel : List Name := [`Lean.Grind, `Lean.Order, `Lean.Omega]

/-- Module prefixes that users want left out. -/
initialize excludedModulesExt : SimplePersistentEnvExtension Name (List Name) ←
  registerSimplePersistentEnvExtension {
    addEntryFn := fun (names : List Name) (name : Name) => name :: names
    addImportedFn := fun (entries : Array (Array Name)) =>
      mkStateFromImportedEntries (fun (names : List Name) (name : Name) => name :: names) [] entries
  }

/-- Name prefixes that users want left out. -/
initialize excludedNamesExt : SimplePersistentEnvExtension Name (List Name) ←
  registerSimplePersistentEnvExtension {
    addEntryFn := fun (names : List Name) (name : Name) => name :: names
    addImportedFn := fun (entries : Array (Array Name)) =>
      mkStateFromImportedEntries (fun (names : List Name) (name : Name) => name :: names) [] entries
  }

/--
`hammer_exclude_modules A.B C` keeps what the modules `A.B`, `C` and those below them declare out of premise selection,
here and wherever this module is imported.
-/
syntax (name := hammerExcludeModules) "hammer_exclude_modules" (ppSpace ident)+ : command

/--
`hammer_exclude_names A.b C` keeps `A.b`, `C` and every name below them out of premise selection, here and wherever this
module is imported.
-/
syntax (name := hammerExcludeNames) "hammer_exclude_names" (ppSpace ident)+ : command

elab_rules : command
  | `(hammer_exclude_modules $prefixes:ident*) => do
    for item in prefixes do
      let excluded : Name := item.getId
      modifyEnv fun (env : Environment) => excludedModulesExt.addEntry env excluded

elab_rules : command
  | `(hammer_exclude_names $prefixes:ident*) => do
    for item in prefixes do
      let excluded : Name := item.getId
      modifyEnv fun (env : Environment) => excludedNamesExt.addEntry env excluded

/-! ## The rules -/

/-- What decides which constants are premises. -/
structure PremiseFilter where
  /-- The environment. -/
  env : Environment
  /-- Whether instances are premises. -/
  instances : Bool
  /-- Module prefixes to leave out. -/
  excludedModules : List Name
  /-- Name prefixes to leave out. -/
  excludedNames : List Name

/-- The rules under the options and deny lists at hand. -/
def PremiseFilter.current : CoreM PremiseFilter := do
  let env : Environment ← getEnv
  return {
    env := env
    instances := hammer.instances.get (← getOptions)
    excludedModules := metaLibraries ++ excludedModulesExt.getState env
    excludedNames := excludedNamesExt.getState env
  }

/-- Whether `name` is one of `prefixes` or below one. -/
def isBelow (prefixes : List Name) (name : Name) : Bool :=
  prefixes.any fun (candidate : Name) => candidate.isPrefixOf name

/-- The last component of a name. -/
def lastComponent : Name → String
  | .str _ text => text
  | _ => ""

/-- Last components of names that are made together with a type or by a macro. -/
def generatedComponents : List String := [
  "inj", "injEq", "sizeOf_spec", "noConfusion", "noConfusionType", "ctorIdx", "toCtorIdx", "ctorElim",
  "ctorElimType", "congr_simp", "eq_def", "eq_unfold", "rec", "recOn", "casesOn", "brecOn", "below",
  "ibelow", "binductionOn", "induct", "induct_unfolding", "mutual_induct", "fun_cases",
  "fun_cases_unfolding", "partial_fixpoint_induct"
]

/-- Last components of eliminators, which people also write by hand, as theorems with a statement of their own. -/
def eliminatorComponents : List String := [
  "rec", "recOn", "casesOn", "brecOn", "below", "ibelow", "binductionOn"
]

/-- Whether Lean or a macro made a constant; `shown` is its name without the prefix of private names. -/
def isGenerated (env : Environment) (name shown : Name) (kind : ConstantKind) : Bool :=
  let last : String := lastComponent shown
  let handWritten : Bool := kind == ConstantKind.thm && eliminatorComponents.contains last
  shown.isInternalDetail || shown.hasMacroScopes || isAuxRecursor env name || isNoConfusion env name
    || isMatcherCore env name || (generatedComponents.contains last && !handWritten)

/-- Whether a statement is about Lean itself. -/
def isMetaStatement (type : Expr) : Bool :=
  type.getUsedConstants.any fun (name : Name) =>
    name.getRoot == `Lean && !isBelow objectLevel name

/-- Whether the constructor `name` proves something, that is, belongs to an inductive proposition. -/
def isPropositionalConstructor (env : Environment) (name : Name) : Bool :=
  match env.findConstVal? name.getPrefix with
  | some parent => parent.type.getForallBody.isProp
  | none => false

/-- Whether a kind of constant with this statement may be a premise. -/
def PremiseFilter.acceptsKind (filter : PremiseFilter) (moduleName name : Name)
    (kind : ConstantKind) (type : Expr) : Bool :=
  let projects : Bool := (filter.env.getProjectionFnInfo? name).isSome
  match kind with
  | ConstantKind.thm =>
    if projects then
      -- A law of a structure; the way to a parent that is a proposition is none.
      kindWord filter.env name == "field"
    else
      filter.instances || !isInstanceCore filter.env name
  | ConstantKind.axiom => !unsoundAxioms.contains name
  | ConstantKind.ctor => isPropositionalConstructor filter.env name
  | ConstantKind.defn =>
    if projects then
      -- A projection that proves something is a theorem; this one holds data.
      false
    else if isInstanceCore filter.env name then
      filter.instances
    else
      !(isBelow tacticModules moduleName || isMetaStatement type)
  | _ => false

/-- Whether a module may have premises at all. -/
def PremiseFilter.acceptsModule (filter : PremiseFilter) (moduleName : Name) : Bool :=
  !isBelow filter.excludedModules moduleName

/--
Whether a constant is a premise. `moduleName` is the module that declares it; in the current file, private constants
count.
-/
def PremiseFilter.accepts (filter : PremiseFilter) (moduleName : Name) (inFile : Bool) (name : Name)
    (kind : ConstantKind) (type : Expr) : Bool :=
  let shown : Name := if inFile then privateToUserName name else name
  !isPrivateName shown
    && !isGenerated filter.env name shown kind
    && !(isBelow metaLibraries shown && !isBelow objectLevel shown)
    && !isBelow filter.excludedNames shown
    && filter.acceptsKind moduleName name kind type
    && !Linter.isDeprecated filter.env name

/-! ## Names -/

/-- The premises of the imported module with the given index, in the order of its constants. -/
def modulePremises (filter : PremiseFilter) (moduleName : Name) (index : Nat) : Array Name :=
  if filter.acceptsModule moduleName then
    match filter.env.header.moduleData[index]? with
    | none => #[]
    | some data =>
      data.constants.foldl
        (fun (found : Array Name) (info : ConstantInfo) =>
          if !info.isUnsafe
              && filter.accepts moduleName false info.name (ConstantKind.ofConstantInfo info) info.type then
            found.push info.name
          else
            found)
        #[]
  else
    #[]

/-- The premises of the current file, the latest first; at most `limit`. -/
def filePremises (filter : PremiseFilter) (limit : Nat) : Array Name :=
  -- The ranges of this branch of elaboration are there without waiting for the other branches.
  let ranges : NameMap DeclarationRanges :=
    declRangeExt.toPersistentEnvExtension.getState (asyncMode := .local) filter.env
  let moduleName : Name := filter.env.mainModule
  let found : Array (Nat × Name) := Id.run do
    let mut found : Array (Nat × Name) := #[]
    for (name, range) in ranges do
      match filter.env.findAsync? name (skipRealize := true) with
      | none => pure ()
      | some info =>
        if filter.accepts moduleName true name info.kind info.toConstantVal.type then
          found := found.push (range.range.pos.line, name)
    return found
  let sorted : Array (Nat × Name) := found.qsort fun (a b : Nat × Name) =>
    b.1 < a.1 || (b.1 == a.1 && Name.lt a.2 b.2)
  (sorted.map fun (item : Nat × Name) => item.2).take limit

/-! ## Texts -/

/-- A premise with what the sidecar has to know of it. -/
structure Premise where
  /-- Its name. -/
  name : Name
  /-- Its wire text. -/
  text : String
  /-- Constants of its statement, those of the conclusion first. -/
  constants : Array Name
  /-- The imported module that declares it, or nothing for the current file. -/
  moduleName? : Option Name
deriving Inhabited

/-- The content hash of a premise. -/
def Premise.hash (premise : Premise) : String :=
  contentHash premise.name.toString premise.text

/-- A premise as the protocol has it. The hash is only needed where texts are asked for by it. -/
def Premise.describe (premise : Premise) (hash : String := "") : Protocol.DescribedPremise where
  name := premise.name.toString
  text := premise.text
  constants := premise.constants.map (fun (name : Name) => name.toString)
  moduleName := (premise.moduleName?.map (fun (name : Name) => name.toString)).getD ""
  hash := hash

/-- The premise `name`, freshly printed. -/
def printPremise (name : Name) (moduleName? : Option Name) : MetaM Premise := do
  let info : ConstantVal ← getConstVal name
  let text : String ← premiseText name
  let (constants, _) := statementConstants (← getEnv) info.type
  return { name := name, text := text, constants := constants, moduleName? := moduleName? }

/-- A printed premise of the current file, and what its text was printed from. -/
structure PrintedPremise where
  /-- Its statement. -/
  type : Expr
  /-- The word for its kind. -/
  kind : String
  /-- Its docstring. -/
  docstring : String
  /-- What was printed. -/
  premise : Premise

/--
Premises of the current file that were printed before. An entry counts only while statement, kind and docstring are the
ones it was printed from: while a file is being written, one name stands for many statements.
-/
initialize printedRef : IO.Ref (Std.HashMap Name PrintedPremise) ← IO.mkRef {}

/-- A premise of the current file; printed only if it changed since the last time. -/
def filePremise (name : Name) : MetaM Premise := do
  let info : ConstantVal ← getConstVal name
  let kind : String := kindWord (← getEnv) name
  let docstring : String ← docstringOf name
  let printed : Std.HashMap Name PrintedPremise ← printedRef.get
  match printed.get? name with
  | some known =>
    if known.type.equal info.type && known.kind == kind && known.docstring == docstring then
      return known.premise
  | none => pure ()
  let premise : Premise ← printPremise name none
  let entry : PrintedPremise := {
    type := info.type
    kind := kind
    docstring := docstring
    premise := premise
  }
  printedRef.modify fun (known : Std.HashMap Name PrintedPremise) => known.insert name entry
  return premise

/-- Describes a constant; one that cannot be printed is left out. -/
def describe? (name : Name) (moduleName? : Option Name) : MetaM (Option Premise) :=
  tryCatchRuntimeEx
    (do
      let premise : Premise ←
        match moduleName? with
        | some _ => printPremise name moduleName?
        | none => filePremise name
      return some premise)
    (fun _ => pure none)

/-- Describes constants one after the other. -/
def describeChunk (names : Array (Name × Option Name)) : MetaM (Array Premise) := do
  let mut found : Array Premise := #[]
  for item in names do
    Core.checkInterrupted
    match ← describe? item.1 item.2 with
    | some premise => found := found.push premise
    | none => pure ()
  return found

/-- How many constants one task describes. -/
def chunkSize : Nat := 32

/--
Starts to describe constants in parallel. The tasks have no limit of heartbeats, because they may go on when the
elaboration that started them has given up, and they end when `token?` is set.
-/
def startDescribing (names : Array (Name × Option Name)) (token? : Option IO.CancelToken := none) :
    CoreM (Array (Task (Except Exception (Array Premise)))) := do
  let mut tasks : Array (Task (Except Exception (Array Premise))) := #[]
  let mut start : Nat := 0
  while start < names.size do
    let chunk : Array (Name × Option Name) := names.extract start (start + chunkSize)
    let action : Unit → EIO Exception (Array Premise) ← Core.wrapAsync
      (fun (_ : Unit) =>
        withTheReader Core.Context (fun (context : Core.Context) => { context with maxHeartbeats := 0 })
          (MetaM.run' (describeChunk chunk)))
      token?
    let task : Task (Except Exception (Array Premise)) ← EIO.asTask (action ())
    tasks := tasks.push task
    start := start + chunkSize
  return tasks

/-- Collects what is described by `deadline` (of `IO.monoMsNow`); says whether that is everything. -/
def collectDescribed (tasks : Array (Task (Except Exception (Array Premise)))) (deadline : Nat)
    (stop : BaseIO Bool) : BaseIO (Array Premise × Bool) := do
  let mut found : Array Premise := #[]
  let mut complete : Bool := true
  for task in tasks do
    match ← Bridge.waitUntil (IO.hasFinished task) deadline stop with
    | .finished =>
      match task.get with
      | .ok premises => found := found ++ premises
      | .error _ => complete := false
    | _ => complete := false
  return (found, complete)

end LeanHammerExt
