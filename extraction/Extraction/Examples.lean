/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Declarations
import Extraction.Frontend
import Extraction.Premises

/-!
# The states of proofs, with the premises that close them

In: an elaborated file and its declarations. Out: for every theorem the state at its root and the states before the steps
of its tactic blocks, each with the premises that it took to close the first goal of the state to its end.

* The term that closes a goal is the one that it has at the end of the outermost tactic block around the step.
* The part of the source that belongs to a goal is made of the steps that solve only this goal and those that came from
  it.
* The root of a theorem is its statement with everything introduced, closed by the value of the constant. It is left out
  when a tactic block starts with the same state.
-/

namespace LeanHammerExt.Extraction

open Lean Meta

/-- What a file says about all of its proofs. -/
structure FileEvidence where
  /-- Which constants are premises. -/
  filter : PremiseFilter
  /-- The lines of the file. -/
  fileMap : FileMap
  /-- What the info trees tell. -/
  found : Found
  /-- The steps by declaration. -/
  steps : Std.HashMap Name (Array Step)
  /-- The bodies by declaration. -/
  bodies : Std.HashMap Name Body
  /-- The lemmas that calls of `simp` say they used. -/
  records : Array Mention
  /-- The constants that the file names anywhere. -/
  fileNames : NameSet

/-- The constants that the names of a `simp` record stand for. -/
def recordedConstants (record : SimpRecord) : CoreM (Array Mention) := do
  let mut found : Array Mention := #[]
  for name in record.names do
    let candidates : List (Name × List String) ← resolveGlobalName name (enableLog := false)
    for (candidate, fields) in candidates do
      if fields.isEmpty then
        found := found.push { position := record.position, name := candidate, written := false }
  return found

/-- The same where the call stands: later declarations and other open namespaces do not change what a name means. -/
def resolveRecord (record : SimpRecord) : CoreM (Array Mention) :=
  withEnv (record.env.setExporting false)
    (withTheReader Core.Context
      (fun (context : Core.Context) =>
        { context with currNamespace := record.currNamespace, openDecls := record.openDecls })
      (recordedConstants record))

