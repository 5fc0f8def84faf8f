"""Formulas are the same whatever their variables are called, and only then."""

from __future__ import annotations

import re
from itertools import chain

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
    "sub_sub_eq": "theorem sub_add (a b c : α) : a - b + c = a - (b - c)",
    "gcd_comm": "theorem Nat.gcd_comm (m n : ℕ) : m.gcd n = n.gcd m",
    "length_append": "theorem List.length_append {as bs : List α} : (as ++ bs).length = as.length + bs.length",
    "det_mul": "theorem Matrix.det_mul (M N : Matrix n n R) : (M * N).det = M.det * N.det",
    "comp_continuous": "theorem Continuous.comp {g : Y → Z} (hg : Continuous g) (hf : Continuous f) :"
    " Continuous (g ∘ f)",
    "prime_dvd_mul": "theorem Nat.Prime.dvd_or_dvd {p m n : ℕ} (hp : Nat.Prime p) (h : p ∣ m * n) : p ∣ m ∨ p ∣ n",
    "mul_pos": "theorem mul_pos [Mul α] {a b : α} (ha : 0 < a) (hb : 0 < b) : 0 < a * b",
    "compl_union": "theorem Set.compl_union {α : Type u} (s t : Set α) : (s ∪ t)ᶜ = sᶜ ∩ tᶜ",
    "mem_compl_iff": "theorem Set.mem_compl_iff {α : Type u} (s : Set α) (x : α) : x ∈ sᶜ ↔ ¬x ∈ s",
    "mem_setOf": "theorem Set.mem_setOf_eq {α : Type u} {a : α} {p : α → Prop} : (a ∈ {x : α | p x}) = p a",
    "factorial_succ": "theorem Nat.factorial_succ (n : ℕ) : (n + 1).factorial = (n + 1) * n.factorial",
    "cast_add": "theorem Nat.cast_add {R : Type u} [AddMonoidWithOne R] (m n : ℕ) : ↑(m + n) = ↑m + ↑n",
    "sin_pi": "theorem Real.sin_pi : Real.sin Real.pi = 0",
    "choose_symm": "theorem Nat.choose_symm {n k : ℕ} : n.choose (n - k) = n.choose k",
    "eventually": "theorem eventually (p : α → Prop) : (∀ᶠ (x : α) in l, p x ∧ q x) ↔ (∀ᶠ (x : α) in l, p x)",
    "ball_congr": "theorem ball_congr (h : ∀ (x : α) (hx : x ∈ s), f x = g x) : Set.EqOn f g s",
    "hidden": "theorem hidden (a✝ b✝ : α) : a✝ + b✝ = b✝ + a✝",
    "exists_gt": "theorem exists_gt {α : Type u} [NoMaxOrder α] (a : α) : ∃ b, a < b",
}


def spellings(name: str) -> Formulas:
    return statement_formulas(parse_premise(STATEMENTS[name]))


def agree(question: str, name: str) -> bool:
    asked, said = question_formulas(question), spellings(name)
    return any({*one} & {*other} for one, other in zip(asked, said, strict=True))


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
        ("⊢ a✝ + b✝ = b✝ + a✝", "add_comm"),
        ("a b : ℝ ⊢ a + b = b + a", "add_comm"),
        ("?a + ?b = ?b + ?a", "add_comm"),
        ("α : Type u_1 inst✝ : Preorder α a b c : α h : a ≤ b k : b ≤ c ⊢ a ≤ c", "le_trans"),
        ("x y z : ℝ\nh : x ≤ y\nk : y ≤ z\n⊢ x ≤ z", "le_trans"),
        ("{α : Type u} [Preorder α] (a b c : α) (h : a ≤ b) (k : b ≤ c) : a ≤ c", "le_trans"),
        ("x_1 + x_2 = x_2 + x_1", "add_comm"),
        ("a + b = b + a.", "add_comm"),
        ("have h : x + y = y + x := by ring", "add_comm"),
        ("(x y : ℝ) : x + y = y + x", "add_comm"),
        ("@[simp] theorem foo (x y : ℝ) : x + y = y + x :=by simp", "add_comm"),
        ("/-- Sums. -/ public theorem foo (x y : ℝ) : x + y = y + x :=", "add_comm"),
        (r"\(x + y = y + x\)", "add_comm"),
        ("a + b = b + a", "hidden"),
        ("example (n : ℕ) : n = n + 0", "add_zero"),
        ("(n = n + 0)", "add_zero"),
        ("∀ x, (x = x + 0)", "add_zero"),
        ("a - (b - c) = a - b + c", "sub_sub_eq"),
        ("Nat.gcd m n = Nat.gcd n m", "gcd_comm"),
        ("gcd a b = gcd b a", "gcd_comm"),
        ("List.length (l ++ m) = List.length l + List.length m", "length_append"),
        ("(l ++ m).length = l.length + m.length", "length_append"),
        ("det (A * B) = det A * det B", "det_mul"),
        ("Continuous g → Continuous f → Continuous (g ∘ f)", "comp_continuous"),
        ("Nat.Prime p → p ∣ a * b → p ∣ a ∨ p ∣ b", "prime_dvd_mul"),
        ("Nat.Prime p -> p | a * b -> p | a \\/ p | b", "prime_dvd_mul"),
        ("x > 0 → y > 0 → x * y > 0", "mul_pos"),
        ("(A ∪ B)ᶜ = Aᶜ ∩ Bᶜ", "compl_union"),
        ("x ∈ Aᶜ ↔ x ∉ A", "mem_compl_iff"),
        ("(x ∈ {y | p y}) = p x", "mem_setOf"),
        ("(n + 1)! = (n + 1) * n!", "factorial_succ"),
        ("((m + n : ℕ) : ℝ) = m + n", "cast_add"),
        ("sin π = 0", "sin_pi"),
        (r"$\sin \pi = 0$", "sin_pi"),
        ("choose n (n - k)", "choose_symm"),
        (r"\binom{n}{n-k} = \binom{n}{k}", "choose_symm"),
        (r"x^{2} \ge 0", "sq_nonneg"),
        ("x^{2} ≥ 0", "sq_nonneg"),
        (r"\sum_{i \in range (n+1)} f(i)", "sum_range_succ"),
        ("∑ i in range (n + 1), f i", "sum_range_succ"),
        ("∀ foo bar, foo + bar = bar + foo", "add_comm"),
        ("∀ {a b : ℕ}, a + b = b + a", "add_comm"),
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
        ("p x ∧ q x ↔ p x", "eventually"),
        ("∀ x, f x = g x → EqOn f g s", "ball_congr"),
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
        # What hundreds of statements are.
        *("x = y", "G/H", "L^p", "S^1", "f = O(g)", "x < y", "x ∈ s", "p ≠ q", "A → B", "A × B", "f'(x) = 0"),
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
        for spelling in chain.from_iterable(found):
            assert 1 < len(spelling.split(" ")) <= 3 * MOST_TOKENS


@pytest.mark.parametrize(
    "part", ["(", "a + ", "(x : T", "∀ x : ", "⟨a, ", "a.", "fun x : ", "\\", " ", "\\frac{a", "{", "∀", ":"]
)
def test_a_long_text_takes_no_time(part: str) -> None:
    assert question_formulas(part * 20_000) == Formulas()
    question_formulas("∀ " + part * (900 // len(part)) + " : x = y")
