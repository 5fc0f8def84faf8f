"""How well declarations are found for questions with known answers.

Usage: `python -m benchmarks.retrieval --index FOLDER [--index FOLDER] --queries FILE [--output FOLDER] [--add]
[--record]`. The encoder of each index names its systems.

Every query of the file, per set: nDCG@1/@10 and recall@10/@100 (any right answer counts). Systems: `bm25` (words
alone), the encoder alone by its name (`static`, `small`), and `fused`. Prints tables, writes `retrieval.json` and
plots, and with `--record` appends to benchmarks/results/retrieval.jsonl. `rules` of `training.evaluation.metrics` say
what counts. Premises of goals are judged by `benchmarks.premises`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.record import record
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.text.query import query_text
from training.data.queries import SearchExample, read_queries
from training.evaluation import metrics
from training.evaluation.metrics import Interval, Judged
from training.evaluation.plots import bars

SEARCH_DEPTH = 100
SEARCH_METRICS: dict[str, Callable[[Judged], float]] = {
    **{f"ndcg@{k}": (lambda judged, k=k: metrics.ndcg(judged, k)) for k in (1, 10)},  # type: ignore[misc]
    **{f"recall@{k}": (lambda judged, k=k: metrics.hit(judged, k)) for k in (10, 100)},  # type: ignore[misc]
}

Figures = dict[str, dict[str, dict[str, Interval]]]
"""Set → system → metric → interval."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, action="append", required=True, help="may be given again")
    parser.add_argument("--queries", type=Path, required=True, help="file of queries with known answers")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of JSON and plots")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/retrieval.jsonl")
    parser.add_argument("--add", action="store_true", help="show the systems of an earlier run in OUTPUT beside these")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    queries = list(read_queries(options.queries))
    figures: Figures = defaultdict(dict)
    earlier = _earlier(options.output) if options.add else {}
    for number, folder in enumerate(options.index):
        asyncio.run(_measure(folder, number == 0 and not earlier, queries, figures))
    _report(_beside(earlier, figures), options.output)
    if options.record:
        for on, systems in figures.items():
            for system, values in systems.items():
                for metric, interval in values.items():
                    record("retrieval", on, system, metric, interval.mean, interval.n, interval.low, interval.high)


async def _measure(folder: Path, first: bool, queries: Sequence[SearchExample], figures: Figures) -> None:
    with Index.open(folder, threads=2) as index:
        encoder = load_encoder(index.manifest.encoder_name, threads=2)
        index.require_encoder(encoder, "search")
        batcher = MicroBatcher(encoder, waiting_limit=100_000)
        name = encoder.name
        fused = "fused" if name == "small" else f"fused {name}"
        try:
            await _search(index, SearchEngine(index, batcher), batcher, queries, (name, fused, first), figures)
        finally:
            await batcher.close()


async def _search(
    index: Index,
    engine: SearchEngine,
    batcher: MicroBatcher,
    queries: Sequence[SearchExample],
    systems: tuple[str, str, bool],
    figures: Figures,
) -> None:
    neural, fused, first = systems

    async def by_words(query: str) -> list[str]:
        return index.names(index.lexical.search(query_text(query).split(), SEARCH_DEPTH, index.target)[0].tolist())

    async def by_meaning(query: str) -> list[str]:
        vectors = await batcher.encode([query_text(query)], "question")
        rows = index.vectors("search").search(vectors, SEARCH_DEPTH, index.target)[1][0]
        return index.names(rows[rows >= 0].tolist())

    async def by_all(query: str) -> list[str]:
        answer = await engine.search(SearchRequest(query, SEARCH_DEPTH))
        return [result.name for result in answer.results]

    ways: dict[str, Callable[[str], Awaitable[list[str]]]] = {neural: by_meaning, fused: by_all}
    if first:
        ways = {"bm25": by_words, **ways}
    for system, way in ways.items():
        judged: dict[str, list[Judged]] = defaultdict(list)
        with Progress(f"queries, {system}", len(queries)) as progress:
            for example in queries:
                outcome = metrics.judge(await way(example.query), example.gold)
                progress.advance()
                for on in _sets(example):
                    judged[on].append(outcome)
        for on, outcomes in judged.items():
            figures[on][system] = _intervals(outcomes, SEARCH_METRICS)


def _sets(example: SearchExample) -> list[str]:
    short = example.set.removeprefix("mathlib_docs_").removeprefix("mathlib_")
    sets = ["queries/dev", f"queries/{short}"]
    if short in ("undergrad", "overview"):
        sets.append("queries/undergrad+overview")
    return sets


def _intervals(judged: Sequence[Judged], measures: dict[str, Callable[[Judged], float]]) -> dict[str, Interval]:
    return {
        metric: metrics.bootstrap(np.array([measure(one) for one in judged])) for metric, measure in measures.items()
    }


def _earlier(output: Path) -> Figures:
    raw = json.loads((output / "retrieval.json").read_text())
    return {
        on: {
            system: {metric: Interval(**interval) for metric, interval in values.items()}
            for system, values in systems.items()
        }
        for on, systems in raw.items()
    }


def _beside(earlier: Figures, now: Figures) -> Figures:
    """All systems of both runs; only where both judged the same number of queries may they stand side by side."""
    for on in earlier.keys() & now.keys():
        counts = {
            interval.n for figures in (earlier, now) for values in figures[on].values() for interval in values.values()
        }
        if len(counts) > 1:
            raise SystemExit(f"{on}: the earlier run judged another number of queries ({sorted(counts)})")
    return {on: {**earlier.get(on, {}), **now.get(on, {})} for on in {**earlier, **now}}


def _report(figures: Figures, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    plain = {
        on: {
            system: {metric: asdict(interval) for metric, interval in values.items()} for system, values in all_.items()
        }
        for on, all_ in figures.items()
    }
    (output / "retrieval.json").write_text(json.dumps(plain, indent=1) + "\n")
    for on, systems in figures.items():
        names = list(next(iter(systems.values())))
        count = next(iter(next(iter(systems.values())).values())).n
        print(f"\n{on} (n = {count})\n{'':<16}" + "".join(f"{metric:>24}" for metric in names))
        for system, values in systems.items():
            cells = "".join(f"{i.mean:>10.3f} [{i.low:.3f}, {i.high:.3f}]".rjust(24) for i in values.values())
            print(f"{system:<16}{cells}")
    for on in ("queries/dev", "queries/undergrad+overview"):
        if on in figures:
            names = list(next(iter(figures[on].values())))
            file = on.replace("/", "-").replace("+", "-") + ".png"
            bars(output / file, on, figures[on], names)
    print(f"\nwritten: {output}/retrieval.json and plots")


if __name__ == "__main__":
    main()
