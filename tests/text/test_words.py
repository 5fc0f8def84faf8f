from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from sidecar.text.words import head_constant, is_sort, mentioned, words
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, PATIENT, THOROUGH

BOTH_PRINTS = [
    ("n + m = m + n", "Eq (HAdd.hAdd n m) (HAdd.hAdd m n)"),
    ("a ≤ b → ¬b < a", "LE.le a b → Not (LT.lt b a)"),
    ("a ≠ b ∧ a ∉ s", "And (Ne a b) (Not (Membership.mem s a))"),
    ("-a - b = -(a + b)", "Eq (HSub.hSub (Neg.neg a) b) (Neg.neg (HAdd.hAdd a b))"),
    ("‖x + y‖ ≤ ‖x‖ + ‖y‖", "LE.le (Norm.norm (HAdd.hAdd x y)) (HAdd.hAdd (Norm.norm x) (Norm.norm y))"),
    ("‖f x‖₊ = 0", "Eq (NNNorm.nnnorm (f x)) 0"),
    ("|a| * |b| = |a * b|", "Eq (HMul.hMul (abs a) (abs b)) (abs (HMul.hMul a b))"),
    ("(x * y)⁻¹ = y⁻¹ * x⁻¹", "Eq (Inv.inv (HMul.hMul x y)) (HMul.hMul (Inv.inv y) (Inv.inv x))"),
    ("s ∩ t ⊆ s ∪ tᶜ", "HasSubset.Subset (Inter.inter s t) (Union.union s (Compl.compl t))"),
    ("f '' s ⊆ g ⁻¹' t", "HasSubset.Subset (Set.image f s) (Set.preimage g t)"),
    (
        "{a} ∪ ∅ = {a}",
        "Eq (Union.union (Singleton.singleton a) EmptyCollection.emptyCollection) (Singleton.singleton a)",
    ),
    ("x ∈ {y | p y}", "Membership.mem (setOf fun y => p y) x"),
    ("∃! x, p x", "ExistsUnique fun x => p x"),
    ("f ∘ g = id", "Eq (Function.comp f g) id"),
    ("a :: l ++ [] = l", "Eq (HAppend.hAppend (List.cons a l) List.nil) l"),
    ("xs[i] = xs[j]", "Eq (GetElem.getElem xs i) (GetElem.getElem xs j)"),
    ("a ⊔ b ≤ c ↔ a ≤ c ∧ b ≤ c", "Iff (LE.le (Max.max a b) c) (And (LE.le a c) (LE.le b c))"),
    ("⨆ i, f i ≤ ⊤", "LE.le (iSup fun i => f i) Top.top"),
    ("a % n ∣ a / n ^ 2", "Dvd.dvd (HMod.hMod a n) (HDiv.hDiv a (HPow.hPow n 2))"),
    ("(a, b).1 = a", "Eq (Prod.mk a b).1 a"),
    ("if c then a else b", "ite c a b"),
    ("f ≫ 𝟙 Y = f", "Eq (CategoryTheory.CategoryStruct.comp f (CategoryTheory.CategoryStruct.id Y)) f"),
    ("X ≅ Y", "CategoryTheory.Iso X Y"),
    ("Mᵐᵒᵖ ≃ ℕ", "Equiv (MulOpposite M) Nat"),
    ("!b && c = true", "Eq (Bool.and (Bool.not b) c) Bool.true"),
    ("a • x = c • y", "Eq (HSMul.hSMul a x) (HSMul.hSMul c y)"),
    ("∫ x in s, f x ∂μ", "MeasureTheory.integral (MeasureTheory.Measure.restrict μ s) fun x => f x"),
    ("𝓝[s] a ≤ 𝓝 a", "LE.le (nhdsWithin a s) (nhds a)"),
    ("↑n = (↑m : ℝ)", "Eq (↑n) (↑m : Real)"),
]


@pytest.mark.parametrize(("with_notation", "without"), BOTH_PRINTS)
def test_both_prints_of_a_term_give_nearly_the_same_words(with_notation: str, without: str) -> None:
    shown, plain = Counter(words(with_notation).split()), Counter(words(without).split())
    # A name that notation binds is said once there and twice behind `fun`.
    bound = Counter({word: 1 for word in (shown - plain) | (plain - shown) if len(word) == 1})
    assert not (shown - plain - bound) and not (plain - shown - bound)


@pytest.mark.parametrize(
    ("with_notation", "without"),
    [
        ("∑ i ∈ s, f i = 0", "Eq (Finset.sum s fun i => f i) 0"),
        ("∑ i, f i = 0", "Eq (Finset.sum Finset.univ fun i => f i) 0"),
        ("∏ i ∈ s with p i, f i", "Finset.prod (Finset.filter (fun i => p i) s) fun i => f i"),
        ("∃ x ∈ s, p x", "Exists fun x => And (Membership.mem s x) (p x)"),
        ("{a, b} ⊆ s", "HasSubset.Subset (Insert.insert a (Singleton.singleton b)) s"),
        ("∫ x in a..b, f x", "intervalIntegral (fun x => f x) a b MeasureTheory.MeasureSpace.volume"),
    ],
)
def test_binder_notation_names_the_constants_behind_it(with_notation: str, without: str) -> None:
    known = dict.fromkeys("isfpxab", "")
    hidden = {"MeasureTheory.MeasureSpace.volume"}
    assert set(mentioned(with_notation, known)) == set(mentioned(without, known)) - hidden


