"""A small HTTP/1.1 client on asyncio, light enough for a bridge that must start at once.

In: a server's address, a path, a body. Out: status, headers and body of the answer. Connections are kept and used
again; a cancelled caller closes its connection, which is how the server learns that nobody waits any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from urllib.parse import urlsplit

from sidecar.errors import SidecarError

HEADER_BYTES = 65_536
KEPT_SECONDS = 30.0
"""An idle connection older than this is not used again: the server may be about to close it (aiohttp keeps it 75 s)."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The parts of a server's address.

    Attributes:
        tls: Whether it is `https`.
        host: Host name or address, without brackets.
        port: Port.
        netloc: Host and port as the Host header wants them.
        base: Path in front of ours, without a slash at its end.
    """

    tls: bool
    host: str
    port: int
    netloc: str
    base: str


def parse_url(url: str) -> ServerUrl:
    """Take an address apart: `http://host:port` or `https://host:port`, perhaps with a path.

    Raises:
        SidecarError: `bad_request` for an address that is none.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise SidecarError(
            "bad_request",
            f"{url!r} is not the address of a server",
            field="url",
            hint="give an address such as http://127.0.0.1:8723",
        )
    tls = parts.scheme == "https"
    netloc = parts.netloc.rpartition("@")[2]
    return ServerUrl(tls, host, port or (443 if tls else 80), netloc, parts.path.rstrip("/"))


class Unanswered(Exception):
    """The server went away before its answer was complete.

    Attributes:
        reached: Whether the request may have been read: then only a request that is safe to repeat should be.
    """

    def __init__(self, message: str, reached: bool) -> None:
        super().__init__(message)
        self.reached = reached


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer.

    Attributes:
        status: HTTP status.
        headers: Header names in lower case.
        body: The whole body.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used: float

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.writer.transport.abort()


class Transport:
    """Connections to one server.

    Args:
        url: Address, see `parse_url`.
        token: Bearer token, if the server wants one.
        largest_answer: Longer bodies are refused.

    Raises:
        SidecarError: `bad_request` for an address that is none.
    """

    def __init__(self, url: str, token: str | None = None, largest_answer: int = 256 * 1024 * 1024) -> None:
        self.url = url
        self._server = parse_url(url)
        headers = [f"host: {self._server.netloc}", "user-agent: lean-sidecar"]
        if token:
            headers.append(f"authorization: Bearer {token}")
        if any(not _is_header_safe(line) for line in headers):
            raise SidecarError("bad_request", "the token or the address has characters that HTTP cannot carry")
        self._headers = "".join(f"{line}\r\n" for line in headers)
        self._largest_answer = largest_answer
        self._idle: list[_Connection] = []

    async def request(self, method: str, path: str, body: bytes = b"", content_type: str | None = None) -> Answer:
        """Send one request and wait for its answer.

        Raises:
            Unanswered: The server cannot be reached, or closed the connection.
            SidecarError: `unreachable` for an answer that is not HTTP or too long.
        """
        head = f"{method} {self._server.base}{path} HTTP/1.1\r\n{self._headers}content-length: {len(body)}\r\n"
        if content_type:
            head += f"content-type: {content_type}\r\n"
        message = head.encode("latin-1") + b"\r\n" + body
        while (kept := self._take_idle()) is not None:
            # A kept connection may have been closed by the server since; that says nothing about the server.
            try:
                return await self._exchange(kept, message)
            except Unanswered as error:
                if error.reached:
                    raise
        return await self._exchange(await self._connect(), message)

    async def close(self) -> None:
        """Close the kept connections."""
        while self._idle:
            self._idle.pop().close()

    def _take_idle(self) -> _Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if now - connection.used < KEPT_SECONDS and not connection.reader.at_eof():
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        try:
            reader, writer = await asyncio.open_connection(
                self._server.host, self._server.port, ssl=self._server.tls or None, limit=HEADER_BYTES
            )
        except OSError as error:
            raise Unanswered(f"{self.url} does not answer: {error}", reached=False) from error
        return _Connection(reader, writer, 0.0)

    async def _exchange(self, connection: _Connection, message: bytes) -> Answer:
        reader, writer = connection.reader, connection.writer
        answer_began = False
        complete = False
        try:
            writer.write(message)
            # The server may refuse early (413) without reading all of it: read while we write.
            drain = asyncio.ensure_future(writer.drain())
            try:
                line = await reader.readline()
                answer_began = bool(line)
                answer, keep = await self._read_answer(reader, line)
            finally:
                drain.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await drain
            complete = keep
            return answer
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            detail = str(error) or type(error).__name__
            # Without a byte of answer on a connection that was used before, the server had closed it: not reached.
            raise Unanswered(
                f"{self.url} closed the connection: {detail}", reached=answer_began or connection.used == 0.0
            ) from error
        except (ValueError, asyncio.LimitOverrunError) as error:
            raise SidecarError(
                "unreachable",
                f"{self.url} does not speak HTTP: {error}",
                hint="check the address (LEAN_SIDECAR_URL)",
            ) from error
        finally:
            if complete:
                connection.used = asyncio.get_running_loop().time()
                self._idle.append(connection)
            else:
                connection.close()

    async def _read_answer(self, reader: asyncio.StreamReader, line: bytes) -> tuple[Answer, bool]:
        while True:
            if not line:
                raise EOFError("no answer")
            version, _, rest = line.decode("latin-1").partition(" ")
            if not version.startswith("HTTP/1."):
                raise ValueError(f"the first line is {line[:80]!r}")
            status = int(rest[:3])
            headers: dict[str, str] = {}
            lines = 0
            while (header := await reader.readline()) not in (b"\r\n", b"\n"):
                if not header:
                    raise EOFError("the answer ends within its headers")
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
                lines += 1
                if lines > 200:
                    raise ValueError("more than 200 headers")
            if status >= 200:
                break
            line = await reader.readline()
        keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await self._read_chunks(reader)
        elif "content-length" in headers:
            body = await reader.readexactly(self._checked(int(headers["content-length"])))
        elif status in (204, 304):
            body = b""
        else:
            body, keep = await self._read_to_end(reader), False
        return Answer(status, headers, body), keep

    async def _read_chunks(self, reader: asyncio.StreamReader) -> bytes:
        body = bytearray()
        while size := int((await reader.readline()).split(b";")[0], 16):
            self._checked(len(body) + size)
            body += await reader.readexactly(size)
            await reader.readline()
        while (await reader.readline()).strip():
            pass
        return bytes(body)

    async def _read_to_end(self, reader: asyncio.StreamReader) -> bytes:
        body = bytearray()
        while chunk := await reader.read(65_536):
            self._checked(len(body) + len(chunk))
            body += chunk
        return bytes(body)

    def _checked(self, size: int) -> int:
        if not 0 <= size <= self._largest_answer:
            raise ValueError(f"an answer of {size} bytes")
        return size


def _is_header_safe(line: str) -> bool:
    return line.isascii() and line.isprintable()
