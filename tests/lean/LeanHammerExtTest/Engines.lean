/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Hammer

/-!
# The engines, one by one
-/

namespace LeanHammerExtTest.EnginesTest

open Lean Meta Elab Tactic
open LeanHammerExt

set_option hammer.sidecar.enabled false

/-- What an engine is given in these tests. -/
def problemOf (names : List Name) : TacticM Problem := do
  let facts : Array Fact ← names.toArray.mapM fun (name : Name) => (premiseFact name : MetaM Fact)
  let now : Nat ← IO.monoMsNow
  return { facts := facts, config := {}, deadline := now + 60000 }

/-- Closes the main goal with one engine. -/
def closeWith (engine : Engine) (names : List Name) : TacticM Unit := do
  let problem : Problem ← problemOf names
  match ← engine.run problem with
  | .proof candidate _ => runScript (← candidate.script)
  | .noProof detail => throwError "no proof: {detail}"
  | .notRun reason => throwError "not run: {reason}"

/-- Fails if an engine closes the main goal. -/
def failsWith (engine : Engine) (names : List Name) : TacticM Unit := do
  let problem : Problem ← problemOf names
  match ← engine.run problem with
  | .proof candidate _ => throwError "a proof: {← scriptText (← candidate.script)}"
  | _ => pure ()

axiom secret : Nat → Nat

axiom secret_eq (n : Nat) : secret n = n

axiom Good : Nat → Prop

axiom good_zero : Good 0

axiom good_step (n : Nat) : Good n → Good (n + 1)

axiom Likes : Nat → Nat → Prop

axiom likes_back (a b : Nat) : Likes a b → Likes b a

axiom Mystery : Prop

axiom mystery : Mystery

/-! ## Short proofs -/

example (n : Nat) : n + 0 = n := by
  run_tac closeWith .exact []

example (n : Nat) : secret n = n := by
  run_tac closeWith .exact [``secret_eq]

example (n : Nat) : n = secret n := by
  run_tac closeWith .exact [``secret_eq]

-- What is shown can be pasted: no name in it is marked as inaccessible.
example (n : Nat) : n = secret n := by
  run_tac do
    match ← exactEngine (← problemOf [``secret_eq]) with
    | .proof candidate _ =>
      let text ← scriptText (← candidate.script)
      unless (text.splitOn "✝").length == 1 do
        throwError "this cannot be pasted: {text}"
    | _ => throwError "no proof"
  exact (secret_eq n).symm

example (n : Nat) (h : Good n) : Good (n + 1) := by
  run_tac closeWith .exact [``good_step]

-- `exact?` finds what was not selected.
example (a b c : Nat) (h : a ∣ b) : a ∣ b * c := by
  run_tac closeWith .exact []

example : Good 2 := by
  run_tac failsWith .exact []
  exact good_step 1 (good_step 0 good_zero)

/-! ## `simp` -/

example (xs ys : List Nat) : (xs ++ ys).length = xs.length + ys.length := by
  run_tac closeWith .simp []

example (n : Nat) (h : n = 2) : secret (secret n) = 2 := by
  run_tac closeWith .simp [``secret_eq, ``good_zero]

example : Mystery := by
  run_tac failsWith .simp [``secret_eq]
  exact mystery

/-! ## `grind` -/

example (f : Nat → Nat) (a b c : Nat) (h : f a = b) (k : f b = c) : f (f a) = c := by
  run_tac closeWith .grind []

example (n : Nat) (h : secret n = 3) : n = 3 := by
  run_tac closeWith .grind [``secret_eq]

example : Mystery := by
  run_tac failsWith .grind [``secret_eq]
  exact mystery

/-! ## Aesop -/

example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by
  run_tac closeWith .aesop []

example (a b : Nat) (h : Likes a b) : Likes b a := by
  run_tac closeWith .aesop [``likes_back, ``good_zero]

example : Mystery := by
  run_tac failsWith .aesop [``good_zero]
  exact mystery

/-! ## Duper -/

example (p q : Nat → Prop) (h : ∀ n, p n → q n) (k : p 1) : q 1 := by
  run_tac closeWith .duper []

example (a b : Nat) (h : Likes a b) : Likes b a := by
  run_tac closeWith .duper [``likes_back]

example : Mystery := by
  run_tac failsWith .duper [``good_zero]
  exact mystery

/-! ## External provers: the translation, and the way back -/

#guard formulaNumber? "fact12" == some 12
#guard formulaNumber? "fact" == none
#guard formulaNumber? "axiom3" == none
#guard formulaNumber? "factual" == none

