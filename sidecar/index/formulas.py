"""Which statements are a formula, whatever their variables are called.

In: spellings of each row's statement (`sidecar.text.formula`). Out: `FormulaTable`, mapped from disk, which gives the
rows that have a spelling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, save_array
from sidecar.index.strings import text_hash
from sidecar.text.formula import Formulas

RowArray = npt.NDArray[np.int64]

_KEYS, _ROWS = "formulas.keys.npy", "formulas.rows.npy"
_SIDE: Final = "side "
"""Stands before the spellings of sides, so that a term is not taken for a statement."""


def formula_keys(formulas: Formulas) -> list[int]:
    """Keys of a statement's spellings."""
    return [text_hash(spelling) for spelling in (*formulas.whole, *(_SIDE + side for side in formulas.sides))]


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

    def found(self, formulas: Formulas) -> list[RowArray]:
        """Rows (int64, ascending) for each spelling of a question, the surest first."""
        sides = (_SIDE + side for side in formulas.sides)
        return [self._spelled(spelling) for spelling in (*formulas.whole, *formulas.turned, *sides)]

    def _spelled(self, spelling: str) -> RowArray:
        key = np.uint64(text_hash(spelling))
        start, end = (int(np.searchsorted(self._keys, key, side)) for side in ("left", "right"))
        return np.unique(self._rows[start:end]).astype(np.int64)
