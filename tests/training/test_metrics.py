"""The metrics, against cases worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.evaluation import metrics


def test_ranks_are_found_once_and_start_at_one() -> None:
    judged = metrics.judge(["b", "a", "b", "c", "a"], ["a", "c", "missing"])
    assert judged == metrics.Judged(ranks=(2, 4), gold=3)


def test_recall_counts_gold_that_never_came_out_as_missed() -> None:
    judged = metrics.Judged(ranks=(2, 4), gold=3)
    assert [metrics.recall(judged, k) for k in (1, 2, 4, 100)] == [0.0, 1 / 3, 2 / 3, 2 / 3]
    assert metrics.full_recall(judged, 100) == 0.0
    assert metrics.full_recall(metrics.Judged((2, 4), 2), 3) == 0.0
    assert metrics.full_recall(metrics.Judged((2, 4), 2), 4) == 1.0


def test_ndcg_takes_the_best_answer() -> None:
    judged = metrics.Judged(ranks=(3, 4), gold=2)
    assert metrics.ndcg(judged, 2) == 0.0
    assert metrics.ndcg(judged, 10) == pytest.approx(1 / math.log2(4))
    assert metrics.ndcg(metrics.Judged((1,), 5), 1) == 1.0
    assert metrics.reciprocal_rank(judged) == pytest.approx(1 / 3)
    assert metrics.hit(judged, 2) == 0.0
    assert metrics.hit(judged, 3) == 1.0


def test_a_query_without_gold_is_refused() -> None:
    with pytest.raises(ValueError, match="without gold"):
        metrics.judge(["a"], [])


def test_difference_needs_the_same_queries() -> None:
    with pytest.raises(ValueError, match="same queries"):
        metrics.paired_difference([1.0], [1.0, 0.0])
    assert metrics.paired_difference([1.0] * 50, [0.0] * 50).low == 1.0


def test_no_value_gives_no_interval() -> None:
    assert math.isnan(metrics.bootstrap([]).mean)


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_the_interval_holds_the_mean(values: list[bool]) -> None:
    interval = metrics.bootstrap([float(v) for v in values], samples=200)
    assert 0.0 <= interval.low <= interval.mean + 1e-9
    assert interval.mean <= interval.high + 1e-9 <= 1.0 + 1e-9
    assert interval.n == len(values)


@given(st.permutations(list("abcdefgh")), st.sets(st.sampled_from("abcdefghxyz"), min_size=1), st.integers(1, 12))
def test_recall_never_falls_with_k(ranking: list[str], gold: set[str], k: int) -> None:
    judged = metrics.judge(ranking, gold)
    assert metrics.recall(judged, k) <= metrics.recall(judged, k + 1) <= 1.0
    assert metrics.full_recall(judged, k) <= metrics.recall(judged, k)
