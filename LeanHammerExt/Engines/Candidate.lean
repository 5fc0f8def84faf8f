/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import Aesop
import Duper

/-!
# Tactic texts

In: the kind of a tactic and the facts that it is given. Out: the tactic as syntax. Engines find such candidates, the
portfolio chooses one, the minimiser drops facts from it, and the user gets its text.

A candidate keeps facts and kind apart so that it can be written again with fewer facts. Nothing here runs a tactic.
-/

namespace LeanHammerExt

open Lean

/-- The engines. -/
inductive Engine where
  /-- Short proofs: `rfl`, `omega`, one premise, `exact?`. -/
  | exact
  /-- `simp_all` and `simp`. -/
  | simp
  /-- `aesop` with premises as rules. -/
  | aesop
  /-- External provers, their proofs rebuilt by `duper`. -/
  | auto
  /-- `duper` alone. -/
  | duper
  /-- `grind`. -/
  | grind
  /-- `aesop` without premises, which asks external provers about what it leaves. -/
  | aesopAuto
  /-- `aesop` with premises as rules, which asks external provers about what it leaves. -/
  | full
deriving Inhabited, BEq, Repr

/-- The name of an engine, as options and messages have it. -/
def Engine.name : Engine → String
  | .exact => "exact"
  | .simp => "simp"
  | .aesop => "aesop"
  | .auto => "auto"
  | .duper => "duper"
  | .grind => "grind"
  | .aesopAuto => "aesop+auto"
  | .full => "full"

/-- Tactics that are run one after the other. -/
abbrev Script := Array (TSyntax `tactic)

/-- A `duper` call: its facts, and the number of the portfolio instance that found the proof. -/
structure DuperCall where
  /-- Facts that it is given besides the local context. -/
  facts : Array Term
  /-- The portfolio instance. -/
  number : Nat
deriving Inhabited

/-- Kinds of tactic texts. -/
inductive Form where
  /-- These tactics as they are. -/
  | fixed (script : Script)
  /-- `simp [facts]`. -/
  | simp
  /-- `simp_all [facts]`. -/
  | simpAll
  /-- `aesop` with facts as unsafe rules and these calls of `duper` as rules of last resort. -/
  | aesop (calls : Array DuperCall)
  /-- `duper [facts]`; `*` is added when `star` is true. -/
  | duper (star : Bool) (number : Nat)
  /-- `grind [facts]`. -/
  | grind
deriving Inhabited

/-- A tactic text that an engine proposes. -/
structure Candidate where
  /-- The engine. -/
  engine : Engine
  /-- Its kind. -/
  form : Form
  /-- The facts that it is given, the most relevant one first. -/
  facts : Array Term
deriving Inhabited

/-! ## Writing candidates -/

/-- A fact as an argument of `simp`. -/
def simpArgument (fact : Term) : CoreM (TSyntax ``Parser.Tactic.simpLemma) :=
  `(Parser.Tactic.simpLemma| $fact:term)

/-- `simp [facts]`. -/
def simpTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| simp)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.simpLemma ← facts.mapM simpArgument
    `(tactic| simp [$arguments,*])

/-- `simp_all [facts]`. -/
def simpAllTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| simp_all)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.simpLemma ← facts.mapM simpArgument
    `(tactic| simp_all [$arguments,*])

/-- A fact as an argument of `grind`. -/
def grindArgument (fact : Term) : TSyntax ``Parser.Tactic.grindParam :=
  mkNode ``Parser.Tactic.grindParam #[mkNode ``Parser.Tactic.grindLemma #[mkNullNode, fact.raw]]

/-- `grind [facts]`. -/
def grindTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| grind)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.grindParam := facts.map grindArgument
    `(tactic| grind [$arguments,*])

/-- `grind? [facts]`. -/
def grindTraceTactic (facts : Array Term) : CoreM (TSyntax `tactic) := do
  if facts.isEmpty then
    `(tactic| grind?)
  else
    let arguments : TSyntaxArray ``Parser.Tactic.grindParam := facts.map grindArgument
    `(tactic| grind? [$arguments,*])

