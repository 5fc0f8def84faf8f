"""The import graph: which modules a file can see.

In: modules with their direct imports. Out: for a list of directly imported modules, the set of all modules that come
with them, as an array of booleans.

The transitive closure is computed once and kept as packed bits, one row of ⌈n/64⌉ words a module (15 MB for 11,000
modules), so that a question is the union of a few rows.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Module
from sidecar.errors import SidecarError

BoolArray = npt.NDArray[np.bool_]
_BitRows = npt.NDArray[np.uint64]

_ROWS_AT_ONCE: Final = 256


class ImportGraph:
    """Modules and everything they import.

    A module sees itself. Imports of modules that are not among `modules` are left out. In an import cycle, which Lean
    forbids but a mixture of versions may show, every module of the cycle sees the whole cycle.

    Args:
        modules: All modules; where a name comes twice, the first counts.
    """

    def __init__(self, modules: Iterable[Module]) -> None:
        imports: dict[str, tuple[str, ...]] = {}
        for module in modules:
            imports.setdefault(module.name, module.imports)
        self._names = tuple(imports)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        edges = [[self._numbers[name] for name in names if name in self._numbers] for names in imports.values()]
        self._keep(_closure(edges))

    def _keep(self, closure: _BitRows) -> None:
        self._closure = closure
        self._reach = np.bitwise_count(closure).sum(axis=1, dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the modules; a module's number is its place here."""
        return self._names

    def number(self, name: str) -> int | None:
        """The number of a module, or None when it is unknown."""
        return self._numbers.get(name)

    def visible(self, imports: Iterable[str]) -> tuple[BoolArray, list[str]]:
        """What a file that imports these modules can see.

        Args:
            imports: Names of directly imported modules, in any order; repeats do no harm.

        Returns:
            An array of shape (len(names),), true for each module of `imports` and all that they import; and the names
            that are unknown, in the order given, without repeats.
        """
        names = tuple(imports)
        found = list(map(self._numbers.get, names))
        unknown = [name for name, number in zip(names, found, strict=True) if number is None] if None in found else []
        union = self._union(np.array([number for number in found if number is not None], dtype=np.int64))
        bits = np.unpackbits(union.view(np.uint8), count=len(self._names), bitorder="little")
        return bits.view(np.bool_), list(dict.fromkeys(unknown))

    def _union(self, numbers: npt.NDArray[np.int64]) -> _BitRows:
        union = np.zeros(self._closure.shape[1], dtype=np.uint64)
        # A file that imports everything names thousands of modules, most of which come with others of them.
        numbers = numbers[np.argsort(-self._reach[numbers])]
        while numbers.size:
            rows = self._closure[numbers[:_ROWS_AT_ONCE]]
            np.bitwise_or(union, np.bitwise_or.reduce(rows, axis=0), out=union)
            rest = numbers[_ROWS_AT_ONCE:]
            numbers = rest[(union[rest >> 6] >> (rest & 63).astype(np.uint64)) & np.uint64(1) == 0]
        return union

    def save(self, path: Path) -> None:
        """Write the graph to one file, under a temporary name first, so that a file that exists is whole."""
        temporary = path.with_name(path.name + ".tmp")
        names = np.frombuffer(json.dumps(self._names).encode(), dtype=np.uint8)
        with temporary.open("wb") as stream:
            np.savez(stream, names=names, closure=self._closure)
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            SidecarError: `not_found` when there is no such file, `conflict` when it is damaged.
        """
        graph = cls(())
        try:
            with np.load(path, allow_pickle=False) as arrays:
                names = tuple(json.loads(arrays["names"].tobytes()))
                closure = arrays["closure"]
            if closure.dtype != np.uint64 or closure.shape != (len(names), _words(len(names))):
                raise ValueError(f"{len(names)} modules and {closure.dtype} bits of shape {closure.shape}")
        except FileNotFoundError as error:
            raise SidecarError("not_found", f"there is no import graph {path}", field=str(path)) from error
        except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
            raise SidecarError(
                "conflict", f"the import graph {path} is damaged: {error}", field=str(path), hint="build it again"
            ) from error
        graph._names = names
        graph._numbers = {name: number for number, name in enumerate(names)}
        graph._keep(closure)
        return graph


def _words(count: int) -> int:
    return (count + 63) // 64


def _closure(edges: Sequence[Sequence[int]]) -> _BitRows:
    """Packed reachability, every node reaching itself: bit `j` of row `i`, little end first."""
    rows = np.zeros((len(edges), _words(len(edges))), dtype=np.uint64)
    for group in _cycles_first_imported_first(edges):
        row = np.zeros(rows.shape[1], dtype=np.uint64)
        for node in group:
            row[node >> 6] |= np.uint64(1) << np.uint64(node & 63)
            if edges[node]:
                np.bitwise_or(row, np.bitwise_or.reduce(rows[list(edges[node])], axis=0), out=row)
        rows[group] = row
    return rows


def _cycles_first_imported_first(edges: Sequence[Sequence[int]]) -> Iterable[list[int]]:
    """Strongly connected components, each after those that it reaches (Tarjan 1972, without recursion)."""
    order = [-1] * len(edges)
    low = [0] * len(edges)
    waiting: list[int] = []
    is_waiting = [False] * len(edges)
    count = 0
    for root in range(len(edges)):
        if order[root] >= 0:
            continue
        path = [(root, iter(edges[root]))]
        order[root] = low[root] = count
        count += 1
        waiting.append(root)
        is_waiting[root] = True
        while path:
            node, following = path[-1]
            target = next(following, None)
            if target is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    group = []
                    while True:
                        member = waiting.pop()
                        is_waiting[member] = False
                        group.append(member)
                        if member == node:
                            break
                    yield group
            elif order[target] < 0:
                order[target] = low[target] = count
                count += 1
                waiting.append(target)
                is_waiting[target] = True
                path.append((target, iter(edges[target])))
            elif is_waiting[target]:
                low[node] = min(low[node], order[target])
