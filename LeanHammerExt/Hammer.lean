/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Aesop
import LeanHammerExt.Minimise
import LeanHammerExt.Select

/-!
# The tactic `hammer`

In: the main goal, and terms that the user thinks will help. Out: the goal is closed, and "Try this" shows the text
that closes it without a search.

Steps: tactics without arguments; premise selection; the engines, all at once; a smaller text; the text is run on
the goal. The first three and the last one share one deadline.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic
open Lean.Parser.Tactic (optConfig)

/-- Elaborates the options of a `hammer` call. -/
declare_config_elab elabHammerConfig HammerConfig

/--
`hammer` tries to close the main goal: with short proofs, `simp`, `aesop`, `grind` and `duper` on selected premises, and with
external provers whose proofs it rebuilds. What works is made smaller, run on the goal, and shown as "Try this".
When nothing works it fails and says what each engine did, so `first | hammer | tac` goes on with `tac`.

* `hammer [h, foo, bar x]` uses these terms besides the selected premises.
* `hammer +parallel -aesop` switches engines (`exact`, `simp`, `aesop`, `auto`, `duper`, `grind`) and other options
  on and off.
* `hammer (timeout := 20) (premises := 128)` sets numbers; `timeout` is in seconds, 0 means no limit.
* `hammer (mode := "aesop")` runs one setting: `"aesop"`, `"auto"`, `"aesop+auto"`, `"full"`, or their `"union"`.
* `hammer?` is the same and also says what each engine did.

Every option can also be set with `set_option hammer.…`.

```lean
example (a b c : Nat) (h : a ≤ b) : a + c ≤ b + c := by
  hammer
```
-/
syntax (name := hammerTactic) "hammer" optConfig (" [" term,* "]")? : tactic

@[inherit_doc hammerTactic]
syntax (name := hammerTraceTactic) "hammer?" optConfig (" [" term,* "]")? : tactic

/-! ## Premises -/

/-- The premises of a goal, and what a user who asks is told about them. -/
structure SelectedFacts where
  /-- The premises. -/
  facts : Array Fact
  /-- What happened. -/
  note : String
deriving Inhabited

/-- Fails if a term of the user makes no sense at the goal. -/
def checkTerm (term : Term) : TacticM Unit := do
  let saved : Tactic.SavedState ← Tactic.saveState
  let _ ← withoutRecover (Tactic.elabTerm term none true)
  saved.restore

/-- Selects premises by `deadline`. -/
def selectFacts (config : HammerConfig) (given : Array Fact) (deadline : Nat) : TacticM SelectedFacts := do
  if config.premises == 0 then
    return { facts := #[], note := "no premises were wanted" }
  let start : Nat ← IO.monoMsNow
  -- When the sidecar is late, the last quarter is for Lean's own library suggestions.
  let patience : Nat := (deadline - start) / 4 * 3
  let theoremName? : Option Name ← Term.getDeclName?
  let request : SelectionRequest := {
    count := config.premises
    milliseconds? := some patience
    theoremName? := theoremName?
    exclude := given.filterMap fun (fact : Fact) => fact.name?
  }
  -- Messages of the background are lost, so it keeps quiet, and what there is to say is said here.
  let quiet (options : Options) : Options := options.set `hammer.notices false
  let select : TacticM Selection := withOptions quiet do
    let selection : Selection ← selectPremises (← getMainGoal) request
    return selection
  match ← runOnCopy select deadline with
  | none =>
    return { facts := #[], note := s!"premise selection took longer than {deadline - start} ms" }
  | some (.error failure) =>
    unless hammer.fallback.get (← getOptions) do
      throw failure
    let text : String ← exceptionText failure
    return { facts := #[], note := s!"premise selection failed: {text}" }
  | some (.ok selection) =>
    let source : String ←
      match selection.failure? with
      | some error =>
        reportOnce error
        pure "Lean's own library suggestions"
      | none =>
        reportMismatch
        pure "the sidecar"
    let facts : Array Fact ← selection.names.mapM fun (name : Name) => (premiseFact name : MetaM Fact)
    return { facts := facts, note := s!"{facts.size} premises from {source} ({selection.milliseconds} ms)" }

/-! ## The search -/

/-- What came of the search. -/
structure HammerResult where
  /-- The proof. -/
  proof? : Option FoundProof
  /-- What each engine did. -/
  reports : Array EngineReport
  /-- What is said about premises. -/
  note : String
deriving Inhabited

/-- Tries tactics without arguments for a second: with them, no premises are needed. -/
def shortPass (deadline : Nat) : TacticM (Option FoundProof) := do
  let limit : Nat := min deadline ((← IO.monoMsNow) + 1000)
  let short : TacticM (Option (Script × Nat)) := do
    let goal : MVarId ← getMainGoal
    shortProof? goal
  match ← runOnCopy short limit with
  | some (.ok (some item)) =>
    let candidate : Candidate := { engine := .exact, form := .fixed item.1, facts := #[] }
    return some { candidate := candidate, milliseconds := item.2 }
  | _ => return none

/-- Looks for a proof of the main goal, which stays as it is. -/
def findProof (config : HammerConfig) (terms : Array Term) (deadline : Nat) : TacticM HammerResult := do
  let (engines, _) ← chooseEngines config
  let start : Nat ← IO.monoMsNow
  let usesShort : Bool := engines.contains .exact
  let short? : Option FoundProof ← if usesShort then shortPass deadline else pure none
  match short? with
  | some found =>
    let report : EngineReport :=
      { engine := .exact, outcome := .proof, milliseconds := (← IO.monoMsNow) - start }
    return { proof? := some found, reports := #[report], note := "no premises were needed" }
  | none =>
    let given : Array Fact ← terms.mapM givenFact
    let now : Nat ← IO.monoMsNow
    -- Half of the time at most, so that the engines get the other half.
    let selected : SelectedFacts ← selectFacts config given (now + (deadline - now) / 2)
    let problem : Problem := {
      facts := given ++ selected.facts
      config := config
      deadline := deadline
      shortTried := usesShort
    }
    let result : PortfolioResult ← runPortfolio problem
    return { proof? := result.proof?, reports := result.reports, note := selected.note }

/-! ## The end -/

/-- Closes the main goal with a script, or fails and changes nothing. -/
def replay (script : Script) : TacticM Unit :=
  Term.withoutErrToSorry <| withoutRecover <| focus do
    runScript script
    done

/-- Shows a script as "Try this". -/
def suggestScript (ref span : Syntax) (script : Script) : TacticM Unit := do
  match script.toList with
  | [tac] => Meta.Tactic.TryThis.addSuggestion ref tac (origSpan? := span)
  | _ =>
    let sequence : TSyntax ``Parser.Tactic.tacticSeq ← scriptSequence script
    Aesop.addTryThisTacticSeqSuggestion ref sequence (some span)

/-- What `hammer?` says. -/
def explanation (result : HammerResult) (proof : FinalProof) (searched total : Nat) : String :=
  let lines : List String := [
    s!"premises: {result.note}",
    "engines:",
    renderReports result.reports,
    s!"search: {searched} ms, with a smaller proof: {total} ms; replay: {proof.milliseconds} ms"
  ]
  "\n".intercalate lines

/-- The text of a script, for the sidecar. -/
def scriptText (script : Script) : CoreM String := do
  let texts : Array String ← script.mapM fun (tac : TSyntax `tactic) => do
    let format : Format ← PrettyPrinter.ppTactic tac
    return format.pretty 100
  return "\n".intercalate texts.toList

