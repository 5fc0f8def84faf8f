"""The rewriter hook: what a rewriter may do, and that none can lose an answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.search.rewriter import Rewrite, rewrite_query


@dataclass
class Saying:
    """A rewriter that says one thing, after a while, or fails."""

    text: str = ""
    note: str | None = None
    wait: float = 0.0
    fails: BaseException | None = None
    asked: list[str] = field(default_factory=list)
    cancelled: bool = False

    async def rewrite(self, query: str) -> Rewrite:
        self.asked.append(query)
        try:
            await asyncio.sleep(self.wait)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.fails is not None:
            raise self.fails
        return Rewrite(self.text, self.note)


async def test_both_texts_are_searched_and_the_rewritten_one_is_shown(index: Index, batcher: MicroBatcher) -> None:
    rewriter = Saying("Cayley-Hamilton theorem")
    engine = SearchEngine(index, batcher, rewriter)
    answer = await engine.search(SearchRequest("what does a matrix satisfy"))
    assert rewriter.asked == ["what does a matrix satisfy"]
    assert answer.rewritten == "Cayley-Hamilton theorem"
    assert answer.results[0].name == "Matrix.aeval_self_charpoly"
    details = [reason.detail for reason in answer.results[0].why]
    assert any(detail.endswith("(rewritten query)") for detail in details)
    assert any("words matched" in detail and "rewritten" not in detail for detail in details)
    assert answer.as_wire()["rewritten"] == "Cayley-Hamilton theorem"
    assert "rewrite" in answer.timings


async def test_the_request_can_do_without(index: Index, batcher: MicroBatcher) -> None:
    rewriter = Saying("Cayley-Hamilton theorem")
    answer = await SearchEngine(index, batcher, rewriter).search(SearchRequest("group", rewrite=False))
    assert rewriter.asked == []
    assert answer.rewritten is None


@pytest.mark.parametrize(
    ("rewriter", "code"),
    [
        (Saying(fails=RuntimeError("no model")), "rewriter_failed"),
        (Saying(fails=TimeoutError()), "rewriter_slow"),
        (Saying(text=None), "rewriter_failed"),  # type: ignore[arg-type]
    ],
)
async def test_a_failure_falls_back_to_the_query(
    index: Index, batcher: MicroBatcher, rewriter: Saying, code: str
) -> None:
    answer = await SearchEngine(index, batcher, rewriter).search(SearchRequest("Group"))
    assert answer.results[0].name == "Group"
    assert answer.rewritten is None
    assert [warning.code for warning in answer.warnings] == [code]


async def test_a_slow_rewriter_is_cancelled() -> None:
    rewriter = Saying("late", wait=60)
    text, warnings = await rewrite_query(rewriter, "query", seconds=0.01)
    assert text is None
    assert [warning.code for warning in warnings] == ["rewriter_slow"]
    assert rewriter.cancelled


async def test_cancelling_the_search_cancels_the_rewriter(index: Index, batcher: MicroBatcher) -> None:
    rewriter = Saying("late", wait=60)
    search = asyncio.create_task(SearchEngine(index, batcher, rewriter).search(SearchRequest("group")))
    while not rewriter.asked:
        await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert rewriter.cancelled


@pytest.mark.parametrize("text", ["", " \u200b\n", "query", "  query "])
async def test_nothing_new_is_no_rewrite(text: str) -> None:
    assert await rewrite_query(Saying(text), "query") == (None, ())


async def test_a_rewrite_is_one_clean_line_of_bounded_length_and_its_note_is_passed_on() -> None:
    text, warnings = await rewrite_query(Saying("a\r\nb\u200b" + "c" * 10_000, note="guessed"), "query")
    assert text is not None
    assert text.startswith("a bccc")
    assert len(text) <= 4_096
    assert [(warning.code, warning.message) for warning in warnings] == [("rewriter_note", "guessed")]
