"""What an index costs and how fast it answers.

Usage: `python -m benchmarks.index CORPUS [--encoder static] [--keep FOLDER] [--record]`, or with `--index FOLDER` for
an index that is there (then nothing is built). Prints figures; `--record` also appends them to
benchmarks/results/index.jsonl.

Measured: the build (rate, size, peak memory of its process), opening (time, memory), exact search by share of visible
rows, approximate search beside exact search (time, recall), ranking by words beside SQLite's FTS5 on the same words
(time, agreement of the first ten), visibility, names and records. Questions are first sentences of docstrings of the
corpus, so the words that they ask for occur.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.record import record
from sidecar.corpus.source import open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index.approximate import ApproximateSearch, build_lists
from sidecar.index.build import build_index
from sidecar.index.exact import BoolArray, ExactSearch, FloatArray
from sidecar.index.index import Index
from sidecar.index.manifest import Manifest
from sidecar.text.declaration import declaration_text
from sidecar.text.names import name_words
from sidecar.text.query import query_text

K = 32
QUERIES = 100
APPROXIMATE_SAMPLE = 100_000
SHARES = (1.0, 0.9, 0.6, 0.3, 0.1, 0.05, 0.01)

Input = TypeVar("Input")
Figures = list[tuple[str, str, str, float, int]]
"""What was measured on, what was measured, metric, value, number of samples."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", help="corpus to build an index of")
    parser.add_argument("--encoder", default="static")
    parser.add_argument("--keep", type=Path, help="where to leave the index")
    parser.add_argument("--index", type=Path, help="measure this index and build none")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/index.jsonl")
    options = parser.parse_args()
    if (options.corpus is None) == (options.index is None):
        parser.error("give a corpus or --index FOLDER")
    with tempfile.TemporaryDirectory() as name:
        folder = options.index or options.keep or Path(name) / "index"
        figures: Figures = []
        if options.index is None:
            figures += show(_build(options.corpus, folder, options.encoder))
        figures += show(_in_a_process(_opening, folder))
        with Index.open(folder) as index:
            for measure in (_visibility, _rows, _exact, _approximate, _words):
                figures += show(measure(index, Path(name)))
    if options.record:
        for on, what, metric, value, count in figures:
            record("index", on, what, metric, value, count)


def show(figures: Figures) -> Figures:
    """Print figures and hand them on."""
    for on, what, metric, value, count in figures:
        print(f"{on:<44} {what:<34} {metric:<22} {value:>14,.3f}   n={count}", flush=True)
    return figures


