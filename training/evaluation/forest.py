"""A random forest over symbols, as a baseline that learns but reads no text.

In: the constants of training goals and the premises that were used. Out: a score for every premise that was ever used:
the share of votes that the goals in the same leaves give it.

Premise selectors of this kind let the leaf that a goal falls into vote with the premises of the goals that it holds
("Machine-Learned Premise Selection for Lean", Piotrowski et al. 2023). There are as many labels as premises, so trees
are grown on random projections of the labels, which keep the variance that splits are chosen by (Joly et al. 2014,
"Random forests with random projections of the output space for high dimensional multi-label classification").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

TREES: Final = 100
PROJECTIONS: Final = 24
LEAST_IN_LEAF: Final = 2
MOST_FEATURES: Final = 20_000
"""Constants that trees may ask about, the most frequent ones; a constant of one goal tells nothing about others."""


class SymbolForest:
    """Ranks premises by the votes of leaves.

    Args:
        goals: Of each training goal the numbers of its constants.
        premises: Of each training goal the numbers of its premises.
        constants: Number of constants there are.
        trees: Number of trees.
        seed: Decides the trees.
    """

    def __init__(
        self,
        goals: Sequence[IntArray],
        premises: Sequence[IntArray],
        constants: int,
        *,
        trees: int = TREES,
        seed: int = 0,
    ) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.ensemble import ExtraTreesRegressor

        if len(goals) != len(premises) or not goals:
            raise ValueError(f"{len(goals)} goals with {len(premises)} lists of premises")
        frequency = np.bincount(np.concatenate(goals), minlength=constants)
        self._feature_of = np.full(constants, -1, dtype=np.int64)
        features = np.argsort(-frequency, kind="stable")[:MOST_FEATURES]
        features = features[frequency[features] > 0]
        self._feature_of[features] = np.arange(len(features))
        self._features = len(features)
        lengths = np.array([len(rows) for rows in premises])
        self._premises = np.concatenate(premises)
        self._starts: IntArray = np.concatenate([[0], np.cumsum(lengths)])
        most = int(self._premises.max()) + 1
        labels = csr_matrix(
            (np.ones(len(self._premises), dtype=np.float32), self._premises, self._starts), shape=(len(premises), most)
        )
        # Premises that are used everywhere would decide every split.
        labels = labels.multiply(1.0 / np.sqrt(np.maximum(np.asarray(labels.sum(axis=0)), 1))).tocsr()
        projection = np.random.default_rng(seed).standard_normal((most, PROJECTIONS), dtype=np.float32)
        self._forest: Any = ExtraTreesRegressor(
            trees, min_samples_leaf=LEAST_IN_LEAF, max_features="sqrt", random_state=seed, n_jobs=-1
        )
        matrix = self._matrix(goals)
        self._forest.fit(matrix, labels @ projection)
        leaves = self._forest.apply(matrix)
        self._members: list[tuple[IntArray, IntArray]] = []
        for tree in range(leaves.shape[1]):
            order = np.argsort(leaves[:, tree], kind="stable")
            self._members.append((leaves[order, tree].astype(np.int64), order))

    def _matrix(self, goals: Sequence[IntArray]) -> Any:
        from scipy.sparse import csr_matrix

        rows = [self._feature_of[goal] for goal in goals]
        rows = [row[row >= 0] for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        values = np.concatenate(rows)
        return csr_matrix((np.ones(len(values), dtype=np.float32), values, starts), shape=(len(goals), self._features))

    def votes(self, goal: IntArray) -> tuple[IntArray, npt.NDArray[np.float64]]:
        """Premises that any tree votes for, with their votes: each tree has one, divided among the goals of its leaf.

        Args:
            goal: Numbers of the goal's constants.
        """
        shares: dict[int, float] = {}
        for (leaves, order), leaf in zip(self._members, self._forest.apply(self._matrix([goal]))[0], strict=True):
            begin, end = (int(np.searchsorted(leaves, leaf, side)) for side in ("left", "right"))
            for example in order[begin:end]:
                for premise in self._premises[self._starts[example] : self._starts[example + 1]].tolist():
                    shares[premise] = shares.get(premise, 0.0) + 1.0 / (end - begin)
        numbers = np.array(sorted(shares), dtype=np.int64)
        return numbers, np.array([shares[number] for number in numbers.tolist()]) / len(self._members)
