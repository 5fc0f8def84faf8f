"""Words that count as one in a comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.text.stems import STOP_WORDS, stem


@pytest.mark.parametrize(
    "family",
    [
        ("continuous", "continuity", "continuously"),
        ("subspace", "subspaces"),
        ("independent", "independence"),
        ("compact", "compactness"),
        ("basis", "bases"),
        ("matrix", "matrices"),
        ("measurable", "measure", "measured"),
        ("add", "adds", "addition"),
        ("multiply", "multiplication", "multiplied"),
        ("commutative", "commute", "commutes"),
        ("derivative", "derivatives"),
        ("integrable", "integrability"),
        ("convergent", "converges", "convergence"),
    ],
)
def test_inflections_meet(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1, {word: stem(word) for word in family}


@pytest.mark.parametrize(
    "pair", [("ring", "order"), ("group", "groupoid"), ("set", "setoid"), ("norm", "normal"), ("map", "max")]
)
def test_other_words_stay_apart(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) != stem(pair[1])


@pytest.mark.parametrize(
    ("word", "key"),
    # Examples of Porter's article.
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("triplicate", "triplic"),
        ("hopefulness", "hope"),
        ("adoption", "adopt"),
        ("probate", "probat"),
        ("cease", "ceas"),
        ("controlling", "control"),
    ],
)
def test_porters_examples(word: str, key: str) -> None:
    assert stem(word) == key


@given(st.text(max_size=30))
def test_any_text_has_a_key(word: str) -> None:
    key = stem(word)
    assert (key == "") == (word == "")
    if not (word.isascii() and word.isalpha()):
        assert key == word


def test_stop_words_are_words_that_say_nothing() -> None:
    assert {"the", "of", "is"} <= STOP_WORDS
    assert not {"group", "add", "not", "zero"} & STOP_WORDS
