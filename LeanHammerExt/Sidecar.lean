/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Bridge.Process
import LeanHammerExt.Locate
import LeanHammerExt.Options
import LeanHammerExt.Protocol

/-!
# The connection to the sidecar

In: a method and its parameters. Out: the sidecar's answer, or a `SidecarError`, always within the time allowed.

There is one bridge process in a Lean process. It is started by the first request, in a thread of its own (with Mathlib
loaded, starting a process takes seconds on macOS), kept in `connectionRef`, and started again when it died. Nothing is
thrown: a failure is a value, so that callers can go on with what Lean itself offers. The one exception is a cancelled
elaboration, which ends as Lean ends it everywhere else.
-/

namespace LeanHammerExt

open Lean

/-- How the sidecar is reached. -/
structure SidecarSettings where
  /-- Whether it may be asked at all. -/
  enabled : Bool
  /-- The executable, or `""` for the installed one. -/
  command : String
  /-- The server, or `""` for the user's local one. -/
  url : String
  /-- Milliseconds that one request may take. -/
  timeout : Nat
deriving Inhabited, BEq, Repr

/-- What the options `hammer.sidecar.*` say. -/
def SidecarSettings.ofOptions (options : Options) : SidecarSettings where
  enabled := hammer.sidecar.enabled.get options
  command := hammer.sidecar.command.get options
  url := hammer.sidecar.url.get options
  timeout := 1000 * min Protocol.longestTimeout (hammer.sidecar.timeout.get options)

namespace Sidecar

open Bridge (Answer Ticket Waited waitUntil)
open Msgpack (Value)

/-- A bridge process that runs or is being started. -/
structure Connection where
  /-- The executable that was asked for. -/
  command : String
  /-- The server that was asked for. -/
  url : String
  /-- When it was started, by `IO.monoMsNow`. -/
  startedAt : Nat
  /-- The process. -/
  process : Task (Except SidecarError Bridge.Process)

/--
The connection of this Lean process. It stands for what `hammer.sidecar.command` and `hammer.sidecar.url` said when it
was made, and is replaced when they change.
-/
initialize connectionRef : Std.Mutex (Option Connection) ← Std.Mutex.new none

/--
Milliseconds after a start before the next one: a program that fails at once must not be started for every goal of a
file.
-/
def restartPause : Nat := 5000

/-- Whether the process can take no more requests and may be replaced by now. -/
def Connection.isSpent (connection : Connection) (now : Nat) : BaseIO Bool := do
  unless ← IO.hasFinished connection.process do
    return false
  if now < connection.startedAt + restartPause then
    return false
  match connection.process.get with
  | .error _ => return true
  | .ok process => return (← process.failure?).isSome

/-- Finds the executable and starts it. -/
def start (settings : SidecarSettings) : BaseIO (Except SidecarError Bridge.Process) := do
  match ← EIO.toBaseIO (locateSidecar settings.command) with
  | .ok (some path) => Bridge.spawn path.toString settings.url
  | .ok none => return .error (SidecarError.missing settings.command)
  | .error error =>
    return .error {
      kind := .notInstalled
      message := s!"looking for `lean-sidecar` failed: {error}"
      hint? := some "name the executable with `set_option hammer.sidecar.command`"
    }

/-- The connection for these settings; starts a process if there is none. -/
def connect (settings : SidecarSettings) : BaseIO Connection :=
  connectionRef.atomically do
    let now : Nat ← IO.monoMsNow
    let known? : Option Connection ← get
    match known? with
    | some connection =>
      let same : Bool := connection.command == settings.command && connection.url == settings.url
      let spent : Bool ← connection.isSpent now
      if same && !spent then
        return connection
    | none => pure ()
    let process : Task (Except SidecarError Bridge.Process) ←
      BaseIO.asTask (start settings) .dedicated
    let connection : Connection := {
      command := settings.command
      url := settings.url
      startedAt := now
      process := process
    }
    set (some connection)
    return connection

/-- Sends one request and waits for its answer until `deadline` (by `IO.monoMsNow`). -/
def askOnce (settings : SidecarSettings) (method : String) (params : Array (String × Value))
    (milliseconds deadline : Nat) (stop : BaseIO Bool) : BaseIO Answer := do
  let connection : Connection ← connect settings
  match ← waitUntil (IO.hasFinished connection.process) deadline stop with
  | .late => return .error (SidecarError.late method milliseconds)
  | .stopped => return .error (SidecarError.stopped method)
  | .finished =>
    match connection.process.get with
    | .error error => return .error error
    | .ok process =>
      let left : Nat := max 1 (deadline - (← IO.monoMsNow))
      let body : Value := .map (params.push ("deadline_ms", .int (Int.ofNat left)))
      match ← process.send method body with
      | .error error => return .error error
      | .ok ticket =>
        match ← waitUntil ticket.isAnswered deadline stop with
        | .finished => ticket.answer
        | .late =>
          process.cancel ticket
          return .error (SidecarError.late method milliseconds)
        | .stopped =>
          process.cancel ticket
          return .error (SidecarError.stopped method)

/--
Asks the sidecar. A process that died since the last request is started again once. `stop` is polled while waiting.
-/
def ask (settings : SidecarSettings) (method : String) (params : Array (String × Value))
    (milliseconds : Nat) (stop : BaseIO Bool) : BaseIO Answer := do
  unless settings.enabled do
    return .error SidecarError.switchedOff
  let deadline : Nat := (← IO.monoMsNow) + milliseconds
  let answer : Answer ← askOnce settings method params milliseconds deadline stop
  match answer with
  | .ok _ => return answer
  | .error error =>
    if error.kind == .ended then
      askOnce settings method params milliseconds deadline stop
    else
      return answer

/-- Whether the caller's own elaboration was cancelled. -/
def stopOf (token? : Option IO.CancelToken) : BaseIO Bool := do
  if ← IO.checkCanceled then
    return true
  match token? with
  | some token => token.isSet
  | none => return false

/--
Asks the sidecar under the options and the cancellation of the current elaboration. At most `milliseconds?`, and never
more than `hammer.sidecar.timeout`.
-/
def call (method : String) (params : Array (String × Value)) (milliseconds? : Option Nat := none) :
    CoreM Answer := do
  let settings : SidecarSettings := SidecarSettings.ofOptions (← getOptions)
  let milliseconds : Nat := min settings.timeout (milliseconds?.getD settings.timeout)
  let token? : Option IO.CancelToken := (← readThe Core.Context).cancelTk?
  let answer : Answer ← ask settings method params milliseconds (stopOf token?)
  -- An interrupt must look like one: the answer would only say that nobody wants it.
  Core.checkInterrupted
  return answer

end Sidecar

end LeanHammerExt
