/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Trial
import LeanHammerExt.Options
import LeanHammerExt.Premises

/-!
# What an engine is given, and what it returns

In: the names of selected premises and the user's own terms. Out: facts as terms that can be written at the goal, the
configuration, and the deadline, which together are a `Problem`; an engine makes an `EngineResult` of it.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- The options of one `hammer` call. -/
structure HammerConfig where
  /-- Seconds for selection, search and replay together; 0 means no limit. -/
  timeout : Nat := 10
  /-- Number of premises that are selected. -/
  premises : Nat := 64
  /-- Which engines run: `""`, `"aesop"`, `"auto"`, `"aesop+auto"`, `"full"` or `"union"`. -/
  mode : String := ""
  /-- Whether the engines run at the same time. -/
  parallel : Bool := true
  /-- Whether `simp_all` and `simp` are tried. -/
  simp : Bool := true
  /-- Whether short proofs are tried. -/
  exact : Bool := true
  /-- Whether `aesop` is tried. -/
  aesop : Bool := true
  /-- Whether external provers are asked. -/
  auto : Bool := true
  /-- Whether `duper` is tried by itself. -/
  duper : Bool := true
  /-- Whether `grind` is tried. -/
  grind : Bool := true
  /-- Number of premises for `simp`. -/
  simpPremises : Nat := 16
  /-- Number of premises that are tried one by one. -/
  exactPremises : Nat := 32
  /-- Number of premises for `aesop`. -/
  aesopPremises : Nat := 32
  /-- Number of premises for external provers. -/
  autoPremises : Nat := 32
  /-- Number of premises for `duper`. -/
  duperPremises : Nat := 16
  /-- Number of premises for `grind`. -/
  grindPremises : Nat := 32
  /-- External provers, separated by commas; empty for all. -/
  provers : String := ""
  /-- Whether the proof is made smaller. -/
  minimise : Bool := true
  /-- Seconds for making it smaller. -/
  minimiseTimeout : Nat := 5
deriving Inhabited

/-- What `set_option hammer.…` says. -/
def HammerConfig.ofOptions (options : Options) : HammerConfig where
  timeout := hammer.timeout.get options
  premises := hammer.premises.get options
  mode := hammer.mode.get options
  parallel := hammer.parallel.get options
  simp := hammer.simp.get options
  exact := hammer.exact.get options
  aesop := hammer.aesop.get options
  auto := hammer.auto.get options
  duper := hammer.duper.get options
  grind := hammer.grind.get options
  simpPremises := hammer.simpPremises.get options
  exactPremises := hammer.exactPremises.get options
  aesopPremises := hammer.aesopPremises.get options
  autoPremises := hammer.autoPremises.get options
  duperPremises := hammer.duperPremises.get options
  grindPremises := hammer.grindPremises.get options
  provers := hammer.provers.get options
  minimise := hammer.minimise.get options
  minimiseTimeout := hammer.minimiseTimeout.get options

/-- The names of modes, for messages. -/
def modeNames : List String := ["aesop", "auto", "aesop+auto", "full", "union"]

/-- The engines of a mode; nothing for a mode that does not exist. -/
def enginesOfMode? (mode : String) : Option (List Engine) :=
  match mode with
  | "" => some [.exact, .simp, .aesop, .auto, .duper, .grind]
  | "aesop" => some [.aesop]
  | "auto" => some [.auto]
  | "aesop+auto" => some [.aesopAuto]
  | "full" => some [.full]
  | "union" => some [.aesop, .auto, .aesopAuto, .full]
  | _ => none

/-- Whether an engine is switched on. -/
def HammerConfig.enables (config : HammerConfig) (engine : Engine) : Bool :=
  match engine with
  | .exact => config.exact
  | .simp => config.simp
  | .aesop => config.aesop
  | .auto => config.auto
  | .duper => config.duper
  | .grind => config.grind
  | .aesopAuto => config.aesop && config.auto
  | .full => config.aesop && config.auto

/-- The external provers that are asked; empty for all. -/
def HammerConfig.proverNames (config : HammerConfig) : Array String :=
  let names : List String := (config.provers.splitOn ",").map fun (name : String) => shortened name
  (names.filter fun (name : String) => name != "").toArray

/-! ## Facts -/

/-- A premise or a term of the user, as it can be written at the goal. -/
structure Fact where
  /-- How it is written. -/
  term : Term
  /-- The constant, if it is one. -/
  name? : Option Name
  /-- Whether the user gave it. -/
  given : Bool
deriving Inhabited

/-- The shortest way to write a constant at the goal, whatever is open, and whatever local names hide it. -/
def constantTerm (name : Name) : MetaM Term := do
  let short : Name ← (unresolveNameGlobalAvoidingLocals name : MetaM Name)
  let ident : Ident := mkIdent short
  return ⟨ident.raw⟩

/-- A selected premise as a fact. -/
def premiseFact (name : Name) : MetaM Fact := do
  let term : Term ← constantTerm name
  return { term := term, name? := some name, given := false }

