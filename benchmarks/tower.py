"""What a query tower keeps of its document model's answers, and how much faster it gives them.

Usage: `python -m benchmarks.tower CORPUS --index FOLDER --tower FOLDER [--tower FOLDER] --data PAIRS --queries FILE
[--goals 400] [--timed 100] [--device cpu] [--record]`.

Same documents, same goals, same queries, in one run: recall@16/@32 of the premises that a proof cites over what the
theorem can see (validation part), nDCG@10 and recall@10 of search queries over every declaration, by vectors alone;
each tower against the document model's own query side, paired. Speed: one goal or question at a time, both in turn on
the same texts, medians and their ratio; on a GPU after every shape was recorded. Prints, draws `tower.png` in OUTPUT,
and with `--record` appends to benchmarks/results/tower.jsonl.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.premises import Asked
from sidecar.encoder.threads import use_quiet_threads

use_quiet_threads()

from benchmarks.record import record  # noqa: E402
from sidecar.corpus.source import open_corpus  # noqa: E402
from sidecar.encoder.base import Encoder, Purpose  # noqa: E402
from sidecar.encoder.load import load_encoder  # noqa: E402
from sidecar.index.index import Index  # noqa: E402
from sidecar.progress import Progress  # noqa: E402
from sidecar.text.goal import goal_text  # noqa: E402
from sidecar.text.query import query_text  # noqa: E402
from training.data.context import FileContexts  # noqa: E402
from training.data.queries import SearchExample, read_queries  # noqa: E402
from training.data.sources import ExampleSource, sample  # noqa: E402
from training.evaluation import metrics  # noqa: E402
from training.evaluation.metrics import Interval, Judged  # noqa: E402
from training.evaluation.plots import bars  # noqa: E402

GOALS_DEPTH: Final = 32
QUERIES_DEPTH: Final = 10

GOAL_METRICS: Final[dict[str, Callable[[Judged], float]]] = {
    "recall@16": lambda judged: metrics.recall(judged, 16),
    "recall@32": lambda judged: metrics.recall(judged, 32),
}
QUERY_METRICS: Final[dict[str, Callable[[Judged], float]]] = {
    "ndcg@10": lambda judged: metrics.ndcg(judged, 10),
    "recall@10": lambda judged: metrics.hit(judged, 10),
}

Values = dict[str, dict[str, list[float]]]
"""System → metric → one value a query."""


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--index", type=Path, required=True, help="index by the document model")
    parser.add_argument("--tower", action="append", required=True, help="folder of a tower; may be given again")
    parser.add_argument("--data", type=Path, required=True, help="pairs, LeanDojo's benchmark, or an extraction")
    parser.add_argument("--split", default="module", help="how DATA is divided")
    parser.add_argument("--queries", type=Path, required=True, help="file of queries with known answers")
    parser.add_argument("--goals", type=int, default=400, help="goals drawn from the validation part")
    parser.add_argument("--timed", type=int, default=100, help="texts of each kind that are timed")
    parser.add_argument("--threads", type=int, default=1, help="of the encoders on a CPU")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of the plot")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/tower.jsonl")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    valid = ExampleSource.open(options.data, options.split).read("valid")
    examples = sample((example for example in valid if example.gold), options.goals)
    asked = Asked(examples, FileContexts(open_corpus(options.corpus), examples), whole_corpus=False)
    queries = list(read_queries(options.queries))
    with Index.open(options.index, threads=options.threads) as index:
        name = index.manifest.encoder_name
        encoders = {
            shown_name(one): load_encoder(one, threads=options.threads, device=options.device)
            for one in (name, *options.tower)
        }
        for encoder in encoders.values():
            index.require_encoder(encoder, "premises")
            index.require_encoder(encoder, "search")
        found = {
            "premises/valid": of_goals(index, encoders, asked),
            f"queries/{options.queries.stem}": of_queries(index, encoders, queries),
        }
        texts: list[tuple[str, Purpose]] = [(example.state, "goal") for example in examples[: options.timed]]
        texts += [(query.query, "question") for query in queries[: options.timed]]
        times = timed(encoders, texts)
    figures = report(found, times, next(iter(encoders)))
    draw(options.output / "tower.png", found)
    if options.record:
        for on, system, metric, interval in figures:
            # A time is a median, not a mean with an interval.
            bounds = (None, None) if np.isnan(interval.low) else (interval.low, interval.high)
            record("tower", on, system, metric, interval.mean, interval.n, *bounds)


def shown_name(encoder: str) -> str:
    """`small`, or the run's name for a folder that training wrote."""
    path = Path(encoder)
    return path.resolve().parent.name if path.name == "model" and path.is_dir() else path.name


