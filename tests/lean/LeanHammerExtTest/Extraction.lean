/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Arguments
import Extraction.Frontend
import Extraction.Premises
import Extraction.Source

/-!
# The parts of the extraction that need no project

Rows against lines of `tests/golden/extraction`, the command line, and what the text of a tactic or of a message says about
lemmas.
The workflow runs `lake exe extract` itself.
-/

namespace LeanHammerExtTest.ExtractionTest

open Lean (Name)
open LeanHammerExt.Extraction

/-! ## Rows -/

/-- A golden file. -/
def golden : String := include_str ".."/".."/"golden"/"extraction"/"Golden.Sums.jsonl"

/-- Whether a line stands in the golden file. -/
def isGolden (line : String) : Bool :=
  (golden.splitOn "\n").contains line

#guard isGolden (DeclarationRow.written {
  name := "Num.double"
  kind := "def"
  signature := "def Num.double (a : Num) : Num"
  display := "def Num.double (a : Num) : Num"
  docstring := "Twice a number."
  constants := #["Num"]
  conclusionCount := 1
  attributes := #[]
  line? := some 15
  endLine? := some 16
  parent? := none
  hasEquations := true
})

#guard isGolden (ExampleRow.written {
  theoremName := "Num.double_zero"
  tactic := true
  state := "⊢ Eq (Num.double Num.zero) Num.zero"
  line? := some 19
  column? := some 2
  premises := #[
    { name := "Num.add_zero", origins := #[PremiseOrigin.explicit] },
    { name := "Num.double", origins := #[PremiseOrigin.definitional, PremiseOrigin.explicit] }
  ]
})

#guard isGolden (endWritten 4 6)

#guard Json.text "a\"b\\c\nd\t𝓝" == "\"a\\\"b\\\\c\\nd\\t𝓝\""

/-! ## The command line -/

/-- Whether arguments are refused. -/
def isRefused (arguments : List String) : Bool :=
  match readArguments arguments {} with
  | .ok _ => false
  | .error _ => true

/-- What arguments ask for. -/
def choicesOf (arguments : List String) : Choices :=
  match readArguments arguments {} with
  | .ok choices => choices
  | .error _ => {}

#guard isRefused []
#guard isRefused ["Mathlib", "--jobs", "0"]
#guard isRefused ["Mathlib", "--output"]
#guard isRefused ["Mathlib", "--fast"]
#guard (choicesOf ["--help"]).help
#guard (choicesOf ["Mathlib", "--jobs", "8", "--resume"]).jobs == 8
#guard (choicesOf ["Mathlib", "--jobs", "8", "--resume"]).resume

-- Modules of the same root are wanted; with `--only`, those below the prefix.
#guard (choicesOf ["Mathlib"]).wants `Mathlib.Order.Basic
#guard (choicesOf ["Mathlib"]).wants `Init == false
#guard (choicesOf ["Mathlib", "--only", "Mathlib.Order"]).wants `Mathlib.Order.Basic
#guard (choicesOf ["Mathlib", "--only", "Mathlib.Order"]).wants `Mathlib.Data.Nat == false

/-! ## Names and tactics -/

#guard isEquationComponent "eq_12"
#guard isEquationComponent "eq_def"
#guard isEquationComponent "eq_of_lt" == false
#guard isHidden `foo._proof_1
#guard isHidden `foo.bar == false
#guard originOfTactic? "rw" == some PremiseOrigin.rw
#guard originOfTactic? "exact" == none
#guard originOfTactic? "positivity" == some PremiseOrigin.simp
#guard isTool `congrArg
#guard isTool `Nat.add_comm == false

/-- A place where `And.intro` is meant. -/
def pairing (written : Bool) : Mention := { position := 0, name := `And.intro, written := written }

#guard (pairing true).counts
#guard (pairing false).counts == false

/-! ## Messages -/

#guard suggestedTactic? "Try this: simp only [foo]" == some "simp only [foo]"
#guard suggestedTactic? "Try this:\n  [apply] simpa only [foo] using h" == some "simpa only [foo] using h"
#guard suggestedTactic? "unused variable `x`" == none

/-! ## Folders and addresses -/

#guard (fetchedFolder "packages" "«doc-gen4»" "").toString == "packages/doc-gen4"
#guard (fetchedFolder "packages" "mathlib" "inner").toString == "packages/mathlib/inner"
#guard repositoryPage? "https://github.com/a/b.git" == some "https://github.com/a/b"
#guard repositoryPage? "git@github.com:a/b.git" == some "https://github.com/a/b"
#guard repositoryPage? "https://example.org/a/b" == none
#guard behind? ["a", "b"] ["a", "b", "c"] == some ["c"]
#guard behind? ["a", "x"] ["a", "b", "c"] == none

end LeanHammerExtTest.ExtractionTest
