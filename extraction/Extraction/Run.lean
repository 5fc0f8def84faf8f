/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Module

/-!
# All modules

In: what was asked for. Out: one file a module, written by child processes of which a given number run at the same time;
a line that says how far the work is; a summary of what is missing and why; and whether everything that was asked for is
there.
-/

namespace LeanHammerExt.Extraction

open Lean
open System (FilePath)

/-- A child process at work. -/
structure Running where
  /-- The module that it extracts. -/
  moduleName : Name
  /-- Its end. -/
  task : Task (Except IO.Error IO.Process.Output)

/-- How far the work is. -/
structure Progress where
  /-- How many modules there are. -/
  total : Nat
  /-- How many modules are done. -/
  done : Nat := 0
  /-- How many declarations were written. -/
  declarations : Nat := 0
  /-- How many examples were written. -/
  examples : Nat := 0
  /-- Modules without a file, and why. -/
  failed : Array Skipped := #[]
  /-- What is missing in the files, and why. -/
  skipped : Array Skipped := #[]
  /-- When the work began, in milliseconds. -/
  started : Nat

/-- Milliseconds between two looks at the child processes. -/
def pollInterval : UInt32 := 100

/-- Milliseconds between two progress lines where there is no terminal. -/
def lineInterval : Nat := 60000

/-- A number of milliseconds in words. -/
def duration (milliseconds : Nat) : String :=
  let seconds : Nat := milliseconds / 1000
  if seconds < 60 then
    s!"{seconds} s"
  else if seconds < 3600 then
    s!"{seconds / 60} min {seconds % 60} s"
  else
    s!"{seconds / 3600} h {(seconds / 60) % 60} min"

/-- The progress line. -/
def Progress.line (progress : Progress) (now : Nat) : String :=
  let spent : Nat := now - progress.started
  let left : String :=
    if progress.done == 0 then
      ""
    else
      s!", about {duration (spent * (progress.total - progress.done) / progress.done)} left"
  s!"{progress.done} of {progress.total} modules, {progress.declarations} declarations, \
    {progress.examples} examples, {progress.failed.size} failed, {duration spent}{left}"

