"""One hash for the rules of this room.

In: nothing. Out: a hash that differs whenever some canonical text would: it is taken over the whole table of notation
and over the texts of probes that use every rule.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Final

from sidecar.text.abbreviations import WRITTEN_OUT
from sidecar.text.declaration import premise_text
from sidecar.text.goal import goal_text, identifiers
from sidecar.text.names import loose_name, name_words
from sidecar.text.query import query_text
from sidecar.text.symbols import LETTERS, READINGS, SPELLED_ATOMS, SPELLED_CONSTANTS

_NAMES: Final = (
    "HAdd.hAdd",
    "Nat.add_comm'",
    "IsOpenMap",
    "inv₀",
    "ENNReal.ofReal",
    "Std.«term_...*»",
    "𝒰S",
    "T2Space",
)
_GOALS: Final = (
    "α : Type u_1\ninst✝ : Fintype α\ns t : Finset α\nh : s ⊆ t\nn : ℕ := 2\n⊢ s.card ≤ t.card ∧ ∑ i ∈ s, f i = -‖x‖",
    "case zero\nx : ℝ\n⊢ |x| ∈ {y | 0 < y} → ∃ z ∈ {x}, z ≠ x⁻¹\n\ncase succ\n⊢ True",
)
_PREMISES: Final = (
    "/-- Addition is **commutative**, see `Nat.add`. -/\ntheorem Nat.add_comm (n m : Nat) : n + m = m + n",
    "structure Foo.{u} {α : Type u} [inst : Add α] ⦃f : α → α⦄ (h : ∀ x, f x = x) extends Bar α : Type u",
)
_QUERIES: Final = (
    r"$\frac{a}{b} \le \sqrt{\mathbb{R}}$ is *continuous* (p-adic), see Nat.add_comm",
    "Weierstraß, Łoś, Hölder",
)


@lru_cache(maxsize=1)
def text_fingerprint() -> str:
    """Hash of the text rules, 16 hexadecimal digits; equal hashes mean equal canonical texts."""
    content = {
        "readings": READINGS,
        "abbreviations": WRITTEN_OUT,
        "constants": SPELLED_CONSTANTS,
        "atoms": SPELLED_ATOMS,
        "letters": LETTERS,
        "names": [[name_words(name), loose_name(name)] for name in _NAMES],
        "goals": [
            [goal_text(goal, 1 << 20, lambda texts: [len(text) for text in texts]).text, identifiers(goal)]
            for goal in _GOALS
        ],
        "premises": [premise_text(premise) for premise in _PREMISES],
        "queries": [query_text(query) for query in _QUERIES],
    }
    serial = json.dumps(content, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(serial.encode()).hexdigest()[:16]
