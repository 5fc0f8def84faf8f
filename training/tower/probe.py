"""A look at how much a tower finds, beside the document model's own query side.

In: the tower under training, validation goals, an index. Out: recall@32 of both on a sample of goals over every premise
that each goal can see, and how many of the first ten they share. A goal sees the whole of its own module, so the
figures are comparable with one another and not with those of `benchmarks/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import FloatMatrix
from sidecar.index.index import Index
from sidecar.index.manifest import Role
from training.data.examples import PremiseExample
from training.data.sources import sample
from training.tower.queries import TowerQuery, state_queries

DEPTH: Final = 32
FIRST: Final = 10

TOWER: Final = f"recall@{DEPTH}"
DOCUMENT_MODEL: Final = f"recall@{DEPTH} of the document model"
SHARED: Final = f"shared of the first {FIRST}"

RowArray = npt.NDArray[np.int64]


class TowerProbe:
    """A fixed sample of goals.

    Args:
        index: The index.
        examples: Evaluation examples.
        goals: Most goals.
        role: Whose vectors are searched.
    """

    def __init__(self, index: Index, examples: Sequence[PremiseExample], goals: int, role: Role) -> None:
        chosen = [example for example in examples if index.graph.number(example.module) is not None]
        kept = [example for example in sample(chosen, goals) if state_queries([example], index)]
        self.queries: list[TowerQuery] = state_queries(kept, index)
        self._index = index
        self._modules = [example.module for example in kept]
        self._vectors = index.vectors(role)
        self._of_model: list[RowArray] | None = None

    def look(self, tower: FloatMatrix, document_model: Callable[[], FloatMatrix]) -> dict[str, float]:
        """The figures.

        Args:
            tower: Unit vectors of `queries` by the tower.
            document_model: Gives those by the document model; asked once.
        """
        if self._of_model is None:
            self._of_model = self._find(document_model())
        found = self._find(tower)
        shared = [len(np.intersect1d(a[:FIRST], b[:FIRST])) / FIRST for a, b in zip(found, self._of_model, strict=True)]
        return {
            TOWER: self._recall(found),
            DOCUMENT_MODEL: self._recall(self._of_model),
            SHARED: float(np.mean(shared)),
        }

    def _find(self, vectors: FloatMatrix) -> list[RowArray]:
        index = self._index
        found = []
        for query, module, vector in zip(self.queries, self._modules, vectors, strict=True):
            mask = index.premise & index.visible([module])[0]
            if query.own >= 0:
                mask[query.own] = False
            found.append(self._vectors.search(vector[None, :], DEPTH, mask)[1][0])
        return found

    def _recall(self, found: Sequence[RowArray]) -> float:
        return float(
            np.mean([np.isin(query.rows, rows).mean() for query, rows in zip(self.queries, found, strict=True)])
        )
