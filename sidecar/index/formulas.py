"""Which statements are a formula, whatever their variables are called.

In: spellings of each row's statement (`sidecar.text.formula`). Out: `FormulaTable`, mapped from disk, which gives the
rows that have a spelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, save_array
from sidecar.index.strings import text_hash
from sidecar.text.formula import Formulas

BoolArray = npt.NDArray[np.bool_]
RowArray = npt.NDArray[np.int64]

Part = Literal["exact", "bare", "conclusion", "sides"]
"""What is spelled; see `Formulas`."""

PARTS: Final[tuple[Part, ...]] = ("exact", "bare", "conclusion", "sides")
"""The surest first."""

MOST_ALIKE: Final = 150
"""A formula that more statements are tells nothing."""

_KEYS, _ROWS = "formulas.keys.npy", "formulas.rows.npy"


def formula_keys(formulas: Formulas) -> list[int]:
    """Keys of a statement's spellings."""
    return [_key(part, spelling) for part in PARTS for spelling in getattr(formulas, part)]


def write_formulas(folder: Path, keys: npt.NDArray[np.uint64], lengths: npt.NDArray[np.int32]) -> None:
    """Write the files of the table.

    Args:
        folder: Folder of the index.
        keys: Keys of all rows, one row after another.
        lengths: How many keys each row has.
    """
    order = np.argsort(keys, kind="stable")
    save_array(folder / _KEYS, keys[order])
    save_array(folder / _ROWS, np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[order])


class FormulaTable:
    """The formulas of an index. Safe to use from several threads.

    Args:
        folder: Folder of the index.
    """

    def __init__(self, folder: Path) -> None:
        self._keys = map_array(folder / _KEYS)
        self._rows = map_array(folder / _ROWS)

    def found(self, formulas: Formulas, mask: BoolArray) -> Iterator[tuple[Part, RowArray]]:
        """Rows that have a spelling of a question; none for a spelling that more than `MOST_ALIKE` of them have.

        Args:
            formulas: Of the question.
            mask: bool, shape (rows,): which rows may be found.

        Yields:
            For each spelling, the surest first: what was compared, and the rows (int64, ascending).
        """
        for part in PARTS:
            for spelling in getattr(formulas, part):
                key = np.uint64(_key(part, spelling))
                start, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
                rows = np.unique(self._rows[start:end]).astype(np.int64)
                rows = rows[mask[rows]]
                if len(rows) <= MOST_ALIKE:
                    yield part, rows


def _key(part: Part, spelling: str) -> int:
    return text_hash(f"{part} {spelling}")
