"""Reciprocal rank fusion: several rankings of the same items become one.

In: rankings (best first) by name, a weight for each. Out: the best items with their fused score and their rank
in each ranking. Only ranks count, so that scores of different scales (cosines, BM25) need no calibration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RANK_CONSTANT = 60.0
"""Damps the lead of the first ranks; the value of the paper."""


@dataclass(frozen=True, slots=True)
class Fused:
    """One item of the fused ranking.

    Attributes:
        item: Number of the item (a row of the index, or any other numbering the caller uses).
        score: Sum of weight / (constant + rank) over the rankings that hold the item.
        ranks: 1-based rank in each ranking that holds the item.
    """

    item: int
    score: float
    ranks: dict[str, int]


def fuse(
    rankings: Mapping[str, Sequence[int] | npt.NDArray[np.integer]],
    weights: Mapping[str, float],
    k: int,
    constant: float = RANK_CONSTANT,
) -> list[Fused]:
    """Fuse rankings by weighted reciprocal rank (Cormack, Clarke and Büttcher, SIGIR 2009).

    Args:
        rankings: Items by name of the ranking, best first. Negative items say "none" (the padding of vector
            search) and take no rank; of an item that occurs twice in a ranking the first place counts.
        weights: Weight by name of the ranking, at least 0; a ranking that is not named weighs 1, and one of
            weight 0 is left out altogether.
        k: Largest number of items to return; 0 or less gives none.
        constant: See `RANK_CONSTANT`; at least 0.

    Returns:
        At most k items by falling score; equal scores are ordered by item number, so that neither the order
        of `rankings` nor chance decides.

    Raises:
        ValueError: A weight or the constant is negative or not finite.
    """
    if not (np.isfinite(constant) and constant >= 0):
        raise ValueError(f"the rank constant must be a finite number of at least 0, not {constant}")
    names = []
    items_of: list[npt.NDArray[np.int64]] = []
    shares_of: list[npt.NDArray[np.float64]] = []
    for name in sorted(rankings):
        weight = weights.get(name, 1.0)
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(f"the weight of {name!r} must be a finite number of at least 0, not {weight}")
        items = _without_repeats(np.asarray(rankings[name], dtype=np.int64))
        if weight == 0 or not len(items):
            continue
        names.append(name)
        items_of.append(items)
        shares_of.append(weight / (constant + np.arange(1, len(items) + 1, dtype=np.float64)))
    if k <= 0 or not names:
        return []
    distinct, places = np.unique(np.concatenate(items_of), return_inverse=True)
    scores = np.bincount(places, weights=np.concatenate(shares_of), minlength=len(distinct))
    best = np.lexsort((distinct, -scores))[:k]
    ranks: dict[int, dict[str, int]] = {item: {} for item in distinct[best].tolist()}
    chosen = np.zeros(len(distinct), dtype=np.bool_)
    chosen[best] = True
    start = 0
    for name, items in zip(names, items_of, strict=True):
        found = np.flatnonzero(chosen[places[start : start + len(items)]])
        for place, item in zip(found.tolist(), items[found].tolist(), strict=True):
            ranks[item][name] = place + 1
        start += len(items)
    return [
        Fused(item, score, ranks[item])
        for item, score in zip(distinct[best].tolist(), scores[best].tolist(), strict=True)
    ]


def _without_repeats(items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The non-negative items at their first places."""
    items = items[items >= 0]
    if len(np.unique(items)) == len(items):
        return items
    _, first = np.unique(items, return_index=True)
    return items[np.sort(first)]
