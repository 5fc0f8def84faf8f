"""From ranks to the order of an answer.

In: what the query names, and the fused ranking. Out: the rows of the answer, best first, with their scores and the
reasons that lie in the order itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from sidecar.fusion import Fused
from sidecar.index.index import Index
from sidecar.search.names import Named
from sidecar.search.priors import Priors
from sidecar.search.reasons import named_reason, replaces_reason, rerank_reason
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
        self,
        named: Named,
        *,
        fused: Sequence[Fused],
        typed: Sequence[Fused] | None,
        mask: BoolArray,
        k: int,
    ) -> list[Chosen]:
        """The k best rows.

        Args:
            named: What the query names.
            fused: The fused ranking of everything that was found.
            typed: What was found by the query as typed alone, when another text was searched for too: no row comes out
                lower than twice the rank that it has there, whatever the other text finds.
            mask: Rows that may be found.
            k: Most rows.
        """
        chosen = list(islice(self._current_first(self._candidates(named, fused, typed), named, mask), k))
        for before, after in pairwise(chosen):
            after.score = min(after.score, before.score)
        return chosen

    def reordered(
        self, chosen: Sequence[Chosen], scores: Sequence[float], named: Named, mask: BoolArray
    ) -> list[Chosen]:
        """Rows in the order of a reranker; what the query names stays in front, and what replaces a deprecated row too.

        Args:
            chosen: Rows as `choose` gave them.
            scores: The reranker's score of each row from the first on that the query does not name.
            named, mask: As in `choose`.
        """
        first = sum(each.named for each in chosen)
        read = chosen[first : first + len(scores)]
        order = sorted(range(len(read)), key=lambda place: -scores[place])
        falling = [each.score for each in chosen]
        moved = [
            Chosen(read[place].row, 0.0, False, [rerank_reason(rank, place + 1), *read[place].reasons])
            for rank, place in enumerate(order, start=1)
        ]
        rows = list(self._current_first(iter([*chosen[:first], *moved, *chosen[first + len(scores) :]]), named, mask))[
            : len(chosen)
        ]
        for each, score in zip(rows, falling, strict=True):
            each.score = score
        return rows

    def _candidates(self, named: Named, fused: Sequence[Fused], typed: Sequence[Fused] | None) -> Iterator[Chosen]:
        """What is named, then what is ranked; a row may come twice."""
        reasons = {
            row: named_reason(group, place) for group, rows in enumerate(named.groups) for place, row in enumerate(rows)
        }
        rows = list(reasons)
        if not named.by_spelling:
            # An exactly spelled suffix goes before other spellings, but plain words have no spelling. Several words
            # that are a whole name mean that name; one word (`filter`) may as well mean the end of another.
            alike = np.array(rows[len(named.exact) :], dtype=np.int64)
            fits = np.isin(alike, named.whole if named.of_words > 1 else ()).astype(np.float32)
            rows[len(named.exact) :] = alike[self._priors.order(alike, fits)].tolist()
        for place, row in enumerate(rows):
            yield Chosen(row, float(1 + len(rows) - place), True, [reasons[row]])
        scores = self._scores(fused)
        best = max(scores.values(), default=0.0)
        order = _by_score(scores)
        if typed is not None:
            order = list(kept_up(order, _by_score(self._scores(typed))))
        for row in order:
            yield Chosen(row, scores[row] / best, False)

    def _scores(self, fused: Sequence[Fused]) -> dict[int, float]:
        """Row → score, in the order of the fused ranking."""
        factors = self._priors.factors[[item.item for item in fused]].tolist()
        return {item.item: item.score * factor for item, factor in zip(fused, factors, strict=True)}

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


def kept_up(order: Sequence[int], typed: Sequence[int]) -> Iterator[int]:
    """An order in which nothing that stands at place r (from 1) of `typed` comes later than at place 2 r.

    Args:
        order: The order to keep to otherwise; it holds each row once, those of `typed` among them.
        typed: Rows, each once.
    """
    given: set[int] = set()
    rest = iter(order)
    wanted = iter(typed)
    for place in range(1, len(order) + 1):
        # Before place 2 r all that `typed` has in front of its place r was given, so at most one row is due.
        due = next(wanted, None) if place % 2 == 0 else None
        row = due if due is not None and due not in given else next(row for row in rest if row not in given)
        given.add(row)
        yield row


def _by_score(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda row: -scores[row])
