/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Frames
import LeanHammerExt.Bridge.Poll
import Std.Data.HashMap
import Std.Sync.Mutex

/-!
# The bridge process

In: requests. Out: promises of their answers. One child process, `lean-sidecar bridge`, serves all requests of a Lean
process; several may be in flight.

## Implementation notes

* Reading and writing happen in tasks with their own thread, never in the thread that elaborates: a pipe that is full or
  empty blocks whoever touches it.
* A thread reads only while answers are due. A Lean process joins its threads before it exits, so that one which waited
  for input at all times would keep `lake build` from ever ending. For the same reason a process that neither answers nor
  takes a cancellation is killed.
* The child's error stream is dropped: it keeps a log of its own, and a pipe that nobody empties would block it.
-/

namespace LeanHammerExt.Bridge

open Msgpack (Value)

/-- How the streams of the child are connected. -/
abbrev childStreams : IO.Process.StdioConfig where
  stdin := .piped
  stdout := .piped
  stderr := .null

/-- What is known about the requests of one process. -/
structure Traffic where
  /-- Number of the next request. -/
  next : Nat := 1
  /-- Requests whose answers are due, cancelled ones included. -/
  waiting : Std.HashMap Nat (IO.Promise Answer) := {}
  /-- Whether a thread is reading. -/
  reading : Bool := false
  /-- Why the process takes no more requests. -/
  failure? : Option SidecarError := none

/-- A running bridge process. -/
structure Process where
  /-- The child. -/
  child : IO.Process.Child childStreams
  /-- Its requests. -/
  traffic : Std.Mutex Traffic
  /-- Held while a frame is written. -/
  output : Std.Mutex Unit

/-- A request that was sent. -/
structure Ticket where
  /-- Its number. -/
  id : Nat
  /-- Its answer. -/
  promise : IO.Promise Answer

/-- The failure of a process that is gone. -/
def goneError (detail : String) : SidecarError where
  kind := .ended
  message := s!"the sidecar process ended{detail}"
  hint? := some "it is started again with the next request; `#hammer_doctor` says what it complains about"

/-- Starts the process. -/
def spawn (executable : String) (url : String) : BaseIO (Except SidecarError Process) := do
  let environment : Array (String × Option String) :=
    if url == "" then #[] else #[("LEAN_SIDECAR_URL", some url)]
  let action : IO (IO.Process.Child childStreams) := IO.Process.spawn {
    toStdioConfig := childStreams
    cmd := executable
    args := #["bridge"]
    env := environment
  }
  let started : Except IO.Error (IO.Process.Child childStreams) ← EIO.toBaseIO action
  match started with
  | .error error =>
    return .error {
      kind := .notStarted
      message := s!"`{executable} bridge` could not be started: {error}"
      hint? := some "run `lake exe sidecar`, or check `hammer.sidecar.command`"
    }
  | .ok child =>
    let traffic : Std.Mutex Traffic ← Std.Mutex.new {}
    let output : Std.Mutex Unit ← Std.Mutex.new ()
    return .ok { child := child, traffic := traffic, output := output }

/-- Takes no more requests and ends the ones that wait. -/
def Process.abandon (process : Process) (error : SidecarError) : BaseIO Unit := do
  let waiting : Array (Nat × IO.Promise Answer) ← process.traffic.atomically do
    let traffic : Traffic ← get
    set {
      traffic with
      waiting := {}
      reading := false
      failure? := some (traffic.failure?.getD error)
    }
    return traffic.waiting.toArray
  for pair in waiting do
    pair.2.resolve (.error error)

/-- Takes no more requests, and ends the process if it still runs. -/
def Process.close (process : Process) (error : SidecarError) : BaseIO Unit := do
  process.abandon error
  match ← EIO.toBaseIO process.child.tryWait with
  | .ok none =>
    -- It may end by itself in this very moment; then there is nothing to kill, which is as good.
    discard <| EIO.toBaseIO process.child.kill
  | _ => pure ()

/-- Closes a process whose output ended or whose input is closed. -/
def Process.closeGone (process : Process) : BaseIO Unit := do
  match ← EIO.toBaseIO process.child.tryWait with
  | .ok (some code) => process.abandon (goneError s!" with exit code {code}")
  | _ => process.close (goneError "")

/-- Hands an answer to whoever waits for it; says whether more answers are due. -/
def Process.deliver (process : Process) (id : Nat) (answer : Answer) : BaseIO Bool := do
  let (promise?, more) ← process.traffic.atomically do
    let traffic : Traffic ← get
    let waiting : Std.HashMap Nat (IO.Promise Answer) := traffic.waiting.erase id
    let more : Bool := !waiting.isEmpty
    set { traffic with waiting := waiting, reading := more }
    return (traffic.waiting.get? id, more)
  match promise? with
  | some promise => promise.resolve answer
  | none => pure ()
  return more

