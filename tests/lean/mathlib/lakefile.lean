import Lake

open Lake DSL

package mathlibExamples

-- Before Mathlib, so that Mathlib's own choice of Batteries and Aesop wins.
require LeanHammerExt from "../../.."

require mathlib from git
  "https://github.com/leanprover-community/mathlib4" @ "v4.33.0"

/-- Examples with Mathlib; each file fails to build when one of its examples fails. -/
@[default_target]
lean_lib MathlibExamples where
  globs := #[`MathlibExamples.+]
