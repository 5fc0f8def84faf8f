/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/

/-!
# Content hashes of premises

In: the name and the wire text of a premise. Out: sixteen lower-case hexadecimal digits that the sidecar computes in
the same way, so that a text is sent only when the sidecar has never seen it.

The hash is FNV-1a with 64 bits over the UTF-8 bytes of the name, one line feed, and the text. It says which text is
meant and guards nothing: the sidecar checks it again when a text arrives.
-/

namespace LeanHammerExt

/-- FNV-1a with 64 bits (offset basis and prime as published by Fowler, Noll and Vo). -/
def fnv1a (bytes : ByteArray) : UInt64 :=
  bytes.foldl
    (fun (hash : UInt64) (byte : UInt8) => (hash ^^^ byte.toUInt64) * (0x100000001b3 : UInt64))
    (0xcbf29ce484222325 : UInt64)

/-- Sixteen lower-case hexadecimal digits. -/
def hexadecimal (number : UInt64) : String :=
  let digits : List Char := Nat.toDigits 16 number.toNat
  digits.foldl String.push ("".pushn '0' (16 - digits.length))

/-- The content hash of the premise `name` whose wire text is `text`. -/
def contentHash (name text : String) : String :=
  hexadecimal (fnv1a (name ++ "\n" ++ text).toUTF8)

end LeanHammerExt
