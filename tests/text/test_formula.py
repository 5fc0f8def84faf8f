"""Formulas are the same whatever their variables are called, and only then."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.text.declaration import parse_premise
from sidecar.text.formula import MOST_TOKENS, Formulas, question_formulas, statement_formulas
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, PATIENT, THOROUGH

STATEMENTS = {
    "add_comm": "theorem add_comm {G : Type u_1} [AddCommMagma G] (a b : G) : a + b = b + a",
    "mul_add": "theorem mul_add {R : Type u} [Mul R] [Add R] (a b c : R) : a * (b + c) = a * b + a * c",
    "add_zero": "theorem add_zero {M : Type u} [AddZeroClass M] (a : M) : a + 0 = a",
    "le_trans": "theorem le_trans {α : Type u_2} [Preorder α] {a b c : α} (hab : a ≤ b) (hbc : b ≤ c) : a ≤ c",
    "abs_add_le": "theorem abs_add_le {α : Type u_1} [Lattice α] (a b : α) : |a + b| ≤ |a| + |b|",
    "mem_inter_iff": "theorem Set.mem_inter_iff {α : Type u} (x : α) (a b : Set α) : x ∈ a ∩ b ↔ x ∈ a ∧ x ∈ b",
    "comp_assoc": "theorem Function.comp_assoc (f : φ → δ) (g : β → φ) (h : α → β) : (f ∘ g) ∘ h = f ∘ g ∘ h",
    "sq_nonneg": "theorem sq_nonneg {R : Type u} [Semiring R] (a : R) : 0 ≤ a ^ 2",
    "sq_sqrt": "theorem Real.sq_sqrt {x : ℝ} (h : 0 ≤ x) : √x ^ 2 = x",
    "add_div": "theorem add_div {K : Type u_1} [DivisionSemiring K] (a b c : K) : (a + b) / c = a / c + b / c",
    "continuous_add": "theorem Continuous.add (hf : Continuous f) (hg : Continuous g) :"
    " Continuous fun (x : X) => f x + g x",
    "sum_range_succ": "theorem Finset.sum_range_succ (f : ℕ → M) (n : ℕ) :"
    " ∑ x ∈ Finset.range (n + 1), f x = ∑ x ∈ Finset.range n, f x + f n",
    "sin_sq_add_cos_sq": "theorem Real.sin_sq_add_cos_sq (x : ℝ) : sin x ^ 2 + cos x ^ 2 = 1",
    "exists_gt": "theorem exists_gt {α : Type u} [NoMaxOrder α] (a : α) : ∃ b, a < b",
}


def spellings(name: str) -> Formulas:
    return statement_formulas(parse_premise(STATEMENTS[name]))


def agree(question: str, name: str) -> bool:
    asked, said = question_formulas(question), spellings(name)
    return bool({*asked.whole, *asked.turned} & {*said.whole} or {*asked.sides} & {*said.sides})


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("x + y = y + x", "add_comm"),
        ("∀ m n : ℕ, m + n = n + m", "add_comm"),
        ("∀ (m : ℕ) (n : ℕ), m + n = n + m", "add_comm"),
        (r"$\alpha + \beta = \beta + \alpha$", "add_comm"),
        ("(u + v = v + u)", "add_comm"),
        ("x₁ + x₂ = x₂ + x₁", "add_comm"),
        ("theorem foo (x y : ℝ) : x + y = y + x := by ring", "add_comm"),
        ("example (x y : ℝ) : x + y = y + x", "add_comm"),
        ("x * (y + z) = x * y + x * z", "mul_add"),
        ("x*(y+z)=x*y+x*z", "mul_add"),
        ("x * y + x * z = x * (y + z)", "mul_add"),
        (r"x \cdot (y + z) = x \cdot y + x \cdot z", "mul_add"),
        ("n + 0 = n", "add_zero"),
        ("n = n + 0", "add_zero"),
        ("x ≤ y → y ≤ z → x ≤ z", "le_trans"),
        ("x <= y -> y <= z -> x <= z", "le_trans"),
        ("lemma t (h : x ≤ y) (h' : y ≤ z) : x ≤ z", "le_trans"),
        ("|x + y| ≤ |x| + |y|", "abs_add_le"),
        ("x ∈ s ∩ t ↔ x ∈ s ∧ x ∈ t", "mem_inter_iff"),
        ("(f ∘ g) ∘ h = f ∘ (g ∘ h)", "comp_assoc"),
        ("(x : ℝ) ^ 2 ≥ 0", "sq_nonneg"),
        ("x² ≥ 0", "sq_nonneg"),
        (r"\sqrt{x}^2 = x", "sq_sqrt"),
        (r"\frac{a}{b} + \frac{c}{b}", "add_div"),
        ("Continuous fun t => u t + v t", "continuous_add"),
        ("∑ i ∈ range (k + 1), g i", "sum_range_succ"),
        ("∃ y, x < y", "exists_gt"),
        (r"\sin^2 x + \cos^2 x = 1", "sin_sq_add_cos_sq"),
        ("sin² t + cos² t = 1", "sin_sq_add_cos_sq"),
        ("forall x, exists y, x < y", "exists_gt"),
    ],
)
def test_what_people_write_for_a_statement(question: str, name: str) -> None:
    assert agree(question, name), (question_formulas(question), spellings(name))


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("x + x = x + x", "add_comm"),
        ("x + y = x + y", "add_comm"),
        ("x * y = y * x", "add_comm"),
        ("x + y = y + z", "add_comm"),
        ("x + 0 = 0", "add_zero"),
        ("π + 0 = π", "add_zero"),
        ("x ≤ y", "abs_add_le"),
        ("x ≤ y → y ≤ z → z ≤ x", "le_trans"),
        ("a + b", "add_div"),
        ("0 ≥ x ^ 2", "sq_nonneg"),
    ],
)
def test_another_formula_is_another_one(question: str, name: str) -> None:
    assert not agree(question, name)


@pytest.mark.parametrize(
    "question",
    [
        *(
            "group",
            "tensor product",
            "Cauchy-Schwarz inequality",
            "continuous function on [0, 1]",
            "a",
            "",
            "Nat.add_comm",
        ),
        *("addition is continuous", "theorem", "example: the integers", "what's a p-adic number?", "x y"),
    ],
)
def test_words_are_no_formula(question: str) -> None:
    assert question_formulas(question) == Formulas()


@PATIENT
@given(st.permutations("abcdefgxyz"), st.sampled_from(sorted(STATEMENTS)))
def test_renaming_variables_changes_nothing(letters: list[str], name: str) -> None:
    conclusion = parse_premise(STATEMENTS[name]).type
    renamed = dict(zip("abcdefgxyz", letters, strict=True))
    other = re.sub(r"\b[a-gxyz]\b", lambda match: renamed[match[0]], conclusion)
    assert question_formulas(other) == question_formulas(conclusion)


@PATIENT
@given(st.sampled_from(sorted(STATEMENTS)), st.sampled_from(["", " ", "  ", "\n", "\t"]))
def test_white_space_changes_nothing(name: str, space: str) -> None:
    conclusion = parse_premise(STATEMENTS[name]).type
    spaced = re.sub(r"([+*≤∈∘∩]|=(?!>))", rf"{space}\1{space or ' '}", conclusion)
    assert question_formulas(spaced) == question_formulas(conclusion)


@THOROUGH
@given(st.one_of(ANY_TEXT, FORMAL_TEXT))
def test_any_text_has_spellings_or_none(text: str) -> None:
    for found in (question_formulas(text), statement_formulas(parse_premise(text))):
        for spelling in (*found.whole, *found.sides, *found.turned):
            assert 3 <= len(spelling.split(" ")) <= 4 * MOST_TOKENS or "(" in text


def test_a_long_text_takes_no_time() -> None:
    for part in ("(", "a + ", "(x : T", "∀ x : ", "⟨a, ", "a.", "fun x : "):
        assert question_formulas(part * 20_000) == Formulas()
