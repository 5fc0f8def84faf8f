"""The Python reference client.

In: typed calls. Out: the server's answers as plain maps, or the `SidecarError` that it answered with. `Client` speaks
HTTP to a server; `LocalClient` does so to the user's own server, which it finds or starts; `BridgeClient` starts a
bridge and speaks frames to it, exactly as the Lean plugin does. All may be used from several threads.
"""

from __future__ import annotations

import contextlib
import http.client
import queue
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sidecar import wire
from sidecar.errors import SidecarError
from sidecar.settings import Limits, Settings
from sidecar.transport import parse_url

if TYPE_CHECKING:
    from sidecar.encoder.base import FloatMatrix, Purpose

Result = dict[str, Any]
"""The map that a method answers with; `ANSWERS` in `sidecar/server/schema.py` says what is in it."""

ANSWER_LIMITS = Limits(body_bytes=1 << 30, depth=64, items=50_000_000)
"""What we accept from a server that we chose to ask."""


def about_example(index: Mapping[str, Any]) -> str | None:
    """What to know of answers that come from the example library, by the `index` of `status`; None of others."""
    if not index["example"]:
        return None
    return (
        f"nothing was indexed yet: this comes from an example library of {index['declarations']} declarations, not from"
        " Mathlib or a library of your own; `lean-sidecar index build CORPUS` makes an index"
    )


class _Methods:
    """The methods of the protocol, by whatever way `call` sends them."""

    def call(self, method: str, params: Mapping[str, object]) -> Result:
        """Call a method by its name.

        Raises:
            SidecarError: What the server answered with, or `unreachable`.
        """
        raise NotImplementedError

    def close(self) -> object:
        """Let go of the server. Leaving the client as a context manager does so too."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def status(self) -> Result:
        """Version, index, encoder, limits, queue and provers of the server."""
        return self.call("status", {})

    def premises(self, goal: str, k: int | None = None, **params: object) -> Result:
        """Premises for a goal; `params` are the other fields of `PremiseRequest`."""
        return self.call("premises", _given(goal=goal, k=k, **params))

    def search(self, query: str, k: int | None = None, **params: object) -> Result:
        """Declarations for a question; `params` are the other fields of `SearchRequest`."""
        return self.call("search", _given(query=query, k=k, **params))

    def environment(
        self,
        imports: Sequence[str],
        modules: Sequence[Mapping[str, object]] = (),
        premises: Sequence[Mapping[str, object]] = (),
        **params: object,
    ) -> Result:
        """Say what a Lean process can see; the answer names the texts that the server still needs."""
        return self.call(
            "environment",
            _given(imports=list(imports), modules=list(modules), premises=list(premises), **params),
        )

    def embed(self, texts: Sequence[str], purpose: Purpose, **params: object) -> FloatMatrix:
        """Vectors of texts.

        Returns:
            Array of shape (len(texts), dimension), float32.
        """
        import numpy as np

        result = self.call("embed", _given(texts=list(texts), purpose=purpose, **params))
        return np.frombuffer(result["vectors"], "<f4").reshape(len(texts), result["dimension"]).astype(np.float32)

    def prove(self, problem: str, deadline_ms: int, provers: Sequence[str] | None = None) -> Result:
        """Race external provers on a TPTP problem."""
        names = None if provers is None else list(provers)
        return self.call("prove", _given(problem=problem, deadline_ms=deadline_ms, provers=names))

    def feedback(self, goal: str, premises: Sequence[str], tactic: str | None = None) -> Result:
        """Report which premises closed a goal."""
        return self.call("feedback", _given(goal=goal, premises=list(premises), tactic=tactic))


def _given(**params: object) -> dict[str, object]:
    return {name: value for name, value in params.items() if value is not None}


class Client(_Methods):
    """Speaks HTTP to a server. Close it, or use it as a context manager.

    Args:
        url: Address of the server.
        token: Bearer token, if it wants one.
        timeout: Seconds to wait for each answer.

    Raises:
        SidecarError: `bad_request` for an address that is none.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 660.0) -> None:
        self.url = url
        self._server = parse_url(url)
        self._headers = {"content-type": wire.CONTENT_TYPE}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._timeout = timeout
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue()

    def call(self, method: str, params: Mapping[str, object]) -> Result:
        """See `_Methods.call`."""
        status, content_type, body = self.exchange("POST", f"/v1/{method}", wire.encode_unchecked(dict(params)))
        if content_type != wire.CONTENT_TYPE:
            raise SidecarError(
                "unreachable",
                f"{self.url} answered with status {status} and {content_type or 'no content type'}",
                hint="what listens there is not a sidecar",
            )
        answer: Result = wire.decode(body, ANSWER_LIMITS)
        if status != 200:
            raise SidecarError.from_wire(answer["error"])
        return answer

    def reload(self) -> Result:
        """Make the server load its index again, without dropping a request."""
        return self.call("reload", {})

    def exchange(self, verb: str, path: str, body: bytes = b"") -> tuple[int, str, bytes]:
        """One HTTP request as it is.

        Returns:
            Status, media type, body.

        Raises:
            SidecarError: `unreachable`, or `deadline` when no answer comes in time.
        """
        while True:
            try:
                connection, kept = self._idle.get_nowait(), True
            except queue.Empty:
                connection, kept = self._connect(), False
            try:
                connection.request(verb, self._server.base + path, body, self._headers)
                response = connection.getresponse()
                answer = response.read()
            except TimeoutError:
                connection.close()
                detail = f"{self.url} did not answer within {self._timeout:.0f} s"
                raise SidecarError("deadline", detail) from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if kept:
                    continue
                raise SidecarError(
                    "unreachable",
                    f"{self.url} does not answer: {error or type(error).__name__}",
                    hint="is the server running? `lean-sidecar serve` starts one",
                ) from None
            self._idle.put(connection)
            media_type = response.headers.get_content_type() if response.headers.get("content-type") else ""
            return response.status, media_type, answer

    def close(self) -> None:
        """Close the connections."""
        while not self._idle.empty():
            self._idle.get().close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._server.host, self._server.port
        if self._server.tls:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


