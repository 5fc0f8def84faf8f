"""How fast the encoders are, and how well they live beside others.

Usage: `python -m benchmarks.encoder [--encoders small static] [--threads N] [--device cpu] [--rounds 5] [--record]`.
Prints figures; `--record` also appends them to benchmarks/results/encoder.jsonl.

Measured: texts a second by encoder, batch and length, with the ratio to sentence-transformers' `encode` of the same
model in float32 on as many threads; the agreement of the first ten with that model; one goal's time beside a process
that keeps a core busy, with threads that sleep and with threads that spin; and how long the event loop waits while
2,000 texts are embedded. What is compared runs in turn within each round, and the medians over the rounds are given,
so that other work on the machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from benchmarks.naive import naive_model
from sidecar.encoder.threads import model_threads, use_quiet_threads

use_quiet_threads()

from benchmarks.record import record  # noqa: E402
from sidecar.corpus.example_questions import example_questions  # noqa: E402
from sidecar.corpus.source import example_corpus  # noqa: E402
from sidecar.encoder.base import Encoder, FloatMatrix  # noqa: E402
from sidecar.encoder.batcher import MicroBatcher  # noqa: E402
from sidecar.encoder.load import load_encoder  # noqa: E402
from sidecar.text.declaration import declaration_text  # noqa: E402
from sidecar.text.goal import goal_text  # noqa: E402

BATCHES = (1, 8, 64)
LENGTHS = (16, 32, 64)
LEAST_TEXTS = 16
EMBEDDED_AT_ONCE = 2_000

BUSY = "import time; end = time.time() + 300\nwhile time.time() < end: pass"
"""Keeps a core busy; ends by itself should nobody be left to stop it."""

Figures = list[tuple[str, str, str, float, int]]
"""What was measured on, what was measured, metric, value, number of samples."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoders", nargs="+", default=["static", "small"], help="tiers or folders")
    parser.add_argument("--threads", type=int, default=0, help="threads on a CPU; 0 for the default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/encoder.jsonl")
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = model_threads(options.threads)
    if options.beside:
        print(" ".join(f"{value * 1e3:.3f}" for value in _goal_times(threads)))
        return
    words = " ".join(declaration_text(declaration) for declaration in example_corpus().declarations()).split(" ")
    figures: Figures = []
    for name in options.encoders:
        encoder = load_encoder(name, threads=threads, device=options.device)
        figures += _show(_throughput(encoder, words, options.rounds, threads))
        figures += _show(_event_loop(encoder, words))
        if name == "small":
            figures += _show(_agreement(encoder))
    if "small" in options.encoders and options.device != "cuda":
        figures += _show(_beside_a_busy_process(threads))
    if options.record:
        for on, what, metric, value, count in figures:
            record("encoder", on, what, metric, value, count)


def _show(figures: Figures) -> Figures:
    for on, what, metric, value, count in figures:
        print(f"{on:28} {what:40} {metric:32} {value:12,.3f}  n={count}", flush=True)
    return figures


def _exact(threads: int) -> Callable[[Sequence[str], int], FloatMatrix]:
    """The built-in model as sentence-transformers runs it: float32, its own batching."""
    import torch

    model = naive_model()

    def encode(texts: Sequence[str], batch: int) -> FloatMatrix:
        torch.set_num_threads(threads)
        return np.asarray(
            model.encode(list(texts), batch_size=batch, normalize_embeddings=True, show_progress_bar=False)
        )

    return encode


def _texts(encoder: Encoder, words: Sequence[str], count: int, tokens: int, start: int) -> list[str]:
    """Texts of about `tokens` tokens, all different, from words of the example library."""
    texts = []
    for number in range(count):
        at = (start + number * 37) % (len(words) - tokens)
        chosen = list(words[at : at + tokens])
        while len(chosen) > 1 and encoder.count_tokens([" ".join(chosen)])[0] > tokens:
            chosen.pop()
        texts.append(" ".join(chosen))
    return texts


