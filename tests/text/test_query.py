from __future__ import annotations

import pytest
from hypothesis import given

from sidecar.text.query import query_text
from sidecar.text.words import words
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, THOROUGH


@pytest.mark.parametrize(
    ("latex", "lean"),
    [
        (r"$a \le b$", "a ≤ b"),
        (r"$f : \mathbb{R} \to \mathbb Z$", "f : ℝ → ℤ"),
        (r"\sum_i x_i", "∑ _i x_i"),
        (r"$\frac{a}{b}$", "a / b"),
        (r"$A \subseteq B \cup C$", "A ⊆ B ∪ C"),
        (r"$x^{-1} \cdot y \neq \emptyset$", "x⁻¹ * y ≠ ∅"),
        (r"$\{x \mid p\,x\}$", "{x | p x}"),
        (r"$\|x\| < \varepsilon$", "‖x‖ < varepsilon"),
        (r"$\left\| x \right\| + \lVert y \rVert = \left| z \right|$", "‖x‖ + ‖y‖ = |z|"),
        (r"$\forall x \in S, \exists y, x \ne y$", "∀ x ∈ S, ∃ y, x ≠ y"),
        (r"\operatorname{rank} A", "rank A"),
    ],
)
def test_latex_is_spelled_like_lean(latex: str, lean: str) -> None:
    assert query_text(latex) == words(lean)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("p-adic numbers", "p adic numbers"),
        ("Wedderburn–Artin theorem", "wedderburn artin theorem"),
        ("Bezout's and Bezout’s", "bezout and bezout"),
        ("If it is **finite**, *then* `Finset` (see https://example.org/a_b)", "it is finite finset see"),
        ("Type theory", "type theory"),
        ("n - 1 and n-1", "n subtract 1 and n subtract 1"),
        ("", ""),
        ("the Weierstraß M-test", "the weierstrass m test"),
        ("Łoś's theorem", query_text("Los's theorem")),
        ("Hölder and Cœur", "holder and coeur"),
    ],
)
def test_prose_stays_prose(question: str, text: str) -> None:
    assert query_text(question) == text


@pytest.mark.parametrize(
    "question",
    [
        "(a + b) % n = ((a % n) + (b % n)) % n",
        "%2F",
        "%zz",
        "{}",
        "if c then a else b",
        "List.map f (a :: l)",
        "⊢ a ≤ b",
    ],
)
def test_lean_terms_are_spelled_as_such(question: str) -> None:
    assert query_text(question) == words(question)


def test_a_name_and_its_description_meet() -> None:
    assert set(query_text("multiply is commutative").split()) >= set(query_text("mul_comm").split())


@given(ANY_TEXT | FORMAL_TEXT)
@THOROUGH
def test_any_text_is_a_question(text: str) -> None:
    spelled = query_text(text)
    assert spelled == " ".join(spelled.split()) == spelled.lower()
    spelled.encode()


@pytest.mark.parametrize(
    "piece", ["if ", "\\frac{", "\\frac{a}", "\\{", "$", "**a", "\\", "^{-1}", "-a", "'s ", "{a \\mid "]
)
def test_long_questions_of_one_piece_take_linear_time(piece: str) -> None:
    # Quadratic time would take minutes here.
    query_text(piece * (40_000 // len(piece)))
