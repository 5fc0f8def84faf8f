"""Connections whose clients have said all that they will say.

In: aiohttp's side of a connection, and the connections on which a call is in work. Out: a protocol for
`loop.create_server` that answers a client which closes only its sending side (`nc -N`, `shutdown(SHUT_WR)`).

TCP says of such a client what it says of one that is gone: nothing more will come. aiohttp takes it for gone, closes
the connection and cancels the call. Only sending tells the two apart, because what is sent to a closed socket comes
back as a reset. So a call that is in work when its client has ended is left to run; when it is not done shortly after,
the client is sent `100 Continue`, which every HTTP/1.1 client has to pass over (RFC 9110, 15.2); and when the reset
comes, the call is cancelled. An HTTP/1.0 client knows no such answer: whatever takes longer than a moment is cancelled.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Container

from aiohttp import web

SOON_SECONDS = 0.02
"""How long a call may still take before its client is asked for; most are done by then."""

LOOK_SECONDS = 0.05
"""How often it is looked whether the client turned out to be gone."""

_STILL_HERE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HalfClosable(asyncio.Protocol):
    """What asyncio talks to instead of aiohttp's protocol; all but the end of a client's data is passed on.

    Args:
        inner: aiohttp's protocol of this connection.
        in_work: Connections on which a call is in work that was read to its end and of which nothing is answered yet.
    """

    def __init__(self, inner: web.RequestHandler, in_work: Container[asyncio.BaseTransport]) -> None:
        self._inner = inner
        self._in_work = in_work
        self._transport: asyncio.Transport | None = None
        self._ending: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """A client has sent something."""
        self._inner.data_received(data)

    def eof_received(self) -> bool:
        """A client has said all that it will say; keep the connection open for the answer."""
        if self._ending is None and self._transport is not None:
            self._inner.close()  # once it has answered
            self._ending = asyncio.create_task(self._end(self._transport))
        return True

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        if self._ending is not None:
            self._ending.cancel()
        self._transport = None
        self._inner.connection_lost(exc)

    async def _end(self, transport: asyncio.Transport) -> None:
        """Close the connection when nothing is in work on it, or its client is gone."""
        # What arrived together with the end may not have been looked at yet.
        await asyncio.sleep(SOON_SECONDS)
        if transport not in self._in_work:
            transport.close()  # what was written is still sent
            return
        transport.write(_STILL_HERE)
        while transport in self._in_work:
            await asyncio.sleep(LOOK_SECONDS)
            if _was_reset(transport):
                transport.abort()
                return


def _was_reset(transport: asyncio.Transport) -> bool:
    connection = transport.get_extra_info("socket")
    return connection is None or connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
