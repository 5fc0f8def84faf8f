"""Reciprocal rank fusion: the formula, and what no input may change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.fusion import Fused, fuse

rankings_strategy = st.dictionaries(
    st.sampled_from(["dense", "lexical", "name", "locality"]),
    st.lists(st.integers(-1, 30), max_size=40),
    max_size=4,
)
weights_strategy = st.dictionaries(
    st.sampled_from(["dense", "lexical", "name", "locality"]), st.floats(0.0, 5.0), max_size=4
)


def test_the_formula_of_the_paper() -> None:
    fused = fuse({"a": [7, 3], "b": [3]}, {}, 10)
    assert fused == [
        Fused(3, pytest.approx(1 / 62 + 1 / 61), {"a": 2, "b": 1}),
        Fused(7, pytest.approx(1 / 61), {"a": 1}),
    ]


def test_weights_decide_and_zero_leaves_a_ranking_out() -> None:
    rankings = {"a": [1, 2], "b": [2, 1]}
    assert [f.item for f in fuse(rankings, {"a": 2.0}, 2)] == [1, 2]
    assert [f.item for f in fuse(rankings, {"b": 2.0}, 2)] == [2, 1]
    only_b = fuse({"a": [9], "b": [2]}, {"a": 0.0}, 5)
    assert [(f.item, f.ranks) for f in only_b] == [(2, {"b": 1})]


def test_padding_takes_no_rank_and_the_first_of_repeats_counts() -> None:
    assert [(f.item, f.ranks["a"]) for f in fuse({"a": [-1, 5, 5, 4, 5]}, {}, 9)] == [(5, 1), (4, 2)]


def test_accepts_arrays() -> None:
    assert [f.item for f in fuse({"a": np.array([4, 2], dtype=np.int32)}, {}, 9)] == [4, 2]


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_refuses_what_is_no_weight(bad: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        fuse({"a": [1]}, {"a": bad}, 1)
    with pytest.raises(ValueError, match="constant"):
        fuse({"a": [1]}, {}, 1, constant=bad)


@given(rankings_strategy, weights_strategy, st.integers(-1, 40), st.floats(0.0, 100.0))
def test_sorted_bounded_and_complete(
    rankings: dict[str, list[int]], weights: dict[str, float], k: int, constant: float
) -> None:
    fused = fuse(rankings, weights, k, constant)
    everything = {item for name, items in rankings.items() if weights.get(name, 1.0) > 0 for item in items if item >= 0}
    assert len(fused) == min(max(k, 0), len(everything))
    assert {f.item for f in fused} <= everything
    assert len({f.item for f in fused}) == len(fused)
    order = [(-f.score, f.item) for f in fused]
    assert order == sorted(order)
    for item in fused:
        expected = sum(weights.get(name, 1.0) / (constant + rank) for name, rank in sorted(item.ranks.items()))
        assert item.score == pytest.approx(expected)


@given(rankings_strategy, weights_strategy)
def test_the_order_of_the_rankings_does_not_matter(rankings: dict[str, list[int]], weights: dict[str, float]) -> None:
    backwards = dict(reversed(list(rankings.items())))
    assert fuse(rankings, weights, 50) == fuse(backwards, weights, 50)


@given(rankings_strategy, weights_strategy, st.integers(0, 20))
def test_a_smaller_k_gives_a_prefix(rankings: dict[str, list[int]], weights: dict[str, float], k: int) -> None:
    assert fuse(rankings, weights, k) == fuse(rankings, weights, 100)[:k]


@given(st.lists(st.integers(0, 50), unique=True, max_size=30))
def test_one_ranking_stays_as_it_is(items: list[int]) -> None:
    assert [f.item for f in fuse({"only": items}, {}, 100)] == items
    assert [f.item for f in fuse({"one": items, "two": items}, {}, 100)] == items


@given(st.lists(st.integers(0, 20), unique=True, min_size=2, max_size=20), st.data())
def test_rising_in_a_ranking_never_lowers_an_item(items: list[int], data: st.DataObject) -> None:
    other = data.draw(st.permutations(items))
    place = data.draw(st.integers(1, len(items) - 1))
    risen = items.copy()
    risen[place - 1], risen[place] = risen[place], risen[place - 1]
    item = items[place]
    before = [f.item for f in fuse({"a": items, "b": other}, {}, 100)].index(item)
    after = [f.item for f in fuse({"a": risen, "b": other}, {}, 100)].index(item)
    assert after <= before
