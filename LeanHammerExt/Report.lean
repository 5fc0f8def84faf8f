/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Engines.Problem

/-!
# What the engines did

In: how each engine ended. Out: one line for each, for the error of `hammer` and for `hammer?`.
-/

namespace LeanHammerExt

open Lean

/-- How an engine ended. -/
inductive Outcome where
  /-- It was not run; the text says why. -/
  | notRun (reason : String)
  /-- It found a text that closes the goal. -/
  | proof
  /-- It gave up; the text says why. -/
  | noProof (detail : String)
  /-- It was stopped at the deadline. -/
  | timedOut
  /-- It was stopped because another engine was faster. -/
  | overtaken
  /-- It failed; the text says how. -/
  | error (detail : String)
deriving Inhabited, BEq, Repr

/-- What an engine did. -/
structure EngineReport where
  /-- The engine. -/
  engine : Engine
  /-- How it ended. -/
  outcome : Outcome
  /-- How long it ran. -/
  milliseconds : Nat
deriving Inhabited, BEq, Repr

/-- One line about an engine. -/
def EngineReport.render (report : EngineReport) : String :=
  let name : String := report.engine.name
  let time : String := s!"({report.milliseconds} ms)"
  let withDetail (words detail : String) : String :=
    if detail == "" then s!"{name}: {words} {time}" else s!"{name}: {words} {time}: {detail}"
  match report.outcome with
  | .notRun reason => s!"{name}: not run: {reason}"
  | .proof => withDetail "proof" ""
  | .noProof detail => withDetail "no proof" detail
  | .timedOut => withDetail "timed out" ""
  | .overtaken => withDetail "stopped, another engine was faster" ""
  | .error detail => withDetail "error" detail

/-- One line for each engine. -/
def renderReports (reports : Array EngineReport) : String :=
  let lines : Array String := reports.map fun (report : EngineReport) => "  " ++ report.render
  "\n".intercalate lines.toList

/-- What `hammer` says when no engine closed the goal. -/
def failureText (reports : Array EngineReport) : String :=
  if reports.isEmpty then
    "every engine is switched off"
  else
    "no engine closed the goal\n" ++ renderReports reports

/-- The line for an engine that returned. -/
def EngineReport.ofResult (engine : Engine) (result : EngineResult) (milliseconds : Nat) : EngineReport :=
  let outcome : Outcome :=
    match result with
    | .proof _ _ => .proof
    | .noProof detail => .noProof detail
    | .notRun reason => .notRun reason
  { engine := engine, outcome := outcome, milliseconds := milliseconds }

end LeanHammerExt
