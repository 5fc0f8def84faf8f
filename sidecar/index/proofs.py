"""Which premises the proofs of an index's theorems use.

In: proofs by name. Out: `ProofTable`, mapped from disk: row of a theorem → rows of the premises of its proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Proof
from sidecar.index.sparse import SparseRows, offsets_of
from sidecar.index.strings import StringTable

BoolArray = npt.NDArray[np.bool_]

_STEM: Final = "proofs"

_AT_ONCE: Final = 4_096
"""Proofs whose names are looked up together."""


def write_proofs(folder: Path, proofs: Iterable[Proof], names: StringTable, premise: BoolArray) -> SparseRows:
    """Write the files of the table.

    Args:
        folder: Folder of the index.
        proofs: What is known; of a theorem that comes again everything counts.
        names: The names of the rows.
        premise: bool, shape (rows,): which rows are premises. Whatever else a proof uses is left out, as are theorems
            and premises that the index does not have.
    """
    found: dict[int, dict[int, None]] = {}
    some: list[Proof] = []
    for proof in proofs:
        some.append(proof)
        if len(some) == _AT_ONCE:
            _add(found, some, names, premise)
            some = []
    _add(found, some, names, premise)
    lengths = np.zeros(len(names), dtype=np.int64)
    for row, premises in found.items():
        lengths[row] = len(premises)
    values = [premise_row for row in sorted(found) for premise_row in found[row]]
    table = SparseRows(offsets_of(lengths), np.array(values, dtype=np.int32))
    table.save(folder, _STEM)
    return table


def _add(found: dict[int, dict[int, None]], proofs: list[Proof], names: StringTable, premise: BoolArray) -> None:
    theorems = names.find_all([proof.theorem for proof in proofs])
    used = names.find_all([name for proof in proofs for name in proof.premises])
    start = 0
    for proof, theorem in zip(proofs, theorems.tolist(), strict=True):
        rows = used[start : start + len(proof.premises)]
        start += len(proof.premises)
        if theorem < 0:
            continue
        rows = rows[(rows >= 0) & (rows != theorem)]
        rows = rows[premise[rows]]
        if len(rows):
            found.setdefault(theorem, {}).update(dict.fromkeys(rows.tolist()))


class ProofTable:
    """The proofs of an index. Safe to use from several threads.

    Attributes:
        premises_of: Row of a theorem → rows of the premises that its proof uses, no row twice.
        theorems: int64, ascending: the rows that have a proof that uses some premise.

    Args:
        folder: Folder of the index.

    Raises:
        ValueError: When the table holds rows that the index cannot have.
    """

    def __init__(self, folder: Path) -> None:
        self.premises_of = SparseRows.load(folder, _STEM)
        values = self.premises_of.values
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < len(self.premises_of):
            raise ValueError(f"{_STEM}.values.npy holds rows outside 0 to {len(self.premises_of) - 1}")
        self.theorems: npt.NDArray[np.int64] = np.flatnonzero(np.diff(self.premises_of.offsets))

    def uses(self) -> npt.NDArray[np.int64]:
        """How many proofs use each row."""
        return np.bincount(self.premises_of.values, minlength=len(self.premises_of))

    def __len__(self) -> int:
        """Theorems with a proof that uses some premise."""
        return len(self.theorems)
