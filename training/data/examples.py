"""The one record that every source of premise-selection data is read into.

In: what a reader found. Out: `PremiseExample`, the only shape that training and evaluation see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ORIGINS: Final[tuple[str, ...]] = ("explicit", "simp", "rw", "definitional", "instance")
"""How a proof came to need a premise: named in the source, used by simp, used by rw, unfolded, or found as instance."""


@dataclass(frozen=True, slots=True)
class Positive:
    """One premise that closes a state, and how the proof came to use it (entries of `ORIGINS`)."""

    name: str
    origins: tuple[str, ...] = ("explicit",)


@dataclass(frozen=True, slots=True)
class PremiseExample:
    """One proof state with the premises that close it.

    Attributes:
        theorem: Fully-qualified name of the theorem that is proved; never a premise of its own state.
        module: Module of the theorem; decides what is visible.
        line: First source line of the theorem (1-based), or None; premises of the same module must lie before it.
        state: Goal text, hypotheses one a line, then `⊢ target`.
        signature: Statement of the theorem as one line.
        positives: Premises needed to close the state, without repeats, in the order of the data, which says nothing.
        proof: `"tactic"` or `"term"`.
        generated: Whether an attribute made the theorem from another (`to_additive`, `to_dual`).
        random_split: Split of this row when theorems are divided at random (`train`, `valid`, `test`), or None.
    """

    theorem: str
    module: str
    line: int | None
    state: str
    signature: str
    positives: tuple[Positive, ...]
    proof: str = "tactic"
    generated: bool = False
    random_split: str | None = None

    @property
    def gold(self) -> tuple[str, ...]:
        """Names of the positives."""
        return tuple(positive.name for positive in self.positives)
