"""How long a request takes on the real corpus, and what the same costs when it is done naively.

Usage: `python -m benchmarks.requests --index FOLDER --pairs FOLDER --queries FILE [--requests N] [--record]`.

A server process serves the index; this process asks it over HTTP, one request at a time, after a warm-up. Premise
requests are goals of the validation split with imports that make about 60 % of the premises visible, k = 32; the stages
are the server's own timings. Search requests are the queries of the file. 2,048 new premises are real statements under
new names: the first request embeds them (cold), the same goal again finds them in the cache (warm). The naive way, in
the same run: the same model through sentence-transformers (`encode`), FAISS `IndexFlatIP` and `IDSelectorBatch`.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.naive import naive_model
from benchmarks.record import record
from sidecar.client import Client
from sidecar.index.index import Index
from sidecar.index.manifest import ROLES
from sidecar.launch import read_address
from sidecar.settings import Settings
from sidecar.text.declaration import wire_text
from sidecar.text.goal import goal_text
from training.data.premise_pairs import read_pairs
from training.data.queries import read_queries

K = 32
SHARE = 0.6
LOCAL = 2_048
WARM_UP = 20
WARM_REQUESTS = 50

Figure = tuple[str, str, str, float, int]
"""Set, system, metric, value, number of samples."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of premise pairs; its valid split is used")
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/requests.jsonl")
    options = parser.parse_args()
    figures: list[Figure] = []
    with Index.open(options.index) as index:
        encoder, searches = (index.manifest.vector_entry(role).encoder for role in ROLES)
        if encoder != searches:
            encoder = "default"
        imports, share = _imports(index)
        goals = _goals(options.pairs, options.requests)
        queries = [example.query for example in read_queries(options.queries)][: options.requests]
        local = _local(index)
        print(
            f"{index.size} declarations, {encoder}; {share:.0%} of the premises visible through {len(imports)} imports"
        )
        with _server(options.index) as url, Client(url) as client:
            figures += _show(_premises(client, encoder, goals, imports))
            figures += _show(_search(client, encoder, queries))
            figures += _show(_new_premises(client, encoder, goals, imports, local))
        if encoder == "small":
            ours = next(
                value for on, system, metric, value, _ in figures if (on, metric) == ("premise request", "p50_ms")
            )
            figures += _show(_naive(index, goals, imports, ours))
    if options.record:
        for on, system, metric, value, count in figures:
            record("requests", on, system, metric, value, count)


def _show(figures: list[Figure]) -> list[Figure]:
    for on, system, metric, value, count in figures:
        print(f"{on:<36} {system:<12} {metric:<28} {value:>12,.2f}   n={count}", flush=True)
    return figures


def _imports(index: Index) -> tuple[list[str], float]:
    """Modules whose closure holds about 60 % of the premises, and that share."""
    names = list(index.graph.names)
    random.Random(0).shuffle(names)
    total = np.count_nonzero(index.premise)
    chosen: list[str] = []
    share = 0.0
    for name in names:
        now = np.count_nonzero(index.visible([*chosen, name])[0] & index.premise) / total
        if now <= SHARE + 0.02:
            chosen.append(name)
            share = float(now)
        if share >= SHARE - 0.01:
            break
    return chosen, share


def _goals(folder: Path, count: int) -> list[str]:
    examples = [example for example in read_pairs(folder, "valid") if not example.generated]
    random.Random(0).shuffle(examples)
    return [example.state for example in examples[: count + WARM_UP]]


def _local(index: Index) -> list[dict[str, object]]:
    rows = np.flatnonzero(index.premise)
    picked = np.random.default_rng(0).choice(rows, LOCAL, replace=False)
    declarations = index.declarations(sorted(int(row) for row in picked))
    return [
        {"name": f"New.{d.name}", "text": wire_text(replace(d, docstring="")).replace(d.name, f"New.{d.name}", 1)}
        for d in declarations
    ]


