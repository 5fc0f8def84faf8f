/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Std.Data.HashSet

/-!
# MessagePack

In: a `Value`. Out: its shortest MessagePack encoding, and back. Both directions are total: a value that cannot be
encoded and bytes that are not one whole value give a `Fault` that names the byte offset.

* Keys of maps are strings, and no key stands twice in one map.
* Lengths of strings are counted in UTF-8 bytes.
* A declared length is compared with the bytes that are left before anything is allocated for it.
* Extension types are refused: nothing that this project speaks uses them.

Format: <https://github.com/msgpack/msgpack/blob/master/spec.md>.
-/

namespace LeanHammerExt.Msgpack

/-- A MessagePack value with string keys and without extension types. -/
inductive Value where
  /-- Nothing. -/
  | nil
  /-- A truth value. -/
  | bool (value : Bool)
  /-- A whole number from `-2^63` to `2^64 - 1`. -/
  | int (value : Int)
  /-- A 64-bit floating-point number. -/
  | float (value : Float)
  /-- Text. -/
  | str (value : String)
  /-- Raw bytes. -/
  | bin (value : ByteArray)
  /-- A sequence. -/
  | array (items : Array Value)
  /-- Entries in the order in which they are written. -/
  | map (entries : Array (String × Value))

instance : Inhabited Value := ⟨Value.nil⟩

/-- Equality; floating-point numbers are compared bit by bit, the entries of maps in order. -/
protected partial def Value.beq : Value → Value → Bool
  | .nil, .nil => true
  | .bool a, .bool b => a == b
  | .int a, .int b => a == b
  | .float a, .float b => a.toBits == b.toBits
  | .str a, .str b => a == b
  | .bin a, .bin b => a == b
  | .array a, .array b => a.size == b.size && (a.zip b).all fun pair => Value.beq pair.1 pair.2
  | .map a, .map b =>
    a.size == b.size &&
      (a.zip b).all fun pair => pair.1.1 == pair.2.1 && Value.beq pair.1.2 pair.2.2
  | _, _ => false

instance : BEq Value := ⟨Value.beq⟩

/-- What kind of value this is, for messages. -/
def Value.kind : Value → String
  | .nil => "nil"
  | .bool _ => "a truth value"
  | .int _ => "a whole number"
  | .float _ => "a floating-point number"
  | .str _ => "a string"
  | .bin _ => "bytes"
  | .array _ => "an array"
  | .map _ => "a map"

/-- Why bytes could not be written or read, and where. -/
structure Fault where
  /-- Byte at which the trouble is: in the output when encoding, in the input when decoding. -/
  offset : Nat
  /-- What is wrong there. -/
  message : String
deriving Inhabited, BEq, Repr

instance : ToString Fault := ⟨fun fault => s!"byte {fault.offset}: {fault.message}"⟩

/-- What is refused before it costs anything. -/
structure Limits where
  /-- Most arrays and maps inside each other. -/
  depth : Nat := 16
  /-- Largest input of `decode`. -/
  bytes : Nat := 134217728

/-! ## Encoding -/

/-- Appends the `width` lowest bytes of `number`, the most significant one first. -/
def pushBigEndian (out : ByteArray) (width number : Nat) : ByteArray := Id.run do
  let mut result := out
  for i in [0:width] do
    result := result.push (number >>> (8 * (width - 1 - i))).toUInt8
  return result

/-- Appends a number from `0` to `2^64 - 1`. -/
def pushNat (out : ByteArray) (number : Nat) : ByteArray :=
  if number < 128 then
    out.push number.toUInt8
  else if number < 256 then
    pushBigEndian (out.push 0xcc) 1 number
  else if number < 65536 then
    pushBigEndian (out.push 0xcd) 2 number
  else if number < 4294967296 then
    pushBigEndian (out.push 0xce) 4 number
  else
    pushBigEndian (out.push 0xcf) 8 number

/-- Appends a number from `-2^63` to `2^64 - 1`; negative ones as two's complement. -/
def pushInt (out : ByteArray) (number : Int) : ByteArray :=
  let size : Nat := number.natAbs
  if 0 ≤ number then
    pushNat out size
  else if size ≤ 32 then
    out.push (256 - size).toUInt8
  else if size ≤ 128 then
    pushBigEndian (out.push 0xd0) 1 (256 - size)
  else if size ≤ 32768 then
    pushBigEndian (out.push 0xd1) 2 (65536 - size)
  else if size ≤ 2147483648 then
    pushBigEndian (out.push 0xd2) 4 (4294967296 - size)
  else
    pushBigEndian (out.push 0xd3) 8 (18446744073709551616 - size)

/-- Appends a string: the length of its UTF-8 encoding, then the encoding. -/
def pushString (out : ByteArray) (text : String) : ByteArray :=
  let size : Nat := text.utf8ByteSize
  let header : ByteArray :=
    if size < 32 then
      out.push (0xa0 + size).toUInt8
    else if size < 256 then
      pushBigEndian (out.push 0xd9) 1 size
    else if size < 65536 then
      pushBigEndian (out.push 0xda) 2 size
    else
      pushBigEndian (out.push 0xdb) 4 size
  header ++ text.toUTF8

