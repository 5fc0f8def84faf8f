"""Which declarations a search may find.

In: a request's module prefixes, kinds and imports. Out: a mask over the rows of the index, applied before anything is
ranked, so that k results come back whenever there are k; and warnings about what does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import KINDS
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.search.request import SearchRequest, SearchWarning

BoolArray = npt.NDArray[np.bool_]


class Filters:
    """Makes the mask of a request.

    Args:
        index: The open index.
    """

    def __init__(self, index: Index) -> None:
        self._index = index

    def mask(self, request: SearchRequest) -> tuple[BoolArray, tuple[SearchWarning, ...]]:
        """Rows that may be found.

        Returns:
            bool, shape (rows,), and warnings (`no_such_module`, `unknown_imports`).

        Raises:
            SidecarError: `bad_request` naming `kinds[i]` for a kind that does not exist.
        """
        mask = np.ones(self._index.size, dtype=np.bool_)
        warnings: list[SearchWarning] = []
        if request.imports is not None:
            mask, unknown = self._index.visible(request.imports)
            if unknown:
                warnings.append(_unknown_imports(unknown))
        if request.modules:
            of_modules, missing = self._modules(request.modules)
            mask = mask & of_modules[self._index.module_of]
            warnings += missing
        if request.kinds:
            wanted = np.zeros(len(KINDS), dtype=np.bool_)
            wanted[kind_numbers(request.kinds)] = True
            mask = mask & wanted[self._index.kinds]
        return mask, tuple(warnings)

    def _modules(self, prefixes: Sequence[str]) -> tuple[BoolArray, list[SearchWarning]]:
        names = self._index.graph.names
        chosen = np.zeros(len(names), dtype=np.bool_)
        warnings = []
        for prefix in dict.fromkeys(prefixes):
            inside = prefix + "."
            fitting = [number for number, name in enumerate(names) if name == prefix or name.startswith(inside)]
            if not fitting:
                folded = inside.casefold()
                alike = next((name for name in names if f"{name}.".casefold().startswith(folded)), None)
                also = f"; there is {alike[: len(prefix)]}" if alike else ""
                warnings.append(
                    SearchWarning("no_such_module", f"no module of the index is or begins with {prefix!r}{also}")
                )
            chosen[fitting] = True
        return chosen, warnings


def kind_numbers(kinds: Sequence[str]) -> list[int]:
    """Places of kinds in `KINDS`; `lemma` is a theorem.

    Raises:
        SidecarError: `bad_request` naming the field.
    """
    numbers = []
    for place, kind in enumerate(kinds):
        known = "theorem" if kind == "lemma" else kind
        if known not in KINDS:
            raise SidecarError(
                "bad_request", f"{kind!r} is no kind", field=f"kinds[{place}]", hint=f"kinds: {', '.join(KINDS)}"
            )
        numbers.append(KINDS.index(known))
    return numbers


def _unknown_imports(unknown: Sequence[str]) -> SearchWarning:
    some = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
    return SearchWarning("unknown_imports", f"the index does not know the imported modules {some}")
