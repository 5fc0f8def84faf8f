"""From ranks to the order of an answer.

In: what the query names, and the fused ranking. Out: the rows of the answer, best first, with their scores and the
reasons that lie in the order itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from sidecar.fusion import Fused
from sidecar.index.index import Index
from sidecar.search.names import Named
from sidecar.search.priors import Priors
from sidecar.search.reasons import named_reason, replaces_reason
from sidecar.search.request import Reason

BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Chosen:
    """One row of an answer.

    Attributes:
        row: Its number.
        score: Above 1 for what the query names, else the fused score times the prior, by the largest of all.
        named: Whether the query names it.
        reasons: Why it stands here, as far as the rankings do not say it.
    """

    row: int
    score: float
    named: bool
    reasons: list[Reason] = field(default_factory=list)


class Ordering:
    """Puts the rows of an answer in order.

    Args:
        index, priors: What is known about the rows.
    """

    def __init__(self, index: Index, priors: Priors) -> None:
        self._index = index
        self._priors = priors

    def choose(
        self, named: Named, *, by_spelling: bool, fused: Sequence[Fused], mask: BoolArray, k: int
    ) -> list[Chosen]:
        """The k best rows.

        Args:
            named: What the query names.
            by_spelling: Whether an exactly spelled suffix goes before other spellings; of plain words it does not.
            fused: The fused ranking of everything that was found.
            mask: Rows that may be found.
            k: Most rows.
        """
        chosen = list(islice(self._current_first(self._candidates(named, by_spelling, fused), named, mask), k))
        for before, after in pairwise(chosen):
            after.score = min(after.score, before.score)
        return chosen

    def _candidates(self, named: Named, by_spelling: bool, fused: Sequence[Fused]) -> Iterator[Chosen]:
        """What is named, then what is ranked; a row may come twice."""
        groups = (named.exact, named.suffix, named.whole, named.loose)
        reasons = {
            row: named_reason(group, place) for group, rows in enumerate(groups) for place, row in enumerate(rows)
        }
        rows = list(reasons)
        if not by_spelling:
            alike = np.array(rows[len(named.exact) :], dtype=np.int64)
            rows[len(named.exact) :] = alike[self._priors.order(alike)].tolist()
        for place, row in enumerate(rows):
            yield Chosen(row, float(1 + len(rows) - place), True, [reasons[row]])
        scores = np.array([item.score for item in fused]) * self._priors.factors[[item.item for item in fused]]
        best = scores.max(initial=0.0)
        for place in np.argsort(-scores, kind="stable").tolist():
            yield Chosen(fused[place].item, float(scores[place] / best), False)

    def _current_first(self, candidates: Iterator[Chosen], named: Named, mask: BoolArray) -> Iterator[Chosen]:
        """Each row once; what replaces a deprecated row directly before it, or behind it where it is named exactly."""
        seen: set[int] = set()
        for candidate in candidates:
            if candidate.row in seen:
                continue
            seen.add(candidate.row)
            current = self._replacement(candidate.row, mask)
            if current is None or current in seen:
                yield candidate
                continue
            seen.add(current)
            reason = replaces_reason(self._index.name(candidate.row))
            instead = Chosen(current, candidate.score, candidate.named, [reason])
            # Who names a deprecated declaration exactly wants to see it, and then what to use in its place.
            yield from (candidate, instead) if candidate.row in named.exact else (instead, candidate)

    def _replacement(self, row: int, mask: BoolArray) -> int | None:
        """The row that replaces a deprecated one, if it may be found."""
        if not self._index.deprecated[row]:
            return None
        name = self._index.replacement(row)
        current = None if name is None else self._index.row(name)
        return current if current is not None and mask[current] else None
