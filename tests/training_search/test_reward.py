"""The reward of a generated query: every edge of its two curves, the arms, and the advantages of groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.search.arms import Arm
from training.search.reward import difficulty, group_advantages, length_penalty, reward

SIX = math.log(6 / 5) / math.log(6)
RANKS = {
    1: 0.0,
    5: 0.0,
    6: SIX,
    29: math.log(29 / 5) / math.log(6),
    30: 1.0,
    31: 1.0,
    100: 1.0,
    101: 0.0,
    None: 0.0,
}
LENGTHS = {1: 0.0, 40: 0.0, 41: 0.1, 45: 0.5, 50: 1.0, 51: 1.0, 10_000: 1.0}


@pytest.mark.parametrize(("rank", "worth"), RANKS.items())
def test_what_a_rank_is_worth(rank: int | None, worth: float) -> None:
    assert difficulty(rank) == pytest.approx(worth)


@pytest.mark.parametrize(("tokens", "penalty"), {0: 0.0, **LENGTHS}.items())
def test_what_a_length_costs(tokens: int, penalty: float) -> None:
    assert length_penalty(tokens) == pytest.approx(penalty)


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize(("tokens", "penalty"), LENGTHS.items())
@pytest.mark.parametrize(("rank", "worth"), RANKS.items())
def test_every_combination(rank: int | None, worth: float, tokens: int, penalty: float, consistent: bool) -> None:
    cost = 0.15 * penalty
    assert reward(rank, consistent, tokens) == pytest.approx(max(0.0, worth - cost) if consistent else 0.0)
    assert reward(rank, consistent, tokens, Arm.DIFFICULTY) == pytest.approx(max(0.0, worth - cost))
    assert reward(rank, consistent, tokens, Arm.CONSISTENCY) == pytest.approx(1.0 - cost if consistent else 0.0)


@pytest.mark.parametrize("arm", list(Arm))
@pytest.mark.parametrize("rank", RANKS)
def test_an_empty_query_earns_nothing(rank: int | None, arm: Arm) -> None:
    assert reward(rank, True, 0, arm) == 0.0


@pytest.mark.parametrize(("rank", "tokens"), [(0, 5), (-1, 5), (7, -1)])
def test_what_cannot_be_is_refused(rank: int, tokens: int) -> None:
    with pytest.raises(ValueError, match=str(min(rank, tokens))):
        reward(rank, True, tokens)


@given(st.integers(1, 200), st.booleans(), st.integers(0, 200), st.sampled_from(Arm))
def test_it_stays_between_0_and_1_and_length_never_helps(rank: int, consistent: bool, tokens: int, arm: Arm) -> None:
    value = reward(rank, consistent, tokens, arm)
    assert 0.0 <= value <= 1.0
    if tokens:
        assert reward(rank, consistent, tokens + 1, arm) <= value


@given(st.integers(1, 99))
def test_a_harder_rank_is_never_worth_less_until_it_is_lost(rank: int) -> None:
    assert difficulty(rank) <= difficulty(rank + 1)


def test_advantages_by_hand() -> None:
    found = group_advantages([[1.0, 0.0, 0.0, 1.0], [0.3, 0.3, 0.3, 0.3], [0.0, 0.5, 1.0, 0.5]])
    spread = math.sqrt(1 / 3)  # of 1, 0, 0, 1 with three degrees of freedom
    assert found.values[0] == pytest.approx(
        [0.5 / (spread + 1e-4), -0.5 / (spread + 1e-4)] * 1 + [-0.5 / (spread + 1e-4), 0.5 / (spread + 1e-4)]
    )
    assert found.values[1].tolist() == [0.0] * 4
    assert found.values[2, 1] == 0.0
    assert found.equal == 1


def test_groups_of_one_teach_nothing() -> None:
    found = group_advantages([[0.4], [0.9]])
    assert found.values.tolist() == [[0.0], [0.0]]
    assert found.equal == 2


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_an_error_that_names_its_place(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        group_advantages([[0.0, 1.0, 0.5], [0.0, 1.0, wrong]])


@pytest.mark.parametrize("shape", [(3,), (2, 0), (1, 2, 3)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        group_advantages(np.zeros(shape))


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_advantages_sum_to_nothing_and_keep_the_order(rewards: list[list[float]]) -> None:
    found = group_advantages(rewards)
    assert np.abs(found.values.sum(axis=1)).max() < 1e-6
    for row, values in zip(rewards, found.values, strict=True):
        for first in range(4):
            for second in range(4):
                if row[first] > row[second]:
                    assert values[first] >= values[second]
