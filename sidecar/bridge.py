"""`lean-sidecar bridge`: the long-lived child process of a Lean process.

In: frames `{"id", "method", "params"}` on stdin. Out: frames `{"id", "result"}` or `{"id", "error"}` on stdout, in any
order, one for each request. `{"id", "method": "cancel"}` cancels the request of that id, which then answers with the
error `cancelled`; a cancel for a request that has been answered does nothing. A frame is four bytes of length, big end
first, and a MessagePack map; ids are whole numbers that the client chooses, one at a time each.

The bridge ends with its stdin: requests that are not answered by then are cancelled, without a message. So a client
keeps its end open until it has its answers.

Params go to the server as they are, and its answers back; only `deadline_ms` is read, and lowered by the time that the
request waited here for a server to start. stdout carries frames only: whatever else is printed goes to stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgpack

from sidecar import wire
from sidecar.errors import SidecarError
from sidecar.launch import ensure_server
from sidecar.settings import Limits, Settings
from sidecar.transport import Answer, Transport, Unanswered

SKIPPED_BYTES = 1 << 30
"""A frame that declares more than this is no frame: the stream is out of step and cannot be followed any more."""

FINISH_SECONDS = 1.0
"""How long the last messages may take to be written when the bridge ends."""

ANSWER_GRACE_SECONDS = 1.0
"""How much later than the deadline the server's answer may come: it says more than our own."""

FAILURE_SECONDS = 5.0
"""A server that could not start is not started again before this long."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the client.

    Attributes:
        id: The client's number for it.
        method: What is asked for.
        params: Names with the MessagePack of their values.
        deadline: Seconds that the client wants to wait; None where it does not say.
        size: Bytes of the frame.
    """

    id: int
    method: str
    params: list[tuple[str, bytes]]
    deadline: float | None
    size: int


class FrameError(Exception):
    """A frame that is no request.

    Attributes:
        id: The request's id where that much could be read.
        error: What to tell the client.
    """

    def __init__(self, id: int | None, error: SidecarError) -> None:
        super().__init__(str(error))
        self.id = id
        self.error = error


def read_request(frame: bytes, limits: Limits) -> Request:
    """Read a frame, leaving the values of its params alone.

    Raises:
        FrameError: It is no request.
    """
    # Of a frame that cannot be read any further.
    id = peek_id(frame[:_PEEKED_BYTES])
    try:
        entries = dict(wire.split_map(frame, limits))
        raw_id = entries.pop("id", None)
        if raw_id is None:
            raise SidecarError("bad_request", "missing", field="id")
        number = wire.decode_value(raw_id, limits)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            got = number if isinstance(number, int) and not isinstance(number, bool) else wire.kind_of(number)
            detail = f"must be a whole number of at least 0, got {got}"
            raise SidecarError("bad_request", detail, field="id")
        id = number
        method = wire.decode_value(entries.pop("method", b"\xc0"), limits)
        if not isinstance(method, str) or not (0 < len(method) <= 40 and method.isascii() and method.isidentifier()):
            raise SidecarError("bad_request", "must be the name of a method", field="method")
        params = wire.split_map(entries.pop("params", b"\x80"), limits)
        if entries:
            known = "a request has `id`, `method` and `params`"
            raise SidecarError("bad_request", "unknown field", field=next(iter(entries)), hint=known)
        return Request(id, method, params, _deadline(params, limits), len(frame))
    except SidecarError as error:
        raise FrameError(id, error) from None


def _deadline(params: list[tuple[str, bytes]], limits: Limits) -> float | None:
    """Seconds that a request may take; a value that makes no sense is left for the server to refuse."""
    for name, raw in params:
        if name == "deadline_ms":
            value = wire.decode_value(raw, limits)
            if isinstance(value, int) and 0 < value <= limits.deadline_ms:
                return value / 1000
    return None


_PEEKED_BYTES = 64
"""What is looked at of a frame that cannot be read: its id comes first."""


