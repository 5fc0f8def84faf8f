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
* Frames are written by one thread at a time, in the order in which they were put into `Traffic.outgoing`, so that what
  takes a request back never comes before the request.
* A thread reads only while answers are due. A Lean process joins its threads before it exits, so that one which waited
  for input at all times would keep `lake build` from ever ending. For the same reason a process that neither answers nor
  takes a cancellation is killed.
* Only `look` waits for the child, and only `kill` kills it; both hold `Process.state`. The number of a child that somebody
  waited for may be given to another process, which must not be killed in its place.
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
  /-- Frames that are to be written, the first one first. -/
  outgoing : Array ByteArray := #[]
  /-- Whether a thread is writing. -/
  writing : Bool := false
  /-- Why the process takes no more requests. -/
  failure? : Option SidecarError := none

/-- What is known about the life of a child. -/
inductive ChildState where
  /-- It runs, as far as anybody looked. -/
  | running
  /-- It ended, with this exit code where it is known. -/
  | ended (code? : Option UInt32)
deriving Inhabited

/-- A running bridge process. -/
structure Process where
  /-- The child. -/
  child : IO.Process.Child childStreams
  /-- Its requests. -/
  traffic : Std.Mutex Traffic
  /-- Whether it ended; held by who waits for it or kills it. -/
  state : Std.Mutex ChildState

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

/-- The failure of a process that ended by itself. -/
def endedError (code? : Option UInt32) : SidecarError :=
  match code? with
  | some code => goneError s!" with exit code {code}"
  | none => goneError ""

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
    let state : Std.Mutex ChildState ← Std.Mutex.new ChildState.running
    return .ok { child := child, traffic := traffic, state := state }

/-- Looks whether the child ended. -/
def Process.look (process : Process) : BaseIO ChildState :=
  process.state.atomically do
    let known : ChildState ← get
    match known with
    | .ended _ => return known
    | .running =>
      let asked : Except IO.Error (Option UInt32) ← EIO.toBaseIO process.child.tryWait
      let found : ChildState :=
        match asked with
        | .ok none => .running
        | .ok (some code) => .ended (some code)
        -- There is no such child any more.
        | .error _ => .ended none
      set found
      return found

/-- Kills the child unless it ended. -/
def Process.kill (process : Process) : BaseIO Unit :=
  process.state.atomically do
    let known : ChildState ← get
    match known with
    | .ended _ => pure ()
    | .running =>
      -- It may have ended a moment ago; as nobody waited for it yet, its number is still its own.
      let _ ← EIO.toBaseIO process.child.kill
      pure ()

/-- Whether the child ended. -/
def Process.hasEnded (process : Process) : BaseIO Bool := do
  match ← process.look with
  | .ended _ => return true
  | .running => return false

/-- Milliseconds that a child has to be gone after it was killed or closed its output. -/
def endingTime : Nat := 500

/-- Waits for a child that is about to end, but not for long. -/
def Process.awaitEnd (process : Process) : BaseIO Unit := do
  let deadline : Nat := (← IO.monoMsNow) + endingTime
  let _ ← waitUntil process.hasEnded deadline (pure false)
  pure ()

/-- Takes no more requests and ends the ones that wait. -/
def Process.abandon (process : Process) (error : SidecarError) : BaseIO Unit := do
  let waiting : Array (Nat × IO.Promise Answer) ← process.traffic.atomically do
    let traffic : Traffic ← get
    set {
      traffic with
      waiting := {}
      reading := false
      outgoing := #[]
      failure? := some (traffic.failure?.getD error)
    }
    return traffic.waiting.toArray
  for pair in waiting do
    pair.2.resolve (.error error)

/-- Takes no more requests, and ends the process if it still runs. -/
def Process.close (process : Process) (error : SidecarError) : BaseIO Unit := do
  process.abandon error
  process.kill
  -- Until somebody waits for it, a child that was killed keeps its number.
  process.awaitEnd

/-- Closes a process whose output ended or whose input is closed. -/
def Process.closeGone (process : Process) : BaseIO Unit := do
  -- Its streams are closed a moment before it is gone, and its exit code is worth that moment.
  process.awaitEnd
  match ← process.look with
  | .ended code? => process.abandon (endedError code?)
  | .running => process.close (goneError "")

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

/-- Writes frames one after the other. -/
def Process.writeFrames (process : Process) (frames : Array ByteArray) : IO Unit := do
  let handle : IO.FS.Handle := process.child.stdin
  for frame in frames do
    handle.write frame
  handle.flush

/-- Writes what is to be written until nothing is left; a process that cannot be written to is closed. -/
partial def Process.write (process : Process) : BaseIO Unit := do
  let frames : Array ByteArray ← process.traffic.atomically do
    let traffic : Traffic ← get
    set { traffic with outgoing := #[], writing := !traffic.outgoing.isEmpty }
    return traffic.outgoing
  unless frames.isEmpty do
    match ← EIO.toBaseIO (process.writeFrames frames) with
    | .ok _ => process.write
    | .error _ => process.closeGone

/-- Why the process takes no requests, if it does not. -/
def Process.failure? (process : Process) : BaseIO (Option SidecarError) := do
  let known? : Option SidecarError ← process.traffic.atomically do
    let traffic : Traffic ← get
    return traffic.failure?
  match known? with
  | some error => return some error
  | none =>
    match ← process.look with
    | .running => return none
    | .ended code? =>
      process.abandon (endedError code?)
      return some (endedError code?)

/-- Numbers a request. -/
def Process.nextId (process : Process) : BaseIO Nat :=
  process.traffic.atomically do
    let traffic : Traffic ← get
    set { traffic with next := traffic.next + 1 }
    return traffic.next

/-- Which threads have to be started for a frame. -/
structure Needed where
  /-- One that reads. -/
  reader : Bool
  /-- One that writes. -/
  writer : Bool

/-- Notes that a request is to be written and its answer due. -/
def Process.expect (process : Process) (id : Nat) (promise : IO.Promise Answer) (request : ByteArray) :
    BaseIO (Except SidecarError Needed) :=
  process.traffic.atomically do
    let traffic : Traffic ← get
    match traffic.failure? with
    | some error => return .error error
    | none =>
      set {
        traffic with
        waiting := traffic.waiting.insert id promise
        reading := true
        outgoing := traffic.outgoing.push request
        writing := true
      }
      return .ok { reader := !traffic.reading, writer := !traffic.writing }

/-- Notes that a frame is to be written for which no answer is due; says whether a thread that writes is needed. -/
def Process.append (process : Process) (frame : ByteArray) : BaseIO Bool :=
  process.traffic.atomically do
    let traffic : Traffic ← get
    if traffic.failure?.isSome then
      return false
    else
      set { traffic with outgoing := traffic.outgoing.push frame, writing := true }
      return !traffic.writing

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
    match ← process.expect id promise bytes with
    | .error error => return .error error
    | .ok needed =>
      if needed.reader then
        discard <| BaseIO.asTask process.read .dedicated
      if needed.writer then
        discard <| BaseIO.asTask process.write .dedicated
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
    if ← process.append bytes then
      discard <| BaseIO.asTask process.write .dedicated
  let watch : BaseIO Unit := do
    let deadline : Nat := (← IO.monoMsNow) + cancellationTime
    match ← waitUntil ticket.isAnswered deadline (pure false) with
    | .finished => pure ()
    | _ => process.close (goneError ": it did not answer and was closed")
  discard <| BaseIO.asTask watch .dedicated

end LeanHammerExt.Bridge