def _throughput(encoder: Encoder, words: Sequence[str], rounds: int, threads: int) -> Figures:
    exact = _exact(threads)
    figures: Figures = []
    for length in LENGTHS:
        for batch in BATCHES:
            count = max(batch, LEAST_TEXTS)
            mine: list[float] = []
            theirs: list[float] = []
            for number in range(rounds):
                texts = _texts(encoder, words, count, length, start=number * 1_009)
                lots = [texts[at : at + batch] for at in range(0, count, batch)]
                mine.append(_seconds(lambda lots=lots: [encoder.encode(lot, "declaration") for lot in lots]))  # type: ignore[misc]
                theirs.append(_seconds(lambda lots=lots, batch=batch: [exact(lot, batch) for lot in lots]))  # type: ignore[misc]
            on, what = f"{length} tokens, batch {batch}", f"{encoder.name} ({encoder.backend})"
            ratio = median(their / my for my, their in zip(mine, theirs, strict=True))
            figures.append((on, what, "texts_per_second", count / median(mine), rounds))
            figures.append((on, what, "ratio_to_sentence_transformers", ratio, rounds))
    return figures


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _agreement(encoder: Encoder) -> Figures:
    """Share of the exact model's first ten declarations that the encoder finds too, on the example library."""
    exact = _exact(1)
    goals = [goal_text(goal.goal, encoder.max_tokens, encoder.count_tokens).text for goal in example_questions()[0]]
    declarations = [declaration_text(declaration) for declaration in example_corpus().declarations()]

    def first_ten(of_goals: FloatMatrix, of_declarations: FloatMatrix) -> list[set[int]]:
        order = np.argsort(-(of_goals @ of_declarations.T), axis=1, kind="stable")
        return [set(row) for row in order[:, :10].tolist()]

    mine = first_ten(encoder.encode(goals, "goal"), encoder.encode(declarations, "declaration"))
    theirs = first_ten(exact(goals, 8), exact(declarations, 8))
    share = float(np.mean([len(some & others) / 10 for some, others in zip(mine, theirs, strict=True)]))
    return [("example library", f"{encoder.name} ({encoder.backend})", "share_of_exact_top_10", share, len(goals))]


def _event_loop(encoder: Encoder, words: Sequence[str]) -> Figures:
    """How late the event loop wakes while texts are embedded, and how long one goal takes meanwhile."""
    texts = _texts(encoder, words, EMBEDDED_AT_ONCE, 64, start=5)
    late: list[float] = []
    waits: list[float] = []

    async def measure() -> float:
        batcher = MicroBatcher(encoder)
        began = time.perf_counter()
        bulk = asyncio.create_task(batcher.encode(texts, "declaration", bulk=True))

        async def ticks() -> None:
            while not bulk.done():
                due = time.perf_counter() + 0.002
                await asyncio.sleep(0.002)
                late.append(time.perf_counter() - due)

        async def goals() -> None:
            while not bulk.done():
                asked = time.perf_counter()
                await batcher.encode([texts[len(waits) % 100]], "goal")
                waits.append(time.perf_counter() - asked)
                await asyncio.sleep(0.1)

        await asyncio.gather(ticks(), goals())
        await bulk
        seconds = time.perf_counter() - began
        await batcher.close()
        return seconds

    seconds = asyncio.run(measure())
    on, what = f"{EMBEDDED_AT_ONCE} texts of 64 tokens", f"{encoder.name} ({encoder.backend})"
    return [
        (on, what, "texts_per_second", EMBEDDED_AT_ONCE / seconds, 1),
        (on, what, "event_loop_late_p99_ms", float(np.percentile(late, 99)) * 1e3, len(late)),
        (on, what, "goal_meanwhile_p50_ms", float(np.percentile(waits, 50)) * 1e3, len(waits)),
        (on, what, "goal_meanwhile_p95_ms", float(np.percentile(waits, 95)) * 1e3, len(waits)),
    ]


def _beside_a_busy_process(threads: int) -> Figures:
    """One goal's time beside a process that keeps a core busy; OpenMP reads its settings once, so in processes."""
    figures: Figures = []
    for policy in ("PASSIVE", "ACTIVE"):
        for count in sorted({threads, 2}):
            environment = os.environ | {
                "OMP_WAIT_POLICY": policy,
                "KMP_BLOCKTIME": "0" if policy == "PASSIVE" else "200",
            }
            busy = subprocess.Popen([sys.executable, "-c", BUSY])
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.encoder", "--beside", "--threads", str(count)],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
            finally:
                busy.kill()
                busy.wait()
            times = [float(value) for value in done.stdout.split()]
            on, what = "one goal of 64 tokens, busy", f"small, {count} threads, {policy.lower()}"
            figures.append((on, what, "p50_ms", float(np.percentile(times, 50)), len(times)))
            figures.append((on, what, "p95_ms", float(np.percentile(times, 95)), len(times)))
    return figures


def _goal_times(threads: int) -> list[float]:
    encoder = load_encoder("small", threads=threads, device="cpu")
    text = " ".join(["natural", "number", "addition", "order"] * 15)
    return [_seconds(lambda: encoder.encode([text], "goal")) for _ in range(60)][10:]


if __name__ == "__main__":
    main()
