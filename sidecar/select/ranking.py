"""From scores to rankings.

In: scores of all premises and which of them may be answered. Out: the best ones, best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.select.symbolic import BoolArray, FloatArray, IntArray


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
    numbers = np.flatnonzero(allowed)
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
