"""How many theorems of Mathlib the hammer proves, by setting."""