/-- Reads answers until none is due. -/
partial def Process.read (process : Process) : BaseIO Unit := do
  let message : Except IO.Error (Option ByteArray) ← EIO.toBaseIO (readMessage process.child.stdout)
  match message with
  | .error error => process.close (misunderstood (toString error))
  | .ok none => process.closeGone
  | .ok (some bytes) =>
    match parseAnswer bytes with
    | .error error => process.close error
    | .ok (id, answer) =>
      if ← process.deliver id answer then
        process.read

/-- Writes one frame; only one thread at a time may. -/
def Process.writeFrame (process : Process) (bytes : ByteArray) : IO Unit :=
  process.output.atomically do
    let handle : IO.FS.Handle := process.child.stdin
    handle.write bytes
    handle.flush

/-- Writes one frame; a process that cannot be written to is closed. -/
def Process.write (process : Process) (bytes : ByteArray) : BaseIO Unit := do
  match ← EIO.toBaseIO (process.writeFrame bytes) with
  | .ok _ => pure ()
  | .error _ => process.closeGone

/-- Why the process takes no requests, if it does not. -/
def Process.failure? (process : Process) : BaseIO (Option SidecarError) := do
  let known? : Option SidecarError ← process.traffic.atomically do
    let traffic : Traffic ← get
    return traffic.failure?
  match known? with
  | some error => return some error
  | none =>
    match ← EIO.toBaseIO process.child.tryWait with
    | .ok none => return none
    | .ok (some code) =>
      process.abandon (goneError s!" with exit code {code}")
      return some (goneError s!" with exit code {code}")
    | .error _ =>
      process.abandon (goneError "")
      return some (goneError "")

/-- Numbers a request. -/
def Process.nextId (process : Process) : BaseIO Nat :=
  process.traffic.atomically do
    let traffic : Traffic ← get
    set { traffic with next := traffic.next + 1 }
    return traffic.next

/-- Notes that an answer is due; says whether a thread that reads has to be started. -/
def Process.expect (process : Process) (id : Nat) (promise : IO.Promise Answer) :
    BaseIO (Except SidecarError Bool) :=
  process.traffic.atomically do
    let traffic : Traffic ← get
    match traffic.failure? with
    | some error => return .error error
    | none =>
      set { traffic with waiting := traffic.waiting.insert id promise, reading := true }
      return .ok (!traffic.reading)

/-- Sends a request. -/
def Process.send (process : Process) (method : String) (params : Value) :
    BaseIO (Except SidecarError Ticket) := do
  let id : Nat ← process.nextId
  match requestFrame id method params with
  | .error fault =>
    return .error {
      kind := .protocol
      message := s!"the request `{method}` cannot be written: {fault}"
    }
  | .ok bytes =>
    let promise : IO.Promise Answer ← IO.Promise.new
    match ← process.expect id promise with
    | .error error => return .error error
    | .ok startsReading =>
      if startsReading then
        discard <| BaseIO.asTask process.read .dedicated
      discard <| BaseIO.asTask (process.write bytes) .dedicated
      return .ok { id := id, promise := promise }

/-- Whether the answer is there. -/
def Ticket.isAnswered (ticket : Ticket) : BaseIO Bool :=
  IO.hasFinished ticket.promise.result?

/-- The answer of a request that `isAnswered`. -/
def Ticket.answer (ticket : Ticket) : BaseIO Answer := do
  match ← IO.wait ticket.promise.result? with
  | some answer => return answer
  | none => return .error (goneError "")

/-- Milliseconds that a process has to confirm a cancellation. -/
def cancellationTime : Nat := 2000

/-- Takes a request back; a process that does not confirm it is closed. -/
def Process.cancel (process : Process) (ticket : Ticket) : BaseIO Unit := do
  match cancelFrame ticket.id with
  | .error _ => pure ()
  | .ok bytes =>
    discard <| BaseIO.asTask (process.write bytes) .dedicated
  let watch : BaseIO Unit := do
    let deadline : Nat := (← IO.monoMsNow) + cancellationTime
    match ← waitUntil ticket.isAnswered deadline (pure false) with
    | .finished => pure ()
    | _ => process.close (goneError ": it did not answer and was closed")
  discard <| BaseIO.asTask watch .dedicated

end LeanHammerExt.Bridge
