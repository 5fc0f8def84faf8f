"""Rewriters that a user can choose: a real endpoint, its failures, the settings; and that none hides a good answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.encoder.batcher import MicroBatcher
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.search.endpoint_rewriter import EndpointRewriter, read_instruction, read_rewrite
from sidecar.search.engine import SearchEngine
from sidecar.search.order import kept_up
from sidecar.search.request import SearchRequest
from sidecar.search.rewriter import Rewrite
from sidecar.search.rewriters import make_rewriter
from sidecar.search.vocabulary import VocabularyRewriter
from sidecar.settings import Settings
from tests.endpoint import Endpoint, Said


def settings(folder: Path, **fields: Any) -> Settings:
    return Settings(cache_folder=folder, **fields)


def endpoint_settings(folder: Path, endpoint: Endpoint, **fields: Any) -> Settings:
    return settings(folder, rewriter=endpoint.url, rewriter_model="test", **fields)


async def test_a_search_through_an_endpoint(index: Index, batcher: MicroBatcher, tmp_path: Path) -> None:
    with Endpoint(lambda body: Said('"Cayley-Hamilton theorem"'), token="secret") as endpoint:
        rewriter = make_rewriter(endpoint_settings(tmp_path, endpoint, rewriter_token="secret"))
        engine = SearchEngine(index, batcher, rewriter)
        for _ in range(2):
            answer = await engine.search(SearchRequest("what does a matrix satisfy"))
            assert answer.rewritten == "Cayley-Hamilton theorem"
            assert answer.results[0].name == "Matrix.aeval_self_charpoly"
            assert not answer.warnings
    (asked,) = endpoint.requests  # the second answer was kept
    assert asked["messages"][0]["content"].startswith("You rewrite questions")
    assert asked["messages"][1]["content"] == "what does a matrix satisfy"


async def test_an_endpoint_that_fails_leaves_the_query_and_is_left_alone(
    index: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    with Endpoint(lambda body: Said(status=500, raw=b"broken")) as endpoint:
        engine = SearchEngine(index, batcher, make_rewriter(endpoint_settings(tmp_path, endpoint)))
        for query in ("Group", "filter"):
            answer = await engine.search(SearchRequest(query))
            assert answer.results
            assert answer.rewritten is None
            (warning,) = answer.warnings
            assert warning.code == "rewriter_failed"
            assert "broken" in warning.message
            assert "searched as typed" in warning.message
    assert len(endpoint.requests) == 1


async def test_a_refusal_is_told(tmp_path: Path) -> None:
    with Endpoint(lambda body: Said(None, refusal="no")) as endpoint:
        rewriter = make_rewriter(endpoint_settings(tmp_path, endpoint))
        assert isinstance(rewriter, EndpointRewriter)
        assert await rewriter.rewrite("query") == Rewrite("", "the rewriter refused; searched as typed")


async def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Say it better.\n")
    with Endpoint(lambda body: Said("better")) as endpoint:
        rewriter = make_rewriter(endpoint_settings(tmp_path, endpoint, rewriter_prompt=tmp_path / "prompt.txt"))
        assert rewriter is not None
        await rewriter.rewrite("query")
    assert endpoint.requests[0]["messages"][0]["content"] == "Say it better."


def test_settings_that_name_a_rewriter(tmp_path: Path) -> None:
    assert make_rewriter(settings(tmp_path, rewriter="off")) is None
    assert isinstance(make_rewriter(settings(tmp_path)), VocabularyRewriter)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"rewriter": "gpt"}, "LEAN_SIDECAR_REWRITER"),
        ({"rewriter": "http://127.0.0.1:1/v1"}, "LEAN_SIDECAR_REWRITER_MODEL"),
        (
            {"rewriter": "http://127.0.0.1:1/v1", "rewriter_model": "m", "rewriter_prompt": Path("/nowhere")},
            "LEAN_SIDECAR_REWRITER_PROMPT",
        ),
    ],
)
def test_settings_that_name_none(tmp_path: Path, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(SidecarError) as caught:
        make_rewriter(settings(tmp_path, **fields))
    assert caught.value.field == field


def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text(" \n")
    with pytest.raises(SidecarError, match="is empty"):
        read_instruction(tmp_path / "prompt.txt")


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("even function", "even function"),
        ("\n\n Query: even function \nsecond line", "even function"),
        ("Rewritten question: “even function”", "even function"),
        ("`Even` and `Odd`", "Even` and `Odd"),
        ("the `even` function", "the `even` function"),
        ("", ""),
        ('""', ""),
    ],
)
def test_reading_a_rewrite(text: str, rewritten: str) -> None:
    assert read_rewrite(text) == rewritten


@given(st.permutations(range(12)), st.data())
def test_nothing_falls_below_twice_its_rank(order: list[int], data: st.DataObject) -> None:
    typed = data.draw(st.lists(st.sampled_from(order), unique=True))
    kept = list(kept_up(order, typed))
    assert sorted(kept) == sorted(order)
    for rank, item in enumerate(typed, start=1):
        assert kept.index(item) + 1 <= 2 * rank


def test_an_order_that_keeps_the_promise_stays() -> None:
    assert list(kept_up([3, 1, 2, 4], [3, 1, 2, 4])) == [3, 1, 2, 4]
    assert list(kept_up([9, 3, 8, 1], [3, 1])) == [9, 3, 8, 1]


class Misleading:
    """A rewriter that always asks for something else."""

    async def rewrite(self, query: str) -> Rewrite:
        return Rewrite("filter of a finite set, list, array, stream, option")


@pytest.mark.parametrize("query", ["group with an inverse", "determinant of a matrix", "addition is commutative"])
async def test_a_bad_rewrite_hides_nothing(index: Index, batcher: MicroBatcher, query: str) -> None:
    plain, misled = await asyncio.gather(
        *(
            SearchEngine(index, batcher, rewriter).search(SearchRequest(query, k=40))
            for rewriter in (None, Misleading())
        )
    )
    found = [result.name for result in misled.results]
    for rank, result in enumerate(plain.results[:10], start=1):
        assert found.index(result.name) + 1 <= 2 * rank + 1  # what replaces a deprecated one comes in front of it
