"""Lists of numbers, one list a row, in two flat arrays (compressed sparse rows).

In: the lists row by row. Out: `SparseRows`, mapped from disk, and its transposition (for each number, the rows that
hold it), made in one pass over blocks so that it needs little memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidecar.index.files import create_array, map_array, save_array

IntArray = npt.NDArray[np.int32]

BLOCK = 1 << 20
"""Entries that the transposition looks at together."""


class SparseRows:
    """Row → numbers.

    Attributes:
        offsets: int64, one more than there are rows: row r has entries `offsets[r]:offsets[r + 1]`.
        values: int32, the numbers of all rows one after another.
    """

    def __init__(self, offsets: npt.NDArray[np.int64], values: IntArray) -> None:
        self.offsets = offsets
        self.values = values

    @classmethod
    def load(cls, folder: Path, stem: str) -> SparseRows:
        """Map the two files of a stem."""
        return cls(map_array(folder / f"{stem}.offsets.npy"), map_array(folder / f"{stem}.values.npy"))

    def save(self, folder: Path, stem: str) -> None:
        """Write the two files of a stem."""
        save_array(folder / f"{stem}.offsets.npy", self.offsets)
        save_array(folder / f"{stem}.values.npy", self.values)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> IntArray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: npt.NDArray[np.int64]) -> tuple[IntArray, npt.NDArray[np.int64]]:
        """The entries of several rows one after another, and how many each has."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        before = np.cumsum(lengths) - lengths
        return self.values[np.repeat(starts - before, lengths) + np.arange(lengths.sum())], lengths

    def span(self, row: int) -> slice:
        """Where the entries of a row lie in `values` and in arrays beside it."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))


def offsets_of(lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Offsets of lists whose lengths are given."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def transpose(
    rows: SparseRows, columns: int, folder: Path, stem: str, beside: npt.NDArray[Any] | None = None
) -> SparseRows:
    """Write number → rows.

    Args:
        rows: Row → numbers, each below `columns` and at most once a row.
        columns: How many numbers there are.
        folder, stem: Where to write; rows of one number stand in ascending order.
        beside: An array in step with `rows.values`, written to `<stem>.beside.npy` in the new order.
    """
    entries = len(rows.values)
    counts = np.zeros(columns, dtype=np.int64)
    for start in range(0, entries, BLOCK):
        counts += np.bincount(rows.values[start : start + BLOCK], minlength=columns)
    offsets = offsets_of(counts)
    save_array(folder / f"{stem}.offsets.npy", offsets)
    values = create_array(folder / f"{stem}.values.npy", (entries,), np.int32)
    moved = None if beside is None else create_array(folder / f"{stem}.beside.npy", (entries,), beside.dtype)
    following = offsets[:-1].copy()
    for start in range(0, entries, BLOCK):
        block = np.asarray(rows.values[start : start + BLOCK])
        order = np.argsort(block, kind="stable")
        numbers = block[order]
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        lengths = np.diff(first, append=len(numbers))
        places = following[numbers] + np.arange(len(numbers)) - np.repeat(first, lengths)
        owners = np.searchsorted(rows.offsets, np.arange(start, start + len(block)), side="right") - 1
        values[places] = owners[order]
        if beside is not None and moved is not None:
            moved[places] = beside[start : start + BLOCK][order]
        following[numbers[first]] += lengths
    for array in (values, moved):
        if isinstance(array, np.memmap):
            array.flush()
    return SparseRows(offsets, values)
