"""What is known about a declaration before any query.

In: an index. Out: `Priors`: how much each row is used and whether it is of the meta level, the factor that this puts on
its score, and the order among rows that a query fits equally well. This is the one place that says what is preferred:

1. Mathematics before meta-programming: what a library or module for writing tactics declares, what lies in such a
   library's namespace, and whatever speaks of the constants of Lean's meta level ranks lower, unless the query spells
   its name.
2. What many statements and proofs use before what few use; among equals what belongs to something that many use
   (`Nat.add_comm` before `Dyadic.add_comm`).
3. The shorter name before the longer one.
4. What is current before what is deprecated, and what stands for itself before fields, constructors and what its author
   calls a step on the way (`cauchy_schwarz_aux'`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.policy import META_LIBRARIES, TACTIC_MODULES
from sidecar.corpus.records import KINDS
from sidecar.index.index import Index
from sidecar.text.names import components, name_words

FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
RowArray = npt.NDArray[np.int64]

USE_EXPONENT: Final = 0.25
"""A score is multiplied by (1 + uses of the declaration) to this power."""

PROOF_USE: Final = 0.1
"""A statement that uses a declaration is one use, a proof that does is this much of one. Of 0, 0.1 and 1, nDCG@10 was
.532, .538 and .539 on the development queries, and .513, .515 and .511 on those of Mathlib's two overviews."""

META_FACTOR: Final = 0.15
DEPRECATED_FACTOR: Final = 0.4
MEMBER_FACTOR: Final = 0.4
AUXILIARY_FACTOR: Final = 0.4
"""Factors on the score of the meta level, of what is deprecated, of fields, constructors and parent projections, and of
what has `aux` among the words of its own name."""

_MEMBERS: Final = ("ctor", "field", "parent_proj")
_META_ROOTS: Final = tuple(f"{library}." for library in META_LIBRARIES)
_META_MODULES: Final = (*META_LIBRARIES, *TACTIC_MODULES)


class Priors:
    """Knows what is preferred among the rows of an index. Immutable.

    Args:
        index: The open index.

    Attributes:
        meta: bool, shape (rows,): whether it is of the meta level.
        factors: float32, shape (rows,): what a score is multiplied by.
        general: float32, shape (rows,): 1 for names outside all namespaces: among declarations that state the same,
            the one about every group is called `add_comm`, and the one about numbers `Nat.add_comm`.
    """

    def __init__(self, index: Index) -> None:
        constants = index.constants
        known = constants.names(range(len(constants)))
        frequencies = np.diff(constants.rows_of.offsets)
        names = index.names(range(index.size))
        uses_of = dict(zip(known, frequencies.tolist(), strict=True))
        self._uses: FloatArray = _numbers(uses_of.get(name, 0) for name in names)
        self._uses += np.float32(PROOF_USE) * index.proofs.uses()
        self._uses_around: FloatArray = _numbers(uses_of.get(name.rpartition(".")[0], 0) for name in names)
        self._lengths: FloatArray = _numbers(map(len, names))
        self._deprecated = index.deprecated
        of_modules = np.array([_within(name) for name in index.graph.names], dtype=np.bool_)
        self.meta: BoolArray = of_modules[index.module_of]
        self.meta |= np.fromiter((name.startswith(_META_ROOTS) for name in names), dtype=np.bool_, count=len(names))
        for number, name in enumerate(known):
            if name.startswith("Lean."):
                self.meta[constants.rows_of[number]] = True
        factors = (1 + self._uses) ** np.float32(USE_EXPONENT)
        factors[self.meta] *= META_FACTOR
        factors[index.deprecated] *= DEPRECATED_FACTOR
        factors[np.isin(index.kinds, [KINDS.index(kind) for kind in _MEMBERS])] *= MEMBER_FACTOR
        factors[np.fromiter(map(_auxiliary, names), dtype=np.bool_, count=len(names))] *= AUXILIARY_FACTOR
        self.factors: FloatArray = factors
        self.general: FloatArray = _numbers(map(_outside_namespaces, names))
        self.general[self.meta | index.deprecated] = 0

    def order(self, rows: RowArray, fit: FloatArray | None = None) -> RowArray:
        """Places of some rows in the order of preference.

        Args:
            rows: The rows.
            fit: How well each fits the query, which decides first; None where all fit equally well.
        """
        fits = np.zeros(len(rows), dtype=np.float32) if fit is None else fit
        used, used_around = self._uses[rows], self._uses_around[rows]
        return np.lexsort(
            (rows, self._lengths[rows], -used_around, -used, self._deprecated[rows], self.meta[rows], -fits)
        )


def _numbers(values: Iterable[int]) -> FloatArray:
    return np.fromiter(values, dtype=np.float32)


def _auxiliary(name: str) -> bool:
    # Few names hold the letters, and only these are cut into words.
    return "aux" in name.lower() and "aux" in name_words(components(name)[-1])


def _outside_namespaces(name: str) -> bool:
    # Cutting names into components takes long; only « » can hide a dot in one.
    return "." not in name or ("«" in name and len(components(name)) == 1)


def _within(module: str) -> bool:
    return any(module == root or module.startswith(root + ".") for root in _META_MODULES)
