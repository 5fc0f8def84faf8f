"""Retrieval metrics and their bootstrap intervals.

In: for each query the ranks at which its gold items came out. Out: one value a query, and means with intervals.

Rules, the same everywhere. A query without gold is left out and counted separately. Gold that cannot be retrieved
(outside the corpus, or not visible) stays in the denominator, so it counts as missed. Ranks start at 1; only the first
occurrence of a name counts; names must be equal, not similar.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome of one query.

    Attributes:
        ranks: 1-based ranks of the gold items that were retrieved, ascending.
        gold: Number of gold items, retrieved or not (at least 1).
    """

    ranks: tuple[int, ...]
    gold: int


def judge(ranking: Sequence[str], gold: Collection[str]) -> Judged:
    """Find the gold items in a ranking of names.

    Raises:
        ValueError: When `gold` is empty: such a query must be left out and counted by the caller.
    """
    wanted = set(gold)
    if not wanted:
        raise ValueError("a query without gold cannot be judged; leave it out and report how many there are")
    ranks: list[int] = []
    open_names = set(wanted)
    for rank, name in enumerate(ranking, start=1):
        if name in open_names:
            open_names.discard(name)
            ranks.append(rank)
    return Judged(tuple(ranks), len(wanted))


def recall(judged: Judged, k: int) -> float:
    """Share of the gold items among the first k."""
    return sum(rank <= k for rank in judged.ranks) / judged.gold


def full_recall(judged: Judged, k: int) -> float:
    """1.0 when every gold item is among the first k, else 0.0."""
    return float(len(judged.ranks) == judged.gold and (not judged.ranks or judged.ranks[-1] <= k))


def hit(judged: Judged, k: int) -> float:
    """1.0 when any gold item is among the first k, else 0.0 (Recall@k of single-answer search benchmarks)."""
    return float(bool(judged.ranks) and judged.ranks[0] <= k)


def reciprocal_rank(judged: Judged) -> float:
    """1 / rank of the first gold item, 0.0 when none was retrieved."""
    return 1.0 / judged.ranks[0] if judged.ranks else 0.0


def ndcg(judged: Judged, k: int) -> float:
    """Binary nDCG@k of the best-ranked gold item: 1 / log2(1 + rank), ideal value 1.

    With several right answers the best one counts, since any of them answers the question
    (Järvelin & Kekäläinen 2002 for the discount).
    """
    if not judged.ranks or judged.ranks[0] > k:
        return 0.0
    return float(1.0 / np.log2(1.0 + judged.ranks[0]))


_DRAWN_AT_ONCE = 1 << 20
"""Values that a bootstrap draws at one time; bounds its memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds of its 95 % bootstrap interval over n queries."""

    mean: float
    low: float
    high: float
    n: int


def bootstrap(values: Sequence[float] | npt.NDArray[np.float64], *, samples: int = 1_000, seed: int = 0) -> Interval:
    """Mean and 95 % percentile bootstrap interval (Efron 1979) over queries.

    Returns:
        All three NaN when there is no value.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return Interval(float("nan"), float("nan"), float("nan"), 0)
    generator = np.random.default_rng(seed)
    at_once = max(1, _DRAWN_AT_ONCE // array.size)
    means = np.concatenate(
        [
            array[generator.integers(0, array.size, (min(at_once, samples - begin), array.size))].mean(axis=1)
            for begin in range(0, samples, at_once)
        ]
    )
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(array.mean()), float(low), float(high), int(array.size))


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, samples: int = 1_000, seed: int = 0
) -> Interval:
    """Mean of `first - second` on the same queries, with its 95 % interval: above 0 means the first is better.

    Raises:
        ValueError: When the two do not hold the same number of queries.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values: both must judge the same queries")
    return bootstrap(
        np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64), samples=samples, seed=seed
    )
