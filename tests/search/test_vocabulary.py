"""Everyday words into Mathlib's: what the table that comes with the package knows, and how a table is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.search.vocabulary import Vocabulary, VocabularyRewriter, vocabulary


@pytest.mark.parametrize(
    ("query", "rewritten"),
    [
        ("constant function unchanged under negating the input", "constant function even function"),
        ("function that doesn't change when the sign of the input changes", "function that does even function"),
        ("doesn't change under negating the input", "does even function"),
        ("f(-x) = f(x)", "even function"),
        ("Conditional expectation", "cond exp"),
        ("the minimal polynomial of x", "the minpoly of x"),
        ("Changes sign under negation", "odd function"),
        ("one-to-one functions", "injective function"),
        ("is this map onto?", "is this surjective function"),
        ("order-preserving bijection", "monotone bijection"),
        ("matrix equal to its own transpose", "matrix symmetric matrix"),
        ("primes go on forever", "infinitely many primes"),
        ("numbers that cannot be written as a fraction", "numbers that can irrational"),
        ("swap the order of integration", "fubini integral product"),
        ("théorème de Pythagore", "pythagorean theorem"),
        ("Jeder endliche Körper", "jeder finite field"),
    ],
)
def test_what_people_say(query: str, rewritten: str) -> None:
    assert vocabulary().rewrite(query) == rewritten


@pytest.mark.parametrize(
    "query",
    [
        *("add_comm", "group", "Cayley-Hamilton", "tensor product", "filter", "list append", "map_zero", "zero power"),
        *("projection onto a subspace", "linear combination", "rearrangement inequality", "limit point", "neg_neg"),
        *("unique factorization domain", "derivative", "a b c : ℕ ⊢ a + b = b + a", "x", ""),
    ],
)
def test_what_is_said_in_mathlibs_words_stays(query: str) -> None:
    assert vocabulary().rewrite(query) is None


@given(st.text(max_size=80))
def test_any_text_gives_words_or_nothing(text: str) -> None:
    rewritten = vocabulary().rewrite(text)
    assert rewritten is None or rewritten.strip()


def test_longest_phrase_first_and_groups() -> None:
    table = Vocabulary(
        ["@size = size | number of elements", "cardinality : @size", "finite : finite @size?", "# a comment", ""]
    )
    assert table.rewrite("the number of elements of s") == "the cardinality of s"
    assert table.rewrite("a finite number of elements") == "a finite"
    assert table.rewrite("size and finite size") == "cardinality and finite"


def test_an_end_counts_only_at_the_end() -> None:
    table = Vocabulary(["surjective : onto $"])
    assert table.rewrite("f is onto") == "f is surjective"
    assert table.rewrite("onto maps") is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("even function", "neither"),
        ("even : ", "neither"),
        ("even : @nowhere x", "no group '@nowhere'"),
        ("even : the of", "no words"),
        ("even : a $ word", "an end within"),
    ],
)
def test_a_wrong_line_is_named(line: str, says: str) -> None:
    with pytest.raises(ValueError, match=f"line 2.*{says}"):
        Vocabulary(["# comment", line])


async def test_the_rewriter() -> None:
    assert (await VocabularyRewriter().rewrite("a one-to-one map")).text == "a injective function"
    assert (await VocabularyRewriter().rewrite("group")).text == ""