/-- Appends raw bytes with their length. -/
def pushBytes (out : ByteArray) (bytes : ByteArray) : ByteArray :=
  let header : ByteArray :=
    if bytes.size < 256 then
      pushBigEndian (out.push 0xc4) 1 bytes.size
    else if bytes.size < 65536 then
      pushBigEndian (out.push 0xc5) 2 bytes.size
    else
      pushBigEndian (out.push 0xc6) 4 bytes.size
  header ++ bytes

/-- Appends the header of an array of `size` items. -/
def pushArrayHeader (out : ByteArray) (size : Nat) : ByteArray :=
  if size < 16 then
    out.push (0x90 + size).toUInt8
  else if size < 65536 then
    pushBigEndian (out.push 0xdc) 2 size
  else
    pushBigEndian (out.push 0xdd) 4 size

/-- Appends the header of a map of `size` entries. -/
def pushMapHeader (out : ByteArray) (size : Nat) : ByteArray :=
  if size < 16 then
    out.push (0x80 + size).toUInt8
  else if size < 65536 then
    pushBigEndian (out.push 0xde) 2 size
  else
    pushBigEndian (out.push 0xdf) 4 size

/-- What writes the items of a container; `none` where no container may stand any more. -/
abbrev ItemWriter : Type := Option (Value → ByteArray → Except Fault ByteArray)

/-- The fault of a container at `offset` that stands inside too many others. -/
def tooDeep (offset : Nat) : Fault :=
  { offset := offset, message := "arrays and maps are nested too deep" }

/-- Appends `value`; items of a container are written by `items`. -/
def writeItem (items : ItemWriter) (value : Value) (out : ByteArray) : Except Fault ByteArray :=
  match value with
  | .nil => .ok (out.push 0xc0)
  | .bool false => .ok (out.push 0xc2)
  | .bool true => .ok (out.push 0xc3)
  | .int number =>
    if -9223372036854775808 ≤ number ∧ number ≤ 18446744073709551615 then
      .ok (pushInt out number)
    else
      .error { offset := out.size, message := s!"{number} does not fit into 64 bits" }
  | .float number => .ok (pushBigEndian (out.push 0xcb) 8 number.toBits.toNat)
  | .str text =>
    if text.utf8ByteSize < 4294967296 then
      .ok (pushString out text)
    else
      .error { offset := out.size, message := "a string of 4 GiB or more" }
  | .bin bytes =>
    if bytes.size < 4294967296 then
      .ok (pushBytes out bytes)
    else
      .error { offset := out.size, message := "4 GiB of bytes or more" }
  | .array values =>
    match items with
    | none => .error (tooDeep out.size)
    | some write => do
      let mut result : ByteArray := pushArrayHeader out values.size
      for item in values do
        result ← write item result
      return result
  | .map entries =>
    match items with
    | none => .error (tooDeep out.size)
    | some write => do
      let mut result : ByteArray := pushMapHeader out entries.size
      for entry in entries do
        result ← write entry.2 (pushString result entry.1)
      return result

/-- Appends `value`, in which at most `depth` containers may stand inside each other. -/
def writeValue (depth : Nat) : Value → ByteArray → Except Fault ByteArray :=
  match depth with
  | 0 => writeItem none
  | depth + 1 => writeItem (some (writeValue depth))

/-- The shortest encoding of `value`. -/
def encode (value : Value) (limits : Limits := {}) : Except Fault ByteArray :=
  writeValue limits.depth value ByteArray.empty

/-! ## Decoding -/

/-- A reader with the offset of the next byte as its state. -/
abbrev Decoder : Type → Type := StateT Nat (Except Fault)

/-- Ends decoding with a fault. -/
def refuse {α : Type} (offset : Nat) (message : String) : Decoder α :=
  throw ({ offset := offset, message := message } : Fault)

/-- Moves `count` bytes on and returns the offset before them; `head` is where the item at hand starts. -/
def skip (bytes : ByteArray) (head count : Nat) (what : String) : Decoder Nat := do
  let start : Nat ← get
  if bytes.size < start + count then
    refuse head s!"{what} of {count} bytes, but {bytes.size - start} are left"
  set (start + count)
  return start

/-- Reads an unsigned number of `width` bytes, the most significant one first. -/
def readNat (bytes : ByteArray) (head width : Nat) : Decoder Nat := do
  let start : Nat ← skip bytes head width "a number"
  let mut number : Nat := 0
  for i in [0:width] do
    number := number * 256 + (bytes.get! (start + i)).toNat
  return number

/-- Reads a two's complement number of `width` bytes. -/
def readInt (bytes : ByteArray) (head width : Nat) : Decoder Value := do
  let number : Nat ← readNat bytes head width
  let modulus : Nat := (2 : Nat) ^ (8 * width)
  if 2 * number < modulus then
    return .int (Int.ofNat number)
  else
    return .int (Int.ofNat number - Int.ofNat modulus)

/-- Reads a string of `size` bytes. -/
def readString (bytes : ByteArray) (head size : Nat) : Decoder Value := do
  let start : Nat ← skip bytes head size "a string"
  match String.fromUTF8? (bytes.extract start (start + size)) with
  | some text => return .str text
  | none => refuse head s!"a string of {size} bytes that is not valid UTF-8"

