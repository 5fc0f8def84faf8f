from __future__ import annotations

import numpy as np
from hypothesis import given
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
