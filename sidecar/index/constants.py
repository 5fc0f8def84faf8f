"""Which constants each declaration's statement holds, and which declarations hold each constant.

In: the constants of every row, the conclusion's first, and which rows are premises. Out: `ConstantTable`, mapped from
disk: both directions, document frequencies over premises, and look-up of constants by name, also by names that were
printed short inside their namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, save_array
from sidecar.index.sparse import IntArray, SparseRows, transpose
from sidecar.index.strings import StringTable, text_hash, write_strings
from sidecar.text.names import components

MOST_READINGS: Final = 4
"""A short name that could mean more constants than this means none: it says too little."""

_NAMES, _OF_ROWS, _ROWS_OF = "constants", "constants-of-rows", "rows-of-constants"
_CONCLUSIONS, _FREQUENCIES = "conclusion-counts.npy", "constant-frequencies.npy"
_SUFFIX_HASHES, _SUFFIX_NUMBERS = "constant-suffixes.hashes.npy", "constant-suffixes.numbers.npy"
_FIRST_COMPONENTS = "constant-roots"


def write_constants(
    folder: Path,
    names: Sequence[str],
    of_rows: SparseRows,
    conclusion_counts: IntArray,
    premise: npt.NDArray[np.bool_],
) -> None:
    """Write the files of the table.

    Args:
        folder: Folder of the index.
        names: Constants by number.
        of_rows: Row → numbers without repeats, those of the conclusion first.
        conclusion_counts: How many leading numbers of each row belong to the conclusion.
        premise: Which rows are premises.
    """
    write_strings(folder, _NAMES, names)
    of_rows.save(folder, _OF_ROWS)
    rows_of = transpose(of_rows, len(names), folder, _ROWS_OF)
    save_array(folder / _CONCLUSIONS, conclusion_counts)
    counted = np.concatenate([[0], np.cumsum(premise[rows_of.values])])
    save_array(folder / _FREQUENCIES, (counted[rows_of.offsets[1:]] - counted[rows_of.offsets[:-1]]).astype(np.int32))
    hashes: list[int] = []
    numbers: list[int] = []
    roots: dict[str, None] = {}
    for number, name in enumerate(names):
        parts = components(name)
        if len(parts) > 1:
            roots[parts[0]] = None
        for start in range(len(parts)):
            hashes.append(_suffix_hash(parts[start:]))
            numbers.append(number)
    every = np.array(hashes, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    save_array(folder / _SUFFIX_HASHES, every[order])
    save_array(folder / _SUFFIX_NUMBERS, np.array(numbers, dtype=np.int32)[order])
    write_strings(folder, _FIRST_COMPONENTS, roots)


class ConstantTable:
    """The constants of an index.

    Args:
        folder: Folder of the index.

    Attributes:
        of_rows: Row → numbers of its constants, those of the conclusion first.
        conclusion_counts: int32, shape (rows,): how many leading numbers of a row belong to its conclusion.
        rows_of: Number of a constant → rows whose statement holds it, ascending.
        document_frequencies: int32, shape (constants,): in how many premises' statements each constant occurs.
    """

    def __init__(self, folder: Path) -> None:
        self._names = StringTable(folder, _NAMES)
        self.of_rows = SparseRows.load(folder, _OF_ROWS)
        self.rows_of = SparseRows.load(folder, _ROWS_OF)
        self.conclusion_counts: IntArray = map_array(folder / _CONCLUSIONS)
        self.document_frequencies: IntArray = map_array(folder / _FREQUENCIES)
        self._suffix_hashes = map_array(folder / _SUFFIX_HASHES)
        self._suffix_numbers = map_array(folder / _SUFFIX_NUMBERS)
        self._roots = StringTable(folder, _FIRST_COMPONENTS)

    def __len__(self) -> int:
        return len(self._names)

    def name(self, number: int) -> str:
        """The constant of a number."""
        return self._names[number]

    def names(self, numbers: Sequence[int] | IntArray) -> list[str]:
        """The constants of several numbers."""
        return self._names.take(numbers)

    def number(self, constant: str) -> int | None:
        """The number of a constant, or None when no statement of the index holds it."""
        return self._names.find(constant)

    def resolve(self, identifier: str) -> tuple[int, ...]:
        """What constants an identifier of a printed text can mean.

        The constant of that very name; else those whose last components it is (`Box` for `BoxIntegral.Box`); else, when
        its first component begins no constant's name and so is likely a local variable, those that the rest is a suffix
        of (`π.IsSubordinate` for `BoxIntegral.TaggedPrepartition.IsSubordinate`).

        Returns:
            Numbers in ascending order; none when more than `MOST_READINGS` constants fit.
        """
        exact = self.number(identifier)
        if exact is not None:
            return (exact,)
        parts = components(identifier)
        found = self._with_suffix(parts)
        if found is None and len(parts) > 1 and self._roots.find(parts[0]) is None:
            found = self._with_suffix(parts[1:])
        return found or ()

    def _with_suffix(self, parts: tuple[str, ...]) -> tuple[int, ...] | None:
        """Constants that end in these components: None when there is none, () when there are too many."""
        if not parts:
            return None
        wanted = np.uint64(_suffix_hash(parts))
        start, end = (int(np.searchsorted(self._suffix_hashes, wanted, side)) for side in ("left", "right"))
        if end - start > MOST_READINGS:
            return ()
        numbers = sorted(set(self._suffix_numbers[start:end].tolist()))
        fitting = tuple(number for number in numbers if components(self.name(number))[-len(parts) :] == parts)
        return fitting or None


def _suffix_hash(parts: tuple[str, ...]) -> int:
    return text_hash("\0".join(parts))
