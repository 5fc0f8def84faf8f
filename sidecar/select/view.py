"""What may be answered to one request.

In: the request, its environment, the premises beside the index. Out: a mask over all premises, whose proofs must tell
nothing, and warnings.

Numbers: rows of the index first, then the premises of each block. A premise beside the index takes the place of the
indexed one of the same name, and a premise of the file that of the environment. The theorem that is being proved is
never offered, nor is a deprecated alias of it; another declaration with the same statement is (it does prove the goal).
Nor do its proof and theirs tell anything, as a goal must not learn from its own proof; the same holds for what is not
wanted, by which name a client may mean the theorem too.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np

from sidecar.index.index import Index
from sidecar.select.beside import Block, listed
from sidecar.select.request import PremiseWarning
from sidecar.select.symbolic import BoolArray, IntArray

KEPT_MASKS: Final = 8
"""Masks of lists of imports that are remembered."""

_MOST_STEPS: Final = 8


@dataclass(frozen=True, slots=True)
class View:
    """What may be answered.

    Attributes:
        allowed: bool, shape (rows + premises of the blocks,).
        count: How many are allowed.
        silent: int64: rows of the index whose proofs must tell nothing.
        warnings: What to say about it.
    """

    allowed: BoolArray
    count: int
    silent: IntArray
    warnings: tuple[PremiseWarning, ...]


class Visibility:
    """Makes views. Safe to use from several threads.

    Args:
        index: The index.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = Lock()
        self._masks: OrderedDict[tuple[str, ...] | None, tuple[BoolArray, tuple[str, ...]]] = OrderedDict()
        self._replacements: dict[int, str] = {}
        self._aliases: defaultdict[str, list[int]] = defaultdict(list)
        for row in np.flatnonzero(index.deprecated).tolist():
            replacement = index.replacement(row)
            if replacement is not None:
                self._replacements[row] = replacement
                self._aliases[replacement].append(row)

    def view(
        self,
        imports: tuple[str, ...] | None,
        described: Sequence[str],
        blocks: Sequence[Block],
        theorem: str | None,
        exclude: Sequence[str],
    ) -> View:
        """What may be answered.

        Args:
            imports: Directly imported modules, None for everything.
            described: Modules whose premises are beside the index, so that they are not unknown.
            blocks: Premises beside the index; later blocks take the place of earlier ones.
            theorem: What is being proved.
            exclude: Names that are not wanted.
        """
        rows, unknown = self._visible(imports)
        parts = [rows.copy()]
        for block in blocks:
            parts[0][block.rows[block.rows >= 0]] = False
            parts.append(np.ones(len(block.premises), dtype=np.bool_))
        self._hide_overridden(blocks, parts)
        unwanted = set(exclude)
        if theorem is not None:
            unwanted.add(theorem)
            parts[0][self._aliases_of([theorem])] = False
        silent = np.zeros(0, dtype=np.int64)
        if unwanted:
            found = self._index.rows(list(unwanted))
            parts[0][found[found >= 0]] = False
            silent = np.concatenate([found[found >= 0], self._aliases_of(unwanted)])
            for part, block in zip(parts[1:], blocks, strict=True):
                part[[number for number, premise in enumerate(block.premises) if premise.name in unwanted]] = False
        allowed = np.concatenate(parts)
        count = int(np.count_nonzero(allowed))
        warnings: list[PremiseWarning] = []
        known = set(described)
        unknown = tuple(name for name in unknown if name not in known)
        if unknown:
            which = "1 module" if len(unknown) == 1 else f"{len(unknown)} modules"
            message = f"the index does not know {which}: {listed(unknown)}"
            warnings.append(PremiseWarning("unknown_modules", message))
        if not count:
            warnings.append(PremiseWarning("nothing_visible", "no premise is visible: check the imports"))
        return View(allowed, count, silent, tuple(warnings))

    def replacement(self, row: int) -> str | None:
        """What a deprecated row's users should turn to in the end: replacements that are deprecated are followed."""
        name = self._replacements.get(row)
        for _ in range(_MOST_STEPS):
            following = None if name is None else self._index.row(name)
            if following is None or following not in self._replacements:
                break
            name = self._replacements[following]
        return name

    def _visible(self, imports: tuple[str, ...] | None) -> tuple[BoolArray, tuple[str, ...]]:
        """Premises of the index that are visible (read-only), and unknown modules."""
        with self._lock:
            known = self._masks.get(imports)
            if known is not None:
                self._masks.move_to_end(imports)
                return known
        if imports is None:
            found: tuple[BoolArray, tuple[str, ...]] = (self._index.premise, ())
        else:
            rows, unknown = self._index.visible(imports)
            found = (rows & self._index.premise, tuple(unknown))
        with self._lock:
            self._masks[imports] = found
            while len(self._masks) > KEPT_MASKS:
                self._masks.popitem(last=False)
        return found

    def _hide_overridden(self, blocks: Sequence[Block], parts: Sequence[BoolArray]) -> None:
        """Of premises of one name in several blocks, leave the last block's."""
        later: set[str] = set()
        for block, part in reversed(list(zip(blocks, parts[1:], strict=True))):
            if later:
                part[[number for number, premise in enumerate(block.premises) if premise.name in later]] = False
            if block is not blocks[0]:
                later.update(premise.name for premise in block.premises)

    def _aliases_of(self, names: Iterable[str]) -> IntArray:
        """Deprecated rows whose replacement is one of these names, perhaps by way of other deprecated ones."""
        found: set[int] = set()
        left = list(names)
        while left:
            rows = [row for row in self._aliases.get(left.pop(), ()) if row not in found]
            found.update(rows)
            left += self._index.names(rows)
        return np.array(sorted(found), dtype=np.int64)
