"""How well premises and declarations are found on real data.

Usage: `python -m benchmarks.retrieval CORPUS --index FOLDER [--index FOLDER] [--pairs FOLDER] [--queries FILE]
[--sample N] [--output FOLDER] [--record]`. Each index must be built from CORPUS; its encoder names its systems.

Premises: a sample of the validation split, recall@16/32/128, once over what is visible (the imports of the theorem's
module, and its file's earlier premises sent along as texts) and once over the whole corpus. Search: every query of the
file, per set, nDCG@1/@10 and recall@10/@100 (any right answer counts). Systems: `bm25` (words alone), `symbolic`, the
encoder alone by its name (`static`, `small`), and `fused`. Prints tables, writes `retrieval.json` and plots, and with
`--record` appends to benchmarks/results/retrieval.jsonl. `rules` of `training.evaluation.metrics` say what counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.record import record
from sidecar.corpus.source import open_corpus
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.request import Method, PremiseRequest
from sidecar.select.selector import PremiseSelector
from sidecar.text.goal import goal_text
from sidecar.text.query import query_text
from training.data.context import FileContexts
from training.data.examples import PremiseExample
from training.data.premise_pairs import read_pairs
from training.data.queries import SearchExample, read_queries
from training.evaluation import metrics
from training.evaluation.metrics import Interval, Judged
from training.evaluation.plots import bars

PREMISE_DEPTH = 128
SEARCH_DEPTH = 100
PREMISE_METRICS: dict[str, Callable[[Judged], float]] = {
    **{f"recall@{k}": (lambda judged, k=k: metrics.recall(judged, k)) for k in (16, 32, 128)},  # type: ignore[misc]
    "mrr": metrics.reciprocal_rank,
}
SEARCH_METRICS: dict[str, Callable[[Judged], float]] = {
    **{f"ndcg@{k}": (lambda judged, k=k: metrics.ndcg(judged, k)) for k in (1, 10)},  # type: ignore[misc]
    **{f"recall@{k}": (lambda judged, k=k: metrics.hit(judged, k)) for k in (10, 100)},  # type: ignore[misc]
}

Figures = dict[str, dict[str, dict[str, Interval]]]
"""Set → system → metric → interval."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--index", type=Path, action="append", required=True, help="may be given again")
    parser.add_argument("--pairs", type=Path, help="folder of premise pairs; its valid split is used")
    parser.add_argument("--queries", type=Path, help="file of queries with known answers")
    parser.add_argument("--sample", type=int, default=1_000, help="theorems drawn from the validation split")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of JSON and plots")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/retrieval.jsonl")
    parser.add_argument("--add", action="store_true", help="show the systems of an earlier run in OUTPUT beside these")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    examples = _sample(options.pairs, options.sample) if options.pairs else []
    contexts = FileContexts(open_corpus(options.corpus), examples) if examples else None
    queries = list(read_queries(options.queries)) if options.queries else []
    figures: Figures = defaultdict(dict)
    earlier = _earlier(options.output) if options.add else {}
    for number, folder in enumerate(options.index):
        asyncio.run(_measure(folder, number == 0 and not earlier, examples, contexts, queries, figures))
    _report(_beside(earlier, figures), options.output)
    if options.record:
        for on, systems in figures.items():
            for system, values in systems.items():
                for metric, interval in values.items():
                    record("retrieval", on, system, metric, interval.mean, interval.n, interval.low, interval.high)


def _sample(folder: Path, size: int) -> list[PremiseExample]:
    examples = [example for example in read_pairs(folder, "valid") if not example.generated]
    random.Random(0).shuffle(examples)
    # In order of files, so that the texts of a file are encoded once and then come from the cache.
    return sorted(examples[:size], key=lambda example: (example.module, example.line or 0))


async def _measure(
    folder: Path,
    first: bool,
    examples: Sequence[PremiseExample],
    contexts: FileContexts | None,
    queries: Sequence[SearchExample],
    figures: Figures,
) -> None:
    with Index.open(folder, threads=2) as index, tempfile.TemporaryDirectory() as cache:
        encoder = load_encoder(index.manifest.encoder_name, threads=2)
        index.require_encoder(encoder, "premises")
        batcher = MicroBatcher(encoder, waiting_limit=100_000)
        name = encoder.name
        fused = "fused" if name == "small" else f"fused {name}"
        try:
            if contexts is not None:
                embeddings = PremiseEmbeddings(Path(cache), encoder.fingerprint, 1 << 32)
                selector = PremiseSelector(index, batcher, embeddings)
                try:
                    await _premises(
                        index,
                        selector,
                        encoder.max_tokens,
                        encoder.count_tokens,
                        contexts,
                        examples,
                        (name, fused, first),
                        figures,
                    )
                finally:
                    embeddings.close()
            if queries:
                await _search(index, SearchEngine(index, batcher), batcher, queries, (name, fused, first), figures)
        finally:
            await batcher.close()


async def _premises(
    index: Index,
    selector: PremiseSelector,
    max_tokens: int,
    count: Callable[[Sequence[str]], list[int]],
    contexts: FileContexts,
    examples: Sequence[PremiseExample],
    systems: tuple[str, str, bool],
    figures: Figures,
) -> None:
    neural, fused, first = systems
    methods: dict[str, Method] = {neural: "neural", fused: "fused"}
    if first:
        methods = {"symbolic": "symbolic", **methods}

    async def select(example: PremiseExample, method: Method, visible: bool) -> list[str]:
        answer = await selector.select(
            PremiseRequest(
                goal=example.state,
                k=PREMISE_DEPTH,
                imports=contexts.imports(example) if visible else None,
                premises=contexts.before(example) if visible else (),
                theorem=example.theorem,
                module=example.module,
                method=method,
            )
        )
        return [premise.name for premise in answer.premises]

    def words(example: PremiseExample, visible: bool) -> list[str]:
        mask = index.premise.copy()
        if visible:
            mask &= index.visible(contexts.imports(example))[0]
            rows = index.rows([premise.name for premise in contexts.before(example)])
            mask[rows[rows >= 0]] = True
        own = index.row(example.theorem)
        if own is not None:
            mask[own] = False
        text = goal_text(example.state, max_tokens, count).text
        return index.names(index.lexical.search(text.split(), PREMISE_DEPTH, mask)[0].tolist())

    for visible in (True, False):
        on = "premises/valid" if visible else "premises/valid, no visibility"
        if first:
            judged = [metrics.judge(words(example, visible), example.gold) for example in examples]
            figures[on]["bm25"] = _intervals(judged, PREMISE_METRICS)
        for system, method in methods.items():
            judged = []
            with Progress(f"goals, {system}, {on}", len(examples)) as progress:
                for example in examples:
                    judged.append(metrics.judge(await select(example, method, visible), example.gold))
                    progress.advance()
            figures[on][system] = _intervals(judged, PREMISE_METRICS)


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
            raise SystemExit(
                f"{on}: the earlier run judged another number of queries ({sorted(counts)}); use its --sample"
            )
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
    for on in ("premises/valid", "premises/valid, no visibility", "queries/dev", "queries/undergrad+overview"):
        if on in figures:
            names = [metric for metric in next(iter(figures[on].values())) if metric != "mrr"]
            file = on.replace("/", "-").replace(", ", "-").replace(" ", "-").replace("+", "-") + ".png"
            bars(output / file, on, figures[on], names)
    print(f"\nwritten: {output}/retrieval.json and plots")


if __name__ == "__main__":
    main()
