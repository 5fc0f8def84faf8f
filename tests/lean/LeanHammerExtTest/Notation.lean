/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Msgpack

/-!
# Golden files

In: JSON in the notation of `tests/golden/write_msgpack.py`. Out: values and bytes, for the tests of this folder.
-/

namespace LeanHammerExtTest

open Lean (Json)
open LeanHammerExt

/-- The value of a hexadecimal digit. -/
def digitOf (character : Char) : Except String Nat :=
  if '0' ≤ character ∧ character ≤ '9' then
    .ok (character.toNat - '0'.toNat)
  else if 'a' ≤ character ∧ character ≤ 'f' then
    .ok (character.toNat - 'a'.toNat + 10)
  else
    .error s!"'{character}' is no hexadecimal digit"

/-- Adds bytes written as hexadecimal digits. -/
def addHex (bytes : ByteArray) : List Char → Except String ByteArray
  | [] => .ok bytes
  | [_] => .error "an odd number of hexadecimal digits"
  | high :: low :: rest => do
    let high : Nat ← digitOf high
    let low : Nat ← digitOf low
    addHex (bytes.push (16 * high + low).toUInt8) rest

/-- Bytes written as hexadecimal digits. -/
def ofHex (text : String) : Except String ByteArray :=
  addHex ByteArray.empty text.toList

/-- Bytes as hexadecimal digits. -/
def toHex (bytes : ByteArray) : String :=
  bytes.foldl
    (fun (text : String) (byte : UInt8) =>
      (text.push (Nat.digitChar (byte.toNat / 16))).push (Nat.digitChar (byte.toNat % 16)))
    ""

/-- Bytes repeated. -/
def repeated (bytes : ByteArray) (times : Nat) : ByteArray := Id.run do
  let mut result : ByteArray := ByteArray.empty
  for _ in [0:times] do
    result := result ++ bytes
  return result

/-- A text repeated. -/
def repeatedText (text : String) (times : Nat) : String :=
  String.join (List.replicate times text)

/-- The key of an object with one key. -/
def has (json : Json) (key : String) : Bool :=
  match json.getObjVal? key with
  | .ok _ => true
  | .error _ => false

/-- A number as 64 bits from sixteen hexadecimal digits. -/
def bitsOf (text : String) : Except String UInt64 := do
  let bytes : ByteArray ← ofHex text
  return (bytes.foldl (fun (number : Nat) (byte : UInt8) => number * 256 + byte.toNat) 0).toUInt64

/-- The value that a piece of notation stands for. -/
partial def valueOf (json : Json) : Except String Msgpack.Value := do
  if has json "nil" then
    return .nil
  if has json "bool" then
    return .bool (← json.getObjValAs? Bool "bool")
  if has json "int" then
    let text : String ← json.getObjValAs? String "int"
    match text.toInt? with
    | some number => return .int number
    | none => throw s!"'{text}' is no number"
  if has json "float" then
    let text : String ← json.getObjValAs? String "float"
    return .float (Float.ofBits (← bitsOf text))
  if has json "str" then
    return .str (← json.getObjValAs? String "str")
  if has json "bin" then
    let text : String ← json.getObjValAs? String "bin"
    return .bin (← ofHex text)
  if has json "str_repeat" then
    let parts : Array Json ← json.getObjValAs? (Array Json) "str_repeat"
    let text : String ← parts[0]!.getStr?
    let times : Nat ← parts[1]!.getNat?
    return .str (repeatedText text times)
  if has json "bin_repeat" then
    let parts : Array Json ← json.getObjValAs? (Array Json) "bin_repeat"
    let text : String ← parts[0]!.getStr?
    let bytes : ByteArray ← ofHex text
    let times : Nat ← parts[1]!.getNat?
    return .bin (repeated bytes times)
  if has json "array_repeat" then
    let parts : Array Json ← json.getObjValAs? (Array Json) "array_repeat"
    let item : Msgpack.Value ← valueOf parts[0]!
    let times : Nat ← parts[1]!.getNat?
    return .array (Array.replicate times item)
  if has json "map_numbered" then
    let size : Nat ← json.getObjValAs? Nat "map_numbered"
    let mut entries : Array (String × Msgpack.Value) := #[]
    for number in [0:size] do
      entries := entries.push (toString number, .nil)
    return .map entries
  if has json "array" then
    let items : Array Json ← json.getObjValAs? (Array Json) "array"
    let mut values : Array Msgpack.Value := #[]
    for item in items do
      let value : Msgpack.Value ← valueOf item
      values := values.push value
    return .array values
  if has json "map" then
    let items : Array Json ← json.getObjValAs? (Array Json) "map"
    let mut entries : Array (String × Msgpack.Value) := #[]
    for item in items do
      let pair : Array Json ← item.getArr?
      let key : String ← pair[0]!.getObjValAs? String "str"
      let value : Msgpack.Value ← valueOf pair[1]!
      entries := entries.push (key, value)
    return .map entries
  throw s!"unknown notation {json.compress}"

/-- The bytes that a list of parts stands for. -/
def bytesOf (parts : Array Json) : Except String ByteArray := do
  let mut bytes : ByteArray := ByteArray.empty
  for part in parts do
    if has part "keys" then
      let size : Nat ← part.getObjValAs? Nat "keys"
      for number in [0:size] do
        let digits : String := toString number
        bytes := bytes.push (0xa0 + digits.utf8ByteSize).toUInt8
        bytes := (bytes ++ digits.toUTF8).push 0xc0
    else
      let text : String ← part.getObjValAs? String "hex"
      let once : ByteArray ← ofHex text
      let times : Nat ← part.getObjValAs? Nat "times"
      bytes := bytes ++ repeated once times
  return bytes

/-- Ends a test with a message unless a condition holds. -/
def check (condition : Bool) (message : String) : Except String Unit :=
  if condition then .ok () else .error message

/-- Runs a test. -/
def runTest (test : Except String Unit) : IO Unit :=
  match test with
  | .ok _ => pure ()
  | .error message => throw (IO.userError message)

end LeanHammerExtTest
