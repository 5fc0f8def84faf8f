"""Premises that the proofs of similar theorems use.

In: how much each theorem has in common with the goal, and the proofs of the index. Out: what these proofs use, the
premise of many and of the most similar ones first (nearest neighbours, as in C. Kaliszyk and J. Urban, MizAR 40 for
Mizar 40, Journal of Automated Reasoning 55, 2015). A lemma that closes a goal need not look like it; the other rankings
only find what does.

A theorem that the goal cannot see tells as much about how such goals are proved as one that it can; only what is
answered must be visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sidecar.index.proofs import ProofTable
from sidecar.select.ranking import Ranking, rank
from sidecar.select.symbolic import BoolArray, FloatArray, IntArray

ProofScope = Literal["all", "visible", "none"]
"""Whose proofs tell something: every theorem's, those that the goal can see, nobody's."""

NEIGHBOURS: Final = 300
"""Theorems that have a say."""

DAMPING: Final = 20.0
"""The n-th most similar theorem has a say of 1 / (n + this). Of 1, 5, 20 and 60 (on 400 theorems of premises/valid:
recall@32 .617, .629, .626, .620, MRR .462, .467, .469, .470) this serves both ends of the ranking."""


@dataclass(frozen=True, slots=True)
class StandIns:
    """Premises beside the index that take the place of rows of the same name.

    Attributes:
        rows: int64, ascending, no row twice.
        numbers: int64, in step with the rows: the premise that stands for each.
    """

    rows: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, rows: Sequence[IntArray], size: int) -> StandIns:
        """Find them.

        Args:
            rows: Of each block of premises beside the index, the rows with the same names, −1 where there are none; a
                later block takes the place of an earlier one.
            size: Rows of the index; the premises are numbered behind them, block after block.
        """
        together = np.concatenate([*reversed(rows), np.zeros(0, dtype=np.int64)])
        ends = np.cumsum([len(block) for block in rows]) + size
        numbers = [np.arange(end - len(block), end) for block, end in zip(rows, ends.tolist(), strict=True)]
        first, places = np.unique(together, return_index=True)
        standing = np.concatenate([*reversed(numbers), np.zeros(0, dtype=np.int64)])[places]
        return cls(first[first >= 0].astype(np.int64), standing[first >= 0].astype(np.int64))

    def numbers_of(self, rows: IntArray) -> IntArray:
        """The number of what stands for each row: a premise beside the index, or the row itself."""
        if not len(self.rows):
            return rows
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, self.numbers[places], rows)


def rank_by_proofs(
    proofs: ProofTable,
    relevance: FloatArray,
    allowed: BoolArray,
    silent: IntArray,
    limit: int,
    *,
    beside: StandIns,
    scope: ProofScope = "all",
) -> Ranking | None:
    """What the proofs of the theorems that have most in common with a goal use; None where none has a proof.

    Args:
        proofs: See `ProofTable`.
        relevance: float32, shape (rows,): what each row has in common with the goal; 0 for nothing.
        allowed: bool, shape (rows + premises beside the index,): which premises may be answered.
        silent: Rows whose proofs must tell nothing: the theorem that the goal is of, what is not wanted.
        limit: Most premises to return.
        beside: A proof that uses a row speaks for what stands in its place.
        scope: Whose proofs tell something.
    """
    if scope == "none":
        return None
    theorems = proofs.theorems
    voting = np.ones(len(theorems), dtype=np.bool_) if scope == "all" else allowed[beside.numbers_of(theorems)]
    voting[np.isin(theorems, silent)] = False
    neighbours = rank(relevance[theorems], voting, NEIGHBOURS)
    similar = theorems[neighbours.numbers[neighbours.scores > 0]]
    if not len(similar):
        return None
    used, lengths = proofs.premises_of.take(similar)
    say = np.reciprocal(DAMPING + np.arange(1, len(similar) + 1))
    votes = np.repeat(say, lengths)
    rows, places = np.unique(used.astype(np.int64), return_inverse=True)
    sums = np.bincount(places, weights=votes)
    numbers = beside.numbers_of(rows)
    numbers, sums = numbers[allowed[numbers]], sums[allowed[numbers]]
    if not len(numbers):
        return None
    best = np.lexsort((numbers, -sums))[:limit]
    return Ranking(numbers[best], sums[best].astype(np.float32))