def of_goals(index: Index, encoders: dict[str, Encoder], asked: Asked) -> Values:
    """Recall of cited premises over what each theorem can see."""
    values: Values = {name: {metric: [] for metric in GOAL_METRICS} for name in encoders}
    vectors = index.vectors("premises")
    with Progress("goals", len(asked.examples)) as progress:
        for example in asked.examples:
            mask = asked.mask(index, example)
            for name, encoder in encoders.items():
                text = spelled(encoder, example.state, "goal")
                rows = vectors.search(encoder.encode([text], "goal"), GOALS_DEPTH, mask)[1][0]
                judged = metrics.judge(index.names(rows[rows >= 0].tolist()), example.gold)
                for metric, measure in GOAL_METRICS.items():
                    values[name][metric].append(measure(judged))
            progress.advance()
    return values


def of_queries(index: Index, encoders: dict[str, Encoder], queries: Sequence[SearchExample]) -> Values:
    """How well questions are answered by vectors alone."""
    values: Values = {name: {metric: [] for metric in QUERY_METRICS} for name in encoders}
    vectors = index.vectors("search")
    with Progress("queries", len(queries)) as progress:
        for query in queries:
            for name, encoder in encoders.items():
                text = spelled(encoder, query.query, "question")
                rows = vectors.search(encoder.encode([text], "question"), QUERIES_DEPTH, index.target)[1][0]
                judged = metrics.judge(index.names(rows[rows >= 0].tolist()), query.gold)
                for metric, measure in QUERY_METRICS.items():
                    values[name][metric].append(measure(judged))
            progress.advance()
    return values


def spelled(encoder: Encoder, text: str, purpose: Purpose) -> str:
    """The canonical text that an encoder reads."""
    if purpose == "question":
        return query_text(text)
    return goal_text(text, encoder.max_tokens, encoder.count_tokens).text


def timed(encoders: dict[str, Encoder], texts: Sequence[tuple[str, Purpose]]) -> dict[str, dict[Purpose, list[float]]]:
    """Milliseconds of encoding each text alone; the encoders take turns, so that other work disturbs all alike."""
    found: dict[str, dict[Purpose, list[float]]] = {name: {"goal": [], "question": []} for name in encoders}
    spelled_of = {name: [spelled(encoder, *one) for one in texts] for name, encoder in encoders.items()}
    for name, encoder in encoders.items():
        for text, (_, purpose) in zip(spelled_of[name], texts, strict=True):
            encoder.encode([text], purpose)
    for place, (_, purpose) in enumerate(texts):
        for name, encoder in encoders.items():
            began = time.perf_counter()
            encoder.encode([spelled_of[name][place]], purpose)
            found[name][purpose].append(1e3 * (time.perf_counter() - began))
    return found


def report(
    found: dict[str, Values], times: dict[str, dict[Purpose, list[float]]], model: str
) -> list[tuple[str, str, str, Interval]]:
    """Print everything; give the lines for the record: set, system, metric, figure."""
    figures: list[tuple[str, str, str, Interval]] = []
    for on, values in found.items():
        for system, measured in values.items():
            for metric, one in measured.items():
                figures.append((on, system, metric, metrics.bootstrap(one)))
                if system != model:
                    apart = metrics.paired_difference(one, values[model][metric])
                    figures.append((on, f"{system} − {model}", metric, apart))
    purposes: tuple[tuple[Purpose, str], ...] = (("goal", "one goal"), ("question", "one question"))
    for purpose, what in purposes:
        base = times[model][purpose]
        for system, kinds in times.items():
            milliseconds = kinds[purpose]
            if not milliseconds:
                continue
            figures.append((what, system, "p50_ms", _plain(median(milliseconds), len(milliseconds))))
            if system != model:
                ratio = median(before / now for before, now in zip(base, milliseconds, strict=True))
                figures.append((what, system, f"times faster than {model}", _plain(ratio, len(milliseconds))))
    for on, system, metric, figure in figures:
        interval = "" if np.isnan(figure.low) else f"  [{figure.low:.3f}, {figure.high:.3f}]"
        print(f"{on:20} {system:32} {metric:28} {figure.mean:8.3f}{interval}  n={figure.n}", flush=True)
    return figures


def _plain(value: float, count: int) -> Interval:
    return Interval(value, float("nan"), float("nan"), count)


def draw(file: Path, found: dict[str, Values]) -> None:
    """Both kinds of figures side by side."""
    systems = next(iter(found.values()))
    shown = {
        system: {metric: metrics.bootstrap(one) for values in found.values() for metric, one in values[system].items()}
        for system in systems
    }
    bars(file, "Query towers and their document model", shown, [*GOAL_METRICS, *QUERY_METRICS])


if __name__ == "__main__":
    main()
