"""Micro-batching: who waits for whom, what fails with whom, and that nothing hangs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.encoder import batcher as batcher_module
from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.batcher import MicroBatcher
from sidecar.errors import SidecarError


class Recording:
    """The static tier with a record of its calls; a test may hold it, and may poison texts."""

    def __init__(self, inner: Encoder) -> None:
        self.inner = inner
        self.calls: list[tuple[list[str], Purpose]] = []
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.spoil: Callable[[Sequence[str], FloatMatrix], None] = lambda texts, vectors: None

    name = "recording"
    backend = "test"
    fingerprint = "test"

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        self.calls.append((list(texts), purpose))
        self.threads.add(threading.current_thread().name)
        self.entered.set()
        assert self.gate.wait(20)
        vectors = self.inner.encode(texts, purpose)
        self.spoil(texts, vectors)
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def hold(self) -> None:
        self.gate.clear()
        self.entered.clear()

    async def wait_until_entered(self) -> None:
        await until(self.entered.is_set)


@pytest.fixture
def recording(static: Encoder) -> Recording:
    return Recording(static)


@asynccontextmanager
async def batching(encoder: Encoder, waiting_limit: int = 512, tokens: int = 65_536) -> AsyncIterator[MicroBatcher]:
    batcher = MicroBatcher(encoder, tokens_per_batch=tokens, waiting_limit=waiting_limit)
    try:
        yield batcher
    finally:
        await batcher.close()


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the condition never came true")


def texts(count: int, mark: str = "text") -> list[str]:
    return [f"{mark} {i} " + "natural number addition " * (i % 7) for i in range(count)]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["", "nat", "group ring", "\u200b", "field " * 90]), max_size=30),
            st.sampled_from(["goal", "question", "declaration"]),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.integers(1, 400),
)
async def test_every_caller_gets_its_own_vectors_in_order(
    static: Encoder, requests: list[tuple[list[str], Purpose, bool]], tokens: int
) -> None:
    async with batching(static, tokens=tokens) as batcher:
        answers = await asyncio.gather(*(batcher.encode(mine, purpose, bulk=bulk) for mine, purpose, bulk in requests))
        assert batcher.queue_length == 0
    for answer, (mine, purpose, _) in zip(answers, requests, strict=True):
        assert answer.dtype == np.float32
        np.testing.assert_allclose(answer, static.encode(mine, purpose), atol=1e-6)


async def test_concurrent_callers_share_batches_and_one_thread(recording: Recording) -> None:
    async with batching(recording) as batcher:
        recording.hold()
        first = asyncio.create_task(batcher.encode(["first"], "goal"))
        await recording.wait_until_entered()
        others = [asyncio.create_task(batcher.encode([f"other {i}"], "goal")) for i in range(10)]
        await until(lambda: batcher.queue_length == 11)
        recording.gate.set()
        await asyncio.gather(first, *others)
    assert [len(mine) for mine, _ in recording.calls] == [1, 10]
    assert recording.threads == {"encoder"}


async def test_purposes_are_never_mixed(recording: Recording) -> None:
    async with batching(recording) as batcher:
        recording.hold()
        tasks = [
            asyncio.create_task(batcher.encode([purpose], purpose))  # type: ignore[arg-type]
            for purpose in ("goal", "question", "goal", "declaration", "question")
        ]
        await recording.wait_until_entered()
        recording.gate.set()
        await asyncio.gather(*tasks)
    assert all(mine == [purpose] * len(mine) for mine, purpose in recording.calls)


async def test_an_interactive_request_waits_for_one_slice_of_bulk_work(recording: Recording) -> None:
    async with batching(recording, tokens=200) as batcher:
        recording.hold()
        bulk = asyncio.create_task(batcher.encode(texts(400), "declaration", bulk=True))
        await recording.wait_until_entered()
        goal = asyncio.create_task(batcher.encode(["goal"], "goal"))
        await until(lambda: batcher.queue_length == 2)
        recording.gate.set()
        await goal
        assert [purpose for _, purpose in recording.calls[:2]] == ["declaration", "goal"]
        assert not bulk.done()
        assert (await bulk).shape[0] == 400
    assert max(len(mine) for mine, _ in recording.calls) < 200


async def test_bulk_work_goes_on_under_interactive_load(recording: Recording) -> None:
    async with batching(recording) as batcher:
        stop = False

        async def goals() -> None:
            while not stop:
                await batcher.encode(["goal"], "goal")

        load = [asyncio.create_task(goals()) for _ in range(4)]
        bulk = await asyncio.wait_for(batcher.encode(texts(300), "declaration", bulk=True), 30)
        stop = True
        await asyncio.gather(*load)
    assert bulk.shape[0] == 300


async def test_a_large_request_shares_with_small_ones_of_its_kind(recording: Recording) -> None:
    async with batching(recording, tokens=200) as batcher:
        recording.hold()
        large = asyncio.create_task(batcher.encode(texts(400), "declaration", bulk=True))
        await recording.wait_until_entered()
        small = asyncio.create_task(batcher.encode(texts(3), "declaration", bulk=True))
        await until(lambda: batcher.queue_length == 2)
        recording.gate.set()
        await small
        assert not large.done()
        await large


async def test_a_caller_that_leaves_takes_its_work_along(recording: Recording) -> None:
    async with batching(recording, tokens=200) as batcher:
        recording.hold()
        bulk = asyncio.create_task(batcher.encode(texts(400, "bulk"), "declaration", bulk=True))
        await recording.wait_until_entered()
        waiting = asyncio.create_task(batcher.encode(texts(5, "waiting"), "declaration", bulk=True))
        await until(lambda: batcher.queue_length == 2)
        bulk.cancel()
        waiting.cancel()
        for task in (bulk, waiting):
            with pytest.raises(asyncio.CancelledError):
                await task
        assert batcher.queue_length == 0
        recording.gate.set()
        assert (await batcher.encode(["goal"], "goal")).shape[0] == 1
    encoded = [text for mine, _ in recording.calls for text in mine]
    assert sum(text.startswith("bulk") for text in encoded) < 200
    assert not any(text.startswith("waiting") for text in encoded)


async def test_too_many_requests_are_refused_with_a_time(recording: Recording) -> None:
    async with batching(recording, waiting_limit=3) as batcher:
        recording.hold()
        tasks = [asyncio.create_task(batcher.encode([f"goal {i}"], "goal")) for i in range(3)]
        await recording.wait_until_entered()
        assert batcher.queue_length == 3
        with pytest.raises(SidecarError) as caught:
            await batcher.encode(["one more"], "goal")
        assert caught.value.code == "overloaded"
        assert caught.value.retry_after is not None
        assert 0 < caught.value.retry_after <= 60
        recording.gate.set()
        await asyncio.gather(*tasks)
        assert (await batcher.encode(["one more"], "goal")).shape[0] == 1


async def test_a_poisonous_text_fails_its_caller_alone(recording: Recording) -> None:
    def spoil(mine: Sequence[str], vectors: FloatMatrix) -> None:
        if any("poison" in text for text in mine):
            raise ValueError("cannot digest this")

    recording.spoil = spoil
    async with batching(recording) as batcher:
        recording.hold()
        first = asyncio.create_task(batcher.encode(["first"], "goal"))
        await recording.wait_until_entered()
        good = [asyncio.create_task(batcher.encode(texts(4, f"good {i}"), "goal")) for i in range(5)]
        bad = asyncio.create_task(batcher.encode([*texts(6), "poison", *texts(2)], "goal"))
        await until(lambda: batcher.queue_length == 7)
        recording.gate.set()
        assert [answer.shape[0] for answer in await asyncio.gather(first, *good)] == [1, 4, 4, 4, 4, 4]
        with pytest.raises(SidecarError, match="cannot digest") as caught:
            await bad
        assert (caught.value.code, caught.value.field) == ("internal", "texts[6]")


async def test_texts_that_fail_only_together_succeed_apart(recording: Recording) -> None:
    def spoil(mine: Sequence[str], vectors: FloatMatrix) -> None:
        if len(mine) > 3:
            raise MemoryError("too many at once")

    recording.spoil = spoil
    async with batching(recording) as batcher:
        mine = texts(20)
        np.testing.assert_allclose(await batcher.encode(mine, "goal"), recording.inner.encode(mine, "goal"), atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
async def test_a_vector_that_is_not_finite_names_the_text(recording: Recording, value: float) -> None:
    def spoil(mine: Sequence[str], vectors: FloatMatrix) -> None:
        for row, text in enumerate(mine):
            if "poison" in text:
                vectors[row, 3] = value

    recording.spoil = spoil
    async with batching(recording) as batcher:
        good, bad = await asyncio.gather(
            batcher.encode(texts(3), "goal"),
            batcher.encode(["a", "b c d e f g h i j k", "poison"], "goal"),
            return_exceptions=True,
        )
        assert isinstance(good, np.ndarray)
        assert isinstance(bad, SidecarError)
        assert bad.field == "texts[2]"
        assert "not finite" in bad.message


async def test_an_encoder_that_gives_the_wrong_shape_is_an_error(recording: Recording) -> None:
    recording.encode = lambda texts, purpose: np.zeros((1, 7), dtype=np.float32)  # type: ignore[method-assign]
    async with batching(recording) as batcher:
        with pytest.raises(SidecarError, match="shape"):
            await batcher.encode(["a", "b"], "goal")


async def test_callers_of_a_worker_that_dies_are_told(recording: Recording) -> None:
    def spoil(mine: Sequence[str], vectors: FloatMatrix) -> None:
        raise SystemExit("killed")

    recording.spoil = spoil
    async with batching(recording) as batcher:
        answers = await asyncio.gather(
            *(asyncio.wait_for(batcher.encode([f"goal {i}"], "goal"), 20) for i in range(3)), return_exceptions=True
        )
        assert [answer.code for answer in answers if isinstance(answer, SidecarError)] == ["internal"] * 3
        with pytest.raises(SidecarError, match="worker stopped") as late:
            await batcher.encode(["late"], "goal")
        assert late.value.code == "internal"


async def test_closing_finishes_what_waits_and_takes_no_more(recording: Recording) -> None:
    batcher = MicroBatcher(recording, tokens_per_batch=200, waiting_limit=9)
    recording.hold()
    tasks = [asyncio.create_task(batcher.encode(texts(30), "goal")) for _ in range(3)]
    await recording.wait_until_entered()
    closing = asyncio.create_task(batcher.close(20))
    await asyncio.sleep(0.02)
    with pytest.raises(SidecarError, match="shutting down"):
        await batcher.encode(["late"], "goal")
    recording.gate.set()
    await closing
    assert [answer.shape[0] for answer in await asyncio.gather(*tasks)] == [30, 30, 30]
    await batcher.close()


async def test_closing_fails_what_is_not_finished_in_time(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher_module, "SLICE_SECONDS", 0.001)
    batcher = MicroBatcher(recording, tokens_per_batch=200, waiting_limit=9)
    recording.hold()
    tasks = [asyncio.create_task(batcher.encode(texts(30), "goal")) for _ in range(3)]
    await recording.wait_until_entered()
    began = time.monotonic()
    await batcher.close(0.05)
    for task in tasks:
        with pytest.raises(SidecarError) as caught:
            await task
        assert caught.value.code == "cancelled"
    assert time.monotonic() - began < 15
    recording.gate.set()


async def test_closing_an_unused_batcher_is_quick(recording: Recording) -> None:
    await MicroBatcher(recording, tokens_per_batch=200, waiting_limit=9).close()


async def test_no_texts_give_no_rows(recording: Recording) -> None:
    async with batching(recording) as batcher:
        assert (await batcher.encode([], "goal")).shape == (0, recording.dimension)
    assert recording.calls == []


def test_several_event_loops_may_share_a_batcher(static: Encoder) -> None:
    batcher = MicroBatcher(static, tokens_per_batch=2_000, waiting_limit=99)
    answers: list[FloatMatrix] = []

    def run() -> None:
        answers.append(asyncio.run(batcher.encode(texts(50), "goal")))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    asyncio.run(batcher.close())
    assert len(answers) == 4
    for answer in answers:
        np.testing.assert_allclose(answer, static.encode(texts(50), "goal"), atol=1e-6)


async def test_a_loop_that_closed_meanwhile_harms_nobody(recording: Recording) -> None:
    batcher = MicroBatcher(recording, tokens_per_batch=2_000, waiting_limit=99)

    def leave() -> None:
        async def short() -> None:
            asyncio.get_running_loop().create_task(batcher.encode(["gone"], "goal"))
            await asyncio.sleep(0.05)

        loop = asyncio.new_event_loop()
        loop.run_until_complete(short())
        loop.close()

    recording.hold()
    thread = threading.Thread(target=leave)
    thread.start()
    await asyncio.to_thread(thread.join)
    recording.gate.set()
    assert (await batcher.encode(["here"], "goal")).shape[0] == 1
    await batcher.close()


async def test_the_event_loop_goes_on_while_thousands_of_texts_are_encoded(small: Encoder) -> None:
    ticks = 0
    async with batching(small) as batcher:
        bulk = asyncio.create_task(batcher.encode(texts(300), "declaration", bulk=True))
        while not bulk.done():
            await asyncio.sleep(0.002)
            ticks += 1
        vectors = await bulk
    assert vectors.shape == (300, small.dimension)
    assert ticks > 10
