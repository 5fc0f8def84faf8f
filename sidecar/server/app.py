"""The HTTP application.

In: requests from anybody who can reach the port. Out: MessagePack answers of the methods under `/v1/`, JSON of
`/health`, text of `/metrics`, and for everything that goes wrong an error of one format: `{"error": {"code", "message",
"field"?, "hint"?, "retry_after"?}}`, MessagePack under `/v1/` and JSON elsewhere. Every answer carries `x-request-id`,
which is also in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import hmac
import json
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import HttpVersion11, web

from sidecar import __version__, wire
from sidecar.errors import ErrorCode, SidecarError
from sidecar.server.connections import HalfClosable
from sidecar.server.logs import log_request
from sidecar.server.methods import METHODS, Method
from sidecar.server.schema import FIELDS, read_deadline, read_fields
from sidecar.server.state import ServerState

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

BODY_SECONDS = 60.0
"""How long a client may take to send its body."""

BODIES_AT_ONCE = 4
"""How many bodies of the largest size may be held at the same time."""

LARGE_BYTES = 65_536
"""Longer bodies are decoded and checked in a thread: a million items take longer than a ping may wait."""

CANCEL_SECONDS = 5.0
"""How long a cancelled call may take to let go of what it holds."""

OPEN_PATHS = ("/health", "/metrics")

_HTTP_CODES: dict[int, ErrorCode] = {404: "not_found", 405: "bad_request", 413: "too_large"}


@dataclass(slots=True)
class _Place:
    """What a call holds: room for so many bytes of its body, and its connection once the body is there."""

    size: int = 0
    connection: asyncio.BaseTransport | None = None


class Application:
    """The routes and what stands before them.

    Args:
        state: What the methods need.
        hosts: Host names that a request may be addressed to; None for any (then a token is wanted).
        token: Bearer token that every request but `/health` must carry; None for none.
    """

    def __init__(self, state: ServerState, hosts: frozenset[str] | None, token: str | None) -> None:
        self._state = state
        self._limits = state.settings.limits
        self._hosts = hosts
        self._token = token.encode() if token else None
        self._calls: set[asyncio.Task[object]] = set()
        self._in_work: set[asyncio.BaseTransport] = set()
        self._bytes_held = 0
        self._last_call = time.monotonic()

    def routes(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._boundary, self._guard], client_max_size=self._limits.body_bytes)
        app.router.add_route("*", "/v1/{method}", self._call)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        return app

    def connection(self, inner: web.RequestHandler) -> asyncio.Protocol:
        """The protocol of a new connection, around aiohttp's."""
        return HalfClosable(inner, self._in_work)

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last method call ended; 0 while there is one, and until the server is ready."""
        if self._calls or self._state.ready_since is None:
            return 0.0
        return time.monotonic() - max(self._last_call, self._state.ready_since)

    async def drain(self, seconds: float) -> None:
        """Wait until no call is in work; calls that take longer than this are cancelled."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=seconds)
        for task in self._calls:
            task.cancel()
        if self._calls:
            await asyncio.wait(self._calls, timeout=CANCEL_SECONDS)

    @web.middleware
    async def _boundary(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give every request an id, one kind of error, one line of log, and its place in the metrics."""
        began = time.monotonic()
        id = secrets.token_hex(6)
        status, sent, fault = 499, 0, "cancelled"
        self._state.metrics.in_flight.inc()
        try:
            try:
                response, fault = await handler(request), ""
            except Exception as error:
                known = _as_sidecar_error(error, request, id)
                fault = known.code if known.field is None else f"{known.code} {known.field}"
                response = _error_response(request, known, error)
            response.headers["x-request-id"] = id
            status, sent = response.status, response.content_length or 0
            return response
        finally:
            self._state.metrics.in_flight.dec()
            seconds = time.monotonic() - began
            label = _label(request)
            self._state.metrics.requests.labels(label, str(status)).inc()
            self._state.metrics.seconds.labels(label).observe(seconds)
            log_request(
                method=request.method,
                path=request.rel_url.raw_path[:200],
                status=status,
                seconds=seconds,
                received=request.content_length or 0,
                sent=sent,
                id=id,
                error=fault or None,
            )

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests that a foreign web page makes a browser send, and those without the token."""
        host = request.headers.get("host", "")
        if self._hosts is not None and _host_name(host) not in self._hosts:
            raise SidecarError(
                "forbidden",
                f"this server does not answer for the host {host[:100]!r}",
                hint="use 127.0.0.1 or localhost, or start the server with --allow-host",
            )
        origin = request.headers.get("origin")
        if origin is not None and (urlsplit(origin).netloc or "null") != host:
            raise SidecarError("forbidden", f"requests of web pages of {origin[:100]!r} are not answered")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise SidecarError("forbidden", "requests of other web pages are not answered")
        if self._token is not None and request.path != "/health":
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token):
                raise SidecarError(
                    "unauthorized",
                    "this server wants a token" if not given else "the token is wrong",
                    hint="send `Authorization: Bearer <token>`; set LEAN_SIDECAR_TOKEN to the server's token",
                )
        return await handler(request)

    async def _call(self, request: web.Request) -> web.Response:
        """One method call: read it, check it, run it within its deadline."""
        arrived = asyncio.get_running_loop().time()
        name = request.match_info["method"]
        method = METHODS.get(name)
        if method is None:
            near = difflib.get_close_matches(name, METHODS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"methods: {', '.join(METHODS)}"
            raise SidecarError("not_found", f"no method {name[:100]!r}", hint=hint)
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        _check_type(request)
        with self._admit(request) as place:
            self._state.check_ready()
            body = await self._read_body(request, place)
            if request.version >= HttpVersion11 and request.transport is not None:
                place.connection = request.transport
                self._in_work.add(place.connection)
            if len(body) > LARGE_BYTES:
                deadline, call = await asyncio.to_thread(self._read_call, name, method, body)
            else:
                deadline, call = self._read_call(name, method, body)
            del body
            until = arrived + deadline
            timeout = asyncio.timeout_at(until + method.grace_seconds)
            try:
                async with timeout:
                    answer = await method.run(self._state, call, until)
            except TimeoutError:
                if not timeout.expired():
                    raise
                detail = f"not done within {1000 * deadline:.0f} ms"
                raise SidecarError("deadline", detail, field="deadline_ms") from None
            return web.Response(body=wire.encode(answer), content_type=wire.CONTENT_TYPE)

    def _read_call(self, name: str, method: Method, body: bytes) -> tuple[float, object]:
        fields = read_fields(name, wire.decode(body, self._limits))
        return read_deadline(fields, self._limits), method.read(fields, self._limits)

    @contextlib.contextmanager
    def _admit(self, request: web.Request) -> Iterator[_Place]:
        """Hold a place for a call and its body, or refuse it while too many are held."""
        size = request.content_length or 0
        if size > self._limits.body_bytes:
            raise self._too_large(size)
        if len(self._calls) >= self._limits.waiting:
            raise self._overloaded()
        place = _Place()
        self._enlarge(place, size)
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            yield place
        finally:
            self._calls.discard(task)
            if place.connection is not None:
                self._in_work.discard(place.connection)
            self._bytes_held -= place.size
            self._last_call = time.monotonic()

    def _enlarge(self, place: _Place, size: int) -> None:
        """Hold room for a body of that size, where it is more than is held already."""
        more = max(0, size - place.size)
        if self._bytes_held + more > BODIES_AT_ONCE * self._limits.body_bytes:
            raise self._overloaded()
        self._bytes_held += more
        place.size += more

    def _overloaded(self) -> SidecarError:
        self._state.metrics.shed.inc()
        return SidecarError(
            "overloaded",
            f"{len(self._calls)} requests with {self._bytes_held} bytes are in work",
            hint=f"try again; at most {self._limits.waiting} are taken at once (limit `waiting`)",
            retry_after=1.0,
        )

    async def _read_body(self, request: web.Request, place: _Place) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.content.iter_any():
                    body += part
                    if len(body) > self._limits.body_bytes:
                        raise self._too_large(None)
                    # A body that comes in chunks does not say beforehand how long it is.
                    self._enlarge(place, len(body))
        except TimeoutError:
            raise SidecarError("deadline", f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
        return bytes(body)

    def _too_large(self, size: int | None) -> SidecarError:
        sent = "the body" if size is None else f"the body has {size} bytes; it"
        return SidecarError(
            "too_large",
            f"{sent} is over the limit of {self._limits.body_bytes} bytes (limit `body_bytes`)",
            hint="send premises in several `environment` requests",
        )

    async def _health(self, request: web.Request) -> web.Response:
        """Whether the server is up, and who it is; never waits for anything."""
        state = self._state
        body = {
            "status": state.stage,
            "version": __version__,
            "protocol": wire.PROTOCOL,
            "pid": os.getpid(),
            "instance": state.instance,
            "revision": state.revision,
        }
        return web.json_response(body, status=200 if state.ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        """Prometheus's text format."""
        return web.Response(
            body=self._state.metrics.text(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"}
        )


def _label(request: web.Request) -> str:
    """The name of a request in the metrics: of a known few, whatever a client sends."""
    method = request.match_info.get("method")
    if method is None:
        return request.path[1:] if request.path in OPEN_PATHS else "other"
    return method if method in FIELDS else "other"


def _host_name(host: str) -> str:
    """The host of a Host header, without the port: `127.0.0.1:8723`, `[::1]:8723`."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _check_type(request: web.Request) -> None:
    if request.content_type != wire.CONTENT_TYPE:
        raise SidecarError(
            "unsupported_type",
            f"the content type must be {wire.CONTENT_TYPE}, got {request.content_type[:100]!r}",
            hint=f"send a MessagePack map with `content-type: {wire.CONTENT_TYPE}`",
        )
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise SidecarError("unsupported_type", f"the content encoding {encoding[:100]!r} is not accepted")


def _as_sidecar_error(error: Exception, request: web.Request, id: str) -> SidecarError:
    """What a client is told about an error; one that nobody foresaw is logged under the request's id."""
    if isinstance(error, SidecarError):
        return error
    if isinstance(error, ExceptionGroup):
        known = error.subgroup(SidecarError)
        if known is not None:
            first = known.exceptions[0]
            return _as_sidecar_error(first, request, id)
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods - {"HEAD"}))
        return SidecarError("bad_request", f"{request.method} is not allowed here", hint=f"use {allowed}")
    if isinstance(error, web.HTTPException):
        code = _HTTP_CODES.get(error.status, "bad_request" if error.status < 500 else "internal")
        hint = "methods are at /v1/<method>; there are also /health and /metrics" if error.status == 404 else None
        return SidecarError(code, f"{request.path[:100]}: {error.reason}", hint=hint)
    logger.exception("request %s failed", id, exc_info=error)
    return SidecarError(
        "internal",
        f"the server failed on this request; its log says more under the id {id}",
        hint="report it with that part of the log, unless `lean-sidecar index verify` finds the index damaged",
    )


def _error_response(request: web.Request, known: SidecarError, cause: Exception) -> web.Response:
    body = {"error": known.as_wire()}
    status = cause.status if isinstance(cause, web.HTTPException) else known.status
    headers: dict[str, str] = {}
    if known.retry_after is not None:
        headers["retry-after"] = str(max(1, round(known.retry_after)))
    if isinstance(cause, web.HTTPMethodNotAllowed):
        headers["allow"] = ", ".join(sorted(cause.allowed_methods))
    if known.code == "unauthorized":
        headers["www-authenticate"] = "Bearer"
    if request.path.startswith("/v1/"):
        return web.Response(body=wire.encode(body), status=status, headers=headers, content_type=wire.CONTENT_TYPE)
    return web.Response(text=json.dumps(body), status=status, headers=headers, content_type="application/json")
