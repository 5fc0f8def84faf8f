/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Hammer

/-!
# Twenty everyday goals

Each is closed by `hammer` without the sidecar. Which text it finds depends on the machine, so it is not looked at here.
-/

namespace LeanHammerExtTest.EverydayTest

set_option hammer.sidecar.enabled false
set_option hammer.timeout 60
set_option hammer.minimiseTimeout 1

#guard_msgs (drop info) in
example (a b : Nat) : a + b = b + a := by hammer

#guard_msgs (drop info) in
example (xs : List Nat) : xs ++ [] = xs := by hammer

#guard_msgs (drop info) in
example (xs ys : List Nat) : (xs ++ ys).length = ys.length + xs.length := by hammer

#guard_msgs (drop info) in
example (p q : Prop) (h : p ∧ q) : q ∧ p := by hammer

#guard_msgs (drop info) in
example (p : Prop) : ¬¬p → p := by hammer

#guard_msgs (drop info) in
example (a b c : Nat) : a < b → b < c → a < c := by hammer

#guard_msgs (drop info) in
example (xs : List Nat) : xs.reverse.reverse = xs := by hammer

#guard_msgs (drop info) in
example (f g : Nat → Nat) (xs : List Nat) : (xs.map f).map g = xs.map (g ∘ f) := by hammer

#guard_msgs (drop info) in
example (p q : Prop) : p ∨ q → ¬p → q := by hammer

#guard_msgs (drop info) in
example : ∃ n : Nat, n = 3 := by hammer

#guard_msgs (drop info) in
example (f g : Nat → Nat) (x y z : Nat) (h : f x = y) (k : g y = z) : g (f x) = z := by hammer

#guard_msgs (drop info) in
example (a b : Bool) : (a && b) = (b && a) := by hammer

#guard_msgs (drop info) in
example (n : Nat) : n * 0 = 0 := by hammer

#guard_msgs (drop info) in
example (a b c : Int) (h : a ≤ b) : a + c ≤ b + c := by hammer

#guard_msgs (drop info) in
example (x y : Nat) : x ∈ [y, x] := by hammer

#guard_msgs (drop info) in
example (xs : List Nat) (h : xs ≠ []) : 0 < xs.length := by hammer

#guard_msgs (drop info) in
example (a b c : Nat) (h : a ∣ b) : a ∣ b * c := by hammer

#guard_msgs (drop info) in
example (a b : Nat) : max a b = max b a := by hammer

#guard_msgs (drop info) in
example (p q : Nat → Prop) (h : ∀ n, p n → q n) (k : ∀ n, p n) : ∀ n, q n := by hammer

#guard_msgs (drop info) in
example (x : Nat) : some x ≠ none := by hammer

end LeanHammerExtTest.EverydayTest
