"""From scores to rankings.

In: scores of all premises and which of them may be answered. Out: the best ones, best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.select.symbolic import BoolArray, FloatArray, IntArray

BLOCK: Final = 64
"""Premises of which only the best one is looked at to find out roughly how good the best ones are."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best premises by one method.

    Attributes:
        numbers: int64, numbers of the premises, best first.
        scores: float32, their scores.
    """

    numbers: IntArray
    scores: FloatArray

    def ranks(self, numbers: Sequence[int]) -> dict[int, int]:
        """1-based ranks of those of some premises that are among the best."""
        if not len(self.numbers):
            return {}
        wanted = np.array(numbers, dtype=np.int64)
        order = np.argsort(self.numbers)
        places = np.searchsorted(self.numbers, wanted, sorter=order)
        places = order[np.minimum(places, len(self.numbers) - 1)]
        found = self.numbers[places] == wanted
        return dict(zip(wanted[found].tolist(), (places[found] + 1).tolist(), strict=True))


def rank(scores: FloatArray, allowed: BoolArray, limit: int) -> Ranking:
    """The best allowed premises by falling score; equal scores stand in order of number.

    Args:
        scores: float32, shape (premises,).
        allowed: bool, in step with the scores.
        limit: Most premises to return; all allowed ones where there are fewer.
    """
    least = _least_of_the_best(scores, allowed, limit)
    numbers = np.flatnonzero(allowed if least is None else allowed & (scores >= least))
    kept = scores[numbers]
    if len(numbers) > limit:
        # The limit-th best score decides; of those that equal it the first by number are taken. Most premises often
        # share the least score, and partitioning so many equal numbers takes twenty times as long.
        threshold = kept.min()
        raised = kept[kept > threshold]
        if len(raised) >= limit:
            threshold = np.partition(raised, len(raised) - limit)[len(raised) - limit]
        above = np.flatnonzero(kept > threshold)
        level = np.flatnonzero(kept == threshold)[: limit - len(above)]
        places = np.concatenate([above, level])
        numbers, kept = numbers[places], kept[places]
    order = np.lexsort((numbers, -kept))
    return Ranking(numbers[order], kept[order])


def _least_of_the_best(scores: FloatArray, allowed: BoolArray, limit: int) -> float | None:
    """A score that so many allowed premises reach, found in one pass; None where this cannot be told.

    Partitioning all scores would take ten times as long, and nearly all of them lie below this one.
    """
    blocks = len(scores) // BLOCK
    if blocks < limit or not limit:
        return None
    # What is not allowed must not count, and a score may be negative.
    seen = np.where(allowed[: blocks * BLOCK], scores[: blocks * BLOCK], np.float32(-np.inf))
    best = seen.reshape(BLOCK, blocks).max(axis=0)
    least = float(np.partition(best, blocks - limit)[blocks - limit])
    return least if np.isfinite(least) else None
