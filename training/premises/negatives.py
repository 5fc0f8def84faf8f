"""Premises that a state is told to keep away from.

In: the states of a batch. Out: for each of them rows of premises that are visible to it and none of its positives:
uniformly drawn, or drawn from what a checkpoint ranked too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from training.data.premise_library import PremiseLibrary
from training.premises.pairs import TrainingPairs

IntArray = npt.NDArray[np.int64]

NEGATIVES: Final = 3
"""B⁻ of "Premise Selection for a Lean Hammer" (Zhu et al. 2025), a positive."""

_TRIES: Final = 8
"""Draws a negative before all that could be drawn are listed instead."""


class NegativeSampler:
    """Draws negatives.

    Args:
        pairs: The states.
        library: The premises.
        count: Negatives a pair.
        hard: State → rows to draw from first (see `mining.py`), in no order, or None to draw from all that is visible.
        hard_share: Part of the negatives that comes from `hard`.
    """

    def __init__(
        self,
        pairs: TrainingPairs,
        library: PremiseLibrary,
        count: int = NEGATIVES,
        *,
        hard: Sequence[IntArray] | None = None,
        hard_share: float = 0.5,
    ) -> None:
        self._pairs = pairs
        self._library = library
        self.count = count
        self._hard = hard
        self._hard_count = round(count * hard_share) if hard is not None else 0
        self._forbidden: dict[int, IntArray] = {}

    def draw(self, state: int, generator: np.random.Generator) -> IntArray:
        """Rows of the negatives of one state, with repeats (as in the paper, each draw is independent).

        Returns:
            Shape (count,); fewer, perhaps none, when nothing is visible but positives.
        """
        if not self.count:
            return np.empty(0, dtype=np.int64)
        forbidden = self._forbidden.get(state)
        if forbidden is None:
            forbidden = self._forbidden[state] = self._pairs.never_negative(state, self._library)
        chosen: list[int] = []
        if self._hard is not None and len(self._hard[state]):
            chosen += generator.choice(self._hard[state], self._hard_count).tolist()
        pairs, library = self._pairs, self._library
        counts = library.visible_counts(int(pairs.module[state]), int(pairs.line[state]))
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        if total:
            for place in generator.integers(0, total, _TRIES * (self.count - len(chosen))):
                module = int(np.searchsorted(ends, place, side="right"))
                row = int(library.starts[module] + place - (ends[module] - counts[module]))
                if len(chosen) == self.count:
                    break
                if not np.any(forbidden == library.group[row]):
                    chosen.append(row)
        if len(chosen) < self.count:
            rows = np.flatnonzero(library.visible(int(pairs.module[state]), int(pairs.line[state])))
            rows = rows[~np.isin(library.group[rows], forbidden)]
            if len(rows):
                chosen += generator.choice(rows, self.count - len(chosen)).tolist()
        return np.array(chosen, dtype=np.int64)

    def draw_any(self, never: IntArray, generator: np.random.Generator) -> IntArray:
        """Rows from the whole library: the negatives of a question, which is asked from no place in particular.

        Args:
            never: Groups that are no negatives.
            generator: What draws.

        Returns:
            Shape (count,), fewer when nearly all that is drawn may be none.
        """
        rows = generator.integers(0, len(self._library), _TRIES * self.count)
        rows = rows[~np.isin(self._library.group[rows], never)]
        return rows[: self.count].astype(np.int64)
