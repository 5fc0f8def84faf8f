/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExtTest.Notation

/-!
# MessagePack against the golden vectors

Every vector is read as its value; the shortest ones are written as exactly their bytes; malformed ones are refused at the
byte that the file names.
-/

namespace LeanHammerExtTest.MsgpackTest

open Lean (Json)
open LeanHammerExt

/-- The golden file. -/
def golden : String := include_str ".."/".."/"golden"/"msgpack"/"vectors.json"

/-- One valid vector. -/
def checkValue (vector : Json) : Except String Unit := do
  let name : String ← vector.getObjValAs? String "name"
  let value : Msgpack.Value ← valueOf (← vector.getObjVal? "value")
  let bytes : ByteArray ← bytesOf (← vector.getObjValAs? (Array Json) "bytes")
  let shortest : Bool ← vector.getObjValAs? Bool "shortest"
  match Msgpack.decode bytes with
  | .error fault => throw s!"{name} is not read: {fault}"
  | .ok found => check (found == value) s!"{name} is read as something else"
  if shortest then
    match Msgpack.encode value with
    | .error fault => throw s!"{name} is not written: {fault}"
    | .ok found => check (found == bytes) s!"{name} is written as other bytes"

/-- One malformed vector. -/
def checkFault (vector : Json) : Except String Unit := do
  let name : String ← vector.getObjValAs? String "name"
  let bytes : ByteArray ← bytesOf (← vector.getObjValAs? (Array Json) "bytes")
  let offset : Nat ← vector.getObjValAs? Nat "offset"
  match Msgpack.decode bytes with
  | .error fault => check (fault.offset == offset) s!"{name} is refused at {fault}, not at byte {offset}"
  | .ok _ => throw s!"{name} is accepted"

/-- All vectors. -/
def checkAll : Except String Unit := do
  let document : Json ← Json.parse golden
  let values : Array Json ← document.getObjValAs? (Array Json) "values"
  let malformed : Array Json ← document.getObjValAs? (Array Json) "malformed"
  check (100 < values.size && 50 < malformed.size) "the golden file has too few vectors"
  for vector in values do
    checkValue vector
  for vector in malformed do
    checkFault vector

#eval runTest checkAll

/-! ## What no file can hold -/

/-- The bytes of a value, or the fault. -/
def written (value : Msgpack.Value) : String :=
  match Msgpack.encode value with
  | .ok bytes => toHex bytes
  | .error fault => toString fault

#guard written (.int 18446744073709551615) == "cfffffffffffffffff"
#guard written (.int 18446744073709551616) == "byte 0: 18446744073709551616 does not fit into 64 bits"
#guard written (.int (-9223372036854775808)) == "d38000000000000000"
#guard written (.int (-9223372036854775809)) == "byte 0: -9223372036854775809 does not fit into 64 bits"
#guard written (.array #[.nil, .map #[("a", .bool true)]]) == "92c081a161c3"

/-- Arrays inside each other. -/
def nested : Nat → Msgpack.Value
  | 0 => .array #[]
  | depth + 1 => .array #[nested depth]

#guard written (nested 15) == repeatedText "91" 15 ++ "90"
#guard written (nested 16) == "byte 16: arrays and maps are nested too deep"

-- A value is not equal to one that only looks like it.
#guard (Msgpack.Value.int 1 == Msgpack.Value.float 1.0) == false
#guard (Msgpack.Value.map #[("a", .nil), ("b", .nil)] == Msgpack.Value.map #[("b", .nil), ("a", .nil)]) == false

/-- Whether bytes are read under a limit of size. -/
def isReadWithin (limit : Nat) (text : String) : Bool :=
  match ofHex text with
  | .error _ => false
  | .ok bytes =>
    match Msgpack.decode bytes { bytes := limit } with
    | .ok _ => true
    | .error _ => false

#guard isReadWithin 3 "92c0c0"
#guard isReadWithin 2 "92c0c0" == false

end LeanHammerExtTest.MsgpackTest
