"""Micro-batching: many concurrent callers, one model.

In: texts from coroutines. Out: their vectors. One worker thread runs the encoder; callers' texts are cut into slices of
a few tens of milliseconds and merged with other callers' texts of the same purpose, so that a short interactive request
waits for at most one slice of bulk work, and the event loop waits for nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.vectors import unit_rows
from sidecar.errors import SidecarError

logger = logging.getLogger(__name__)

SLICE_SECONDS = 0.05
"""How long one slice should take; the wait of an interactive request behind bulk work."""

FIRST_SLICE_TOKENS = 1_024
"""Size of a slice before the encoder's speed is known."""

SMALLEST_SLICE_TOKENS = 512

INTERACTIVE_STREAK = 8
"""After this many interactive slices in a row one bulk slice runs, so that bulk work never stands still."""

CHARACTERS_PER_TOKEN = 4
"""Estimate for canonical texts; it sizes slices only, the encoder itself counts exactly."""


@dataclass(eq=False, slots=True)
class _Request:
    """One caller's texts and how far they are."""

    texts: tuple[str, ...]
    purpose: Purpose
    tokens: list[int]
    order: list[int]
    vectors: FloatMatrix
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[FloatMatrix]
    taken: int = 0
    dropped: bool = False

    @property
    def waiting_tokens(self) -> int:
        return sum(self.tokens[row] for row in self.order[self.taken :])


@dataclass(slots=True)
class _Slice:
    """Texts that run together: rows of requests of one purpose."""

    purpose: Purpose
    parts: list[tuple[_Request, list[int]]] = field(default_factory=list)
    tokens: int = 0


