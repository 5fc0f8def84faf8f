"""The reward of a generated query, and what a group of rewards says about each of its members.

In: the rank of the declaration that a query was written for, whether the query fits it, how long it is. Out: a reward
between 0 and 1; for groups of rewards their advantages.

A query is worth most when it fits its declaration (j = 1), the retriever does not see that (the declaration comes out
below the first five) and yet is not lost (it comes out among the first hundred):

    reward = max(0, j · f(rank) − 0.15 · p(length))

with f = 0 for ranks up to 5, growing with the logarithm of the rank to 1 at rank 30, 1 up to rank 100 and 0 beyond, and
p = 0 up to 40 tokens, growing evenly to 1 at 50 tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from training.search.arms import Arm

EASY_RANK: Final = 5
"""Largest rank that earns nothing: the retriever answers such a query already."""

HARD_RANK: Final = 30
"""Smallest rank that earns all."""

LOST_RANK: Final = 100
"""Largest rank that earns anything; it is also how deep ranks have to be looked up."""

SHORT_TOKENS: Final = 40
LONG_TOKENS: Final = 50
LENGTH_WEIGHT: Final = 0.15

_SPREAD: Final = 1e-4
"""Added to the standard deviation of a group, as in TRL, so that nearly equal rewards give no huge advantages."""

FloatArray = npt.NDArray[np.float64]


def difficulty(rank: int | None) -> float:
    """f: how much the rank of the wanted declaration is worth.

    Args:
        rank: 1-based; None when the declaration was not among those looked up.

    Raises:
        ValueError: For a rank below 1.
    """
    if rank is None:
        return 0.0
    if rank < 1:
        raise ValueError(f"rank is {rank}; ranks begin at 1")
    if rank <= EASY_RANK or rank > LOST_RANK:
        return 0.0
    return min(1.0, math.log(rank / EASY_RANK) / math.log(HARD_RANK / EASY_RANK))


def length_penalty(tokens: int) -> float:
    """p: 0 up to 40 tokens, 1 from 50 tokens on, even in between.

    Raises:
        ValueError: For a negative number.
    """
    if tokens < 0:
        raise ValueError(f"a query of {tokens} tokens")
    return min(1.0, max(0.0, (tokens - SHORT_TOKENS) / (LONG_TOKENS - SHORT_TOKENS)))


def reward(rank: int | None, consistent: bool, tokens: int, arm: Arm = Arm.BOTH) -> float:
    """Reward of one query.

    Args:
        rank: 1-based rank of the wanted declaration; None when it was not among those looked up.
        consistent: The judge's verdict j.
        tokens: Length of the query in tokens of the model that wrote it. An empty query earns nothing.
        arm: `difficulty` takes j as 1, `consistency` takes f as 1.
    """
    hard, penalty = difficulty(rank), length_penalty(tokens)
    if tokens == 0:
        return 0.0
    fits = 1.0 if consistent or arm is Arm.DIFFICULTY else 0.0
    worth = 1.0 if arm is Arm.CONSISTENCY else hard
    return max(0.0, fits * worth - LENGTH_WEIGHT * penalty)


@dataclass(frozen=True, slots=True)
class Advantages:
    """Advantages of groups.

    Attributes:
        values: Shape (groups, members).
        equal: How many groups have equal rewards; their advantages are 0, so they teach nothing.
    """

    values: FloatArray
    equal: int


def group_advantages(rewards: npt.ArrayLike) -> Advantages:
    """Advantages within groups: reward minus the group's mean, by its standard deviation (Shao et al. 2024).

    Args:
        rewards: Shape (groups, members), at least one member.

    Raises:
        ValueError: When a reward is not finite (names group and member), or the shape is another.
    """
    array = np.asarray(rewards, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"rewards of shape {array.shape}: rows must be groups with at least one member")
    check_finite(array)
    equal = array.max(axis=1) == array.min(axis=1)
    members = array.shape[1]
    spread = array.std(axis=1, ddof=1, keepdims=True) if members > 1 else np.zeros((len(array), 1))
    values = (array - array.mean(axis=1, keepdims=True)) / (spread + _SPREAD)
    # The mean of equal numbers may differ from them in the last bit.
    values[equal] = 0.0
    return Advantages(values, int(equal.sum()))


def check_finite(rewards: FloatArray) -> None:
    """Refuse rewards that are no numbers.

    Raises:
        ValueError: Names the first place.
    """
    wrong = np.argwhere(~np.isfinite(rewards))
    if len(wrong):
        place = tuple(int(part) for part in wrong[0])
        raise ValueError(f"the reward at {place} is {rewards[place]}; training on it would destroy the model")
