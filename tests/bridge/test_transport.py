"""The light HTTP client against servers and proxies of every kind, and the clients' addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sidecar.client import Client
from sidecar.errors import SidecarError
from sidecar.transport import Transport, Unanswered
from tests.running import code_of


@asynccontextmanager
async def replying(*replies: bytes, keep: bool = True) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers the n-th request with the n-th reply; yields its address and the requests it got."""
    got: list[bytes] = []
    left = list(replies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                got.append(head + await reader.readexactly(length))
                writer.write(left.pop(0))
                await writer.drain()
                if not keep:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", got


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("reply", "status", "body"),
    [
        (OK, 200, b"ok"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nTrailer: x\r\n\r\n",
            200,
            b"ok",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 413, b""),
        (b"HTTP/1.1 200\r\ncontent-length:2\r\n\r\nok", 200, b"ok"),
    ],
)
async def test_answers_in_every_form_are_read(reply: bytes, status: int, body: bytes) -> None:
    async with replying(reply) as (url, got):
        transport = Transport(f"{url}/base/", "sesame")
        answer = await transport.request("POST", "/v1/status", b"\x80", "application/msgpack")
        assert (answer.status, answer.body) == (status, body)
        assert got[0].startswith(b"POST /base/v1/status HTTP/1.1\r\nhost: 127.0.0.1:")
        assert b"authorization: Bearer sesame\r\n" in got[0]
        assert got[0].endswith(b"content-type: application/msgpack\r\n\r\n\x80")
        await transport.close()


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async with replying(b"HTTP/1.0 200 OK\r\n\r\neverything", keep=False) as (url, _):
        assert (await Transport(url).request("GET", "/")).body == b"everything"


async def test_connections_are_used_again_and_replaced_when_they_were_closed() -> None:
    async with replying(OK, OK) as (url, got):
        transport = Transport(url)
        for _ in range(2):
            assert (await transport.request("GET", "/")).status == 200
        assert len(got) == 2
        # Nobody answers any more, on the kept connection or a new one.
        with pytest.raises(Unanswered):
            await transport.request("GET", "/")


async def test_a_cancelled_request_closes_its_connection() -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()
        left.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        transport = Transport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        task = asyncio.create_task(transport.request("GET", "/"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(30):
            await left.wait()


@pytest.mark.parametrize(
    "reply",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 300 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    ],
)
async def test_answers_that_are_none_are_errors(reply: bytes) -> None:
    async with replying(reply, keep=False) as (url, _):
        with pytest.raises(SidecarError) as caught:
            await Transport(url, largest_answer=1_000).request("GET", "/")
        assert caught.value.code == "unreachable"


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
async def test_a_server_that_leaves_early_has_not_answered(reply: bytes) -> None:
    async with replying(reply, keep=False) as (url, _):
        with pytest.raises((Unanswered, SidecarError)):
            await Transport(url).request("GET", "/")


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:80", "ftp://x", "http://", "http://x:port", "http://x:99999", "http://[::1"]
)
def test_an_address_that_is_none_is_named(url: str) -> None:
    for make in (Client, Transport):
        error = code_of(lambda make=make: make(url))  # type: ignore[misc]
        assert (error.code, error.field) == ("bad_request", "url")
        assert repr(url) in error.message


@pytest.mark.parametrize("token", ["a\r\nx: y", "schlüssel", "\x00"])
def test_a_token_cannot_carry_headers_of_its_own(token: str) -> None:
    assert code_of(lambda: Transport("http://127.0.0.1:1", token)).code == "bad_request"


def test_nobody_there_is_said_with_the_way_out() -> None:
    with Client("http://127.0.0.1:1") as client:
        error = code_of(client.status)
    assert error.code == "unreachable"
    assert "lean-sidecar serve" in (error.hint or "")
