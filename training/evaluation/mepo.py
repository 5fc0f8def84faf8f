"""MePo as Lean's core library has it, to be compared with.

In: the constants of a goal, what is visible. Out: rows of an index, best first, often fewer than are asked for.

The rule is that of J. Meng and L. C. Paulson, "Lightweight relevance filtering for machine-generated resolution
problems" (Journal of Applied Logic 7, 2009), with the weights, parameters and order of Lean core's
`Lean.LibrarySuggestions.MePo`: a theorem's score is M / (M + R), M the weight of its constants that are relevant and R
the number of those that are not; a constant of frequency f weighs 1 + 2 / (⌊log₂ f⌋ + 1); theorems that score at least
p are accepted, their constants become relevant, and p rises by (1 − p) / c until enough are accepted or none is.

What it reads here are the constants that a corpus lists for a statement, which leaves out those that only instances
hold; Lean's own implementation sees all of a type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.constants import ConstantTable

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

PASS_MARK: Final = 0.6
"""p of the paper and of the core library."""

CONVERGENCE: Final = 2.4
"""c of the paper and of the core library."""


class Mepo:
    """Ranks the theorems of an index.

    Args:
        table: Constants of the index.
        theorem: Shape (rows,), which rows are theorems; nothing else is a candidate.
    """

    def __init__(self, table: ConstantTable, theorem: BoolArray) -> None:
        self._table = table
        self._theorem = theorem
        self._values = np.asarray(table.of_rows.values).astype(np.int64)
        self._offsets = np.asarray(table.of_rows.offsets).astype(np.int64)
        self._sizes: IntArray = np.diff(self._offsets)

    def weights(self, counted: BoolArray) -> FloatArray:
        """Weight of every constant by how many of some theorems hold it.

        Args:
            counted: Shape (rows,): what is imported. Costs tens of milliseconds, so callers keep it for a file.
        """
        held = np.repeat(counted & self._theorem, self._sizes)
        frequencies = np.bincount(self._values[held], minlength=len(self._table))
        exponents = np.floor(np.log2(np.maximum(frequencies, 1)))
        weights: FloatArray = 1.0 + 2.0 / (exponents + 1.0)
        return weights

    def constants(self, names: Iterable[str]) -> IntArray:
        """Numbers of constants that a goal's text names, short names in every reading."""
        return np.unique(np.array([number for name in names for number in self._table.resolve(name)], dtype=np.int64))

    def rank(
        self,
        goal: IntArray,
        visible: BoolArray,
        weights: FloatArray,
        limit: int,
        *,
        pass_mark: float = PASS_MARK,
        convergence: float = CONVERGENCE,
    ) -> IntArray:
        """The theorems that matter.

        Args:
            goal: Numbers of the goal's constants.
            visible: Shape (rows,).
            weights: See `weights`.
            limit: Most rows to return.
            pass_mark, convergence: p and c.
        """
        open_ = visible & self._theorem
        shared = np.zeros(len(open_))
        overlap = np.zeros(len(open_), dtype=np.int64)
        relevant = np.zeros(len(self._table), dtype=np.bool_)
        accepted: list[IntArray] = []
        count = 0
        new = goal
        while count < limit:
            relevant[new] = True
            for number in new.tolist():
                holders = self._table.rows_of[number]
                shared[holders] += weights[number]
                overlap[holders] += 1
            rows = np.flatnonzero(open_ & (overlap > 0))
            scores = shared[rows] / (shared[rows] + self._sizes[rows] - overlap[rows])
            passed = scores >= pass_mark
            rows, scores = rows[passed], scores[passed]
            if not len(rows):
                break
            rows = rows[np.lexsort((rows, -overlap[rows], -scores))]
            accepted.append(rows)
            count += len(rows)
            open_[rows] = False
            held = [self._values[self._offsets[row] : self._offsets[row + 1]] for row in rows]
            new = np.unique(np.concatenate(held))
            new = new[~relevant[new]]
            pass_mark += (1.0 - pass_mark) / convergence
        return np.concatenate(accepted)[:limit] if accepted else np.zeros(0, dtype=np.int64)
