import Lake

open Lake DSL

package proofRate

-- Before Mathlib, so that Mathlib's own choice of Batteries and Aesop wins.
require LeanHammerExt from "../.."

require mathlib from git
  "https://github.com/leanprover-community/mathlib4" @ "v4.33.0"

/-- The library behind `lake exe proof_rate`. -/
lean_lib ProofRate where
  globs := #[`ProofRate.+]

/-- `lake exe proof_rate MODULE --tactic TEXT` tries a tactic on the theorems of a module. -/
@[default_target]
lean_exe proof_rate where
  root := `ProofRate.Main
  supportInterpreter := true
