/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Fallback
import LeanHammerExt.Registration

/-!
# Which constants are premises
-/

namespace LeanHammerExtTest.PremisesTest

open Lean Meta
open LeanHammerExt

/-! ## A file with one of each kind -/

theorem initial : True := trivial

def double (n : Nat) : Nat := n + n

@[deprecated initial (since := "2026-01-01")]
theorem old : True := trivial

private theorem hidden : True := trivial

inductive Even : Nat → Prop where
  | zero : Even 0
  | step (n : Nat) : Even n → Even (n + 2)

inductive Color where
  | red
  | green

class Law (α : Type) where
  op : α → α
  law : ∀ a, op a = a

instance : Law Nat := ⟨id, fun _ => rfl⟩

axiom assumed : True

opaque secret : Nat

theorem last : True := trivial

/-- The premises of this file, without the prefix of its namespace. -/
def namesHere (instances : Bool) : CoreM (List String) := do
  let filter ← PremiseFilter.current
  let names := filePremises { filter with instances := instances } 100
  let shown := names.map fun (name : Name) =>
    ((privateToUserName name).replacePrefix `LeanHammerExtTest.PremisesTest .anonymous).toString
  return shown.toList

-- The latest ones come first; of equal lines, the alphabet decides.
/-- info: [last, assumed, Law.law, Even.step, Even.zero, hidden, double, initial] -/
#guard_msgs in
run_meta do
  let names ← namesHere false
  logInfo s!"{names}"

run_meta do
  let names ← namesHere true
  unless names.contains "instLawNat" do
    throwError "instances are not among {names} although they are asked for"

-- At most as many as asked for.
run_meta do
  let filter ← PremiseFilter.current
  unless (filePremises filter 3).size == 3 do
    throwError "the limit is not kept"

/-! ## Deny lists -/

hammer_exclude_names LeanHammerExtTest.PremisesTest.Even LeanHammerExtTest.PremisesTest.initial

/-- info: [last, assumed, Law.law, hidden, double] -/
#guard_msgs in
run_meta do
  let names ← namesHere false
  logInfo s!"{names}"

-- A list names whole components, from the root on.
#guard isBelow [`Util] `Util.foo
#guard isBelow [`Util] `Util
#guard isBelow [`Util] `Mine.Util.foo == false
#guard isBelow [`Util] `Utilities.foo == false

run_meta do
  let filter ← PremiseFilter.current
  unless filter.acceptsModule `Util && filter.acceptsModule `Mine.Lean && filter.acceptsModule `Test do
    throwError "a user's module is denied"
  if filter.acceptsModule `Lean.Meta.Basic || filter.acceptsModule `Lean then
    throwError "a module of Lean itself is accepted"

hammer_exclude_modules Mine.Drafts

run_meta do
  let filter ← PremiseFilter.current
  unless filter.acceptsModule `Mine && filter.acceptsModule `Mine.DraftsToo do
    throwError "too much is denied"
  if filter.acceptsModule `Mine.Drafts.One then
    throwError "an excluded module is accepted"

/-! ## Imported modules -/

-- Core's own lemmas are premises; what comes with a type is not.
run_meta do
  let env ← getEnv
  let filter ← PremiseFilter.current
  let accepted (name : Name) : MetaM Bool := do
    let info ← getConstInfo name
    let some index := env.getModuleIdxFor? name
      | throwError "{name} is not imported"
    return (modulePremises filter env.header.moduleNames[index.toNat]! index.toNat).contains info.name
  for name in [``Nat.add_comm, ``And.intro, ``List.map, ``Nat.lt_irrefl, ``propext] do
    unless ← accepted name do
      throwError "{name} is no premise"
  for name in [``Nat.rec, ``Nat.casesOn, ``Nat.noConfusion, ``List.cons, ``instHAdd, ``sorryAx, ``Lean.Expr.app] do
    if ← accepted name then
      throwError "{name} is a premise"

/-! ## Descriptions -/

-- A text is printed again when the statement behind a name changes.
theorem changing : True := trivial

/-- info: theorem LeanHammerExtTest.PremisesTest.changing : True -/
#guard_msgs in
run_meta logInfo (← filePremise ``changing).text

/-- info: [Mathlib.Data.Nat.Basic, Nat.foo] -/
#guard_msgs in
run_meta do
  let premise : Premise := {
    name := `Nat.foo
    text := "theorem Nat.foo : True"
    constants := #[``True]
    moduleName? := some `Mathlib.Data.Nat.Basic
  }
  let described := premise.describe
  unless described.constants == #["True"] && described.hash == "" do
    throwError "wrong description"
  logInfo s!"{[described.moduleName, described.name]}"

/-! ## What is kept when there is too much -/

/-- Three modules with two premises each. -/
def modules : Array ModuleNames := #[
  { moduleName := `A, names := #[`A.x, `A.y] },
  { moduleName := `B, names := #[`B.x, `B.y] },
  { moduleName := `C, names := #[`C.x, `C.y] }
]

/-- The names of the modules that are kept. -/
def keptOf (limit : Nat) : Array Name :=
  (modules.foldl Kept.add { room := limit }).modules.map (·.moduleName)

#guard keptOf 6 == #[`A, `B, `C]
#guard keptOf 5 == #[`A, `B]
#guard keptOf 4 == #[`A, `B]
#guard keptOf 1 == #[]
-- After the first module that does not fit, none is taken.
#guard ((modules.push { moduleName := `Empty, names := #[] }).foldl Kept.add { room := 3 }).modules.size == 1
#guard (premisesOf modules).size == 6
#guard (premisesOf modules)[0]! == (`A.x, some `A)

/-- A described premise of module `B`. -/
def described : Premise where
  name := `B.x
  text := "theorem B.x : True"
  constants := #[``True]
  moduleName? := some `B

#guard (listHashes modules #[("h", described)]).map (·.name) == #["A", "B", "C"]
#guard (listHashes modules #[("h", described)]).map (·.hashes) == #[#[], #["h"], #[]]

/-! ## Interspersing -/

#guard intersperse #[`a, `b, `c] #[`x] 10 == #[`a, `x, `b, `c]
#guard intersperse #[`a, `b] #[`a, `c] 10 == #[`a, `b, `c]
#guard intersperse #[`a, `b, `c] #[`x, `y] 3 == #[`a, `x, `b]
#guard intersperse #[] #[`x] 0 == #[]

end LeanHammerExtTest.PremisesTest