@contextmanager
def _server(index: Path) -> Iterator[str]:
    import os

    with tempfile.TemporaryDirectory() as name:
        environment = {
            **os.environ,
            "LEAN_SIDECAR_INDEX": str(index.absolute()),
            "LEAN_SIDECAR_RUNTIME": f"{name}/run",
            "LEAN_SIDECAR_CACHE": f"{name}/cache",
        }
        process = subprocess.Popen([sys.executable, "-m", "sidecar.server"], env=environment, stderr=subprocess.DEVNULL)
        try:
            settings = replace(Settings(), runtime_folder=Path(name) / "run")
            while (address := read_address(settings)) is None:
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with status {process.returncode}")
                time.sleep(0.05)
            with Client(address.url) as client:
                while client.exchange("GET", "/health")[0] != 200:
                    time.sleep(0.1)
            yield address.url
        finally:
            process.terminate()
            process.wait()


def _timed(call: Callable[[], Mapping[str, Any]]) -> tuple[float, Mapping[str, Any]]:
    began = time.perf_counter()
    answer = call()
    return (time.perf_counter() - began) * 1e3, answer


def _quantiles(on: str, system: str, times: Sequence[float]) -> list[Figure]:
    return [
        (on, system, f"p{percent}_ms", float(np.percentile(times, percent)), len(times)) for percent in (50, 95, 99)
    ]


def _stages(on: str, system: str, answers: Sequence[Mapping[str, Any]]) -> list[Figure]:
    names = dict.fromkeys(name for answer in answers for name in answer["timings"])
    return [
        (
            on,
            system,
            f"p50_ms of {name}",
            float(np.median([answer["timings"].get(name, 0.0) for answer in answers])),
            len(answers),
        )
        for name in names
    ]


def _premises(client: Client, system: str, goals: Sequence[str], imports: Sequence[str]) -> list[Figure]:
    environment = client.environment(list(imports))["environment"]
    for goal in goals[:WARM_UP]:
        client.premises(goal, K, environment=environment)
    measured = [_timed(lambda goal=goal: client.premises(goal, K, environment=environment)) for goal in goals[WARM_UP:]]  # type: ignore[misc]
    on = "premise request"
    return _quantiles(on, system, [ms for ms, _ in measured]) + _stages(on, system, [answer for _, answer in measured])


def _search(client: Client, system: str, queries: Sequence[str]) -> list[Figure]:
    for query in queries[:WARM_UP]:
        client.search(query, 10)
    measured = [_timed(lambda query=query: client.search(query, 10)) for query in queries]  # type: ignore[misc]
    on = "search request"
    return _quantiles(on, system, [ms for ms, _ in measured]) + _stages(on, system, [answer for _, answer in measured])


def _new_premises(
    client: Client, system: str, goals: Sequence[str], imports: Sequence[str], local: Sequence[Mapping[str, object]]
) -> list[Figure]:
    environment = client.environment(list(imports))["environment"]

    def ask(goal: str) -> tuple[float, Mapping[str, Any]]:
        return _timed(lambda: client.premises(goal, K, environment=environment, premises=list(local)))

    cold, _ = ask(goals[0])
    ask(goals[1])
    measured = [ask(goal) for goal in goals[2 : 2 + WARM_REQUESTS]]
    on = f"{len(local)} new premises"
    return [
        (on, system, "cold_ms", cold, 1),
        *_quantiles(on, system, [ms for ms, _ in measured]),
        *_stages(on, system, [answer for _, answer in measured]),
    ]


def _naive(index: Index, goals: Sequence[str], imports: Sequence[str], ours: float) -> list[Figure]:
    import faiss

    model = naive_model()
    matrix = np.asarray(index.vectors("premises").matrix, dtype=np.float32)
    flat = faiss.IndexFlatIP(matrix.shape[1])
    flat.add(matrix)
    visible = np.flatnonzero(index.visible(list(imports))[0] & index.premise)
    times = []
    for goal in goals[: WARM_UP + 60]:
        text = goal_text(goal, 1 << 20, lambda texts: [len(text) for text in texts]).text
        began = time.perf_counter()
        vector = model.encode([text], normalize_embeddings=True)
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBatch(visible))
        flat.search(vector, K, params=parameters)
        times.append((time.perf_counter() - began) * 1e3)
    times = times[WARM_UP:]
    median = float(np.median(times))
    on = "premise request, naive way"
    return [*_quantiles(on, "small", times), (on, "small", "p50 of naive / p50 of ours", median / ours, len(times))]


if __name__ == "__main__":
    main()
