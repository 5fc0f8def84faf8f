import Golden.Numbers

/-! Sums of natural numbers. -/

/-! Here 𝓝 is `Num`, "once more". -/

namespace Num

/-- The order of the summands does not matter. -/
theorem add_comm (a b : Num) : add a b = add b a := by
  induction b with
  | zero => simp [zero_add]
  | succ c ih => rw [add_succ, succ_add, ih]

/-- Twice a number. -/
def double (a : Num) : Num := add a a

theorem double_zero : double zero = zero := by
  unfold double
  exact add_zero zero

@[deprecated add_comm (since := "2026-01-31")]
theorem comm (a b : Num) : add a b = add b a := add_comm a b

end Num
