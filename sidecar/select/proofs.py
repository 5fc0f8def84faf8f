"""Premises that the proofs of similar theorems use.

In: how much each theorem has in common with the goal, and the proofs of the index. Out: what these proofs use, the
premise of many and of the most similar ones first (nearest neighbours, as in C. Kaliszyk and J. Urban, MizAR 40 for
Mizar 40, Journal of Automated Reasoning 55, 2015, section 3). A lemma that closes a goal need not look like it;
the other rankings only find what does.

A theorem that the goal cannot see tells as much about how such goals are proved as one that it can; only what is
answered must be visible.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from sidecar.index.proofs import ProofTable
from sidecar.select.ranking import Ranking, rank
from sidecar.select.symbolic import BoolArray, FloatArray

ProofScope = Literal["all", "visible", "none"]
"""Whose proofs tell something: every theorem's, those that the goal can see, nobody's."""

NEIGHBOURS: Final = 300
"""Theorems that have a say."""

DAMPING: Final = 20.0
"""The n-th most similar theorem has a say of 1 / (n + this). Of 1, 5, 20 and 60 (on 400 theorems of premises/valid:
recall@32 .617, .629, .626, .620, MRR .462, .467, .469, .470) this serves both ends of the ranking."""


def rank_by_proofs(
    proofs: ProofTable,
    relevance: FloatArray,
    allowed: BoolArray,
    theorem: int | None,
    limit: int,
    *,
    scope: ProofScope = "all",
) -> Ranking | None:
    """What the proofs of the theorems that have most in common with a goal use; None where none has a proof.

    Args:
        proofs: See `ProofTable`.
        relevance: float32, shape (rows,): what each row has in common with the goal; 0 for nothing.
        allowed: bool, shape (rows,): which premises may be answered.
        theorem: Row of the theorem that the goal is of, whose own proof must tell nothing.
        limit: Most premises to return.
        scope: Whose proofs tell something.
    """
    if scope == "none":
        return None
    theorems = proofs.theorems
    voting = np.ones(len(theorems), dtype=np.bool_) if scope == "all" else allowed[theorems]
    if theorem is not None:
        voting[theorems == theorem] = False
    neighbours = rank(relevance[theorems], voting, NEIGHBOURS)
    similar = theorems[neighbours.numbers[neighbours.scores > 0]]
    if not len(similar):
        return None
    used = [proofs.premises_of[row] for row in similar.tolist()]
    say = np.reciprocal(DAMPING + np.arange(1, len(similar) + 1))
    votes = np.repeat(say, [len(rows) for rows in used])
    rows, places = np.unique(np.concatenate(used), return_inverse=True)
    sums = np.bincount(places, weights=votes)
    rows, sums = rows[allowed[rows]], sums[allowed[rows]]
    if not len(rows):
        return None
    best = np.lexsort((rows, -sums))[:limit]
    return Ranking(rows[best].astype(np.int64), sums[best].astype(np.float32))
