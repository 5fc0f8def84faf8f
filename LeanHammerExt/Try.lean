/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Hammer

/-!
# `hammer` under `try?`

Importing this module makes `try?` run `hammer`, after everything that is faster.
-/

register_try?_tactic (priority := 10) hammer