def peek_id(start: bytes) -> int | None:
    """The id of a frame of which only the start is there; None where it does not come first."""
    unpacker = msgpack.Unpacker(raw=False, max_array_len=0, max_map_len=0, max_ext_len=0)
    unpacker.feed(start)
    try:
        if unpacker.read_map_header() and unpacker.unpack() == "id":
            value = unpacker.unpack()
            return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
    except (ValueError, msgpack.UnpackException):
        pass
    return None


class Bridge:
    """Answers the requests of one client.

    Args:
        settings: Where the server is.
        send: Queues a message for the client; its future is done when the message is written.
        say: Tells a person something (stderr).
    """

    def __init__(
        self,
        settings: Settings,
        send: Callable[[bytes], asyncio.Future[None]],
        say: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._send = send
        self._say = say
        self._tasks: dict[int, asyncio.Task[bytes]] = {}
        self._requests_held = 0
        self._bytes_held = 0
        self._transport: Transport | None = None
        self._starting: asyncio.Task[Transport] | None = None
        self._waited_for: str | None = None
        """What a server that starts does; None while there is none, or while one that runs is looked for."""
        self._failed: tuple[float, SidecarError] | None = None

    def receive(self, frame: bytes) -> None:
        """Take one frame of the client."""
        try:
            request = read_request(frame, self._limits)
            if request.method == "cancel":
                task = self._tasks.get(request.id)
                if task is not None:
                    task.cancel()
                return
            self._check_room(request)
        except FrameError as error:
            self.refuse(error)
            return
        self._requests_held += 1
        self._bytes_held += request.size
        task = asyncio.create_task(self._message(request))
        self._tasks[request.id] = task
        task.add_done_callback(lambda task: self._answer(request, task))

    def refuse(self, error: FrameError) -> None:
        """Answer a frame that is no request; without its id where that would look like the answer to another one."""
        id = None if error.id in self._tasks else error.id
        self._send(wire.encode({"id": id, "error": error.error.as_wire()}))

    async def close(self) -> None:
        """Drop everything that is under way; the server notices and drops its share."""
        tasks: list[asyncio.Task[bytes] | asyncio.Task[Transport]] = [*self._tasks.values()]
        if self._starting is not None:
            tasks.append(self._starting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._transport is not None:
            await self._transport.close()

    def _check_room(self, request: Request) -> None:
        if request.id in self._tasks:
            # An answer with this id would be taken for the answer to the first request.
            detail = f"{request.id} is still in use by a request that is not answered yet"
            raise FrameError(None, SidecarError("bad_request", detail, field="id"))
        if self._requests_held >= self._limits.waiting or self._bytes_held > 4 * self._limits.body_bytes:
            detail = f"{self._requests_held} requests are in flight (limit `waiting`: {self._limits.waiting})"
            raise FrameError(request.id, SidecarError("overloaded", detail, retry_after=1.0))

    def _answer(self, request: Request, task: asyncio.Task[bytes]) -> None:
        """Send what came of a request: exactly one message, whenever and however it ended."""
        del self._tasks[request.id]
        if task.cancelled():
            message = _error_message(request.id, SidecarError("cancelled", "the request was cancelled"))
        else:
            message = task.result()

        def release(_: asyncio.Future[None]) -> None:
            self._requests_held -= 1
            self._bytes_held -= request.size

        self._send(message).add_done_callback(release)

    async def _message(self, request: Request) -> bytes:
        try:
            return wire.join_map([("id", wire.encode(request.id)), await self._forward(request)])
        except SidecarError as error:
            return _error_message(request.id, error)
        except Exception as error:
            import traceback

            self._say("".join(traceback.format_exception(error)))
            detail = f"the bridge failed: {error!r}"
            return _error_message(request.id, SidecarError("internal", detail, hint="its stderr says more"))

    async def _forward(self, request: Request) -> tuple[str, bytes]:
        """Send a request to the server; a server that died is started again, once.

        Returns:
            `result` or `error`, and the MessagePack of it.
        """
        seconds = self._limits.deadline_ms / 1000 if request.deadline is None else request.deadline
        until = time.monotonic() + seconds
        try:
            for attempt in (1, 2):
                async with asyncio.timeout(until - time.monotonic()):
                    transport = await self._server()
                remaining = max(until - time.monotonic(), 0.001)
                try:
                    async with asyncio.timeout(remaining + ANSWER_GRACE_SECONDS):
                        answer = await transport.request(
                            "POST", f"/v1/{request.method}", _body(request, remaining), wire.CONTENT_TYPE
                        )
                    return _read_answer(transport.url, answer, self._limits)
                except Unanswered as error:
                    if self._transport is transport:
                        self._transport = None
                    if self._settings.url:
                        hint = "is LEAN_SIDECAR_URL right, and the server up?"
                    elif attempt == 2 or (error.reached and request.method in wire.SENT_ONCE):
                        hint = "try again"
                    else:
                        continue
                    raise SidecarError("unreachable", str(error), hint=hint) from None
        except TimeoutError:
            detail = f"no answer within {1000 * seconds:.0f} ms"
            if self._waited_for is not None:
                detail += "; the server is still starting"
            raise SidecarError("deadline", detail, field="deadline_ms") from None
        raise AssertionError("the second attempt returns or raises")

    async def _server(self) -> Transport:
        """The connection to the server, found or started when there is none; many callers share one start."""
        if self._transport is not None:
            return self._transport
        if self._settings.url:
            self._transport = Transport(self._settings.url, self._settings.token)
            return self._transport
        if self._failed is not None and time.monotonic() - self._failed[0] < FAILURE_SECONDS:
            raise self._failed[1]
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(self._started)
        # Shielded: the server is for the others too, and for the next request.
        return await asyncio.shield(self._starting)

    async def _start(self) -> Transport:
        def say(message: str) -> None:
            self._waited_for = message
            self._say(message)

        address = await ensure_server(self._settings, say)
        return Transport(address.url, address.token)

    def _started(self, task: asyncio.Task[Transport]) -> None:
        self._starting = self._waited_for = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._transport, self._failed = task.result(), None
        elif isinstance(error, SidecarError):
            self._failed = (time.monotonic(), error)


def _error_message(id: int, error: SidecarError) -> bytes:
    return wire.encode({"id": id, "error": error.as_wire()})


def _body(request: Request, remaining: float) -> bytes:
    """The params, with what is left of the deadline."""
    if request.deadline is None:
        return wire.join_map(request.params)
    left = wire.encode(max(1, int(1000 * remaining)))
    return wire.join_map((name, left if name == "deadline_ms" else raw) for name, raw in request.params)


def _read_answer(url: str, answer: Answer, limits: Limits) -> tuple[str, bytes]:
    if answer.content_type == wire.CONTENT_TYPE:
        if answer.status == 200:
            return "result", answer.body
        error = dict(wire.split_map(answer.body, limits)).get("error")
        if error is not None:
            return "error", error
    raise SidecarError(
        "unreachable",
        f"{url} answered with status {answer.status} and {answer.content_type or 'no content type'}",
        hint="what listens there is not a sidecar, or something stands between; check LEAN_SIDECAR_URL",
    )


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"lean-sidecar bridge: {message.rstrip()}\n")
        sys.stderr.flush()


class _Frames(threading.Thread):
    """Reads frames in a thread of its own, which works for pipes, files and terminals alike.

    Args:
        handle: What to read from.
        largest: Longest frame that is kept; longer ones are skipped and refused.
        receive, refuse, end: Called in this thread with a frame, a refused frame, and the exit status at the end.
    """

    def __init__(
        self,
        handle: int,
        largest: int,
        receive: Callable[[bytes], None],
        refuse: Callable[[FrameError], None],
        end: Callable[[int], None],
    ) -> None:
        super().__init__(name="frames", daemon=True)
        self._handle = handle
        self._largest = largest
        self._receive = receive
        self._refuse = refuse
        self._end = end

    def run(self) -> None:
        """Read until the end of the stream, or until it cannot be followed."""
        status = 0
        try:
            while (head := self._take(4)) is not None:
                length = int.from_bytes(head, "big")
                if length > SKIPPED_BYTES:
                    raise _OutOfStepError(f"a frame of {length} bytes: this is not a stream of frames")
                if length > self._largest:
                    id = peek_id(self._skip(length))
                    detail = f"a frame of {length} bytes; at most {self._largest} are accepted"
                    self._refuse(FrameError(id, SidecarError("too_large", detail)))
                    continue
                frame = self._take(length)
                if frame is None:
                    raise _OutOfStepError("the stream ends behind the length of a frame")
                self._receive(frame)
        except _OutOfStepError as error:
            _say(str(error))
            self._refuse(FrameError(None, SidecarError("bad_request", str(error))))
            status = SidecarError("bad_request", "").exit_status
        except OSError as error:
            _say(f"stdin cannot be read: {error}")
        self._end(status)

    def _take(self, count: int) -> bytes | None:
        """Read exactly `count` bytes; None when the stream ends before the first of them."""
        parts: list[bytes] = []
        missing = count
        while missing:
            part = os.read(self._handle, min(missing, 1 << 20))
            if not part:
                if missing == count:
                    return None
                raise _OutOfStepError(f"the stream ends in the middle of a frame, {missing} bytes short")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _skip(self, count: int) -> bytes:
        """Read `count` bytes and keep the first few."""
        start = b""
        while count:
            part = self._take(min(count, 1 << 20))
            if part is None:
                raise _OutOfStepError(f"the stream ends in the middle of a frame, {count} bytes short")
            start = start or part[:_PEEKED_BYTES]
            count -= len(part)
        return start


class _OutOfStepError(Exception):
    """The stream cannot be followed any further."""


class _Output(threading.Thread):
    """Writes messages in a thread of its own, so that a client that does not read holds nobody else up."""

    def __init__(self, handle: int, loop: asyncio.AbstractEventLoop, broken: Callable[[], None]) -> None:
        super().__init__(name="output", daemon=True)
        self._handle = handle
        self._loop = loop
        self._broken = broken
        self._messages: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()

    def send(self, message: bytes) -> asyncio.Future[None]:
        """Queue a message; the future is done when it is written."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._messages.put((wire.frame(message), written))
        return written

    def finish(self) -> None:
        """Let what is queued be written before the process ends, unless the client does not read."""
        self._messages.put(None)
        self.join(FINISH_SECONDS)

    def run(self) -> None:
        """Write until told to finish or until the reader is gone."""
        while (queued := self._messages.get()) is not None:
            message, written = queued
            rest = memoryview(message)
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError:
                self._loop.call_soon_threadsafe(self._broken)
                return
            self._loop.call_soon_threadsafe(_finish, written)


def _finish(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)


async def _serve(settings: Settings, input_handle: int, output_handle: int) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(status: int) -> None:
        if not ended.done():
            ended.set_result(status)

    output = _Output(output_handle, loop, lambda: end(0))
    bridge = Bridge(settings, output.send, _say)
    frames = _Frames(
        input_handle,
        settings.limits.body_bytes + wire.FRAME_OVERHEAD,
        lambda frame: _from_thread(loop, bridge.receive, frame),
        lambda error: _from_thread(loop, bridge.refuse, error),
        lambda status: _from_thread(loop, end, status),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, 0)
    output.start()
    frames.start()
    try:
        return await ended
    finally:
        await bridge.close()
        output.finish()


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: object) -> None:
    # The loop may have ended while the thread was reading: then nobody wants this any more.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *arguments)


def run_bridge(settings: Settings) -> int:
    """Serve frames on stdin and stdout until stdin ends.

    Returns:
        Exit status: 0, or 2 when the stream was no stream of frames.
    """
    output_handle = os.dup(1)
    # A stray print, here or in a child process, must not get between the frames.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return asyncio.run(_serve(settings, 0, output_handle))