/-- The constant that a term of the user is, if it is one. -/
def constantOf? (term : Term) : TacticM (Option Name) := do
  if !term.raw.isIdent then
    return none
  else if ((← getLCtx).findFromUserName? term.raw.getId).isSome then
    return none
  else
    tryCatchRuntimeEx
      (do
        let name : Name ← realizeGlobalConstNoOverload term.raw
        return some name)
      (fun _ => pure none)

/-- A term of the user as a fact. -/
def givenFact (term : Term) : TacticM Fact := do
  let name? : Option Name ← constantOf? term
  return { term := term, name? := name?, given := true }

/-- What an engine is given besides the goal. -/
structure Problem where
  /-- The facts: those of the user first, then the selected ones, best first. -/
  facts : Array Fact
  /-- The options. -/
  config : HammerConfig
  /-- When it must be done, by `IO.monoMsNow`. -/
  deadline : Nat
  /-- Whether tactics without arguments were tried before, so that they need not be tried again. -/
  shortTried : Bool := false
deriving Inhabited

/-- The user's facts and the first `count` selected ones. -/
def Problem.first (problem : Problem) (count : Nat) : Array Fact :=
  let given : Array Fact := problem.facts.filter fun (fact : Fact) => fact.given
  let selected : Array Fact := problem.facts.filter fun (fact : Fact) => !fact.given
  given ++ selected.extract 0 count

/-- Milliseconds until the deadline. -/
def Problem.left (problem : Problem) : BaseIO Nat := do
  let now : Nat ← IO.monoMsNow
  return problem.deadline - now

/-- How facts are written. -/
def factTerms (facts : Array Fact) : Array Term :=
  facts.map fun (fact : Fact) => fact.term

/-! ## Which facts suit which engine -/

/-- Whether a fact is a statement: a term of the user, or a constant that proves something. -/
def isStatement (env : Environment) (fact : Fact) : Bool :=
  match fact.name? with
  | none => true
  | some name => ["theorem", "axiom", "ctor", "field"].contains (kindWord env name)

/--
Whether the conclusion of a statement says nothing about where it can be used: a variable, or that two
variables are equal.
-/
def concludesAnything (type : Expr) : Bool :=
  let conclusion : Expr := type.getForallBody
  let isVariable (part : Expr) : Bool := part.getAppFn.isBVar
  if isVariable conclusion then
    true
  else if conclusion.isAppOfArity ``Eq 3 then
    isVariable conclusion.appFn!.appArg! && isVariable conclusion.appArg!
  else
    false

/-- Whether `apply` makes sense with a fact. -/
def isApplicable (env : Environment) (fact : Fact) : Bool :=
  match fact.name? with
  | none => true
  | some name =>
    match env.findConstVal? name with
    | some info => isStatement env fact && !concludesAnything info.type
    | none => false

/-- Whether a statement speaks about proofs, which the translation to higher-order logic cannot express. -/
def mentionsProof (type : Expr) : MetaM Bool := do
  let found : IO.Ref Bool ← IO.mkRef false
  Meta.forEachExpr type fun (part : Expr) => do
    unless ← found.get do
      if ← Meta.isProof part then
        found.set true
  found.get

/-- Whether `duper` can be given a fact: statements, and definitions, which stand for their equations. -/
def isTranslatable (fact : Fact) : MetaM Bool := do
  match fact.name? with
  | none => return true
  | some name =>
    let env : Environment ← getEnv
    unless ["theorem", "axiom", "field", "def"].contains (kindWord env name) do
      return false
    match env.findConstVal? name with
    | none => return false
    | some info =>
      let unsuited : Bool ← tryCatchRuntimeEx (mentionsProof info.type) (fun _ => pure true)
      return !unsuited

/-- The hypotheses of the main goal that can be named, and whether these are all. -/
def namedHypotheses : TacticM (Array Term × Bool) :=
  withMainContext do
    let context : LocalContext ← getLCtx
    let mut terms : Array Term := #[]
    let mut complete : Bool := true
    for decl in context do
      unless decl.isImplementationDetail do
        let type : Expr ← instantiateMVars decl.type
        if ← Meta.isProp type then
          let visible? : Option LocalDecl := context.findFromUserName? decl.userName
          let isVisible : Bool :=
            match visible? with
            | some visible => visible.fvarId == decl.fvarId
            | none => false
          if decl.userName.hasMacroScopes || decl.userName.isInaccessibleUserName || !isVisible then
            complete := false
          else
            let ident : Ident := mkIdent decl.userName
            terms := terms.push ⟨ident.raw⟩
    return (terms, complete)

/-! ## Results -/

/-- What an engine returns. -/
inductive EngineResult where
  /-- A text that closes the goal, and how many milliseconds it takes. -/
  | proof (candidate : Candidate) (milliseconds : Nat)
  /-- It found nothing; the text says why. -/
  | noProof (detail : String)
  /-- It could not work at all; the text says why. -/
  | notRun (reason : String)
deriving Inhabited

/-- Tries a candidate and reports it as a result if it closes the goal. -/
def tryCandidate (goal : MVarId) (candidate : Candidate) : TacticM (Trial × Option EngineResult) := do
  let script : Script ← candidate.script
  let trial : Trial ← tryScript goal script
  if trial.closed then
    return (trial, some (.proof candidate trial.milliseconds))
  else
    return (trial, none)

end LeanHammerExt
