/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import ProofRate.Trials

/-!
# `lake exe proof_rate`

In: `MODULE --tactic TEXT [--known FILE] [--fraction N]` for the statements of the theorems, or
`MODULE --steps [--fraction N]` for the steps of their proofs, where the environment variable
`TRY_AT_EACH_STEP_TACTIC` holds the tactic. Out: one line a trial on the standard output, and the exit code.
-/

open LeanHammerExt.ProofRate

/-- What was asked for. -/
structure Request where
  /-- The module. -/
  moduleName : Lean.Name := Lean.Name.anonymous
  /-- The text of the tactic that is tried on statements. -/
  tacticText : String := ""
  /-- A file with the premises that are known to close each theorem. -/
  known? : Option String := none
  /-- Whether the steps of proofs are tried. -/
  atSteps : Bool := false
  /-- One in so many theorems or goals is tried. -/
  fraction : Nat := 1

/-- How the program is called. -/
def usage : String :=
  "usage: lake exe proof_rate MODULE (--tactic TEXT [--known FILE] | --steps) [--fraction N]"

/-- Reads the command line. -/
def readRequest : List String → Request → Except String Request
  | [], request =>
    -- At the steps, tactic and premises are given in the environment.
    if request.moduleName.isAnonymous || (request.tacticText == "") != request.atSteps then
      .error usage
    else if request.atSteps && request.known?.isSome then
      .error usage
    else
      .ok request
  | "--tactic" :: text :: rest, request => readRequest rest { request with tacticText := text }
  | "--known" :: file :: rest, request => readRequest rest { request with known? := some file }
  | "--steps" :: rest, request => readRequest rest { request with atSteps := true }
  | "--fraction" :: number :: rest, request =>
    match number.toNat? with
    | some (count + 1) => readRequest rest { request with fraction := count + 1 }
    | _ => .error s!"--fraction wants a number from 1, not `{number}`"
  | argument :: rest, request =>
    if argument.startsWith "-" then
      .error s!"the argument `{argument}` is not known or lacks its value"
    else
      readRequest rest { request with moduleName := argument.toName }

/-- Reads the command line and tries the tactic. -/
unsafe def main (arguments : List String) : IO UInt32 := do
  match readRequest arguments {} with
  | .error reason =>
    IO.eprintln reason
    return 2
  | .ok request =>
    Lean.initSearchPath (← Lean.findSysroot)
    Lean.enableInitializersExecution
    let work : IO Unit :=
      if request.atSteps then
        trySteps request.moduleName request.fraction
      else
        tryStatements request.moduleName request.tacticText request.known? request.fraction
    match ← EIO.toBaseIO work with
    | .ok _ => IO.Process.exit 0
    | .error error =>
      IO.eprintln s!"{error}"
      IO.Process.exit 1