/-- `duper [facts]` with one portfolio instance; `*` is added when `star` is true. -/
def duperTactic (star : Bool) (facts : Array Term) (number : Nat) : CoreM (TSyntax `tactic) := do
  match star, facts.isEmpty with
  | true, true =>
    match number with
    | 2 => `(tactic| duper [*] {portfolioInstance := 2})
    | 3 => `(tactic| duper [*] {portfolioInstance := 3})
    | 4 => `(tactic| duper [*] {portfolioInstance := 4})
    | 7 => `(tactic| duper [*] {portfolioInstance := 7})
    | _ => `(tactic| duper [*] {portfolioInstance := 1})
  | true, false =>
    match number with
    | 2 => `(tactic| duper [*, $facts,*] {portfolioInstance := 2})
    | 3 => `(tactic| duper [*, $facts,*] {portfolioInstance := 3})
    | 4 => `(tactic| duper [*, $facts,*] {portfolioInstance := 4})
    | 7 => `(tactic| duper [*, $facts,*] {portfolioInstance := 7})
    | _ => `(tactic| duper [*, $facts,*] {portfolioInstance := 1})
  | false, true =>
    match number with
    | 2 => `(tactic| duper {portfolioInstance := 2})
    | 3 => `(tactic| duper {portfolioInstance := 3})
    | 4 => `(tactic| duper {portfolioInstance := 4})
    | 7 => `(tactic| duper {portfolioInstance := 7})
    | _ => `(tactic| duper {portfolioInstance := 1})
  | false, false =>
    match number with
    | 2 => `(tactic| duper [$facts,*] {portfolioInstance := 2})
    | 3 => `(tactic| duper [$facts,*] {portfolioInstance := 3})
    | 4 => `(tactic| duper [$facts,*] {portfolioInstance := 4})
    | 7 => `(tactic| duper [$facts,*] {portfolioInstance := 7})
    | _ => `(tactic| duper [$facts,*] {portfolioInstance := 1})

/--
The portfolio instances that are tried, in this order: those that `duper` itself tries, then its first two with
inhabitation reasoning. `duperTactic` knows these numbers.
-/
def duperInstances : List Nat := [1, 3, 7, 2, 4]

/-- Success probability, in percent, of the rule for the fact at a place in the ranking. -/
def rulePercent (place : Nat) : Nat :=
  max 10 (50 - place)

/-- A fact as an unsafe rule of Aesop. -/
def aesopRule (percent : Nat) (fact : Term) : CoreM (TSyntax `Aesop.tactic_clause) := do
  let number : NumLit := Syntax.mkNatLit percent
  if fact.raw.isIdent then
    let name : Ident := ⟨fact.raw⟩
    let feature : TSyntax `Aesop.feature ← `(Aesop.feature| $name:ident)
    `(Aesop.tactic_clause| (add unsafe $number:num % $feature:Aesop.feature))
  else
    let feature : TSyntax `Aesop.feature ← `(Aesop.feature| ($fact:term))
    `(Aesop.tactic_clause| (add unsafe $number:num % $feature:Aesop.feature))

/-- A tactic as an unsafe rule of Aesop. -/
def aesopTacticRule (percent : Nat) (tac : TSyntax `tactic) : CoreM (TSyntax `Aesop.tactic_clause) := do
  let proof : Term ← `(by $tac:tactic)
  aesopRule percent proof

/-- The rules for facts, in the order of their ranks. -/
def aesopRules (facts : Array Term) : CoreM (Array (TSyntax `Aesop.tactic_clause)) := do
  let mut rules : Array (TSyntax `Aesop.tactic_clause) := #[]
  for fact in facts do
    let rule : TSyntax `Aesop.tactic_clause ← aesopRule (rulePercent rules.size) fact
    rules := rules.push rule
  return rules

/-- The rules for calls of `duper`. -/
def aesopCalls (calls : Array DuperCall) : CoreM (Array (TSyntax `Aesop.tactic_clause)) := do
  let mut rules : Array (TSyntax `Aesop.tactic_clause) := #[]
  for call in calls do
    let tac : TSyntax `tactic ← duperTactic true call.facts call.number
    let rule : TSyntax `Aesop.tactic_clause ← aesopTacticRule 10 tac
    rules := rules.push rule
  return rules

/-- `aesop` with these facts and calls as rules. -/
def aesopTactic (facts : Array Term) (calls : Array DuperCall) : CoreM (TSyntax `tactic) := do
  let rules : Array (TSyntax `Aesop.tactic_clause) := (← aesopRules facts) ++ (← aesopCalls calls)
  `(tactic| aesop $rules*)

/-- `aesop?` with these facts and calls as rules. -/
def aesopTraceTactic (facts : Array Term) (calls : Array DuperCall) : CoreM (TSyntax `tactic) := do
  let rules : Array (TSyntax `Aesop.tactic_clause) := (← aesopRules facts) ++ (← aesopCalls calls)
  `(tactic| aesop? $rules*)

/-- The tactics of a candidate. -/
def Candidate.script (candidate : Candidate) : CoreM Script := do
  match candidate.form with
  | .fixed script => return script
  | .simp => return #[← simpTactic candidate.facts]
  | .simpAll => return #[← simpAllTactic candidate.facts]
  | .aesop calls => return #[← aesopTactic candidate.facts calls]
  | .duper star number => return #[← duperTactic star candidate.facts number]
  | .grind => return #[← grindTactic candidate.facts]

/-- The same text without positions, so that it can stand anywhere. -/
partial def withoutPositions : Syntax → Syntax
  | .node _ kind children => .node .none kind (children.map withoutPositions)
  | .atom _ text => .atom .none text
  | .ident _ text name resolutions => .ident .none text name resolutions
  | .missing => .missing

/-- The tactics in a tactic or a sequence of tactics. -/
def tacticsIn (stx : Syntax) : Script :=
  if stx.isOfKind ``Parser.Tactic.tacticSeq then
    let inner : Syntax := stx[0]
    let list : Syntax := if inner.isOfKind ``Parser.Tactic.tacticSeqBracketed then inner[1] else inner[0]
    list.getSepArgs.map fun (item : Syntax) => ⟨withoutPositions item⟩
  else
    #[⟨withoutPositions stx⟩]

/-- One tactic sequence with these tactics. -/
def scriptSequence (script : Script) : CoreM (TSyntax ``Parser.Tactic.tacticSeq) :=
  `(Parser.Tactic.tacticSeq| $script*)

end LeanHammerExt
