/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.ContentHash

/-!
# Content hashes

The first ones are published test vectors of FNV-1a with 64 bits; the one of a whole premise also stands in
`tests/golden/bridge/frames.json`, where the sidecar is tested against it.
-/

open LeanHammerExt

#guard hexadecimal (fnv1a "".toUTF8) == "cbf29ce484222325"
#guard hexadecimal (fnv1a "a".toUTF8) == "af63dc4c8601ec8c"
#guard hexadecimal (fnv1a "foobar".toUTF8) == "85944171f73967e8"

#guard hexadecimal 0 == "0000000000000000"
#guard hexadecimal 0xabcdef == "0000000000abcdef"

#guard contentHash "Demo.double_eq"
  "/-- Twice a number. -/\ntheorem Demo.double_eq (n : Nat) : Eq (Demo.double n) (HAdd.hAdd n n)"
  == "0aced5f8482975ca"

-- Name and text are told apart.
#guard contentHash "a\nb" "c" == contentHash "a" "b\nc"
#guard (contentHash "ab" "c" == contentHash "a" "bc") == false
