"""Write `text/*.json`: raw texts with what the sidecar makes of them.

Run `python -m tests.golden.write_text` in the root of the repository after a change of the text rules, and read the
difference: every line that changes is a text that models and indexes made before will no longer agree with. A test
checks that the files are what this script writes.

    goals.json      {"name", "goal", "hypotheses", "text", "identifiers", "budgets": [{"budget", "text", "dropped",
                    "target_cut"}…]}: the canonical text of a goal, what it mentions, and what is left of the text under
                    a budget of tokens, where a text counts one token a word and two more
    premises.json   {"name", "raw", "text", "identifiers"}: `raw` is what travels (`/-- doc -/`, a line end, the
                    signature), `text` what an encoder reads
    questions.json  {"name", "question", "text"}
    names.json      {"name", "components", "words", "loose"}
    clean.json      {"name", "raw", "clean", "line"}; lone surrogates are written as JSON escapes
    caps.json       {"name", "goal", "limit", "capped", "dropped"}: the wire cap, for the Lean side too; lengths are in
                    code points; a text may be given as `[part, times, rest]`, a part repeated and what follows it
    hashes.json     {"name", "text", "hash"}: content hashes, for the Lean side too

The last two are computed here from their definitions, not by the sidecar.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidecar.text.clean import clean, one_line
from sidecar.text.declaration import premise_identifiers, premise_text
from sidecar.text.goal import goal_text, identifiers
from sidecar.text.names import components, loose_name, name_words
from sidecar.text.query import query_text

FOLDER = Path(__file__).parent / "text"

GOALS: list[tuple[str, str, list[int]]] = [
    ("commutativity with notation", "n m : ℕ\n⊢ n + m = m + n", []),
    ("commutativity without notation", "n m : Nat\n⊢ Eq (HAdd.hAdd n m) (HAdd.hAdd m n)", []),
    (
        "a finite sum with notation",
        "n : ℕ\nf : ℕ → ℝ\n⊢ ∑ i ∈ Finset.range n, f i ≤ ∑ i ∈ Finset.range (n + 1), f i",
        [],
    ),
    (
        "a finite sum without notation",
        "n : Nat\nf : Nat → Real\n⊢ LE.le (Finset.sum (Finset.range n) fun i => f i) "
        "(Finset.sum (Finset.range (HAdd.hAdd n 1)) fun i => f i)",
        [],
    ),
    ("a sum over a whole type", "ι : Type u_1\ninst✝ : Fintype ι\nf : ι → ℤ\n⊢ ∑ i, f i = 0", []),
    (
        "hypotheses from the last to the first",
        "a b c : ℤ\nh₁ : a ∣ b\nh₂ : b ∣ c\n⊢ a ∣ c",
        [1 << 20, 16, 11, 8, 5, 2],
    ),
    (
        "field notation on local names",
        "α : Type u_1\nl : List α\np : ℕ × ℕ\nh : l.length = 0 ∧ p.1 = 2\n⊢ l.reverse.length = p.2 ∨ h.left = h.1",
        [],
    ),
    ("a let value", "k : ℕ := 5\n⊢ k < 6", []),
    ("a case tag, two goals", "case zero\n⊢ 0 ≤ 0\n\ncase succ\nn : ℕ\nih : n ≤ n\n⊢ n + 1 ≤ n + 1", []),
    ("two goals without a blank line", "x : ℕ\n⊢ x = x\ny : ℤ\n⊢ y = y", []),
    ("a count of goals", "2 goals\nx : ℕ\n⊢ x = x\n\ny : ℤ\n⊢ y = y", []),
    ("no turnstile", "a * b = b * a", []),
    ("only a target", "⊢ True", []),
    ("nothing", "", []),
    ("only what cannot be seen", "\u200b\ufeff \t", []),
    (
        "long lines broken by the printer",
        "f : ℕ → ℕ\nh :\n  ∀ (x y : ℕ),\n    x ≤ y →\n      f x ≤ f y\n⊢ Monotone\n    f",
        [],
    ),
    ("the same on one line each", "f : ℕ → ℕ\nh : ∀ (x y : ℕ), x ≤ y → f x ≤ f y\n⊢ Monotone f", []),
    ("everything on one line", "n m : ℕ a b : ℤ h : ∀ x : ℕ, x ≤ n → x < m hab : a = b ⊢ n ≤ m", []),
    ("CRLF, tabs, NBSP, zero-width", "n\u00a0m : ℕ\r\nh\t: n <\u200b m\r\n⊢ n ≤ m\r\n", []),
    ("indented as a whole", "    x : ℝ\n    h : 0 < x\n    ⊢ x ≠ 0", []),
    ("daggers and instances", "G : Type u_2\ninst✝¹ : Group G\ninst✝ : Finite G\nx✝ : G\n⊢ x✝ * x✝⁻¹ = 1", []),
    ("universe levels", "α : Type (max u v)\nβ : Sort*\ne : Equiv.{u + 1, v} α β\n⊢ Function.Bijective.{u, v} ⇑e", []),
    ("norms and absolute values", "E : Type u_1\nx y : E\nr : ℝ\n⊢ ‖x + y‖ ≤ ‖x‖ + ‖y‖ ∧ |r| = ‖r‖ ∧ ‖x‖₊ = ‖x‖ₑ", []),
    ("minus as prefix and infix", "a b : ℤ\n⊢ -a - b = -(a + b)", []),
    (
        "sets",
        "α : Type u_1\ns t : Set α\nf : α → ℕ\n"
        "⊢ {x | f x = 0} ∩ s ⊆ f ⁻¹' {0} ∪ (f '' t)ᶜ ∧ ∅ = {1, 2} \\ {y : ℕ | y ∉ {3}}",
        [],
    ),
    ("bounded quantifiers", "s : Set ℕ\n⊢ (∃ x ∈ s, x > 0) → ∃! y, ∀ z ∈ s, z ≤ y", []),
    (
        "an integral over a set, and over an interval",
        "f : ℝ → ℝ\ns : Set ℝ\nμ : MeasureTheory.Measure ℝ\n⊢ ∫ x in s, f x ∂μ = ∫ x in 0..1, f x",
        [],
    ),
    (
        "eventually, in a neighbourhood",
        "f g : ℝ → ℝ\na : ℝ\nh : ∀ᶠ (x : ℝ) in 𝓝 a, f x = g x\n⊢ f =ᶠ[𝓝 a] g ∧ Tendsto f (𝓝[≠] a) (𝓝 0)",
        [],
    ),
    (
        "bundled maps",
        "R : Type u\nM N : Type v\nf : M →ₗ[R] N\ne : M ≃ₗ[R] N\ng : R →+* R\n⊢ f ∘ₗ e.symm.toLinearMap = LinearMap.id",
        [],
    ),
    ("categories", "C : Type u\nX Y Z : C\nf : X ⟶ Y\ng : Y ⟶ Z\n⊢ f ≫ g = 𝟙 X ≫ f ≫ g ∧ X ≅ X", []),
    ("number systems", "⊢ (ℕ∞ → ℝ≥0∞) ≃ (ℚ≥0 × ℕ+ → ℝ≥0 × ℤ_[p])", []),
    (
        "lists and indices",
        "α : Type u\nl : List α\na : α\ni : ℕ\n⊢ (a :: l)[i + 1]? = l[i]? ∧ [] ++ l = l ∧ [a] ≠ []",
        [],
    ),
    ("modular arithmetic", "a b n : ℕ\n⊢ (a + b) % n = ((a % n) + (b % n)) % n ∧ a ≡ b [MOD n]", []),
    ("ASCII ways to write", "p q : Prop\n⊢ (p /\\ q) <-> (q /\\ p) -> fun x => x <= 1", []),
    ("if and match", "c : Prop\na b : ℕ\n⊢ (if c then a else b) = ite c a b", []),
    ("separation logic has its own turnstile", "P Q : SPred σs\nh : P ⊢ₛ Q\n⊢ P ⊢ₛ Q", []),
    ("quoted names", "x : Foo.«term∃__,_»\n⊢ Foo.«a b.c» x = Foo.bar «x y»", []),
    ("letters beyond ASCII", "𝕜 : Type u\n𝒰 : Set 𝕜\nε₀ : 𝕜\n𝔭 : Ideal 𝕜\n⊢ ε₀ ∈ 𝒰 ∧ Γ₁ ⊓ 𝔭 ≤ ⨆ ι, 𝓕 ι", []),
    ("a symbol of no table", "a b : M\n⊢ a ⊙ b ⋄ c = 🐙", []),
    ("lone surrogates", "a : M\n⊢ a = \ud835 b \udd5c", []),
    (
        "different only behind the turnstile",
        "x : ℝ\nh : 0 < x\n⊢ Real.log x < x",
        [7],
    ),
]

PREMISES: list[tuple[str, str]] = [
    ("with notation", "theorem Nat.add_comm (n m : ℕ) : n + m = m + n"),
    ("without notation", "theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)"),
    (
        "with a docstring",
        "/-- Addition is **commutative**; see `Nat.add_assoc`. -/\ntheorem Nat.add_comm (n m : ℕ) : n + m = m + n",
    ),
    (
        "a docstring with a comment and a signature in it",
        "/-- See /- this -/\nand `x : ℕ`. -/\ntheorem foo (x : ℕ) : x = x",
    ),
    (
        "binders of every kind",
        "theorem Function.Injective.foo.{u, v} {α : Type u} [inst : DecidableEq α] [Fintype α] ⦃f : α → α⦄ "
        "(hf : Function.Injective f) (n : ℕ := 3) (h : 0 < n := by omega) : Function.Surjective f",
    ),
    (
        "a class that extends",
        "class Ring (R : Type u) extends Semiring R, AddCommGroup R, AddGroupWithOne R : Type u",
    ),
    ("an instance without a name of its own", "instance instDecidableEqNat : DecidableEq Nat"),
    ("a class inductive", "class inductive Nonempty (α : Sort u) : Prop"),
    ("a constructor", "ctor Or.inl {a b : Prop} (h : a) : a ∨ b"),
    ("a lemma", "lemma foo : 1 ≤ 2"),
    ("no kind", "Nat.le_refl (n : ℕ) : n ≤ n"),
    ("only a type", ": ∀ n : ℕ, n ≤ n"),
    ("only a name", "axiom propext"),
    ("a quoted name", "def Std.«term_...*» : Lean.ParserDescr"),
    ("a dot inside a quoted name", "theorem «quot.sound» : True"),
    ("the same name without quotes", "theorem quot.sound : True"),
    ("subscript zero and a prime", "theorem map₂'_inv₀ {x : ℝ≥0} : x⁻¹ = 𝒰S x"),
    (
        "field notation on a binder",
        "theorem List.length_reverse {α : Type u} {as : List α} : as.reverse.length = as.length",
    ),
    (
        "several lines",
        "theorem foo\n    {α : Type u}\n    (s : Finset α) :\n    s.card ≤\n      s.card + 1",
    ),
    ("a proof left out", "theorem List.head_cons {α : Type u} {a : α} {l : List α} : (a :: l).head ⋯ = a"),
    ("nothing", ""),
]

QUESTIONS: list[tuple[str, str]] = [
    ("plain words", "continuous functions on a compact set are bounded"),
    ("a short name", "Nat.add_comm"),
    ("camel case", "IsCompact.isBounded_image"),
    ("LaTeX", r"$\sum_{i=0}^{n} i = \frac{n(n+1)}{2}$ for all $n \in \mathbb{N}$"),
    ("blackboard letters", r"a ring homomorphism \mathbb Z \to \mathbb{Z}/n\mathbb{Z}, the field $\C$"),
    ("an inverse", r"$\phi^{-1}(X) \subseteq \{x \mid f(x) \le 0\}$"),
    ("a Lean term", "(a + b) % n = ((a % n) + (b % n)) % n"),
    ("a type pattern", "List α → (α → β) → List β"),
    ("Markdown", "The **sum** of `f` over *all* of [the set](https://example.org) `s`"),
    ("compound words", "p-adic numbers, Wedderburn–Artin theorem, if-then-else, left/right"),
    ("if in English", "If a group is finite then every element has finite order"),
    ("if in Lean", "if x then y else z"),
    ("possessive", "Lagrange's theorem and Bezout’s identity"),
    ("accents", "Hölder's inequality, Poincaré duality, Erdős–Ginzburg–Ziv"),
    ("a norm in ASCII", "||x + y|| <= ||x|| + ||y||"),
    ("percent signs", "%2F"),
    ("a broken percent escape", "%zz"),
    ("braces alone", "{}"),
    ("nothing", ""),
    ("invisible", "\u200b\u00ad"),
    ("another script", "теорема Пифагора и 群论"),
]

NAMES = (
    "Nat.add_comm",
    "Nat.add_comm'",
    "IsOpenMap",
    "HAdd.hAdd",
    "Norm.norm",
    "Membership.mem",
    "inv₀",
    "map₂'",
    "𝒰S",
    "ENNReal.ofReal_toReal",
    "LinearMap.toMatrix₂'Aux",
    "Std.«term_...*»",
    "Lean.«term∃__,_»",
    "quot.sound",
    "«quot.sound»",
    "CategoryTheory.Limits.HasLimit",
    "T2Space",
    "instDecidableEqNat",
    "List.getElem?_eq_some_iff",
    "ℤ_χ₄",
    "Hölder",
    "_private.0.foo",
    "a..b",
    "«unclosed.name",
    "",
)

CLEAN = (
    ("line ends", "a\r\nb\rc\u0085d\u2028e\u2029f\ng"),
    ("spaces", "a\tb\u00a0c\u2003d\u3000e\u202ff\x0bg\x0ch"),
    ("zero-width", "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\ufe0fh"),
    ("controls and directions", "a\x00b\x1bc\x7fd\u202ee\u2066f"),
    ("a zero-width between CR and LF", "a\r\u200b\nb"),
    ("lone surrogates", "a\ud800b\udfffc"),
    ("an astral letter stays", "𝕜 𝒰"),
    ("an accent stays", "Ho\u0308lder Hölder"),
)

HYPOTHESES = "a : A\nbb : B\nccc : C\n⊢ T"

Repeated = tuple[str, int, str]

CAPS: list[tuple[str, str | Repeated, int]] = [
    ("short enough", HYPOTHESES, 1000),
    ("exactly long enough", HYPOTHESES, 24),
    ("one too long", HYPOTHESES, 23),
    ("exactly after one line", HYPOTHESES, 18),
    ("after two lines", HYPOTHESES, 17),
    ("only the target", HYPOTHESES, 3),
    ("the target is cut", HYPOTHESES, 2),
    ("one code point", HYPOTHESES, 1),
    ("astral letters count once", "𝕜 : Type\n𝒰 : Set 𝕜\n⊢ 𝒰 = 𝒰", 17),
    ("astral letters, one less", "𝕜 : Type\n𝒰 : Set 𝕜\n⊢ 𝒰 = 𝒰", 16),
    ("no turnstile: all is target", "a : A\nb : B", 8),
    ("a target of two lines", "a : A\n⊢ T\n  U", 8),
    ("a target of two lines is cut", "a : A\n⊢ T\n  U", 6),
    ("a turnstile inside a line is none", "h : P ⊢ₛ Q\n⊢ T", 13),
    ("no hypothesis", "⊢ a very long target", 6),
    ("empty lines are lines", "a : A\n\nb : B\n⊢ T", 10),
    ("carriage returns are kept", "a : A\r\n⊢ T", 4),
    ("a long target", ("⊢ x", 5000, ""), 65536),
    ("a longer target", ("⊢ x", 30000, ""), 65536),
    ("many hypotheses", ("h : P\n", 20000, "⊢ Q"), 65536),
    ("many hypotheses and a long target", ("h : P\n", 300, "⊢ " + "x" * 2000), 2000),
    ("nothing", "", 1),
]

HASHES = (
    ("", ""),
    ("Nat.add_comm", "theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)"),
    ("Nat.add_comm", "/-- Doc. -/\ntheorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)"),
    ("Mine.«a.b»", "def Mine.«a.b» : ℕ"),
    ("𝒰S", "axiom 𝒰S : 𝕜"),
    ("a\nb", "c"),
    ("a", "b\nc"),
)


def count_words(texts: Sequence[str]) -> list[int]:
    """Tokens as the budgets of the golden goals count them."""
    return [len(text.split()) + 2 for text in texts]


def capped(goal: str, limit: int) -> tuple[str, int]:
    """The wire cap, written from its rule."""
    lines = goal.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("⊢")]
    hypotheses = starts[0] if starts else 0
    dropped = 0
    while dropped < hypotheses and len("\n".join(lines[dropped:])) > limit:
        dropped += 1
    return "\n".join(lines[dropped:])[:limit], dropped


def content_hash(name: str, text: str) -> str:
    """FNV-1a with 64 bits, written from its definition."""
    value = 0xCBF29CE484222325
    for octet in f"{name}\n{text}".encode():
        value = ((value ^ octet) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def goal_row(name: str, goal: str, budgets: Sequence[int]) -> dict[str, Any]:
    """A row of `goals.json`."""
    whole = goal_text(goal, 1 << 20, count_words)
    rows = []
    for budget in budgets:
        short = goal_text(goal, budget, count_words)
        rows.append(
            {
                "budget": budget,
                "text": short.text,
                "dropped": short.hypotheses_dropped,
                "target_cut": short.target_cut,
            }
        )
    return {
        "name": name,
        "goal": goal,
        "hypotheses": whole.hypotheses,
        "text": whole.text,
        "identifiers": identifiers(goal),
        "budgets": rows,
    }


def cap_row(name: str, goal: str | Repeated, limit: int) -> dict[str, Any]:
    """A row of `caps.json`; what is repeated stays short in the file."""
    raw = goal if isinstance(goal, str) else goal[0] * goal[1] + goal[2]
    text, dropped = capped(raw, limit)
    row: dict[str, Any] = {"name": name, "goal": goal, "limit": limit, "capped": text, "dropped": dropped}
    if not isinstance(goal, str):
        part, times = goal[0], 0
        while text.startswith(part, times * len(part)):
            times += 1
        row["capped"] = [part, times, text[times * len(part) :]]
    return row


def files() -> dict[str, list[dict[str, Any]]]:
    """Rows of every file."""
    return {
        "goals.json": [goal_row(*case) for case in GOALS],
        "premises.json": [
            {"name": name, "raw": raw, "text": premise_text(raw), "identifiers": premise_identifiers(raw)}
            for name, raw in PREMISES
        ],
        "questions.json": [
            {"name": name, "question": question, "text": query_text(question)} for name, question in QUESTIONS
        ],
        "names.json": [
            {"name": name, "components": list(components(name)), "words": name_words(name), "loose": loose_name(name)}
            for name in NAMES
        ],
        "clean.json": [{"name": name, "raw": raw, "clean": clean(raw), "line": one_line(raw)} for name, raw in CLEAN],
        "caps.json": [cap_row(*case) for case in CAPS],
        "hashes.json": [{"name": name, "text": text, "hash": content_hash(name, text)} for name, text in HASHES],
    }


def written(rows: list[dict[str, Any]]) -> str:
    """Rows as the files hold them: one a line, lone surrogates escaped because no UTF-8 holds them."""
    lines = []
    for row in rows:
        line = json.dumps(row, ensure_ascii=False)
        lines.append(json.dumps(row) if any("\ud800" <= character <= "\udfff" for character in line) else line)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, rows in files().items():
        (FOLDER / name).write_text(written(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