/-- Steps by the declaration that they prove. -/
def stepsByDeclaration (steps : Array Step) : Std.HashMap Name (Array Step) :=
  steps.foldl
    (fun (grouped : Std.HashMap Name (Array Step)) (step : Step) =>
      grouped.insert step.declaration ((grouped.getD step.declaration #[]).push step))
    {}

/-- Bodies by declaration. -/
def bodiesByDeclaration (bodies : Array Body) : Std.HashMap Name Body :=
  bodies.foldl
    (fun (grouped : Std.HashMap Name Body) (body : Body) => grouped.insert body.declaration body)
    {}

/-- Gathers what a file says about its proofs. -/
def gatherEvidence (env : Environment) (elaborated : Elaborated) : CoreM FileEvidence := do
  let found : Found := searchTrees elaborated.trees elaborated.suggestions
  let mut records : Array Mention := #[]
  for record in found.records do
    let resolved : Array Mention ← resolveRecord record
    records := records ++ resolved
  let fileNames : NameSet :=
    found.mentions.foldl
      (fun (names : NameSet) (mention : Mention) => if mention.counts then names.insert mention.name else names)
      {}
  return {
    filter := extractionFilter env
    fileMap := elaborated.fileMap
    found := found
    steps := stepsByDeclaration found.steps
    bodies := bodiesByDeclaration found.bodies
    records := records
    fileNames := fileNames
  }

/-! ## Terms and states -/

/-- The constants of an expression. -/
def constantSet (start : NameSet) (expression : Expr) : NameSet :=
  expression.getUsedConstants.foldl (fun (names : NameSet) (name : Name) => names.insert name) start

/-- The constants of a goal, hypotheses included. -/
def statedConstants (goal : MVarId) : MetaM NameSet :=
  goal.withContext do
    let target : Expr ← instantiateMVars (← goal.getType)
    let mut names : NameSet := constantSet {} target
    for decl in ← getLCtx do
      unless decl.isImplementationDetail do
        let type : Expr ← instantiateMVars decl.type
        names := constantSet names type
    return names

/-- Runs an action about the metavariables of a step. -/
def withMetavariables {α : Type} (step : Step) (context : MetavarContext) (action : MetaM α) :
    CoreM α := do
  setNGen step.names
  MetaM.run' action (s := { mctx := context })

/--
The term that closes a goal; nothing when a part of it is missing, when the goal was given up, or when it is a place inside
`conv`.
-/
def closedTerm? (goal : MVarId) : MetaM (Option Expr) := do
  let context : MetavarContext ← getMCtx
  match context.findDecl? goal with
  | none => return none
  | some decl =>
    let term : Expr ← instantiateMVars (mkMVar goal)
    let isOpen : Bool := term.hasExprMVar || term.hasSorry
    -- Only a place inside `conv` is shown behind this sign.
    let isPlace : Bool := getGoalPrefix decl == "| "
    return if isOpen || isPlace then none else some term

/-- The term that a step built for its goals, as far as it goes. -/
def builtConstants (env : Environment) (step : Step) : CoreM NameSet :=
  withMetavariables step step.after do
    let mut names : NameSet := {}
    for goal in step.solved do
      let term : Expr ← instantiateMVars (mkMVar goal)
      for used in usedConstants env term do
        names := names.insert used.name
    return names

/-- What the steps use that find lemmas by themselves. -/
def stepUses (env : Environment) (steps : Array Step) : CoreM (Array StepUse) := do
  let mut uses : Array StepUse := #[]
  for step in steps do
    unless hasBlock step.stx do
      match originOfTactic? (firstToken step.stx) with
      | none => pure ()
      | some origin =>
        let names : NameSet ← builtConstants env step
        uses := uses.push { span := step.span, origin := origin, names := names }
  return uses

/-! ## The source that belongs to a goal -/

/-- The goals that came from `goal`, itself included; the steps stand in the order in which they were run. -/
def descendants (steps : Array Step) (goal : MVarId) : Std.HashSet MVarId := Id.run do
  let start : Std.HashSet MVarId := {}
  let mut known : Std.HashSet MVarId := start.insert goal
  for step in steps do
    if step.solved.any (fun (solved : MVarId) => known.contains solved) then
      for made in step.made do
        known := known.insert made
  return known

/-- Where the steps stand that solve only goals that came from `goal`; `own` is always among them. -/
def spansOf (steps : Array Step) (goal : MVarId) (own : Span) : Array Span := Id.run do
  let known : Std.HashSet MVarId := descendants steps goal
  let mut spans : Array Span := #[own]
  for step in steps do
    let solvesOnlyThese : Bool := step.solved.all (fun (solved : MVarId) => known.contains solved)
    if solvesOnlyThese && !step.solved.isEmpty then
      unless spans.any (fun (span : Span) => step.span.isInside span) do
        spans := spans.push step.span
  return spans

/-! ## Examples -/

/-- Where a proof stands: its body, or what its steps cover; nothing for a proof that an attribute made. -/
def proofSpan? (body? : Option Body) (steps : Array Step) : Option Span :=
  let cover (span? : Option Span) (step : Step) : Option Span :=
    match span? with
    | none => some step.span
    | some span => some { start := min span.start step.span.start, stop := max span.stop step.span.stop }
  match body? with
  | some body => some body.span
  | none => steps.foldl cover none

/-- The mentions that lie in a span. -/
def mentionsIn (mentions : Array Mention) (span? : Option Span) : Array Mention :=
  match span? with
  | some span => mentions.filter fun (mention : Mention) => span.has mention.position
  | none => #[]

/-- What is known about the proof of one theorem. -/
def evidenceOf (file : FileEvidence) (name : Name) (span? : Option Span) (steps : Array Step) :
    CoreM Evidence := do
  let uses : Array StepUse ← stepUses file.filter.env steps
  let mentions : Array Mention := mentionsIn file.found.mentions span?
  let records : Array Mention := mentionsIn file.records span?
  return {
    filter := file.filter
    theoremName := name
    inSource := span?.isSome
    mentions := mentions
    fileNames := file.fileNames
    records := records
    rules := file.found.rules
    uses := uses
  }

/-- The line and the column of a position. -/
def placeOf (fileMap : FileMap) (position : Nat) : Position :=
  fileMap.toPosition { byteIdx := position }

/-- The example of a step; nothing when a part of its proof is missing. -/
def stepExample? (file : FileEvidence) (evidence : Evidence) (steps : Array Step) (step : Step) :
    CoreM (Option ExampleRow) := do
  match step.goals with
  | [] => return none
  | goal :: _ =>
    let term? : Option Expr ← withMetavariables step step.closing (closedTerm? goal)
    match term? with
    | none => return none
    | some term =>
      let (state, _) ← withMetavariables step step.before (goalText goal)
      let stated : NameSet ← withMetavariables step step.before (statedConstants goal)
      let spans : Array Span := spansOf steps goal step.span
      let used : Array Used := usedConstants file.filter.env term
      let place : Position := placeOf file.fileMap step.span.start
      return some {
        theoremName := evidence.theoremName.toString
        tactic := true
        state := state
        line? := some place.line
        column? := some place.column
        premises := evidence.premises spans used stated
      }

/-- The state at the root of a theorem, and the constants of that state. -/
def rootState (type : Expr) : MetaM (String × NameSet) :=
  forallTelescope type fun (_ : Array Expr) (target : Expr) => do
    let goal : Expr ← mkFreshExprSyntheticOpaqueMVar target
    let (state, _) ← goalText goal.mvarId!
    let stated : NameSet ← statedConstants goal.mvarId!
    return (state, stated)

/-- The example at the root of a theorem; nothing when its proof is not at hand. -/
def rootExample? (file : FileEvidence) (evidence : Evidence) (declared : Declared)
    (span? : Option Span) (isTactic : Bool) : CoreM (Option ExampleRow) := do
  match declared.info.value? (allowOpaque := true) with
  | none => return none
  | some value =>
    if value.hasSorry then
      return none
    let (state, stated) ← MetaM.run' (rootState declared.info.type)
    let spans : Array Span := span?.toArray
    let used : Array Used := usedConstants file.filter.env value
    let place? : Option Position := span?.map fun (span : Span) => placeOf file.fileMap span.start
    return some {
      theoremName := declared.name.toString
      tactic := isTactic
      state := state
      line? := place?.map fun (place : Position) => place.line
      column? := place?.map fun (place : Position) => place.column
      premises := evidence.premises spans used stated
    }

/-- The examples of one theorem, the root first, no state twice. -/
def theoremExamples (file : FileEvidence) (declared : Declared) : CoreM (Array ExampleRow) := do
  let steps : Array Step := file.steps.getD declared.name #[]
  let body? : Option Body := file.bodies[declared.name]?
  let span? : Option Span := proofSpan? body? steps
  let isTactic : Bool := (body?.map fun (body : Body) => body.tactic).getD false
  let evidence : Evidence ← evidenceOf file declared.name span? steps
  let mut states : Std.HashSet String := {}
  let mut ofSteps : Array ExampleRow := #[]
  for step in steps do
    match ← stepExample? file evidence steps step with
    | none => pure ()
    | some row =>
      unless states.contains row.state do
        states := states.insert row.state
        ofSteps := ofSteps.push row
  match ← rootExample? file evidence declared span? isTactic with
  | none => return ofSteps
  | some root => return if states.contains root.state then ofSteps else #[root] ++ ofSteps

/-- Whether a declaration is a theorem with a proof; a law of a structure has none. -/
def isTheorem (env : Environment) (declared : Declared) : Bool :=
  match declared.info with
  | .thmInfo _ => (env.getProjectionFnInfo? declared.name).isNone
  | _ => false

/-- The examples of a file, and the theorems that have none because of a failure. -/
def exampleRows (file : FileEvidence) (declared : Array Declared) :
    CoreM (Array ExampleRow × Array Skipped) := do
  let mut rows : Array ExampleRow := #[]
  let mut skipped : Array Skipped := #[]
  for item in declared do
    if isTheorem file.filter.env item then
      let made : Except String (Array ExampleRow) ←
        tryCatchRuntimeEx
          (do
            let examples : Array ExampleRow ← theoremExamples file item
            return Except.ok examples)
          (fun (exception : Exception) => do
            let reason : String ← exceptionText exception
            return Except.error reason)
      match made with
      | .ok examples => rows := rows ++ examples
      | .error reason =>
        skipped := skipped.push { name := item.name.toString, reason := "proof states: " ++ reason }
  return (rows, skipped)

end LeanHammerExt.Extraction
