"""The search engine: one question in, declarations out, each with the reasons for it.

In: a query in any language (words, LaTeX, a name, Lean text) and filters. Out: at most k declarations, best first.

What the query names comes first: the exact name, then names that end in it as whole components, then both of these in
another spelling, and where there is none of these, names from which it differs by a slip. Plain words have no spelling
(`filter` may mean `Filter` and `List.filter`), so for them all but the exact name stand together, the most used first.
Everything else is ranked by fusing rankings by reciprocal rank: `formula` (statements that are the formula which the
query is, if it is one), `name` (labels that agree with the words of the query), `words` (BM25) and `meaning` (vectors);
the fused score is multiplied by what is known beforehand (`priors.py`). A query that was rewritten adds the same
rankings for the rewritten text; what the query as typed finds falls to twice its rank at most. Where a request asks for
it, a reranker then reads the best of what the query does not name (`reranker.py`). A deprecated declaration never
stands before what replaces it, unless the query is its exact name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidecar.clock import Clock
from sidecar.encoder.base import FloatMatrix
from sidecar.errors import SidecarError
from sidecar.fusion import Fused, fuse
from sidecar.index.index import Index
from sidecar.search.filters import Filters, kind_numbers
from sidecar.search.links import DocumentationLinks
from sidecar.search.names import Named, find_named
from sidecar.search.order import Chosen, Ordering
from sidecar.search.priors import Priors
from sidecar.search.rankings import Question, Rankings, Source, sources
from sidecar.search.request import SearchAnswer, SearchRequest, SearchResult, SearchWarning
from sidecar.search.reranker import CANDIDATES, Reranker, candidate_text, rerank_scores
from sidecar.search.results import Results
from sidecar.search.rewriter import Rewriter, rewrite_query
from sidecar.search.spelling import without_lead
from sidecar.search.weights import DEPTH, RANK_CONSTANT, weights_for
from sidecar.select.embeddings import Batcher
from sidecar.text.clean import one_line

BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Search:
    """One request on its way to an answer.

    Attributes:
        request: What was asked.
        query: The query on one line.
        mask: Rows that may be found.
        targets: Those of them that can be found otherwise than by exact name.
        warnings: What to say about the request.
        questions: The query, and what a rewriter made of it.
        named: What the query names.
    """

    request: SearchRequest
    query: str
    mask: BoolArray
    targets: BoolArray
    warnings: tuple[SearchWarning, ...]
    questions: tuple[Question, ...]
    named: Named

    @property
    def depth(self) -> int:
        """How many rows of each ranking take part."""
        return max(DEPTH, 2 * self.request.k)


class SearchEngine:
    """Answers searches from one index. Safe to use from several event loops.

    Args:
        index: The open index.
        batcher: Encodes queries; its encoder must be the one that made the index's vectors for search.
        rewriter: Asked for a second text to search for; None for none.
        links: Where documentation is published.
        reranker: Reads the best results again where a request asks for that; None for none.

    Raises:
        SidecarError: `conflict` when the encoder is not the index's.
    """

    def __init__(
        self,
        index: Index,
        batcher: Batcher,
        rewriter: Rewriter | None = None,
        *,
        links: DocumentationLinks | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        index.require_encoder(batcher.encoder, "search")
        self._index = index
        self._batcher = batcher
        self._rewriter = rewriter
        self._reranker = reranker
        self._weights = weights_for(index.vectors("search").encoder)
        self._filters = Filters(index)
        self._priors = Priors(index)
        self._rankings = Rankings(index, self._priors)
        self._ordering = Ordering(index, self._priors)
        self._results = Results(index, self._priors, links or DocumentationLinks(), self._weights)

    async def search(self, request: SearchRequest, until: float | None = None) -> SearchAnswer:
        """Answer a request.

        Args:
            request: The request.
            until: The event loop's time at which nobody waits any more; what can be left out is then left out in time.

        Raises:
            SidecarError: `bad_request` for a query without a visible character (field `query`), a k below 1 (`k`) or a
                kind that does not exist (`kinds[i]`); `conflict` when the index was closed; what encoding raises
                (`overloaded`).
        """
        query = one_line(request.query)
        if not query:
            raise SidecarError(
                "bad_request", "holds nothing to search for", field="query", hint="send words, a name or a statement"
            )
        if request.k < 1:
            raise SidecarError("bad_request", f"k is {request.k}", field="k", hint="ask for at least one result")
        kind_numbers(request.kinds)
        clock = Clock()
        with self._index.in_use():
            rewritten: str | None = None
            warnings: tuple[SearchWarning, ...] = ()
            if self._rewriter is not None and request.rewrite:
                with clock.stage("rewrite"):
                    rewritten, warnings = await rewrite_query(self._rewriter, query)
            with clock.stage("normalise"):
                search = await asyncio.to_thread(self._begin, request, query, rewritten, warnings)
            # As in `sidecar.select.selector`: nothing is done beside the search by vectors.
            vectors, _ = await asyncio.gather(
                self._encode(search.questions, clock),
                asyncio.to_thread(self._rank_by_words, search, clock),
            )
            found, fused, chosen = await asyncio.to_thread(self._rank, search, vectors, clock)
            if request.rerank:
                chosen = await self._reranked(search, chosen, until, clock)
            results = await asyncio.to_thread(self._make, search, found, fused, chosen, clock)
        return SearchAnswer(
            results=tuple(results),
            rewritten=rewritten,
            warnings=search.warnings if results else (*search.warnings, _nothing(search)),
            revision=self._index.revision,
            timings=clock.finish(),
        )

    def _begin(
        self, request: SearchRequest, query: str, rewritten: str | None, warnings: tuple[SearchWarning, ...]
    ) -> _Search:
        mask, more = self._filters.mask(request)
        named = find_named(self._index, self._priors, query, mask)
        questions = [self._rankings.question(named.corrected or without_lead(query), rewritten=False)]
        if rewritten is not None:
            questions.append(self._rankings.question(rewritten, rewritten=True))
        warnings += more
        return _Search(request, query, mask, mask & self._index.target, warnings, tuple(questions), named)

    async def _encode(self, questions: Sequence[Question], clock: Clock) -> FloatMatrix:
        with clock.stage("encode"):
            return await self._batcher.encode([question.spelled for question in questions], "question")

    def _rank_by_words(self, search: _Search, clock: Clock) -> None:
        with clock.stage("formulas"):
            for question in search.questions:
                self._rankings.by_formula(question, search.targets, search.depth)
        with clock.stage("names"):
            for question in search.questions:
                self._rankings.by_name(question, search.targets, search.depth)
        with clock.stage("words"):
            for question in search.questions:
                self._rankings.by_words(question, search.targets, search.depth)

    def _rank(
        self, search: _Search, vectors: FloatMatrix, clock: Clock
    ) -> tuple[dict[str, Source], list[Fused], list[Chosen]]:
        """Make the ranking that is left, and one of all."""
        with clock.stage("meaning"):
            self._rankings.by_meaning(search.questions, vectors, search.targets, search.depth)
        with clock.stage("fuse"):
            found = sources(search.questions)
            fused = self._fuse(found, search.depth)
            typed = {name: source for name, source in found.items() if not source.question.rewritten}
            chosen = self._ordering.choose(
                search.named,
                fused=fused,
                typed=None if len(typed) == len(found) else self._fuse(typed, search.depth),
                mask=search.mask,
                k=max(search.request.k, CANDIDATES) if search.request.rerank else search.request.k,
            )
            return found, fused, chosen

    async def _reranked(self, search: _Search, chosen: list[Chosen], until: float | None, clock: Clock) -> list[Chosen]:
        """The best results in the order of the reranker, or as they are where there is none or it cannot say."""
        if self._reranker is None:
            search.warnings += (SearchWarning("no_reranker", "the server has no reranker: `serve --reranker`"),)
            return chosen
        with clock.stage("rerank"):
            first = sum(each.named for each in chosen)
            rows = [each.row for each in chosen[first : first + CANDIDATES]]
            if not rows:
                return chosen
            texts = await asyncio.to_thread(lambda: [candidate_text(one) for one in self._index.declarations(rows)])
            scores, warnings = await rerank_scores(self._reranker, search.query, texts, until)
            search.warnings += warnings
            return chosen if scores is None else self._ordering.reordered(chosen, scores, search.named, search.mask)

    def _make(
        self,
        search: _Search,
        found: Mapping[str, Source],
        fused: Sequence[Fused],
        chosen: Sequence[Chosen],
        clock: Clock,
    ) -> list[SearchResult]:
        with clock.stage("results"):
            best = chosen[: search.request.k]
            return self._results.make(best, found, {item.item: item.ranks for item in fused})

    def _fuse(self, found: Mapping[str, Source], depth: int) -> list[Fused]:
        return fuse(
            {name: source.rows for name, source in found.items()},
            {name: self._weights[source.ranking] for name, source in found.items()},
            depth * len(found),
            RANK_CONSTANT,
        )


def _nothing(search: _Search) -> SearchWarning:
    """Why there is no result."""
    if not search.targets.any():
        return SearchWarning("nothing_visible", "no declaration passes the filters")
    return SearchWarning("nothing_found", f"no declaration holds a word, name or symbol of {search.query[:80]!r}")
