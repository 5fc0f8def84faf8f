"""Near duplicates: which texts are, and that looking one up among many finds what comparing with each finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.data.near import NearTexts, near, telling_stems, without_near
from training.data.queries import SearchExample
from training.data.questions import Forbidden, Pair


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("kernel of a linear map", "the kernels of linear maps", True),
        ("linear map kernel", "kernel of a linear map", True),
        ("continuous add left", "continuous add right", False),
        ("sum of two continuous bounded functions", "sum of two continuous functions", True),
        ("continuous functions", "continuous bounded functions", False),
        ("of the", "of the", True),
        ("", "", False),
    ],
)
def test_pairs_of_texts(first: str, second: str, same: bool) -> None:
    assert near(telling_stems(first), telling_stems(second)) is same
    assert (second in NearTexts([first])) is same


WORDS = st.lists(
    st.sampled_from(["group", "ring", "field", "module", "ideal", "norm", "trace", "rank"]), max_size=8
).map(" ".join)


@given(st.lists(WORDS, max_size=12), WORDS)
def test_looking_up_finds_what_comparing_finds(texts: list[str], text: str) -> None:
    assert (text in NearTexts(texts)) == any(near(telling_stems(text), telling_stems(one)) for one in texts)


@given(st.lists(st.tuples(st.integers(0, 2), WORDS), max_size=12))
def test_of_near_duplicates_the_first_stays(texts: list[tuple[int, str]]) -> None:
    kept = list(without_near(texts))
    assert list(without_near(kept)) == kept
    for key, text in texts:
        if telling_stems(text):
            assert any(key == other and near(telling_stems(text), telling_stems(one)) for other, one in kept)


def test_what_is_nearly_an_evaluation_query_is_forbidden() -> None:
    asked = SearchExample("The kernel of a linear map", ("LinearMap.ker",), "dev", "short")
    forbidden = Forbidden([asked])
    assert forbidden.forbids(Pair("linear maps kernel", "Other.name"))
    assert forbidden.forbids(Pair("anything", "LinearMap.ker"))
    assert not forbidden.forbids(Pair("kernel of a ring homomorphism", "RingHom.ker"))
    assert forbidden.forbids_example(SearchExample("kernels of linear maps", ("Other.name",), "given", "short"))
    assert forbidden.forbids_example(SearchExample("anything", ("A", "LinearMap.ker"), "given", "short"))
    assert not forbidden.forbids_example(SearchExample("anything", ("A",), "given", "short"))
