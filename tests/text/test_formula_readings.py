"""What people type or paste for a formula is among its readings, and prose has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.text.declaration import parse_premise
from sidecar.text.formula import Formulas, statement_formulas
from sidecar.text.formula_readings import question_readings
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, THOROUGH


def agree(question: str, statement: str) -> bool:
    said = statement_formulas(parse_premise(f"theorem t {statement}"))
    return any(
        {*one} & {*other} for asked in question_readings(question) for one, other in zip(asked, said, strict=True)
    )


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("(a+b)^2 = a^2 + 2ab + b^2", "(x y : R) : (x + y) ^ 2 = x ^ 2 + 2 * x * y + y ^ 2"),
        ("(a+b)(a-b) = a^2 - b^2", "(x y : R) : x ^ 2 - y ^ 2 = (x + y) * (x - y)"),
        ("a(b+c) = ab + ac", "(a b c : R) : a * (b + c) = a * b + a * c"),
        ("|ab| = |a||b|", "(a b : R) : |a * b| = |a| * |b|"),
        ("sin(x+y) = sin x cos y + cos x sin y", "(a b : ℝ) : sin (a + b) = sin a * cos b + cos a * sin b"),
        ("e^(x+y) = e^x e^y", "(x y : ℝ) : Real.exp (x + y) = Real.exp x * Real.exp y"),
        ("not (p and q) iff not p or not q", "(a b : Prop) : ¬(a ∧ b) ↔ ¬a ∨ ¬b"),
        (r"~(p \/ q) <-> ~p /\ ~q", "(a b : Prop) : ¬(a ∨ b) ↔ ¬a ∧ ¬b"),
        ("a <= b and b <= c implies a <= c", "(a b c : P) : a ≤ b → b ≤ c → a ≤ c"),
        ("gcd(a, b) = gcd(b, a)", "(m n : ℕ) : m.gcd n = n.gcd m"),
        ("sin^2(x) + cos^2(x) = 1", "(x : ℝ) : sin x ^ 2 + cos x ^ 2 = 1"),
        (r"\sum_{k=0}^n \binom{n}{k} = 2^n", "(n : ℕ) : ∑ m ∈ Finset.range (n + 1), n.choose m = 2 ^ n"),
        (r"\frac{\frac{a}{b}}{c} = \frac{a}{bc}", "(a b c : K) : a / b / c = a / (b * c)"),
        (r"\int_a^b \sin x \, dx = \cos a - \cos b", "(a b : ℝ) : ∫ (x : ℝ) in a..b, sin x = cos a - cos b"),
        (r"\lim_{n \to \infty} \frac{1}{n} = 0", ": Tendsto (fun (n : ℕ) => 1 / ↑n) atTop (nhds 0)"),
        (r"$\forall x \in \mathbb{R},\ x^2 \geq 0$", "(a : R) : 0 ≤ a ^ 2"),
        ("why is a + b = b + a?", "(x y : G) : x + y = y + x"),
        ("proof that n < n + 1", "(n : ℕ) : n < n + 1"),
        ("if a ≤ b and b ≤ c then a ≤ c", "(a b c : P) : a ≤ b → b ≤ c → a ≤ c"),
        ("foo * bar = bar * foo", "(a b : G) : a * b = b * a"),
        ("(∃ a, p a ∨ q a) ↔ (∃ b, p b) ∨ ∃ b, q b", "(p q : α → Prop) : (∃ x, p x ∨ q x) ↔ (∃ x, p x) ∨ ∃ x, q x"),
    ],
)
def test_what_people_write_for_a_statement(question: str, statement: str) -> None:
    assert agree(question, statement), list(question_readings(question))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("ab = ab", "(a b : G) : a * b = b * a"),
        ("p and q iff q or p", "(a b : Prop) : a ∧ b ↔ b ∧ a"),
        ("why is a + b = a + b", "(x y : G) : x + y = y + x"),
    ],
)
def test_another_formula_is_another_one(question: str, statement: str) -> None:
    assert not agree(question, statement)


@pytest.mark.parametrize(
    "question",
    ["group", "tensor product", "Cauchy-Schwarz inequality", "addition is continuous", "a", ""],
)
def test_words_have_no_reading(question: str) -> None:
    assert all(found == Formulas() for found in question_readings(question))


@THOROUGH
@given(st.one_of(ANY_TEXT, FORMAL_TEXT))
def test_any_text_can_be_read(text: str) -> None:
    list(question_readings(text))
