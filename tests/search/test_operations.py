"""Products and sums of two things in sentences: what they are called, and what stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.operations import in_operations, variables
from sidecar.search.request import SearchRequest
from sidecar.search.vocabulary import VocabularyRewriter


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("determinant of a product of matrices", "det of mul of matrices"),
        ("exponential of a sum", "exp of add"),
        ("limit of sum is sum of limits", "tendsto of add is add of tendsto"),
        ("trace of product commutes", "trace of mul comm"),
        ("determinant is multiplicative", "det mul"),
        ("rank of AB at most rank of A", "rank of mul at most rank of"),
    ],
)
def test_operations_on_two_things(query: str, said: str) -> None:
    assert in_operations(query) == said


@pytest.mark.parametrize(
    "query",
    [
        *("tensor product", "inner product space", "direct sum", "sum of a constant over a finset", "product topology"),
        *("sum of the first n odd numbers", "derivative of a finite sum", "Euler product", "determinant", "", "AM-GM"),
        *("SVD", "CW complex", "integral over a product space"),
    ],
)
def test_other_products_and_sums_stay(query: str) -> None:
    assert in_operations(query) is None


def test_variables_are_those_of_a_product() -> None:
    assert variables("trace of AB = trace of BA") == {"AB", "BA"}
    assert variables("det AB = det A det B") == {"AB", "A", "B"}
    assert not variables("CW complex") and not variables("AA") and not variables("L function")


@given(st.text(max_size=80))
def test_any_text_gives_words_or_nothing(text: str) -> None:
    assert in_operations(text) != text


async def test_both_texts_are_searched(index: Index, batcher: MicroBatcher) -> None:
    engine = SearchEngine(index, batcher, VocabularyRewriter())
    answer = await engine.search(SearchRequest("sum of continuous functions is continuous", k=5))
    assert answer.rewritten == "add of continuous is continuous"
    assert "Continuous.add" in {result.name for result in answer.results}
