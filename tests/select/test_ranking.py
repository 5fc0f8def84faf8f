from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.select.ranking import rank


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=60), st.integers(1, 70))
def test_ranking_is_the_sorted_list_cut(entries: list[tuple[float, bool]], limit: int) -> None:
    scores = np.array([score for score, _ in entries], dtype=np.float32)
    allowed = np.array([one for _, one in entries], dtype=np.bool_)
    expected = sorted((number for number in range(len(entries)) if allowed[number]), key=lambda n: (-scores[n], n))
    ranking = rank(scores, allowed, limit)
    assert ranking.numbers.tolist() == expected[:limit]
    assert ranking.scores.tolist() == [scores[number] for number in expected[:limit]]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(500, 3_000),
    limit=st.integers(1, 40),
    levels=st.sampled_from([1, 2, 5, 40, 100_000]),
    share=st.sampled_from([0.01, 0.5, 1.0]),
    least=st.sampled_from([-1.0, 0.0]),
)
def test_so_is_one_of_many_premises(seed: int, size: int, limit: int, levels: int, share: float, least: float) -> None:
    random = np.random.default_rng(seed)
    scores = (random.integers(0, levels, size) / levels + least).astype(np.float32)
    allowed = random.random(size) < share
    ranking = rank(scores, allowed, limit)
    numbers = np.flatnonzero(allowed)
    expected = numbers[np.lexsort((numbers, -scores[numbers]))][:limit]
    assert ranking.numbers.tolist() == expected.tolist()
    assert ranking.scores.tolist() == scores[expected].tolist()
