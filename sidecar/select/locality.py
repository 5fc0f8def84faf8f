"""Locality ranking: premises that stand near the place where a proof is written.

In: the name or namespace of what is proved, the module that is written, which modules are imported directly, and the
premises that the request brought along. Out: a nearness between 0 and 1 for every premise.

Near is what stands in the same file (the nearer its line, the nearer), what shares leading components of its name with
the theorem, and what lies in a module whose name shares leading components with the one that is written. Names are
taken apart for ranking only; nothing here decides what is the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.index.index import Index
from sidecar.select.request import LocalPremise
from sidecar.select.symbolic import FloatArray, IntArray
from sidecar.text.names import components

SAME_FILE: Final = 0.5
"""Nearness of the farthest premise of the same file; what lies elsewhere is never nearer."""

FILE_HALVES: Final = 50.0
"""After how many declarations of the same file what is left of the nearness within it has halved."""

NAMESPACE: Final = 0.3
MODULE: Final = 0.2
IMPORTED: Final = 0.5
"""Shares of the three signs of nearness outside the file: name, module name, direct import. They add up to 1."""

_AFTER: Final = "\U0010ffff"

Components = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a proof is written.

    Attributes:
        namespace: Components of the name of what is proved, without the last, or of the namespace that is open.
        module: Name of the module that is written, or None.
        imports: Directly imported modules.
        row: Row of the index before which the theorem stands, where the index knows it.
    """

    namespace: Components
    module: str | None
    imports: Sequence[str] = ()
    row: int | None = None

    @property
    def is_told(self) -> bool:
        """Whether anything but imports is known: these alone make thousands of premises equally near."""
        return bool(self.namespace) or self.module is not None or self.row is not None


def namespace_of(name: str) -> Components:
    """Components of a name without the last."""
    return components(name)[:-1]


class _Tree:
    """Distinct lists of components, sorted so that those that share leading components stand together."""

    def __init__(self, entries: Iterable[Components]) -> None:
        entries = list(entries)
        self._sorted = sorted(set(entries))
        numbers = {entry: number for number, entry in enumerate(self._sorted)}
        self.numbers: IntArray = np.fromiter((numbers[entry] for entry in entries), dtype=np.int64, count=len(entries))
        self._lengths = np.array([len(entry) for entry in self._sorted], dtype=np.float32)

    def nearness(self, place: Components) -> FloatArray:
        """For each distinct entry, the components shared with `place` over all components of both (Jaccard's index)."""
        shared = np.zeros(len(self._sorted), dtype=np.float32)
        for depth in range(1, len(place) + 1):
            start = bisect_left(self._sorted, place[:depth])
            end = bisect_left(self._sorted, (*place[: depth - 1], place[depth - 1] + _AFTER))
            if start == end:
                break
            shared[start:end] = depth
        nearness: FloatArray = shared / np.maximum(len(place) + self._lengths - shared, np.float32(1))
        return nearness


class LocalityRanking:
    """Scores premises by where they stand. Safe to use from several threads.

    Args:
        index: The index.
    """

    def __init__(self, index: Index) -> None:
        self._graph = index.graph
        self._module_of = index.module_of.astype(np.int64)
        self._modules = _Tree(components(name) for name in index.graph.names)
        spaces: dict[str, Components] = {}
        keys: list[str] = []
        for name in index.names(range(index.size)):
            key = name.rpartition(".")[0] if "«" not in name else name
            if key not in spaces:
                spaces[key] = components(key) if key is not name else namespace_of(name)
            keys.append(key)
        self._namespaces = _Tree(spaces[key] for key in keys)

    def scores(self, place: Place, beside: Sequence[PremisePlaces] = ()) -> FloatArray:
        """Nearness of every premise.

        Args:
            place: Where the proof is written.
            beside: Premises beside the index; they are numbered after its rows.

        Returns:
            float32, shape (rows + premises,), between 0 and 1.
        """
        by_module = MODULE * self._modules.nearness(components(place.module or ""))[self._modules.numbers]
        numbers = [number for name in place.imports if (number := self._graph.number(name)) is not None]
        by_module[numbers] += IMPORTED
        scores = by_module.take(self._module_of)
        scores += (NAMESPACE * self._namespaces.nearness(place.namespace)).take(self._namespaces.numbers)
        scores *= SAME_FILE
        own = self._graph.number(place.module) if place.module is not None else None
        if own is not None:
            rows = np.flatnonzero(self._module_of == own)
            scores[rows] = _in_file(_distances(rows, place.row))
        return np.concatenate([scores, *(places.scores(place) for places in beside)])


class PremisePlaces:
    """Where premises stand that the index does not have.

    Args:
        premises: The premises. Those without a module, or with the one that is written, are of the same file, and of
            these the last is the nearest.
    """

    def __init__(self, premises: Sequence[LocalPremise]) -> None:
        self._count = len(premises)
        placed = [(number, premise.module, premise.name) for number, premise in enumerate(premises) if premise.module]
        self._placed = np.array([number for number, _, _ in placed], dtype=np.int64)
        self._modules = [module for _, module, _ in placed]
        self._homes = _Tree(components(module) for module in self._modules)
        self._namespaces = _Tree(namespace_of(name) for _, _, name in placed)

    def scores(self, place: Place) -> FloatArray:
        """Nearness of these premises, see `LocalityRanking.scores`."""
        scores = np.zeros(self._count, dtype=np.float32)
        in_file = np.ones(self._count, dtype=np.bool_)
        if len(self._placed):
            imported = set(place.imports)
            by_module = MODULE * self._homes.nearness(components(place.module or ""))[self._homes.numbers]
            by_module += IMPORTED * np.array([module in imported for module in self._modules], dtype=np.float32)
            by_name = NAMESPACE * self._namespaces.nearness(place.namespace)[self._namespaces.numbers]
            scores[self._placed] = SAME_FILE * (by_module + by_name)
            in_file[self._placed] = [module == place.module for module in self._modules]
        scores[in_file] = _in_file(np.arange(in_file.sum())[::-1])
        return scores


def _distances(rows: IntArray, theorem: int | None) -> IntArray:
    """How many declarations away each row of a file is; what follows the theorem is farther than all before it."""
    if theorem is None:
        return np.arange(len(rows))[::-1]
    before = rows < theorem
    return np.where(before, theorem - 1 - rows, before.sum() + rows - theorem)


def _in_file(distances: IntArray) -> FloatArray:
    return (SAME_FILE + (1 - SAME_FILE) * FILE_HALVES / (FILE_HALVES + distances)).astype(np.float32)
