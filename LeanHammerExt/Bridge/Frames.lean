/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Error
import LeanHammerExt.Msgpack

/-!
# Frames of the bridge

In: a message. Out: four bytes with its length, the most significant one first, and the message; and back. A message is
a map: `{"id", "method", "params"}` to the sidecar, `{"id", "result"}` or `{"id", "error"}` from it.
-/

namespace LeanHammerExt.Bridge

open Msgpack (Value)

/-- What a request ends with. -/
abbrev Answer : Type := Except SidecarError Value

/-- Largest message that is read; the sidecar's own limit for a body is smaller. -/
def largestMessage : Nat := 134217728

/-- The bytes that carry `message`. -/
def frame (message : ByteArray) : ByteArray :=
  Msgpack.pushBigEndian ByteArray.empty 4 message.size ++ message

/-- The frame of a request. -/
def requestFrame (id : Nat) (method : String) (params : Value) : Except Msgpack.Fault ByteArray := do
  let message : Value := .map #[
    ("id", .int (Int.ofNat id)),
    ("method", .str method),
    ("params", params)
  ]
  let bytes : ByteArray ← Msgpack.encode message
  return frame bytes

/-- The frame that takes back the request `id`. -/
def cancelFrame (id : Nat) : Except Msgpack.Fault ByteArray := do
  let message : Value := .map #[
    ("id", .int (Int.ofNat id)),
    ("method", .str "cancel")
  ]
  let bytes : ByteArray ← Msgpack.encode message
  return frame bytes

/-- Reads up to `count` bytes; fewer only at the end of the input. -/
partial def readUpTo (handle : IO.FS.Handle) (count : Nat) (got : ByteArray := ByteArray.empty) :
    IO ByteArray := do
  if count ≤ got.size then
    return got
  -- A length comes from the other side: memory is asked for as bytes arrive, not all at once.
  let wanted : Nat := min (count - got.size) 1048576
  let part : ByteArray ← handle.read wanted.toUSize
  if part.isEmpty then
    return got
  readUpTo handle count (got ++ part)

/-- Reads one message; `none` at the end of the input. -/
def readMessage (handle : IO.FS.Handle) : IO (Option ByteArray) := do
  let header : ByteArray ← readUpTo handle 4
  if header.isEmpty then
    return none
  if header.size < 4 then
    throw (IO.userError "the sidecar's output ends inside the length of a message")
  let size : Nat := header.foldl (fun (number : Nat) (byte : UInt8) => number * 256 + byte.toNat) 0
  if largestMessage < size then
    throw (IO.userError s!"the sidecar announced a message of {size} bytes")
  let message : ByteArray ← readUpTo handle size
  if message.size < size then
    throw (IO.userError s!"the sidecar's output ends after {message.size} of {size} bytes of a message")
  return some message

/-- The entry of a map. -/
def entry? (entries : Array (String × Value)) (key : String) : Option Value :=
  match entries.find? (fun (pair : String × Value) => pair.1 == key) with
  | some pair => some pair.2
  | none => none

/-- The text of an entry of a map, if it is there and is text. -/
def textEntry? (entries : Array (String × Value)) (key : String) : Option String :=
  match entry? entries key with
  | some (.str text) => some text
  | _ => none

/-- Reads the map under `"error"`. -/
def errorOfValue (value : Value) : SidecarError :=
  match value with
  | .map entries =>
    { kind := .refused
      code := (textEntry? entries "code").getD "internal"
      message := (textEntry? entries "message").getD "the sidecar gave no message"
      field? := textEntry? entries "field"
      hint? := textEntry? entries "hint" }
  | other =>
    { kind := .protocol
      message := s!"an error of the sidecar is {other.kind}, not a map" }

/-- A failure to understand the sidecar. -/
def misunderstood (detail : String) : SidecarError where
  kind := .protocol
  message := s!"the sidecar's answer cannot be read: {detail}"
  hint? := some
    "plugin and sidecar may be of different versions; run `lake exe sidecar`, then restart the file"

/--
Reads a message: which request it answers, and with what. A failure means that the stream can no longer be trusted; the
sidecar reports a message without a number when it could not read a request.
-/
def parseAnswer (message : ByteArray) : Except SidecarError (Nat × Answer) :=
  match Msgpack.decode message with
  | .error fault => .error (misunderstood (toString fault))
  | .ok (.map entries) =>
    match entry? entries "id" with
    | some (.int number) =>
      if number < 0 then
        .error (misunderstood s!"the id {number} is negative")
      else
        match entry? entries "error", entry? entries "result" with
        | some error, _ => .ok (number.toNat, .error (errorOfValue error))
        | none, some result => .ok (number.toNat, .ok result)
        | none, none => .ok (number.toNat, .error (misunderstood "neither result nor error"))
    | _ =>
      match entry? entries "error" with
      | some error => .error (errorOfValue error)
      | none => .error (misunderstood "there is no id")
  | .ok other => .error (misunderstood s!"it is {other.kind}, not a map")

end LeanHammerExt.Bridge
