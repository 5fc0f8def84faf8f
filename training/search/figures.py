"""How well queries with known answers are answered.

In: an index, its encoder, queries. Out: nDCG, recall and MRR with bootstrap intervals, for each set and each style, of
the vectors alone (`retriever`) and of the search as it is served (`search`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from training.data.queries import SearchExample
from training.evaluation import metrics
from training.evaluation.metrics import Interval, Judged
from training.search.retriever import Retriever

DEPTH: Final = 100

MEASURES: Final[dict[str, Callable[[Judged], float]]] = {
    **{f"ndcg@{k}": (lambda judged, k=k: metrics.ndcg(judged, k)) for k in (1, 5, 10)},  # type: ignore[misc]
    **{f"recall@{k}": (lambda judged, k=k: metrics.hit(judged, k)) for k in (10, 50, 100)},  # type: ignore[misc]
    "mrr": metrics.reciprocal_rank,
}

Figures = dict[str, dict[str, dict[str, Interval]]]
"""System → set → measure → interval. Sets are `all`, the queries' own, and `style: …`."""


def measure(index: Index, encoder: Encoder, queries: Sequence[SearchExample], *, search: bool = True) -> Figures:
    """Answer every query and judge the answers; any right answer counts.

    Args:
        index, encoder: What is judged.
        queries: Queries with known answers.
        search: Judge the search as it is served, too.
    """
    retriever = Retriever(index, encoder, DEPTH)
    found = retriever.find([example.query for example in queries])
    names = [index.names([row for row in rows if row >= 0]) for rows in found.tolist()]
    figures = {"retriever": _judged(queries, names)}
    if search:
        figures["search"] = _judged(queries, asyncio.run(_searched(index, encoder, queries)))
    return figures


def as_json(figures: Figures) -> dict[str, Any]:
    """Figures as plain values."""
    return {
        system: {on: {name: asdict(interval) for name, interval in values.items()} for on, values in sets.items()}
        for system, sets in figures.items()
    }


async def _searched(index: Index, encoder: Encoder, queries: Sequence[SearchExample]) -> list[list[str]]:
    batcher = MicroBatcher(encoder, waiting_limit=1_024)
    engine = SearchEngine(index, batcher)
    answers = []
    try:
        with Progress("queries", len(queries)) as progress:
            for example in queries:
                answer = await engine.search(SearchRequest(example.query, DEPTH))
                answers.append([result.name for result in answer.results])
                progress.advance()
    finally:
        await batcher.close()
    return answers


def _judged(queries: Sequence[SearchExample], answers: Sequence[Sequence[str]]) -> dict[str, dict[str, Interval]]:
    outcomes: dict[str, list[Judged]] = defaultdict(list)
    for example, names in zip(queries, answers, strict=True):
        outcome = metrics.judge(names, example.gold)
        for on in ("all", example.set, f"style: {example.style}"):
            outcomes[on].append(outcome)
    return {
        on: {name: metrics.bootstrap([value(one) for one in judged]) for name, value in MEASURES.items()}
        for on, judged in outcomes.items()
    }