class LocalClient(_Methods):
    """Speaks to the server that the settings name, or else to the user's local one. Close it, or use it in a `with`.

    The local server is found or started by the first call, and again when it has stopped since: it does so after an
    idle time, and a client may live longer.

    Args:
        settings: Where the server is.
        timeout: Seconds to wait for each answer.
        start_seconds: Seconds to wait for a local server that starts: after that a call ends with `overloaded`, saying
            what the server is doing. None for as long as it takes.
    """

    def __init__(self, settings: Settings, timeout: float = 660.0, start_seconds: float | None = None) -> None:
        self._settings = settings
        self._timeout = timeout
        self._start_seconds = start_seconds
        self._lock = threading.Lock()
        self._client: Client | None = None

    def call(self, method: str, params: Mapping[str, object]) -> Result:
        """See `_Methods.call`."""
        client = self._found(None)
        try:
            return client.call(method, params)
        except SidecarError as error:
            if error.code != "unreachable" or method in wire.SENT_ONCE:
                raise
        return self._found(client).call(method, params)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _found(self, lost: Client | None) -> Client:
        """A client of a server that answers, and is not the lost one."""
        limit = self._start_seconds
        until = None if limit is None else time.monotonic() + limit
        if not self._lock.acquire(timeout=-1 if limit is None else limit):
            raise SidecarError(
                "overloaded",
                f"the server is not ready after {limit:.3g} s: another call waits for it",
                hint="ask again in a minute",
                retry_after=30.0,
            )
        try:
            if self._client is None or self._client is lost:
                self._client = self._find(None if until is None else max(0.0, until - time.monotonic()))
            return self._client
        finally:
            self._lock.release()

    def _find(self, within: float | None) -> Client:
        if self._settings.url:
            return Client(self._settings.url, self._settings.token, self._timeout)
        import asyncio

        from sidecar.launch import ensure_server

        def say(message: str) -> None:
            sys.stderr.write(f"{message}\n")

        address = asyncio.run(ensure_server(self._settings, say, within))
        return Client(address.url, address.token, self._timeout)


class BridgeClient(_Methods):
    """Starts a bridge and speaks frames to it. Close it, or use it as a context manager.

    Args:
        environment: Environment of the bridge; None for ours.
        command: What starts a bridge.
        errors: Where the bridge's stderr goes (a file or one of `subprocess`'s constants); None for ours.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "sidecar", "bridge"),
        errors: Any = None,
    ) -> None:
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=None if environment is None else dict(environment),
        )
        self._lock = threading.Lock()
        self._next = 0
        self._waiting: dict[int, Future[Result]] = {}
        self.unclaimed: list[SidecarError] = []
        """Errors that the bridge sent without the id of a request."""
        self._reader = threading.Thread(target=self._read, name="bridge answers", daemon=True)
        self._reader.start()

    def start(self, method: str, params: Mapping[str, object]) -> tuple[int, Future[Result]]:
        """Send a request and do not wait.

        Returns:
            Its id, and a future that ends with the result or the `SidecarError`.
        """
        future: Future[Result] = Future()
        with self._lock:
            self._next += 1
            id = self._next
            self._waiting[id] = future
        self.send(wire.encode_unchecked({"id": id, "method": method, "params": dict(params)}))
        return id, future

    def cancel(self, id: int) -> None:
        """Cancel a request; its future ends with `cancelled`, or with its answer if that was on the way."""
        self.send(wire.encode({"id": id, "method": "cancel"}))

    def call(self, method: str, params: Mapping[str, object]) -> Result:
        """See `_Methods.call`."""
        return self.start(method, params)[1].result()

    def send(self, message: bytes) -> None:
        """Send one frame as it is.

        Raises:
            SidecarError: `unreachable` when the bridge has ended.
        """
        assert self.process.stdin is not None
        try:
            with self._lock:
                self.process.stdin.write(wire.frame(message))
                self.process.stdin.flush()
        except (OSError, ValueError):
            raise SidecarError("unreachable", "the bridge has ended") from None

    def close(self) -> int:
        """End the bridge.

        Returns:
            Its exit status.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        status = self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        while len(head := stream.read(4)) == 4:
            message: Result = wire.decode(stream.read(int.from_bytes(head, "big")), ANSWER_LIMITS)
            error = SidecarError.from_wire(message["error"]) if "error" in message else None
            future = self._waiting.pop(message["id"], None)
            if future is None:
                self.unclaimed.append(error or SidecarError("internal", f"an answer to nothing: {message!r}"))
            elif error is not None:
                future.set_exception(error)
            else:
                future.set_result(message["result"])
        for future in list(self._waiting.values()):
            future.set_exception(SidecarError("unreachable", "the bridge has ended"))