/-- Reads `size` raw bytes. -/
def readBytes (bytes : ByteArray) (head size : Nat) : Decoder Value := do
  let start : Nat ← skip bytes head size "a byte string"
  return .bin (bytes.extract start (start + size))

/-- What reads the items of a container; `none` where no container may stand any more. -/
abbrev ItemReader : Type := Option (Decoder Value)

/-- Reads the `size` items of an array; every item takes at least one byte. -/
def readArray (bytes : ByteArray) (head size : Nat) (items : ItemReader) : Decoder Value := do
  match items with
  | none => throw (tooDeep head)
  | some item =>
    let start : Nat ← get
    if bytes.size < start + size then
      refuse head s!"an array of {size} items, but {bytes.size - start} bytes are left"
    let mut values : Array Value := #[]
    for _ in [0:size] do
      let value : Value ← item
      values := values.push value
    return .array values

/-- Reads the `size` entries of a map; every entry takes at least two bytes. -/
def readMap (bytes : ByteArray) (head size : Nat) (items : ItemReader) : Decoder Value := do
  match items with
  | none => throw (tooDeep head)
  | some item =>
    let start : Nat ← get
    if bytes.size < start + 2 * size then
      refuse head s!"a map of {size} entries, but {bytes.size - start} bytes are left"
    let mut entries : Array (String × Value) := #[]
    let mut seen : Std.HashSet String := {}
    for _ in [0:size] do
      let place : Nat ← get
      let key : Value ← item
      let .str text := key
        | refuse place s!"a key of a map is {key.kind}, not a string"
      if seen.contains text then
        refuse place s!"the key '{text}' stands twice in a map"
      seen := seen.insert text
      let value : Value ← item
      entries := entries.push (text, value)
    return .map entries

/-- Reads one value; the items of a container are read by `items`. -/
def readItem (bytes : ByteArray) (items : ItemReader) : Decoder Value := do
  let head : Nat ← get
  if bytes.size ≤ head then
    refuse head "the input ends where a value is expected"
  let tag : Nat ← readNat bytes head 1
  if tag < 0x80 then
    return .int (Int.ofNat tag)
  if tag < 0x90 then
    return ← readMap bytes head (tag - 0x80) items
  if tag < 0xa0 then
    return ← readArray bytes head (tag - 0x90) items
  if tag < 0xc0 then
    return ← readString bytes head (tag - 0xa0)
  if 0xe0 ≤ tag then
    return .int (Int.ofNat tag - 256)
  match tag with
  | 0xc0 => return .nil
  | 0xc2 => return .bool false
  | 0xc3 => return .bool true
  | 0xc4 => readBytes bytes head (← readNat bytes head 1)
  | 0xc5 => readBytes bytes head (← readNat bytes head 2)
  | 0xc6 => readBytes bytes head (← readNat bytes head 4)
  | 0xca =>
    let bits : Nat ← readNat bytes head 4
    return .float (Float32.ofBits bits.toUInt32).toFloat
  | 0xcb =>
    let bits : Nat ← readNat bytes head 8
    return .float (Float.ofBits bits.toUInt64)
  | 0xcc => return .int (Int.ofNat (← readNat bytes head 1))
  | 0xcd => return .int (Int.ofNat (← readNat bytes head 2))
  | 0xce => return .int (Int.ofNat (← readNat bytes head 4))
  | 0xcf => return .int (Int.ofNat (← readNat bytes head 8))
  | 0xd0 => readInt bytes head 1
  | 0xd1 => readInt bytes head 2
  | 0xd2 => readInt bytes head 4
  | 0xd3 => readInt bytes head 8
  | 0xd9 => readString bytes head (← readNat bytes head 1)
  | 0xda => readString bytes head (← readNat bytes head 2)
  | 0xdb => readString bytes head (← readNat bytes head 4)
  | 0xdc => readArray bytes head (← readNat bytes head 2) items
  | 0xdd => readArray bytes head (← readNat bytes head 4) items
  | 0xde => readMap bytes head (← readNat bytes head 2) items
  | 0xdf => readMap bytes head (← readNat bytes head 4) items
  | other => refuse head s!"the type byte {other} is not used by this protocol"

/-- Reads one value in which at most `depth` containers may stand inside each other. -/
def readValue (bytes : ByteArray) (depth : Nat) : Decoder Value :=
  match depth with
  | 0 => readItem bytes none
  | depth + 1 => readItem bytes (some (readValue bytes depth))

/-- Reads bytes that hold exactly one value. -/
def decode (bytes : ByteArray) (limits : Limits := {}) : Except Fault Value := do
  if limits.bytes < bytes.size then
    throw ({ offset := limits.bytes, message := s!"more than {limits.bytes} bytes" } : Fault)
  let (value, used) ← StateT.run (readValue bytes limits.depth) 0
  if used < bytes.size then
    throw ({ offset := used, message := s!"{bytes.size - used} bytes follow the value" } : Fault)
  return value

end LeanHammerExt.Msgpack
