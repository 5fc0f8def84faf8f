"""From chosen rows to results.

In: the rows of an answer in their order, and the rank that each ranking gave them. Out: `SearchResult` records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from sidecar.corpus.records import Declaration
from sidecar.index.index import Index
from sidecar.search.links import DocumentationLinks
from sidecar.search.order import Chosen
from sidecar.search.priors import Priors
from sidecar.search.rankings import Source
from sidecar.search.reasons import (
    deprecated_reason,
    formula_reason,
    label_reason,
    meaning_reason,
    meta_reason,
    words_reason,
)
from sidecar.search.request import Reason, SearchResult
from sidecar.search.weights import RANK_CONSTANT, RankingName


class Results:
    """Makes results.

    Args:
        index, priors: What is known about the rows.
        links: Where documentation is published.
        weights: How much each ranking counts.
    """

    def __init__(
        self, index: Index, priors: Priors, links: DocumentationLinks, weights: Mapping[RankingName, float]
    ) -> None:
        self._index = index
        self._priors = priors
        self._links = links
        self._weights = weights

    def make(
        self, chosen: Sequence[Chosen], sources: Mapping[str, Source], ranks: Mapping[int, Mapping[str, int]]
    ) -> list[SearchResult]:
        """Make the results of an answer.

        Args:
            chosen: Its rows, in order.
            sources: The rankings by name.
            ranks: Row → name of a ranking → the row's rank in it.
        """
        rows = [each.row for each in chosen]
        reasons: list[list[tuple[float, Reason]]] = [[] for _ in rows]
        for name, source in sources.items():
            placed = [(place, ranks[row][name]) for place, row in enumerate(rows) if name in ranks.get(row, {})]
            for (place, rank), reason in zip(placed, self._said(source, rows, placed), strict=True):
                reasons[place].append((self._weights[source.ranking] / (RANK_CONSTANT + rank), reason))
        return [
            self._result(each, declaration, [reason for _, reason in sorted(weighed, key=lambda pair: -pair[0])])
            for each, declaration, weighed in zip(chosen, self._index.declarations(rows), reasons, strict=True)
        ]

    def _said(self, source: Source, rows: Sequence[int], placed: Sequence[tuple[int, int]]) -> Iterator[Reason]:
        """What one ranking says about the rows that it holds, given as places in `rows` and ranks."""
        question = source.question
        if source.ranking == "words":
            wanted = np.array([rows[place] for place, _ in placed], dtype=np.int64)
            held = self._index.lexical.held(question.words, wanted)
            for column, (_, rank) in enumerate(placed):
                yield words_reason(question, rank, held[:, column])
        elif source.ranking == "formula":
            for place, rank in placed:
                yield formula_reason(question, rank, question.agreeing[rows[place]])
        elif question.agreement is not None and source.ranking == "name":
            for place, rank in placed:
                label = self._index.labels.source(question.agreement, rows[place])
                yield label_reason(question, rank, label, self._index.name(rows[place]))
        else:
            for _, rank in placed:
                yield meaning_reason(question, rank)

    def _result(self, chosen: Chosen, declaration: Declaration, reasons: Sequence[Reason]) -> SearchResult:
        why = [*chosen.reasons, *reasons]
        deprecated: str | Literal[False] | None = False
        if self._index.deprecated[chosen.row]:
            deprecated = self._index.replacement(chosen.row)
            why.append(deprecated_reason(deprecated))
        if self._priors.meta[chosen.row] and not chosen.named:
            why.append(meta_reason())
        return SearchResult(
            name=declaration.name,
            kind=declaration.kind,
            module=declaration.module,
            signature=declaration.shown,
            docstring=declaration.docstring,
            link=self._links.link(declaration.name, declaration.module),
            score=round(chosen.score, 6),
            why=tuple(why),
            deprecated=deprecated,
        )
