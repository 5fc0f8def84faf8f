/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Mathlib.Algebra.Group.Basic
import Mathlib.Algebra.Order.Ring.Int
import Mathlib.Data.Set.Basic
import LeanHammerExt

/-!
# `hammer` beside Mathlib

These goals need no sidecar. Which text is found depends on the machine, so it is not looked at here.
-/

namespace MathlibExamples

set_option hammer.sidecar.enabled false
set_option hammer.timeout 120
set_option hammer.minimiseTimeout 1

#guard_msgs (drop info) in
example {G : Type} [CommGroup G] (a b : G) : a * b = b * a := by hammer

#guard_msgs (drop info) in
example {G : Type} [Group G] (a b : G) : (a * b)⁻¹ = b⁻¹ * a⁻¹ := by hammer

#guard_msgs (drop info) in
example {α : Type} (s t : Set α) (h : s ⊆ t) (x : α) (hx : x ∈ s) : x ∈ t := by hammer

#guard_msgs (drop info) in
example {α : Type} (s t : Set α) : s ∩ t = t ∩ s := by hammer

-- The user's own lemma, with arguments.
#guard_msgs (drop info) in
example (a b : ℤ) (ha : 0 ≤ a) (hb : 0 ≤ b) : 0 ≤ a * b := by hammer [mul_nonneg ha hb]

-- A mode of the evaluation.
#guard_msgs (drop info) in
example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by hammer (mode := "aesop")

end MathlibExamples
