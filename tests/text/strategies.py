"""Texts that the properties of this room are tested on."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No property is about time."""

THOROUGH = settings(PATIENT, max_examples=150)
"""For properties that hostile texts might break."""

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
"""Any Python string, lone surrogates and unassigned characters included."""

PIECES = (
    "n m x✝ inst✝¹ α 𝕜 ℕ ℝ≥0∞ Nat.add_comm s.card h.1 Foo.«a b.c» « » fun if then else Type Type_u Sort* Prop 0 12 _",
    "+ - * / % ^ = ≠ ≤ < ≥ > ∈ ∉ ⊆ ∪ ∩ \\ ∅ ᶜ ⁻¹ ⁻¹' '' ∘ → ↔ ∧ ∨ ¬ ∀ ∃ ∑ ∏ ∫ ∂ ‖ ‖₊ | || ⊢ ⊢ₛ : := => , ; .",
    "( ) [ ] { } ⟨ ⟩ ⦃ ⦄ →ₗ[ ≃+* ᵒᵖ ⊙ 🐙 ↑ ⇑ ⋯ @ .{u} in /-- -/ case $ \\frac \\mathbb{R} \\{ ** ` - p-adic",
)
BITS = [piece for line in PIECES for piece in line.split(" ")]

FORMAL_TEXT = st.builds(
    str.join,
    st.sampled_from(["", " "]),
    st.lists(st.sampled_from([*BITS, " ", "\n", "\r\n", "\t", "\u200b", "\ud800"]), max_size=25),
)
"""Shuffled bits of Lean, LaTeX and Markdown."""

NAMES = st.sampled_from(["x", "y", "f", "s", "t", "h", "h₁", "hx'", "ih", "α", "β₂", "this", "F", "X₀", "e_1", "y✝"])
TYPES = st.sampled_from(
    ["ℕ", "Finset α", "List (α × β)", "α → β", "∀ x : ℕ, x = x", "a = b", "[a] ++ l = l", "Type u_1", "{x | x < 1} ⊆ s"]
)
HYPOTHESES = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=3), TYPES), max_size=6)
TARGETS = st.sampled_from(["True", "a = b", "∑ i, f i = 0", "s.card ≤ t.card", "∃ x ∈ s, x ≠ 0", "f '' s ⊆ t"])


def goal_lines(hypotheses: list[tuple[list[str], str]]) -> list[str]:
    """Hypotheses as Lean prints them, one a line."""
    return [f"{' '.join(names)} : {type_text}" for names, type_text in hypotheses]


_INSIDE = [*"ab0_ .:=|,()[]{}⟨⟩‖⊢∀∃∑\\\"'", " : ", " := ", "case "]
QUOTED = st.lists(st.sampled_from(_INSIDE), min_size=1, max_size=8).map(
    lambda inside: f"«{re.sub(' +', ' ', ''.join(inside))}»"
)
"""Names that need « », because of what stands in them."""