#guard originTerm "false, true, `likes_back" == "`likes_back"
#guard originTerm "false, true, (Term.tuple a, b)" == "(Term.tuple a, b)"
#guard originTerm "true, true" == ""
#guard originTerm "termLikeDefEq" == ""

-- The problem has a formula for each fact and for the negated goal, and each formula knows where it comes from.
example (a b : Nat) (h : Likes a b) : Likes b a := by
  run_tac do
    let saved ← Tactic.saveState
    let fact ← (constantTerm ``likes_back : MetaM Term)
    let (star, facts) ← withHypotheses #[fact]
    let (text, origins) ← withOptions (translationOptions 10) <| translateGoal star facts fun entries => do
      let text ← problemText entries
      let origins ← originsOf entries
      return (text, origins)
    saved.restore
    unless (text.splitOn "thf(fact0, axiom,").length == 2 do
      throwError "the problem has no formula: {text}"
    let all := factsBehind origins facts
    unless all.size == facts.size do
      throwError "of {facts.size} facts, the formulas know {all.size}: {origins}"
    unless (factsBehind #[] facts).isEmpty do
      throwError "facts without formulas"
  exact likes_back a b h

/-! ## What else the engines are made of -/

#guard alignFirstLine "intro h" == "intro h"
#guard alignFirstLine "intro h\n    exact h\n      done" == "    intro h\n    exact h\n      done"
#guard alignFirstLine "  intro h\n  exact h" == "  intro h\n  exact h"
#guard shortened "a\n  b" == "a b"
#guard (shortened ("".pushn 'x' 500)).length == 100

run_meta do
  let env ← getEnv
  match parseScript? env (alignFirstLine "intro h\n    exact h") with
  | none => throwError "a script is not read"
  | some script =>
    unless script.size == 2 do
      throwError "{script.size} tactics were read"
  if (parseScript? env "intro )").isSome then
    throwError "nonsense was read"

run_meta do
  let env ← getEnv
  let fact (name : Name) : MetaM Fact := premiseFact name
  unless isApplicable env (← fact ``good_step) do
    throwError "{``good_step} cannot be applied"
  -- Its conclusion is a variable.
  if isApplicable env (← fact ``Classical.byContradiction) then
    throwError "{``Classical.byContradiction} can be applied"
  unless ← isTranslatable (← fact ``good_step) do
    throwError "{``good_step} cannot be translated"
  -- Constructors cannot be given to Duper.
  if ← isTranslatable (← fact ``And.intro) then
    throwError "{``And.intro} can be translated"

-- A hypothesis that is hidden by another one cannot be named.
example (p q : Prop) (h : p) (k : q) : p := by
  run_tac do
    let (terms, complete) ← namedHypotheses
    unless complete && terms.size == 2 do
      throwError "{terms.size} hypotheses were named"
  exact h

example (p q : Prop) (h : p) : q → q := by
  intro h
  run_tac do
    let (terms, complete) ← namedHypotheses
    unless !complete && terms.size == 1 do
      throwError "{terms.size} hypotheses were named"
  exact h

/-! ## Smaller proofs -/

#guard partSizes 0 == []
#guard partSizes 1 == [1]
#guard partSizes 5 == [5, 2, 1]
#guard partSizes 8 == [8, 4, 2, 1]

example (n : Nat) : secret n + 0 = n := by
  run_tac do
    let needed ← (constantTerm ``secret_eq : MetaM Term)
    let useless ← (constantTerm ``good_zero : MetaM Term)
    let candidate : Candidate :=
      { engine := .simp, form := .simpAll, facts := #[useless, needed, useless] }
    let proof ← minimise { candidate := candidate, milliseconds := 1000 } 30000
    unless proof.facts.size == 1 do
      throwError "{proof.facts.size} facts are left"
    runScript proof.script

-- `*` is replaced by names, and hypotheses that are not needed are dropped.
example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q := by
  run_tac do
    let candidate : Candidate := { engine := .duper, form := .duper true 1, facts := #[] }
    let proof ← minimise { candidate := candidate, milliseconds := 1000 } 30000
    unless proof.facts.size == 2 do
      throwError "{proof.facts.size} facts are left"
    runScript proof.script

-- A text that is stopped before it is done still counts.
example (n : Nat) : secret n = n := by
  run_tac do
    let needed ← (constantTerm ``secret_eq : MetaM Term)
    let candidate : Candidate := { engine := .simp, form := .simp, facts := #[needed] }
    let proof ← minimise { candidate := candidate, milliseconds := 1000 } 0
    runScript proof.script

end LeanHammerExtTest.EnginesTest