def _in_a_process(function: Callable[..., Figures], *arguments: object) -> Figures:
    """Run in a process of its own, so that its memory is not mixed with ours."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _build(corpus: Path, folder: Path, encoder: str) -> Figures:
    return _in_a_process(_build_here, corpus, folder, encoder)


def _build_here(corpus: Path, folder: Path, encoder: str) -> Figures:
    began = time.perf_counter()
    manifest = build_index(open_corpus(corpus), folder, load_encoder(encoder))
    seconds = time.perf_counter() - began
    rows = manifest.counts["declarations"]
    own = resource.getrusage(resource.RUSAGE_SELF)
    on, what = f"{rows} declarations", f"build, {encoder}"
    return [
        (on, what, "seconds", seconds, rows),
        (on, what, "processor_seconds", own.ru_utime + own.ru_stime, rows),
        (on, what, "declarations_per_second", rows / seconds, rows),
        (on, what, "peak_megabytes", _peak_megabytes(), rows),
        (on, what, "index_megabytes", manifest.bytes / 1e6, rows),
    ]


def _opening(folder: Path) -> Figures:
    before = _peak_megabytes()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        index = Index.open(folder)
        times.append(time.perf_counter() - began)
        index.close()
    on = f"{Manifest.read(folder).counts['declarations']} declarations"
    return [
        (on, "open", "first_ms", times[0] * 1e3, 1),
        (on, "open", "p50_ms", float(np.median(times)) * 1e3, len(times)),
        (on, "open", "megabytes", _peak_megabytes() - before, 1),
    ]


def _timed(on: str, what: str, call: Callable[[Input], object], inputs: Sequence[Input]) -> Figures:
    call(inputs[0])  # pages and caches
    times = []
    for each in inputs:
        began = time.perf_counter()
        call(each)
        times.append((time.perf_counter() - began) * 1e3)
    return [
        (on, what, "p50_ms", float(np.median(times)), len(times)),
        (on, what, "p95_ms", float(np.quantile(times, 0.95)), len(times)),
    ]


def _visibility(index: Index, _: Path) -> Figures:
    random = np.random.default_rng(0)
    chosen = [random.choice(index.graph.names, 8).tolist() for _ in range(QUERIES)]
    return _timed(_on(index), "visible rows of 8 imports", index.visible, chosen)


def _rows(index: Index, _: Path) -> Figures:
    random = np.random.default_rng(1)
    rows = [random.integers(0, index.size, K).tolist() for _ in range(QUERIES)]
    names = [index.names(each) for each in rows]
    return [
        *_timed(_on(index), f"names of {K} rows", index.names, rows),
        *_timed(_on(index), f"rows of {K} names", index.rows, names),
        *_timed(_on(index), f"records of {K} rows", index.declarations, rows),
    ]


def _exact(index: Index, _: Path) -> Figures:
    vectors = index.vectors("premises")
    queries = _queries(vectors.matrix)
    figures: Figures = []
    for share in SHARES:
        mask = None if share == 1 else _mask(index, share)
        search = partial(vectors.search, k=K, mask=mask)
        figures += _timed(f"{_on(index)}, {share:.0%} visible", "exact search, faiss", search, list(queries[:, None]))
    return figures


def _approximate(index: Index, folder: Path) -> Figures:
    random = np.random.default_rng(5)
    rows = np.sort(random.choice(index.size, min(index.size, APPROXIMATE_SAMPLE), replace=False))
    matrix = index.vectors("premises").matrix[rows]
    on_sample = f"{len(rows)} of {_on(index)}"
    began = time.perf_counter()
    build_lists(matrix, folder / "lists.ivf", threads=2)
    figures: Figures = [(on_sample, "inverted lists", "seconds", time.perf_counter() - began, len(matrix))]
    lists, exact = ApproximateSearch(matrix, folder / "lists.ivf"), ExactSearch(matrix)
    queries = _queries(matrix)
    for share in (1.0, 0.6, 0.1):
        mask = None if share == 1 else _mask(index, share)[rows]
        on = f"{on_sample}, {share:.0%} visible"
        search = partial(lists.search, k=K, mask=mask)
        figures += _timed(on, "approximate search, ivf sq8", search, list(queries[:, None]))
        for k in (K, 128):
            _, found = lists.search(queries, k, mask)
            _, expected = exact.search(queries, k, mask)
            shared = [len(set(a) & set(b)) / k for a, b in zip(found.tolist(), expected.tolist(), strict=True)]
            figures.append((on, "approximate search, ivf sq8", f"recall@{k}", float(np.mean(shared)), len(shared)))
    return figures


def _words(index: Index, folder: Path) -> Figures:
    questions = _questions(index)
    asked = [query_text(question).split() for question in questions]
    on = _on(index)
    figures = _timed(on, "words, bm25", partial(index.lexical.search, limit=100), asked)
    ours = [index.lexical.search(words, 10)[0].tolist() for words in asked]
    began = time.perf_counter()
    connection = _full_text_table(index, folder / "words.sqlite")
    figures.append((on, "words, fts5", "build_seconds", time.perf_counter() - began, index.size))
    some = asked[:20]
    figures += _timed(on, "words, fts5", partial(_full_text, connection, limit=100), some)
    theirs = [_full_text(connection, words, 10) for words in some]
    shared = [len(set(a) & set(b)) / max(1, len(b)) for a, b in zip(ours, theirs, strict=False)]
    figures.append((on, "words, bm25 beside fts5", "overlap@10", float(np.mean(shared)), len(shared)))
    connection.close()
    return figures


def _full_text_table(index: Index, path: Path) -> sqlite3.Connection:
    """The same words in SQLite's own full-text index; each character but the space is part of a word."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute(
        "CREATE VIRTUAL TABLE texts USING fts5(name, text, content='', tokenize=\"ascii tokenchars '_'\")"
    )

    def rows() -> Iterator[tuple[int, str, str]]:
        for row, declaration in enumerate(index.all_declarations()):
            text, name = declaration_text(declaration), " ".join(name_words(declaration.name))
            yield row, name, text.removeprefix(name)

    connection.executemany("INSERT INTO texts(rowid, name, text) VALUES (?, ?, ?)", rows())
    connection.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    connection.commit()
    return connection


def _full_text(connection: sqlite3.Connection, words: Sequence[str], limit: int) -> list[int]:
    match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
    found: list[tuple[Any, ...]] = connection.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 2.0, 1.0) LIMIT ?", (match, limit)
    ).fetchall()
    return [row for (row,) in found]


def _on(index: Index) -> str:
    return f"{index.size} declarations"


def _queries(matrix: npt.NDArray[np.float16]) -> FloatArray:
    """Vectors near to some of the matrix: those of goals lie among those of premises, but on none of them."""
    random = np.random.default_rng(2)
    near = matrix[random.choice(len(matrix), QUERIES)].astype(np.float32)
    noise = random.standard_normal(near.shape).astype(np.float32)
    queries = near + noise / np.linalg.norm(noise, axis=1, keepdims=True) * 0.7
    return np.asarray(queries / np.linalg.norm(queries, axis=1, keepdims=True), dtype=np.float32)


def _mask(index: Index, share: float) -> BoolArray:
    """About this share of the rows, whole modules at a time, as imports hide them."""
    random = np.random.default_rng(3)
    modules = random.random(len(index.graph.names)) < share
    return np.asarray(modules[index.module_of], dtype=np.bool_)


def _questions(index: Index) -> list[str]:
    random = np.random.default_rng(4)
    questions: list[str] = []
    while len(questions) < QUERIES:
        for declaration in index.declarations(random.integers(0, index.size, 500).tolist()):
            sentence = declaration.docstring.partition(". ")[0]
            if 20 < len(sentence) < 200:
                questions.append(sentence)
    return questions[:QUERIES]


if __name__ == "__main__":
    main()