/--
Lets the sidecar write down which premises closed a goal, if the user wants that. Nobody waits for it. `goal` may be
closed by now.
-/
def sendFeedback (goal : MVarId) (proof : FinalProof) : TacticM Unit := do
  let options : Options ← getOptions
  if hammer.feedback.get options then
    let (goalLines, _) ← goalText goal
    let facts : Array Fact ← proof.facts.mapM givenFact
    let names : Array String := facts.filterMap fun (fact : Fact) =>
      fact.name?.map fun (name : Name) => name.toString
    let tactic : String ← scriptText proof.script
    let params : Protocol.Entries := Protocol.feedbackParams goalLines names (some tactic)
    let settings : SidecarSettings := SidecarSettings.ofOptions options
    let send : BaseIO Unit := discard <| Sidecar.ask settings "feedback" params 5000 (pure false)
    discard <| BaseIO.asTask send .dedicated

/-- Milliseconds that stand for "no limit". -/
def endless : Nat := 1000000000

/--
Runs `hammer` on the main goal. `ref` is the keyword, at which messages are shown, and `span` the whole call, which
"Try this" replaces.
-/
def runHammer (ref span : Syntax) (explain : Bool) (config : HammerConfig) (terms : Array Term) :
    TacticM Unit :=
  withMainContext do
    for term in terms do
      checkTerm term
    let start : Nat ← IO.monoMsNow
    let budget : Nat := if config.timeout == 0 then endless else 1000 * config.timeout
    let goal : MVarId ← getMainGoal
    let result : HammerResult ← findProof config terms (start + budget)
    let searched : Nat := (← IO.monoMsNow) - start
    match result.proof? with
    | none =>
      let text : String := failureText result.reports ++ s!"\n  premises: {result.note}"
      throwTacticEx `hammer goal m!"{text}"
    | some found =>
      let first : FinalProof ← FinalProof.ofFound found
      let smaller : FinalProof ←
        if config.minimise then minimise found (1000 * config.minimiseTimeout) else pure first
      let saved : Tactic.SavedState ← Tactic.saveState
      let replayed : Bool ← tryCatchRuntimeEx
        (do
          replay smaller.script
          return true)
        (fun _ => pure false)
      let shown : FinalProof ←
        if replayed then
          pure smaller
        else
          -- The text as it was found, before it was made smaller; its error is the user's to see.
          saved.restore
          replay first.script
          pure first
      suggestScript ref span shown.script
      let total : Nat := (← IO.monoMsNow) - start
      if explain then
        logInfoAt ref (explanation result shown searched total)
      sendFeedback goal shown

/-- Reads the options of a call, over those that `set_option` set. A wrong one is an error, whoever calls. -/
def readConfig (options : TSyntax ``optConfig) : TacticM HammerConfig := do
  let initial : HammerConfig := HammerConfig.ofOptions (← getOptions)
  withoutRecover (elabHammerConfig options initial)

elab_rules : tactic
  | `(tactic| hammer%$keyword $options:optConfig $[[$terms,*]]?) => do
    let span : Syntax ← getRef
    let config : HammerConfig ← readConfig options
    let given : Array Term := (terms.map (Syntax.TSepArray.getElems)).getD #[]
    runHammer keyword span false config given
  | `(tactic| hammer?%$keyword $options:optConfig $[[$terms,*]]?) => do
    let span : Syntax ← getRef
    let config : HammerConfig ← readConfig options
    let given : Array Term := (terms.map (Syntax.TSepArray.getElems)).getD #[]
    runHammer keyword span true config given

end LeanHammerExt
