/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Lean.LibrarySuggestions
import LeanHammerExt.Bridge.Error
import LeanHammerExt.Premises

/-!
# Premises without the sidecar

In: a goal. Out: premises as Lean's own "sine qua non" selector ranks them, interspersed with those of the current file;
and one message in a file that says why.
-/

namespace LeanHammerExt

open Lean Meta

/-- Alternates between two arrays without repeats, as long as both last; at most `count` names. -/
def intersperse (left right : Array Name) (count : Nat) : Array Name := Id.run do
  let mut found : Array Name := #[]
  let mut seen : NameSet := {}
  for index in [0:max left.size right.size] do
    for source in [left, right] do
      match source[index]? with
      | some name =>
        if found.size < count && !seen.contains name then
          found := found.push name
          seen := seen.insert name
      | none => pure ()
  return found

/-- What Lean's own selector finds; nothing when it fails. -/
def sineQuaNon (goal : MVarId) (count : Nat) : MetaM (Array Name) := do
  let config : LibrarySuggestions.Config := { maxSuggestions := count, caller := some "hammer" }
  tryCatchRuntimeEx
    (do
      let suggestions : Array LibrarySuggestions.Suggestion ←
        LibrarySuggestions.sineQuaNonSelector 1.5 goal config
      return suggestions.map fun (suggestion : LibrarySuggestions.Suggestion) => suggestion.name)
    (fun _ => pure #[])

/-- Premises without the sidecar, best first. -/
def fallbackPremises (goal : MVarId) (count : Nat) : MetaM (Array Name) := do
  let filter : PremiseFilter ← PremiseFilter.current
  let inFile : Array Name := filePremises filter count
  let imported : Array Name ← sineQuaNon goal count
  return intersperse imported inFile count

/-- The failures of this process that were already reported. -/
initialize reportedRef : IO.Ref (Array (FailureKind × String)) ← IO.mkRef #[]

/-- Says once in a file that the sidecar did not answer, and what can be done about it. -/
def reportOnce (error : SidecarError) : CoreM Unit := do
  unless hammer.notices.get (← getOptions) do
    return
  if error.kind == .disabled || error.kind == .interrupted then
    return
  let key : FailureKind × String := (error.kind, error.code)
  let reported : Array (FailureKind × String) ← reportedRef.get
  if reported.contains key then
    return
  reportedRef.set (reported.push key)
  logInfo m!"The sidecar did not answer; Lean's own library suggestions are used instead.\n{error.render}\n\
    (`set_option hammer.notices false` hides this.)"

end LeanHammerExt