def test_what_only_one_print_shows_gives_no_words() -> None:
    assert words("@Function.Injective.{u, v} α✝¹ β ⇑f") == words("Function.Injective α β f")
    assert words("f ⟨x, ⋯⟩ = fun y ↦ y") == words("f (x) = fun y => y")
    assert words("(α : Type u_1) → Sort (max 1 u) → Type*") == words("(α) → (_) → _")


def test_symbols_side_by_side_are_told_apart_by_their_spaces() -> None:
    assert "Neg.neg" in list(mentioned("(-a)")) and "HSub.hSub" not in list(mentioned("(-a)"))
    assert "HSub.hSub" in list(mentioned("(a) - (b)")) and "Neg.neg" not in list(mentioned("(a) - (b)"))
    assert "abs" not in list(mentioned("{x | p x}")) and "setOf" not in list(mentioned("|x| < 1"))
    assert "LT.lt" not in list(mentioned("fun x => x")) and "GT.gt" not in list(mentioned("fun x => x"))


def test_field_notation_on_a_local_name_is_undone() -> None:
    types = {"s": "Finset α", "h": "a ≤ b", "p": "α × β", "e": "M ≃ₗ[R] N", "f": "α → β", "α": "Type u"}
    assert list(mentioned("s.card", types)) == ["Finset.card"]
    assert words("s.card = 1", types) == words("Finset.card s = 1")
    assert list(mentioned("h.trans", types)) == ["LE.le.trans"]
    assert list(mentioned("p.1", types)) == ["Prod.fst"]
    assert list(mentioned("e.symm", types)) == ["LinearEquiv.symm"]
    assert words("f.toFun", types) == words("f toFun")


@pytest.mark.parametrize(
    ("type_text", "head"),
    [
        ("Finset α", "Finset"),
        ("a = b ∧ c", "And"),
        ("α → β", ""),
        ("∀ x, p x", ""),
        ("M →ₗ[R] N", "LinearMap"),
        ("¬a ≤ b", "Not"),
        ("(List α)", ""),
        ("ℕ", "Nat"),
        ("Type u", ""),
        ("∃ x, x = 1", "Exists"),
        ("Set.Icc a b ⊆ s", "HasSubset.Subset"),
        ("", ""),
    ],
)
def test_heads_of_types(type_text: str, head: str) -> None:
    assert head_constant(type_text) == head


@pytest.mark.parametrize("sort", ["Type", "Type*", "Type u_1", "Type (max u (v + 1))", "Sort u", "Type 1", "Type uι"])
def test_a_universe_is_no_statement(sort: str) -> None:
    assert is_sort(sort) and words(sort) == ""


@pytest.mark.parametrize("text", ["Prop", "TypeVec n", "Type u → Prop", "ℕ", "Sorted l"])
def test_what_only_looks_like_a_universe(text: str) -> None:
    assert not is_sort(text) and words(text) != ""


def test_exported_names_are_mentioned_in_full_unless_they_are_local() -> None:
    assert list(mentioned("max a b = sSup s", {"a": "ℕ", "b": "ℕ", "s": "Set ℕ"})) == ["Max.max", "Eq", "SupSet.sSup"]
    assert list(mentioned("max = 1", {"max": "ℕ"})) == ["Eq"]


def test_names_that_a_text_binds_are_not_mentioned() -> None:
    assert list(mentioned("∀ x ∈ {y : ℕ | y < z}, ∃ w, fun v => f v = w")) == [
        "Membership.mem", "setOf", "Nat", "LT.lt", "z", "Exists", "f", "Eq",
    ]  # fmt: skip


@given(ANY_TEXT | FORMAL_TEXT)
@THOROUGH
def test_any_text_gives_lower_case_words_with_single_spaces(text: str) -> None:
    spelled = words(text)
    assert spelled == " ".join(spelled.split()) == spelled.lower()
    spelled.encode()
    assert all(mentioned(text))
    head_constant(text)


@given(FORMAL_TEXT)
@PATIENT
def test_line_ends_and_spaces_make_no_difference(text: str) -> None:
    assert words(text.replace("\n", "\r\n").replace(" ", "\u00a0\t")) == words(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "_ ",
        "(",
        "{",
        "«",
        "a : ",
        "∑ ",
        "∑ a, ",
        "∃ a ∈ ",
        "∫ a in ",
        "Type (",
        "[⟨",
        "‖a ",
        "|",
        ".{",
        "x.y ",
        "⊙",
    ],
)
def test_long_texts_of_one_piece_take_linear_time(piece: str) -> None:
    # Quadratic time would take minutes here.
    text = piece * (40_000 // len(piece))
    words(text, {"x": text})
    assert len(list(mentioned(text))) >= 0
