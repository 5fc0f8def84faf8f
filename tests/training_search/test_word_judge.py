"""The judge without a model: what it accepts, what it refuses, and why."""

from __future__ import annotations

import pytest

from training.search.judge import Asked, Verdict
from training.search.retriever import Retriever
from training.search.word_judge import WordJudge


def verdict(retriever: Retriever, query: str, name: str) -> Verdict:
    (declaration,) = retriever.declarations([name])
    (said,) = WordJudge(retriever.index).judge([Asked(query, declaration)])
    return said


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("append is associative", "List.append_assoc"),
        ("how to prove that appending lists is associative", "List.append_assoc"),
        ("gcd one left", "Nat.gcd_one_left"),
        ("greatest common divisor with one on the left", "Nat.gcd_one_left"),
        ("highest common factor with one on the left", "Nat.gcd_one_left"),
        ("a proposition and its negation prove anything", "absurd"),
    ],
)
def test_what_fits(retriever: Retriever, query: str, name: str) -> None:
    assert verdict(retriever, query, name).consistent


@pytest.mark.parametrize(
    ("query", "name", "why"),
    [
        ("continuous map of topological spaces", "List.append_assoc", "not `"),
        ("length of appended lists", "List.append_assoc", "length"),
        ("list", "List.append_assoc", "vague"),
        ("lemma", "List.append_assoc", "nothing"),
        ("", "List.append_assoc", "nothing"),
        ("how to prove that", "List.append_assoc", "nothing"),
    ],
)
def test_what_does_not(retriever: Retriever, query: str, name: str, why: str) -> None:
    said = verdict(retriever, query, name)
    assert not said.consistent
    assert why in said.reason
