"""The table of what serves as what, on names and statements as they occur."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.policy import deprecation, propositional_constants, role
from sidecar.corpus.records import Declaration
from tests.corpus.written import declared

MOTIVE = "{motive : T → Sort u} (t : T) : motive t"

AUXILIARY = [
    declared("Nat.add.match_1", "def"),
    declared("Nat.add.match_1.splitter"),
    declared("foo.«match_1»", "def"),
    declared("foo.proof_12"),
    declared("foo.eq_1"),
    declared("foo.eq_def", constants=("Eq", "foo")),
    declared("foo.hcongr_3"),
    declared("foo.congr_simp"),
    declared("foo.omega_1"),
    declared("foo._cstage1", "def"),
    declared("foo._lambda_2", "def"),
    declared("foo._auxLemma.3"),
    declared("foo._@.Library.Basic._hyg.42", "def"),
    declared("_private.Library.Basic.0.foo"),
    declared("_private.Library.Basic.0.Foo.bar.match_1"),
    declared("Lean._aux_Init__macroRules_1", "def"),
    declared("foo.1", "def"),
    declared("foo✝"),
    declared("Nat.noConfusion", "def"),
    declared("Nat.noConfusionType", "def"),
    declared("Option.some.injEq"),
    declared("Option.some.sizeOf_spec"),
    declared("Colour.toCtorIdx", "def"),
    declared("Nat.rec", "def", signature=f"def Nat.rec {MOTIVE}"),
    declared("Nat.rec", "def"),
    declared("Tree.rec_1", "def", signature=f"def Tree.rec_1 {MOTIVE}"),
    declared("Nat.recOn", "abbrev", signature=f"abbrev Nat.recOn {MOTIVE}"),
    declared("Nat.casesOn", "abbrev", signature=f"abbrev Nat.casesOn {MOTIVE}"),
    declared("Nat.brecOn", "abbrev", signature=f"abbrev Nat.brecOn {MOTIVE}"),
    declared("Nat.below", "abbrev", signature="abbrev Nat.below {motive : Nat → Sort u} (t : Nat) : Sort u"),
    declared("«my type».rec", "def", signature=f"def «my type».rec {MOTIVE}"),
]

HONEST = [
    declared("Nat.rec_add"),
    declared("foo.match", "def"),
    declared("foo.matches_1"),
    declared("match_1"),
    declared("foo.toArray_eq_match_step"),
    declared("foo.proof"),
    declared("foo.eq_one"),
    declared("Int.Linear.eq_def", constants=("Eq", "Int.Linear.Poly")),
    declared("«foo.match_1»"),
    declared("«foo._private».bar"),
    declared("Foo.«a.eq_1»"),
    declared("Foo.«1»", "def"),
    declared("foo.x1"),
    declared("foo_1.x_2a"),
    declared("Std.«term_...*»", "def"),
    declared("Lean.«term∃__,_»", "def"),
    declared("Function.Injective.injEquiv", "def"),
    declared("Nat.succ.inj"),
    declared("Multiset.rec", "def", docstring="The dependent recursor.", signature=f"def Multiset.rec {MOTIVE}"),
    declared("Shrink.rec", "def", signature="def Shrink.rec {F : Shrink α → Sort v} (X : Shrink α) : F X"),
    declared("SSet.π₀.rec", signature="theorem SSet.π₀.rec {motive : X.π₀ → Prop} (x : X.π₀) : motive x"),
    declared("NONote.below", "def", signature="def NONote.below (a b : NONote) : Prop"),
    declared("Order.below", "def"),
    declared("Nat.recAux", "abbrev", signature=f"abbrev Nat.recAux {MOTIVE}"),
    declared("quot.sound"),
    declared("«quot.sound»"),
    declared("inv₀", "def"),
    declared("𝒰S", "def"),
    declared("map₂'", "def"),
    declared("privateLemma"),
    declared("Foo.recursion", "def"),
]


@pytest.mark.parametrize("declaration", AUXILIARY, ids=lambda declaration: declaration.name)
def test_auxiliary_and_private_names_never_surface(declaration: Declaration) -> None:
    its = role(declaration, frozenset(), instances=True)
    assert (its.hidden, its.premise, its.target) == (True, False, False)


@pytest.mark.parametrize("declaration", HONEST, ids=lambda declaration: declaration.name)
def test_names_that_people_write_are_not_hidden(declaration: Declaration) -> None:
    its = role(declaration, frozenset())
    assert not its.hidden
    assert its.target


@given(
    st.text(st.characters(exclude_characters="«»✝", exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1).filter(
        lambda text: not text.startswith("_")
    )
)
def test_what_stands_between_guillemets_is_one_component(text: str) -> None:
    quoted = f"Library.«x{text}.match_1._hyg.1»"
    assert not role(declared(quoted), frozenset()).hidden
    assert role(declared(f"{quoted}.match_1"), frozenset()).hidden


@given(st.text())
def test_every_name_has_a_role(name: str) -> None:
    its = role(declared(name or "x"), frozenset())
    assert its.hidden != its.target
    assert its.reason


PROPOSITIONAL = propositional_constants(
    [
        declared("Set.Finite", "def", signature="def Set.Finite {α : Type u} (s : Set α) : Prop"),
        declared("List.Perm", "inductive", signature="inductive List.Perm {α : Type u} : List α → List α → Prop"),
        declared("Function.Injective", "def", signature="def Function.Injective (f : α → β) : Prop"),
        declared("Setoid.r", "field", signature="field Setoid.r {α : Sort u} [self : Setoid α] : α → α → Prop"),
        declared("Iff", "structure", signature="structure Iff (a b : Prop) : Prop"),
        declared("IsOpen", "def", signature="def IsOpen [TopologicalSpace X] (s : Set X) : Prop"),
        declared("Mul.mul", "field", signature="field Mul.mul {α : Type u} [self : Mul α] : α → α → α"),
        declared("propext", "axiom", signature="axiom propext {a b : Prop} : (a ↔ b) → a = b"),
    ]
)


def test_propositional_constants_are_those_whose_type_ends_in_prop() -> None:
    assert {"Set.Finite", "List.Perm", "Function.Injective", "Setoid.r", "Iff", "IsOpen"} < PROPOSITIONAL
    assert {"Eq", "LE.le", "Membership.mem"} < PROPOSITIONAL
    assert not {"Mul.mul", "propext"} & PROPOSITIONAL


def field(statement: str, *constants: str, binders: str = "{G : Type u} [self : C G]", **more: Any) -> Declaration:
    return declared(
        "C.f",
        "field",
        signature=f"field C.f {binders} : {statement}",
        parent="C",
        constants=constants,
        conclusion_count=len(constants),
        **more,
    )


@pytest.mark.parametrize(
    "declaration",
    [
        field("a * b = b * a", "HMul.hMul", "Eq"),
        field("Eq (HMul.hMul a b) (HMul.hMul b a)", "Eq", "HMul.hMul"),
        field("∀ (a b : G), LE.le a b → LE.le (f a) (f b)", "LE.le"),
        field("∃ (x : G), ∀ (y : G), x * y = x"),
        field("¬p a"),
        field("x ∈ f.sets → y ∈ f.sets"),
        field("P ↔ ∀ (x : G), f x → g x"),
        field("(a ↔ b)"),
        field("((a = b))"),
        field("Function.Injective fun (x : G) => x → Nat", "Function.Injective"),
        field("Function.Injective (f x)", "Function.Injective"),
        field("f.Injective", "Function.Injective"),
        field("(self.toFun x).Finite", "Set.Finite"),
        field("l₁.Perm l₂", "List.Perm"),
        field("self.r a b", "Setoid.r"),
        field("p self.val", binders="{α : Sort u} {p : α → Prop} (self : C p)"),
        field("a → b", binders="{a b : Prop} (self : C a b)"),
        field("∀ᶠ (x : G) in f, p x"),
        field("f =ᶠ[l] g", "Filter.EventuallyEq"),
        field("let this := x; a = b"),
        field("IsOpen {x | p x}", "IsOpen"),
    ],
    ids=lambda declaration: declaration.signature.partition(" : ")[2],
)
def test_laws_of_a_structure_are_premises(declaration: Declaration) -> None:
    assert role(declaration, PROPOSITIONAL).premise


@pytest.mark.parametrize(
    "declaration",
    [
        field("G → G → G"),
        field("Set (Set G)", "Set"),
        field("{ x // x = a }", "Subtype", "Eq"),
        field("(a = b) → Nat", "Eq", "Nat"),
        field("∀ (x : G), x = x → Option G", "Eq", "Option"),
        field("G ≃ G", "Equiv"),
        field("X ⟶ Y", "Quiver.Hom"),
        field("G → Prop"),
        field("Nat"),
        field("α", binders="{α : Sort u} {p : α → Prop} (self : C p)"),
        field("Fin (if a = b then 1 else 2)", "Fin", "ite", "Eq"),
    ],
    ids=lambda declaration: declaration.signature.partition(" : ")[2],
)
def test_operations_of_a_structure_are_search_targets_only(declaration: Declaration) -> None:
    its = role(declaration, PROPOSITIONAL)
    assert (its.premise, its.target) == (False, True)


def test_members_of_a_propositional_type_are_premises() -> None:
    cons = declared("List.Perm.cons", "ctor", parent="List.Perm", signature="ctor List.Perm.cons (x : α) : P a b")
    assert role(cons, PROPOSITIONAL).premise
    assert role(
        declared("Iff.mp", "field", parent="Iff", signature="field Iff.mp (self : a ↔ b) : a → b"), PROPOSITIONAL
    ).premise
    assert not role(
        declared("Nat.succ", "ctor", parent="Nat", signature="ctor Nat.succ (n : Nat) : Nat"), PROPOSITIONAL
    ).premise


@pytest.mark.parametrize(
    ("declaration", "premise", "target"),
    [
        (declared("t"), True, True),
        (declared("propext", "axiom"), True, True),
        (declared("sorryAx", "axiom"), False, True),
        (declared("Lean.ofReduceBool", "axiom", module="Init.Core"), False, True),
        (declared("d", "def", has_equations=True), True, True),
        (declared("d", "abbrev", has_equations=True), True, True),
        (declared("d", "def"), False, True),
        (declared("i", "instance"), False, True),
        (declared("o", "opaque"), False, True),
        (declared("S", "structure"), False, True),
        (declared("S", "class"), False, True),
        (declared("S", "inductive"), False, True),
        (declared("S", "class inductive"), False, True),
        (declared("S.toT", "parent_proj", parent="S"), False, False),
        (declared("S.toT", "parent_proj", parent="S", docstring="Forgets."), False, True),
        (declared("S.mk", "ctor", parent="S"), False, False),
        (declared("S.mk", "ctor", parent="S", docstring="Makes one."), False, True),
        (declared("S.of", "ctor", parent="S"), False, True),
        (declared("t", module="Lean.Meta.Basic"), False, True),
        (declared("t", module="Lean"), False, True),
        (declared("t", module="Leanness.Basic"), True, True),
        (declared("t", module="Aesop.Search"), False, True),
        (declared("t", module="Mathlib.Tactic.Ring.Basic"), True, True),
        (declared("d", "def", module="Mathlib.Tactic.Ring.Basic", has_equations=True), False, True),
        (declared("d", "def", module="Mathlib.Tactical", has_equations=True), True, True),
        (declared("«term_+_»", "def", constants=("Lean.TrailingParserDescr",), has_equations=True), False, True),
        (declared("d", "def", constants=("Lean.Grind.Semiring",), has_equations=True), True, True),
    ],
)
def test_the_table(declaration: Declaration, premise: bool, target: bool) -> None:
    its = role(declaration, PROPOSITIONAL)
    assert (its.premise, its.target, its.hidden) == (premise, target, False)


def test_instances_are_premises_only_when_asked_for() -> None:
    instance = declared("instAddNat", "instance")
    assert not role(instance, PROPOSITIONAL).premise
    assert role(instance, PROPOSITIONAL, instances=True).premise


@pytest.mark.parametrize(
    ("attribute", "replacement", "message", "since"),
    [
        ('deprecated Nat.foo (since := "2026-02-11")', "Nat.foo", "", "2026-02-11"),
        ('deprecated "use `a, b`" (since := "2026-01-03")', None, "use `a, b`", "2026-01-03"),
        ('deprecated Foo.«a b» "bad (really)" (since := "2026-01-03")', "Foo.«a b»", "bad (really)", "2026-01-03"),
        ("deprecated map₂'", "map₂'", "", ""),
        ("deprecated", None, "", ""),
        ('deprecated "say \\"no\\""', None, 'say \\"no\\"', ""),
    ],
)
def test_deprecations_are_read(attribute: str, replacement: str | None, message: str, since: str) -> None:
    found = deprecation(declared("old", attributes=("simp", attribute)))
    assert found is not None
    assert (found.replacement, found.message, found.since) == (replacement, message, since)


def test_other_attributes_deprecate_nothing() -> None:
    assert deprecation(declared("new", attributes=("simp", "deprecated_alias x", "instance 100"))) is None
    assert role(declared("old", attributes=("deprecated",)), frozenset()).premise
