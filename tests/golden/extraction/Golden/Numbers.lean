/-! Natural numbers, once more. -/

/-- A natural number. -/
inductive Num where
  | zero
  | succ (before : Num)

namespace Num

/-- The sum of two numbers. -/
def add (a : Num) : Num → Num
  | zero => a
  | succ b => succ (add a b)

instance : Add Num := ⟨add⟩

@[simp]
theorem add_zero (a : Num) : add a zero = a := rfl

@[simp]
theorem add_succ (a b : Num) : add a (succ b) = succ (add a b) := rfl

theorem zero_add (a : Num) : add zero a = a := by
  induction a with
  | zero => rfl
  | succ b ih => simp [ih]

theorem succ_add (a b : Num) : add (succ a) b = succ (add a b) := by
  induction b with
  | zero => simp
  | succ c ih => rw [add_succ, ih, add_succ]

end Num