class MicroBatcher:
    """Serialises concurrent callers of one encoder.

    Safe to use from several event loops at once. The worker thread starts with the first request.

    Args:
        encoder: The encoder; only the worker thread calls its `encode`.
        tokens_per_batch: Most tokens of a slice, by estimate. Slices are smaller where the encoder is slow: they are
            sized to take about `SLICE_SECONDS`.
        waiting_limit: Requests that may wait or run at once; one more is refused as `overloaded`.
    """

    def __init__(self, encoder: Encoder, *, tokens_per_batch: int = 65_536, waiting_limit: int = 512) -> None:
        self.encoder = encoder
        self._tokens_per_batch = tokens_per_batch
        self._waiting_limit = waiting_limit
        self._lock = threading.Condition()
        self._interactive: deque[_Request] = deque()
        self._bulk: deque[_Request] = deque()
        self._running: list[_Request] = []
        self._streak = 0
        self._tokens_per_second: float | None = None
        self._closing = False
        self._abandoned = False
        self._failure: SidecarError | None = None
        self._worker: threading.Thread | None = None

    @property
    def queue_length(self) -> int:
        """Requests that wait or run."""
        with self._lock:
            return self._length()

    async def encode(self, texts: Sequence[str], purpose: Purpose, *, bulk: bool = False) -> FloatMatrix:
        """Encode texts.

        Args:
            texts: The texts, in any number; none gives an empty matrix.
            purpose: What they are.
            bulk: Whether nobody waits for the answer: interactive requests go first.

        Returns:
            Array of shape (len(texts), dimension), float32, in the order of the texts.

        Raises:
            SidecarError: `overloaded` when too many requests wait (with `retry_after`) or the batcher is closed;
                `internal` once the worker has died; otherwise what the encoder raised, naming the text as field
                `texts[i]`.
        """
        if not texts:
            return np.zeros((0, self.encoder.dimension), dtype=np.float32)
        limit = self.encoder.max_tokens
        tokens = [min(limit, 2 + len(text) // CHARACTERS_PER_TOKEN) for text in texts]
        loop = asyncio.get_running_loop()
        request = _Request(
            texts=tuple(texts),
            purpose=purpose,
            tokens=tokens,
            # Texts of one length run together best, so a request is cut into slices in order of length.
            order=np.argsort(np.array(tokens), kind="stable").tolist(),
            vectors=np.zeros((len(tokens), self.encoder.dimension), dtype=np.float32),
            loop=loop,
            future=loop.create_future(),
        )
        self._admit(request, bulk=bulk)
        try:
            return await request.future
        except asyncio.CancelledError:
            self._drop(request)
            raise

    async def close(self, grace_seconds: float = 10.0) -> None:
        """Take no more requests, finish those that wait, and stop the worker.

        Args:
            grace_seconds: Requests that are not finished by then fail with `cancelled`; only the slice that is
                running is waited for.
        """
        with self._lock:
            self._closing = True
            self._lock.notify_all()
            worker = self._worker
        if worker is None:
            return
        await asyncio.to_thread(worker.join, grace_seconds)
        if worker.is_alive():
            with self._lock:
                self._abandoned = True
                self._lock.notify_all()
            await asyncio.to_thread(worker.join, max(1.0, 20 * SLICE_SECONDS))
        # A model that hangs must not keep its callers: whoever is left is told, with or without the worker.
        self._fail_all(SidecarError("cancelled", "the encoder was closed before this request was finished"))

    def _length(self) -> int:
        waiting = {*self._interactive, *self._bulk, *self._running}
        return sum(not request.dropped for request in waiting)

    def _admit(self, request: _Request, *, bulk: bool) -> None:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._closing:
                raise SidecarError(
                    "overloaded", "the encoder is shutting down", hint="try again later", retry_after=1.0
                )
            if self._length() >= self._waiting_limit:
                raise SidecarError(
                    "overloaded",
                    f"{self._waiting_limit} requests wait for the model already",
                    hint="try again later, or start the server with a faster encoder (static)",
                    retry_after=self._retry_after(),
                )
            (self._bulk if bulk else self._interactive).append(request)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="encoder", daemon=True)
                self._worker.start()
            self._lock.notify_all()

    def _retry_after(self) -> float:
        """Seconds until what waits now is done, in tenths between 0.1 and 60."""
        tokens = sum(request.waiting_tokens for lane in (self._interactive, self._bulk) for request in lane)
        rate = self._tokens_per_second or FIRST_SLICE_TOKENS / SLICE_SECONDS
        return round(min(60.0, max(0.1, tokens / rate)), 1)

    def _drop(self, request: _Request) -> None:
        with self._lock:
            request.dropped = True
            for lane in (self._interactive, self._bulk):
                if request in lane:
                    lane.remove(request)

    def _work(self) -> None:
        try:
            while (batch := self._next()) is not None:
                began = time.monotonic()
                self._run(batch)
                self._measure(batch.tokens, time.monotonic() - began)
        except BaseException as error:
            logger.exception("the encoder's worker stopped")
            failure = SidecarError(
                "internal", f"the encoder's worker stopped: {error!r}", hint="start the server again; its log has more"
            )
            with self._lock:
                self._closing = True
                self._failure = failure
            self._fail_all(failure)

    def _next(self) -> _Slice | None:
        """Wait for work and take the next slice; None when there will be none."""
        with self._lock:
            self._running = []
            while not (self._interactive or self._bulk):
                if self._closing:
                    return None
                self._lock.wait()
            if self._abandoned:
                return None
            bulk_turn = not self._interactive or (self._bulk and self._streak >= INTERACTIVE_STREAK)
            self._streak = 0 if bulk_turn else self._streak + 1
            batch = self._take(self._bulk if bulk_turn else self._interactive)
            self._running = [request for request, _ in batch.parts]
            return batch

    def _take(self, lane: deque[_Request]) -> _Slice:
        """Cut a slice from the head of a lane, then from later requests of the same purpose while there is room."""
        rate = self._tokens_per_second
        room = FIRST_SLICE_TOKENS if rate is None else max(SMALLEST_SLICE_TOKENS, int(rate * SLICE_SECONDS))
        room = min(room, self._tokens_per_batch)
        batch = _Slice(lane[0].purpose)
        for request in list(lane):
            if request.purpose != batch.purpose:
                continue
            rows: list[int] = []
            for row in request.order[request.taken :]:
                # The first text of a slice always fits: a text longer than the budget still has to run.
                if batch.tokens and batch.tokens + request.tokens[row] > room:
                    break
                rows.append(row)
                batch.tokens += request.tokens[row]
            if not rows:
                break
            request.taken += len(rows)
            batch.parts.append((request, rows))
            lane.remove(request)
            if request.taken < len(request.order):
                # Behind the others: a request of thousands of texts shares the model slice by slice.
                lane.append(request)
                break
        return batch

    def _run(self, batch: _Slice) -> None:
        texts = [request.texts[row] for request, rows in batch.parts for row in rows]
        try:
            vectors = self._call(texts, batch.purpose)
        except Exception as error:
            logger.warning("a batch of %d texts failed, its callers run apart: %s", len(texts), error)
            for request, rows in batch.parts:
                self._run_apart(request, rows)
        else:
            at = 0
            for request, rows in batch.parts:
                request.vectors[rows] = vectors[at : at + len(rows)]
                at += len(rows)
        done = [request for request, _ in batch.parts if request.taken == len(request.order)]
        with self._lock:
            # Before the callers hear of it: who has an answer waits no more.
            self._running = [request for request in self._running if request not in done]
        for request in done:
            if not request.dropped:
                _answer(request, request.vectors)

    def _run_apart(self, request: _Request, rows: list[int]) -> None:
        """Run one caller's part of a failed batch in ever smaller parts; a text that fails alone fails it."""
        if request.dropped:
            return
        try:
            request.vectors[rows] = self._call([request.texts[row] for row in rows], request.purpose)
        except Exception as error:
            if len(rows) > 1:
                half = len(rows) // 2
                self._run_apart(request, rows[:half])
                self._run_apart(request, rows[half:])
                return
            self._drop(request)
            _answer(request, _named(error, rows[0]))

    def _call(self, texts: list[str], purpose: Purpose) -> FloatMatrix:
        vectors = self.encoder.encode(texts, purpose)
        if vectors.shape != (len(texts), self.encoder.dimension):
            raise SidecarError("internal", f"the encoder gave shape {vectors.shape} for {len(texts)} texts")
        return unit_rows(vectors)

    def _measure(self, tokens: int, seconds: float) -> None:
        rate = tokens / max(seconds, 1e-6)
        known = self._tokens_per_second
        self._tokens_per_second = rate if known is None else 0.8 * known + 0.2 * rate

    def _fail_all(self, error: SidecarError) -> None:
        with self._lock:
            left = {*self._interactive, *self._bulk, *self._running}
            self._interactive.clear()
            self._bulk.clear()
            self._running = []
            for request in left:
                request.dropped = True
        for request in left:
            _answer(request, error)


def _named(error: Exception, row: int) -> SidecarError:
    """The error of one text, naming its position among its caller's texts."""
    if isinstance(error, SidecarError):
        return SidecarError(
            error.code, error.message, field=f"texts[{row}]", hint=error.hint, retry_after=error.retry_after
        )
    return SidecarError("internal", f"the encoder failed: {error!r}", field=f"texts[{row}]")


def _answer(request: _Request, answer: FloatMatrix | SidecarError) -> None:
    """Hand the answer to the caller's event loop; a caller that has gone gets nothing."""

    def settle() -> None:
        if request.future.done():
            return
        if isinstance(answer, SidecarError):
            request.future.set_exception(answer)
        else:
            request.future.set_result(answer)

    try:
        request.loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the caller's loop is closed
        logger.debug("an answer came after its caller's event loop had closed")
