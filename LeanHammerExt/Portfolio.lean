/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Background
import LeanHammerExt.Engines.Combined
import LeanHammerExt.Engines.Exact
import LeanHammerExt.Engines.Grind
import LeanHammerExt.Engines.Simp
import LeanHammerExt.Report

/-!
# The engines under one deadline

In: a problem. Out: the first text that closes the goal, and what every engine did.

Each engine runs on a copy of the goal in a thread of its own, only to learn which text works: no proof is taken
over. All of them are stopped when one has succeeded, at the deadline, and when the editor cancels the elaboration.
A thread that does not look for being stopped is not waited for.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/-- What an engine does. -/
def Engine.run (engine : Engine) (problem : Problem) : TacticM EngineResult :=
  match engine with
  | .exact => exactEngine problem
  | .simp => simpEngine problem
  | .aesop => aesopEngine problem
  | .auto => autoEngine problem
  | .duper => duperEngine problem
  | .grind => grindEngine problem
  | .aesopAuto => combinedEngine false problem
  | .full => combinedEngine true problem

/-- An engine that runs. -/
structure RunningEngine where
  /-- The engine. -/
  engine : Engine
  /-- When it was started, by `IO.monoMsNow`. -/
  startedAt : Nat
  /-- Its thread. -/
  task : Task (Except Exception EngineResult)

/-- A text that closes the goal. -/
structure FoundProof where
  /-- The text. -/
  candidate : Candidate
  /-- How long it took when it was tried. -/
  milliseconds : Nat
deriving Inhabited

/-- What came of running engines. -/
structure PortfolioResult where
  /-- The first proof. -/
  proof? : Option FoundProof
  /-- What the engines did. -/
  reports : Array EngineReport
deriving Inhabited

/-- What an engine that is done did, and its proof. -/
def RunningEngine.read (running : RunningEngine) (now : Nat) (deadline : Nat) :
    CoreM (EngineReport × Option FoundProof) := do
  let milliseconds : Nat := now - running.startedAt
  match running.task.get with
  | .ok result =>
    let report : EngineReport := EngineReport.ofResult running.engine result milliseconds
    match result with
    | .proof candidate time => return (report, some { candidate := candidate, milliseconds := time })
    | _ => return (report, none)
  | .error failure =>
    let outcome : Outcome ←
      if failure.isInterrupt then
        pure (if deadline ≤ now then Outcome.timedOut else Outcome.overtaken)
      else if failure.isRuntime then
        pure (Outcome.noProof "out of heartbeats or of stack")
      else
        pure (Outcome.error (← exceptionText failure))
    return ({ engine := running.engine, outcome := outcome, milliseconds := milliseconds }, none)

/-- What is said of an engine that was not waited for. -/
def RunningEngine.abandon (running : RunningEngine) (now : Nat) (deadline : Nat) : EngineReport where
  engine := running.engine
  outcome := if deadline ≤ now then .timedOut else .overtaken
  milliseconds := now - running.startedAt

/-- Waits until one engine has found a proof or all are done. -/
partial def awaitProof (running : Array RunningEngine) (reports : Array EngineReport) (deadline : Nat)
    (stop : BaseIO Bool) : CoreM PortfolioResult := do
  if running.isEmpty then
    return { proof? := none, reports := reports }
  let anyFinished : BaseIO Bool := running.anyM fun (item : RunningEngine) => IO.hasFinished item.task
  let waited : Bridge.Waited ← Bridge.waitUntil anyFinished deadline stop
  Core.checkInterrupted
  let now : Nat ← IO.monoMsNow
  let mut rest : Array RunningEngine := #[]
  let mut told : Array EngineReport := reports
  let mut proof? : Option FoundProof := none
  for item in running do
    let isFinished : Bool ← IO.hasFinished item.task
    if isFinished then
      let (report, found?) ← item.read now deadline
      told := told.push report
      -- Engines come in the order of their costs: of several proofs the first one is taken.
      if proof?.isNone then
        proof? := found?
    else
      rest := rest.push item
  let isOver : Bool := proof?.isSome || !(waited == Bridge.Waited.finished)
  if isOver then
    let abandoned : Array EngineReport := rest.map fun (item : RunningEngine) => item.abandon now deadline
    return { proof? := proof?, reports := told ++ abandoned }
  else
    awaitProof rest told deadline stop

/-- Starts engines. -/
def startEngines (engines : Array Engine) (problem : Problem) (token : IO.CancelToken) :
    TacticM (Array RunningEngine) := do
  let mut running : Array RunningEngine := #[]
  for engine in engines do
    let startedAt : Nat ← IO.monoMsNow
    let task : Task (Except Exception EngineResult) ← startOnCopy (engine.run problem) token
    running := running.push { engine := engine, startedAt := startedAt, task := task }
  return running

/-- Runs engines at the same time. -/
def runTogether (engines : Array Engine) (problem : Problem) : TacticM PortfolioResult := do
  let token : IO.CancelToken ← IO.CancelToken.new
  let stop : BaseIO Bool ← cancelledHere
  try
    let running : Array RunningEngine ← startEngines engines problem token
    let result : PortfolioResult ← awaitProof running #[] problem.deadline stop
    return result
  finally
    token.set

/-- Runs engines one after the other. -/
def runInTurn (engines : Array Engine) (problem : Problem) : TacticM PortfolioResult := do
  let mut reports : Array EngineReport := #[]
  for engine in engines do
    let left : Nat ← problem.left
    if left == 0 then
      reports := reports.push { engine := engine, outcome := .notRun "no time was left", milliseconds := 0 }
    else
      let result : PortfolioResult ← runTogether #[engine] problem
      reports := reports ++ result.reports
      if result.proof?.isSome then
        return { proof? := result.proof?, reports := reports }
  return { proof? := none, reports := reports }

/-- The engines that run, and a line for each one that is switched off. -/
def chooseEngines (config : HammerConfig) : CoreM (Array Engine × Array EngineReport) := do
  match enginesOfMode? config.mode with
  | none =>
    let names : List String := modeNames.map fun (name : String) => s!"\"{name}\""
    let known : String := ", ".intercalate names
    throwError "`hammer` has no mode \"{config.mode}\"; it has {known}"
  | some engines =>
    let chosen : List Engine := engines.filter fun (engine : Engine) => config.enables engine
    let others : List Engine := engines.filter fun (engine : Engine) => !config.enables engine
    let reports : List EngineReport := others.map fun (engine : Engine) =>
      { engine := engine, outcome := .notRun "switched off", milliseconds := 0 }
    return (chosen.toArray, reports.toArray)

/-- Runs the engines of a problem on the main goal, which stays as it is. -/
def runPortfolio (problem : Problem) : TacticM PortfolioResult := do
  let (engines, skipped) ← chooseEngines problem.config
  let result : PortfolioResult ←
    if problem.config.parallel then runTogether engines problem else runInTurn engines problem
  return { result with reports := result.reports ++ skipped }

end LeanHammerExt
