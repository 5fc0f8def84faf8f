/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Text

/-!
# Canonical texts
-/

namespace LeanHammerExtTest.TextTest

open Lean Meta Elab Tactic
open LeanHammerExt

set_option linter.unusedVariables false

/-! ## One line -/

#guard oneLine "" == ""
#guard oneLine "  a \n\t b  " == "a b"
#guard oneLine "a b" == "a b"

/-! ## Premises -/

/-- Twice a number. -/
def twice (n : Nat) : Nat := n + n

/-- Twice is a sum. -/
theorem twice_eq (n : Nat) : twice n = n + n := rfl

theorem and_swap_of {p q : Prop} (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩

theorem same.{u} {α : Sort u} (a : α) : a = a := rfl

inductive Both (p q : Prop) : Prop where
  | intro (left : p) (right : q)

/--
info: /-- Twice is a sum. -/
theorem LeanHammerExtTest.TextTest.twice_eq (n : Nat) : Eq (LeanHammerExtTest.TextTest.twice n) (HAdd.hAdd n n)
-/
#guard_msgs in
run_meta logInfo (← premiseText ``twice_eq)

-- What is open or set does not matter.
set_option pp.all true in
set_option pp.unicode.fun true in
open Nat in
/--
info: /-- Twice is a sum. -/
theorem LeanHammerExtTest.TextTest.twice_eq (n : Nat) : Eq (LeanHammerExtTest.TextTest.twice n) (HAdd.hAdd n n)
-/
#guard_msgs in
run_meta logInfo (← premiseText ``twice_eq)

/-- info: theorem LeanHammerExtTest.TextTest.and_swap_of {p q : Prop} (h : And p q) : And q p -/
#guard_msgs in
run_meta logInfo (← premiseText ``and_swap_of)

-- No universe parameters behind the name.
/-- info: theorem LeanHammerExtTest.TextTest.same {α : Sort u} (a : α) : Eq a a -/
#guard_msgs in
run_meta logInfo (← premiseText ``same)

/-- info: theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n) -/
#guard_msgs in
run_meta logInfo (← premiseText ``Nat.add_comm)

/-- info: ctor LeanHammerExtTest.TextTest.Both.intro {p q : Prop} (left : p) (right : q) : LeanHammerExtTest.TextTest.Both p q -/
#guard_msgs in
run_meta logInfo (← premiseText ``Both.intro)

/-! ## Kinds -/

structure Point where
  x : Nat
  y : Nat

structure Colored extends Point where
  color : Nat

class Marked (α : Type) where
  mark : α

inductive Even : Nat → Prop where
  | zero : Even 0

abbrev Number := Nat

axiom choice : Nat

instance : Marked Nat := ⟨0⟩

/--
info: [structure, ctor, field, parent_proj, class, inductive, ctor, abbrev, axiom, instance, def, theorem]
-/
#guard_msgs in
run_meta do
  let env ← getEnv
  let names : List Name := [
    ``Point, ``Point.mk, ``Point.x, ``Colored.toPoint, ``Marked, ``Even, ``Even.zero, ``Number, ``choice,
    ``instMarkedNat, ``twice, ``twice_eq
  ]
  logInfo s!"{names.map (kindWord env)}"

/-! ## Long premises -/

#guard joinPremise "" "theorem a : b" == "theorem a : b"
#guard joinPremise "Doc." "theorem a : b" == "/-- Doc. -/\ntheorem a : b"
#guard joinPremise ("".pushn 'd' premiseLimit) "theorem a : b" == "theorem a : b"
#guard (joinPremise "Doc." ("".pushn 't' (premiseLimit + 1))).length == premiseLimit

/-! ## Constants -/

-- Types that are given implicitly, instances and numerals are not among them.
/-- info: [Eq, LeanHammerExtTest.TextTest.twice, HAdd.hAdd, Nat] 3 -/
#guard_msgs in
run_meta do
  let info ← getConstInfo ``twice_eq
  let (constants, count) := statementConstants (← getEnv) info.type
  logInfo s!"{constants.toList} {count}"

/-- info: [And, LE.le, Or, Not, Nat] -/
#guard_msgs in
example (a b : Nat) (h : a ≤ b) (p : Prop) : a ≤ b ∧ (p ∨ ¬p) := by
  run_tac do
    let constants ← goalConstants (← getMainGoal)
    logInfo s!"{constants.toList}"
  exact ⟨h, Classical.em p⟩

/-! ## Goals -/

/--
info: a b : Nat
h : LE.le a b
p : Prop
⊢ And (LE.le a b) (Or p (Not p))
-/
#guard_msgs in
example (a b : Nat) (h : a ≤ b) (p : Prop) : a ≤ b ∧ (p ∨ ¬p) := by
  run_tac do
    let (text, _) ← goalText (← getMainGoal)
    logInfo text
  exact ⟨h, Classical.em p⟩

-- Names that cannot be written get a dagger, values of local definitions are shown.
/--
info: n✝ n : Nat
m : Nat := n
⊢ Eq m n
-/
#guard_msgs in
example (n : Nat) : ∀ n : Nat, n = n := by
  intro n
  let m : Nat := n
  change m = n
  run_tac do
    let (text, _) ← goalText (← getMainGoal)
    logInfo text
  rfl

/-! ## The cap -/

/-- A goal of three lines: 8, 8 and 7 code points. -/
def small : String := "a : ℕ → \nb : ℤ → \n⊢ P a b"

#guard capGoal small 100 == (small, 0)
#guard capGoal small small.length == (small, 0)
#guard capGoal small (small.length - 1) == ("b : ℤ → \n⊢ P a b", 1)
#guard capGoal small 16 == ("b : ℤ → \n⊢ P a b", 1)
#guard capGoal small 15 == ("⊢ P a b", 2)
#guard capGoal small 7 == ("⊢ P a b", 2)
#guard capGoal small 3 == ("⊢ P", 2)
#guard capGoal "no turnstile\nat all" 5 == ("no tu", 0)
#guard capGoal "x : ⊢\n⊢ Q" 3 == ("⊢ Q", 1)

end LeanHammerExtTest.TextTest
