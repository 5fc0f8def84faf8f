import Lake

open Lake DSL

/-- Options of every library here. -/
abbrev commonOptions : Array Lean.LeanOption := #[
  ⟨`autoImplicit, false⟩,
  ⟨`relaxedAutoImplicit, false⟩
]

/-- Options of the tests: what is printed must not depend on the numbers of metavariables. -/
abbrev testOptions : Array Lean.LeanOption := commonOptions ++ #[
  ⟨`pp.mvars.anonymous, false⟩
]

package LeanHammerExt where
  testDriver := "LeanHammerExtTest"
  lintDriver := "batteries/runLinter"
  lintDriverArgs := #["LeanHammerExt"]

require batteries from git
  "https://github.com/leanprover-community/batteries" @ "v4.33.0"

require aesop from git
  "https://github.com/leanprover-community/aesop" @ "v4.33.0"

require auto from git
  "https://github.com/leanprover-community/lean-auto.git" @ "v4.33.0"

require Duper from git
  "https://github.com/leanprover-community/duper.git" @ "v4.33.0"

/-- The plugin. -/
@[default_target]
lean_lib LeanHammerExt where
  leanOptions := commonOptions

/-- The tests that `lake test` builds; each file fails to build when one of its tests fails. -/
lean_lib LeanHammerExtTest where
  srcDir := "tests/lean"
  globs := #[`LeanHammerExtTest.+]
  leanOptions := testOptions

/-- The modules whose extraction stands in `tests/golden`, for the tests. -/
lean_lib Golden where
  srcDir := "tests/golden/extraction"
  globs := #[`Golden.+]

/-- Tests that need the sidecar: `lake build LeanHammerExtLive` after `lake exe sidecar`. -/
lean_lib LeanHammerExtLive where
  srcDir := "tests/lean"
  globs := #[`LeanHammerExtLive.+]
  leanOptions := testOptions

/-- The library behind `lake exe extract`. -/
lean_lib Extraction where
  srcDir := "extraction"
  leanOptions := commonOptions

/-- `lake exe extract Module…` writes what training and indexing need from a Lake project. -/
lean_exe extract where
  srcDir := "extraction"
  root := `Extraction.Main
  supportInterpreter := true

/-- `lake exe sidecar` installs the sidecar into a virtual environment of its own and checks it. -/
lean_exe sidecar where
  root := `LeanHammerExt.Install
