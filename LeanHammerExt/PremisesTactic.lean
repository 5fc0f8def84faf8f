/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Select

/-!
# The tactic `premises`

In: the main goal. Out: one message with the premises that matter, each with its signature to hover over and to click on.
The goal stays as it is.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/--
`premises` shows the declarations that may help to prove the main goal, best first; `premises 10` shows ten of them. It
asks the sidecar, and when that does not answer, Lean's own library suggestions.

The goal is not changed, so the tactic has to be removed from a finished proof.

Options: `hammer.premises` (how many are shown when no number is given), `hammer.method` (how they are ranked).

```lean
example (a b : Nat) : a + b = b + a := by
  premises 5
  exact Nat.add_comm a b
```
-/
syntax (name := premisesTactic) "premises" (ppSpace num)? : tactic

/-- Where a premise comes from, for people; nothing for the usual case. -/
def sourceNote (source : PremiseSource) : String :=
  match source with
  | .index => ""
  | .environment => " (imported, not in the index)"
  | .file => " (this file)"
  | .core => ""

/-- One message with all premises of a selection. -/
def selectionMessage (selection : Selection) : MessageData := Id.run do
  let origin : String :=
    match selection.failure? with
    | some _ => "by Lean's own library suggestions"
    | none => s!"among {selection.visible} declarations"
  let count : Nat := selection.premises.size
  let noun : String := if count == 1 then "premise" else "premises"
  let mut message : MessageData := m!"{count} {noun} {origin}:"
  let mut number : Nat := 1
  for premise in selection.premises do
    let signature : MessageData := MessageData.signature premise.name
    message := m!"{message}\n{number}. {signature}{sourceNote premise.source}"
    number := number + 1
  for notice in selection.notices do
    message := m!"{message}\nnote: {notice.message}"
  return message

/-- Shows the premises of the main goal. -/
def showPremises (count : Nat) : TacticM Unit :=
  withMainContext do
    let goal : MVarId ← getMainGoal
    let theoremName? : Option Name ← Term.getDeclName?
    let request : SelectionRequest := { count := count, theoremName? := theoremName? }
    let selection : Selection ← selectPremises goal request
    if selection.premises.isEmpty then
      logInfo "no premise was found for this goal"
    else
      logInfo (selectionMessage selection)

@[tactic premisesTactic, inherit_doc premisesTactic]
def evalPremises : Tactic := fun (stx : Syntax) => do
  match stx with
  | `(tactic| premises $count:num) => showPremises count.getNat
  | `(tactic| premises) => showPremises (hammer.premises.get (← getOptions))
  | _ => throwUnsupportedSyntax

end LeanHammerExt