/-- The modules that are asked for, in an order in which imports come first, and those that are not built. -/
def listModules (choices : Choices) : IO (Array Name × Array Skipped) := do
  let mut built : Array Import := #[]
  let mut missing : Array Skipped := #[]
  for named in choices.modules do
    let olean? : Option FilePath ← attempt (findOLean named)
    let isBuilt : Bool ←
      match olean? with
      | some olean => olean.pathExists
      | none => pure false
    if isBuilt then
      built := built.push { module := named }
    else
      let reason : String := s!"it is not built or not part of this workspace; run `lake build {named}`"
      missing := missing.push { name := named.toString, reason := reason }
  if built.isEmpty then
    return (#[], missing)
  let env : Environment ← importModules built {}
  let wanted : Array Name := env.header.moduleNames.filter fun (name : Name) => choices.wants name
  return (wanted, missing)

/-- Starts a child process. -/
def startWorker (program : FilePath) (folder : String) (moduleName : Name) : IO Running := do
  let arguments : Array String := #["--worker", "--output", folder, moduleName.toString]
  let work : IO IO.Process.Output :=
    IO.Process.output { cmd := program.toString, args := arguments }
  let task : Task (Except IO.Error IO.Process.Output) ← IO.asTask work Task.Priority.dedicated
  return { moduleName := moduleName, task := task }

/-- The report among the lines that a child printed. -/
def reportOf (printed : String) : Except String Report :=
  let lines : List String := printed.splitOn "\n"
  let marked : List String := lines.filter fun (line : String) => line.startsWith reportMark
  match marked.getLast? with
  | none => .error "it ended without a report"
  | some line => readReport (String.ofList (line.toList.drop reportMark.length))

/-- At most the last `limit` characters of a text. -/
def ending (text : String) (limit : Nat) : String :=
  String.ofList (text.toList.drop (text.length - limit))

/-- Takes note of a child process that ended. -/
def Progress.finish (progress : Progress) (running : Running) : Progress :=
  let counted : Progress := { progress with done := progress.done + 1 }
  let fail (reason : String) : Progress :=
    let failure : Skipped := { name := running.moduleName.toString, reason := reason }
    { counted with failed := counted.failed.push failure }
  match running.task.get with
  | .error error => fail s!"the process could not be started: {error}"
  | .ok output =>
    if output.exitCode != 0 then
      -- A process that the system killed, for lack of memory for instance, says nothing.
      let said : String := ending output.stderr.trimAscii.toString 2000
      fail (if said == "" then s!"the process ended with exit code {output.exitCode}" else said)
    else
      match reportOf output.stdout with
      | .error reason => fail reason
      | .ok report =>
        { counted with
          declarations := counted.declarations + report.declarations
          examples := counted.examples + report.examples
          skipped := counted.skipped ++ report.skipped }

/-- Shows how far the work is: on a terminal always in the same line. -/
def showProgress (progress : Progress) (terminal : Bool) : IO Unit := do
  let now : Nat ← IO.monoMsNow
  if terminal then
    IO.eprint s!"\r{progress.line now}    "
  else
    IO.eprintln (progress.line now)

/-- Extracts modules, `jobs` at the same time. -/
def runAll (choices : Choices) (modules : Array Name) : IO Progress := do
  let program : FilePath ← IO.appPath
  let errors : IO.FS.Stream ← IO.getStderr
  let terminal : Bool ← errors.isTty
  let started : Nat ← IO.monoMsNow
  let mut progress : Progress := { total := modules.size, started := started }
  let mut next : Nat := 0
  let mut running : Array Running := #[]
  let mut shown : Nat := started
  while next < modules.size || !running.isEmpty do
    while next < modules.size && running.size < choices.jobs do
      match modules[next]? with
      | none => pure ()
      | some moduleName =>
        let worker : Running ← startWorker program choices.output moduleName
        running := running.push worker
      next := next + 1
    IO.sleep pollInterval
    let mut still : Array Running := #[]
    let mut changed : Bool := false
    for worker in running do
      let finished : Bool ← IO.hasFinished worker.task
      if finished then
        progress := progress.finish worker
        changed := true
      else
        still := still.push worker
    running := still
    let now : Nat ← IO.monoMsNow
    if (terminal && changed) || (!terminal && shown + lineInterval ≤ now) then
      showProgress progress terminal
      shown := now
  if terminal then
    IO.eprintln ""
  return progress

/-- How many reasons of one kind are shown. -/
def shownReasons : Nat := 20

/-- Prints what is missing and why. -/
def printSkipped (title : String) (items : Array Skipped) : IO Unit := do
  unless items.isEmpty do
    IO.println s!"{title}: {items.size}"
    for item in items.take shownReasons do
      IO.println s!"  {item.name}: {item.reason}"
    if shownReasons < items.size then
      IO.println s!"  and {items.size - shownReasons} more"

/-- Extracts everything that is asked for; the exit code says whether every module has its file. -/
def run (choices : Choices) : IO UInt32 := do
  let (wanted, missing) ← listModules choices
  let mut modules : Array Name := #[]
  for moduleName in wanted do
    let isThere : Bool ← (outputFile choices.output moduleName).pathExists
    unless choices.resume && isThere do
      modules := modules.push moduleName
  if wanted.isEmpty && missing.isEmpty then
    IO.eprintln "none of the modules is called as --only wants"
    return 1
  let progress : Progress ← runAll choices modules
  let failed : Array Skipped := missing ++ progress.failed
  let now : Nat ← IO.monoMsNow
  IO.println s!"{modules.size - progress.failed.size} modules written to {choices.output}, \
    {wanted.size - modules.size} were there already, {failed.size} failed: \
    {progress.declarations} declarations, {progress.examples} examples, {duration (now - progress.started)}"
  printSkipped "modules without a file" failed
  printSkipped "left out of the files" progress.skipped
  return if failed.isEmpty then 0 else 1

end LeanHammerExt.Extraction
