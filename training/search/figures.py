"""How well queries with known answers are answered.

In: queries, and what systems answered. Out: nDCG, recall and MRR with bootstrap intervals, for all queries, for each
set, for each style, and for queries whose targets training has seen or not; paired differences; tables.

Rules as in `training.evaluation.metrics`; with several right answers the best-ranked one counts.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from training.data.queries import SearchExample
from training.evaluation import metrics
from training.evaluation.metrics import Interval, Judged
from training.search.systems import Answers, served, vectors_alone

DEPTH: Final = 100

MEASURES: Final[dict[str, Callable[[Judged], float]]] = {
    **{f"ndcg@{k}": (lambda judged, k=k: metrics.ndcg(judged, k)) for k in (1, 5, 10)},  # type: ignore[misc]
    **{f"recall@{k}": (lambda judged, k=k: metrics.hit(judged, k)) for k in (10, 50, 100)},  # type: ignore[misc]
    "mrr": metrics.reciprocal_rank,
}

Ranks = Sequence[int]
"""For each query the 1-based rank of its best-ranked right answer, 0 where none came out among the first `DEPTH`."""

Figures = dict[str, dict[str, dict[str, Interval]]]
"""System → set → measure → interval."""

Groups = Callable[[SearchExample], Sequence[str]]
"""The sets that a query belongs to."""


def measure(index: Index, encoder: Encoder, queries: Sequence[SearchExample], *, search: bool = True) -> Figures:
    """Judge an index: its vectors alone (`retriever`), and the search as it is served (`search`).

    Args:
        index, encoder: What is judged.
        queries: Queries with known answers.
        search: Judge the search as it is served, too.
    """
    found = measure_ranks(index, encoder, queries, search=search)
    return {system: figures(queries, its, own_groups) for system, its in found.items()}


def measure_ranks(
    index: Index, encoder: Encoder, queries: Sequence[SearchExample], *, search: bool = True
) -> dict[str, list[int]]:
    """The ranks behind `measure`: system → see `Ranks`."""
    return asyncio.run(_measure(index, encoder, queries, search))


async def _measure(
    index: Index, encoder: Encoder, queries: Sequence[SearchExample], search: bool
) -> dict[str, list[int]]:
    texts = [example.query for example in queries]
    answers = {"retriever": await vectors_alone(index, encoder)(texts, DEPTH)}
    if search:
        batcher = MicroBatcher(encoder, waiting_limit=1_024)
        try:
            answers["search"] = await served(SearchEngine(index, batcher), "search").answer(texts, DEPTH)
        finally:
            await batcher.close()
    return {system: ranks(queries, found) for system, found in answers.items()}


def ranks(queries: Sequence[SearchExample], answers: Answers) -> list[int]:
    """See `Ranks`."""
    judged = (metrics.judge(names, example.gold) for example, names in zip(queries, answers, strict=True))
    return [one.ranks[0] if one.ranks and one.ranks[0] <= DEPTH else 0 for one in judged]


def own_groups(example: SearchExample) -> list[str]:
    """All, the query's own set, its style."""
    return ["all", example.set, f"style: {example.style}"]


def groups_of(title: str, seen: Collection[str]) -> Groups:
    """Groups for a report on a file of queries.

    Args:
        title: What stands for all queries of the file.
        seen: Names of declarations that something was trained to find. A query's target is seen when any of its right
            answers is among them.
    """

    def groups(example: SearchExample) -> list[str]:
        own = example.set.removeprefix("mathlib_docs_").removeprefix("mathlib_")
        known = "seen" if any(name in seen for name in example.gold) else "unseen"
        found = [title, f"queries/{own}", f"{title}, {example.style}", f"{title}, {known} targets"]
        if own in ("undergrad", "overview"):
            found.append("queries/undergrad+overview")
        return found

    return groups


def figures(queries: Sequence[SearchExample], found: Ranks, groups: Groups) -> dict[str, dict[str, Interval]]:
    """Set → measure → interval, of one system."""
    members = _members(queries, groups)
    values = {name: [value(_judged(rank)) for rank in found] for name, value in MEASURES.items()}
    return {
        on: {name: metrics.bootstrap([all_[place] for place in places]) for name, all_ in values.items()}
        for on, places in members.items()
    }


def differences(
    queries: Sequence[SearchExample], first: Ranks, second: Ranks, groups: Groups, name: str
) -> dict[str, tuple[float, Interval]]:
    """Set → how often as large the first system's figure is (NaN where the second's is 0), and the paired difference.

    Args:
        queries, groups: As for `figures`.
        first, second: Two systems on the same queries.
        name: One of `MEASURES`.
    """
    value = MEASURES[name]
    one, other = ([value(_judged(rank)) for rank in found] for found in (first, second))
    result = {}
    for on, places in _members(queries, groups).items():
        picked, against = [one[place] for place in places], [other[place] for place in places]
        total = sum(against)
        ratio = sum(picked) / total if total else float("nan")
        result[on] = ratio, metrics.paired_difference(picked, against)
    return result


def table(systems: Mapping[str, Mapping[str, Interval]]) -> str:
    """Markdown: one row a system, one column a measure.

    Args:
        systems: System → measure → interval, all on the same queries.
    """
    names = list(next(iter(systems.values())))
    lines = ["| system | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for system, values in systems.items():
        cells = (f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in values.values())
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_json(all_: Figures) -> dict[str, Any]:
    """Figures as plain values."""
    return {
        system: {on: {name: asdict(interval) for name, interval in values.items()} for on, values in sets.items()}
        for system, sets in all_.items()
    }


def _members(queries: Sequence[SearchExample], groups: Groups) -> dict[str, list[int]]:
    members: dict[str, list[int]] = defaultdict(list)
    for place, example in enumerate(queries):
        for on in groups(example):
            members[on].append(place)
    return members


def _judged(rank: int) -> Judged:
    return Judged((rank,) if rank else (), 1)
