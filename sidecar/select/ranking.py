"""From scores to rankings.

In: scores of all premises and which of them may be answered. Out: the best ones, best first.
"""

from __future__ import annotations

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

    def rank(self, number: int) -> int | None:
        """1-based rank of a premise, or None."""
        places = np.flatnonzero(self.numbers == number)
        return int(places[0]) + 1 if len(places) else None


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
        # The limit-th best score decides; of those that equal it the first by number are taken.
        threshold = np.partition(kept, len(kept) - limit)[len(kept) - limit]
        above = np.flatnonzero(kept > threshold)
        level = np.flatnonzero(kept == threshold)[: limit - len(above)]
        places = np.concatenate([above, level])
        numbers, kept = numbers[places], kept[places]
    order = np.lexsort((numbers, -kept))
    return Ranking(numbers[order], kept[order])
