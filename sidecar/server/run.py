"""Run the server in this process until it is told to stop.

In: the settings and where to listen. Out: an exit status. The port is open at once and `/health` says what is being
loaded; SIGTERM and SIGINT let requests that are under way finish; SIGHUP loads the index again.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from sidecar import __version__
from sidecar.encoder.threads import use_quiet_threads
from sidecar.errors import SidecarError
from sidecar.launch import Address, find_server, other_index, publish, withdraw
from sidecar.server.app import Application
from sidecar.server.logs import LogStyle, configure_logging
from sidecar.server.state import ServerState
from sidecar.settings import Settings

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8723
BACKLOG = 128
"""Connections that may wait to be taken."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Hosts that stand for all addresses of this machine, and how this machine itself reaches a server there."""

HOST_HINT = "give 127.0.0.1, 0.0.0.0 for all addresses, or an address of this machine"

WATCH_SECONDS = 5.0
"""How often the index folder is looked at for a new index."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Where and how to listen.

    Attributes:
        host: Address to bind; anything but a loopback address wants a token.
        port: Port; 0 takes a free one.
        allowed_hosts: More names that requests may be addressed to.
        idle_seconds: Stop after this long without a request; 0 for never.
        grace_seconds: How long requests that are under way may take to finish when the server stops.
        log: Style of the log.
        for_bridges: Whether nobody else has a use for this server: it stops when they cannot be told of it.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    idle_seconds: int = 0
    grace_seconds: float = 10.0
    log: LogStyle = "text"
    for_bridges: bool = False


def serve(settings: Settings, *, index: Path | None = None, encoder: str | None = None, listen: Listen) -> int:
    """Serve until SIGTERM or SIGINT, or until idle for long enough.

    Args:
        settings: Folders, token, threads, limits.
        index: Index to serve; None for the settings' one, else `data_folder/default`, else the embedded example
            library, whose index is built into the cache folder first.
        encoder: Encoder to use; None for those that the index was made with.
        listen: See `Listen`.

    Returns:
        Exit status: 0 after a stop that was asked for.

    Raises:
        SidecarError: `forbidden` when it would listen beyond this machine without a token, `conflict` when the port is
            taken; or what kept the index or the encoder from loading.
    """
    configure_logging(listen.log)
    use_quiet_threads()
    # The event loop waits for the interpreter lock this long when a thread computes in Python.
    sys.setswitchinterval(0.001)
    _check_exposure(listen, settings.token)
    return asyncio.run(_Server(settings, index, encoder, listen).run())


def _check_exposure(listen: Listen, token: str | None) -> None:
    try:
        socket.getaddrinfo(listen.host, None)
    except (OSError, UnicodeError) as error:
        raise SidecarError(
            "bad_request",
            f"{listen.host!r} is no address of this machine: {getattr(error, 'strerror', None) or error}",
            field="host",
            hint=HOST_HINT,
        ) from None
    if not token and not _is_loopback(listen.host):
        raise SidecarError(
            "forbidden",
            f"listening on {listen.host} would let everybody in the network use this server",
            field="host",
            hint="set LEAN_SIDECAR_TOKEN to a secret that clients must send, or listen on 127.0.0.1",
        )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hosts(listen: Listen) -> frozenset[str] | None:
    """Names that requests may be addressed to; None for any, where a token keeps strangers out anyway."""
    if listen.host in WILDCARDS and not listen.allowed_hosts:
        return None
    return frozenset(name.lower() for name in (*LOOPBACK, listen.host, *listen.allowed_hosts))


class _Server:
    def __init__(self, settings: Settings, index: Path | None, encoder: str | None, listen: Listen) -> None:
        self._settings = settings
        self._index = index
        self._listen = listen
        self._state = ServerState(settings, index, encoder)
        self._application = Application(self._state, _hosts(listen), settings.token)
        self._stop = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        runner = web.AppRunner(
            self._application.routes(),
            handler_cancellation=True,
            # Calls have been waited for by then, and those that took too long have been cancelled.
            shutdown_timeout=0.1,
            access_log=None,
            # Encoded bodies are refused, so nothing is to be decoded on the way to the refusal.
            auto_decompress=False,
        )
        await runner.setup()
        listener, url = await self._bind(runner)
        everywhere = WILDCARDS.get(self._listen.host)
        shown = url if everywhere is None else f"{url.replace(everywhere, self._listen.host)}, here as {url}"
        logger.info("listening on %s (process %s)", shown, self._state.instance)
        await self._publish(url)
        loading = asyncio.create_task(self._state.load())
        loading.add_done_callback(lambda _: self._stop.set() if loading.exception() else None)
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.create_task(self._reload("SIGHUP")))
        helpers = [asyncio.create_task(self._watch_index()), asyncio.create_task(self._watch_idle())]
        try:
            await self._stop.wait()
        finally:
            # First of all nobody new finds us, then those who are here are served.
            withdraw(self._settings, self._state.instance)
            for helper in helpers:
                helper.cancel()
            listener.close()
            # Not left to aiohttp, which ignores what still arrives of a body once it shuts down.
            await self._application.drain(self._listen.grace_seconds)
            await runner.cleanup()
            if not loading.done():
                loading.cancel()
            await asyncio.gather(loading, *helpers, return_exceptions=True)
            await self._state.close()
        if not loading.cancelled():
            loading.result()
        logger.info("stopped")
        return 0

    async def _bind(self, runner: web.AppRunner) -> tuple[asyncio.Server, str]:
        host, port = self._listen.host, self._listen.port
        handlers = runner.server
        assert handlers is not None
        try:
            listener = await asyncio.get_running_loop().create_server(
                lambda: self._application.connection(handlers()), host, port, backlog=BACKLOG
            )
        except OSError as error:
            await runner.cleanup()
            elsewhere = error.errno == errno.EADDRNOTAVAIL
            raise SidecarError(
                "conflict",
                f"cannot listen on {host} port {port}: {error.strerror or error}",
                field="host" if elsewhere else "port",
                hint=HOST_HINT
                if elsewhere
                else "another server may run there (`lean-sidecar status`); choose another --port, 0 for a free one",
            ) from None
        bound = listener.sockets[0].getsockname()
        shown = WILDCARDS.get(host, host)
        return listener, f"http://[{shown}]:{bound[1]}" if ":" in shown else f"http://{shown}:{bound[1]}"

    async def _publish(self, url: str) -> None:
        """Let bridges of this user find us, unless they have a server already."""
        address = Address(url, self._state.pid, self._state.instance, __version__, time.time(), self._settings.token)
        try:
            other = await find_server(self._settings)
            if other is None:
                publish(self._settings, address)
        except SidecarError as error:
            if self._listen.for_bridges:
                raise
            logger.warning("bridges will not find this server: %s", error)
            return
        if other is not None:
            logger.info("bridges keep to the server that runs already: %s (process %d)", other[0].url, other[0].pid)
            warning = await other_index(other[0], self._index or self._settings.index)
            if warning is not None:
                logger.warning("bridges and commands are not answered by this server: %s", warning)

    async def _reload(self, why: str) -> None:
        try:
            await self._state.reload()
        except SidecarError as error:
            logger.error("%s: the index was not loaded, the one before stays: %s", why, error)

    async def _watch_index(self) -> None:
        """Load an index that has taken the place of the one we serve."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._state.ready and await asyncio.to_thread(self._state.is_outdated):
                await self._reload("a new index")

    async def _watch_idle(self) -> None:
        limit = self._listen.idle_seconds
        if not limit:
            return
        while (idle := self._application.idle_seconds) < limit:
            await asyncio.sleep(max(0.05, min(limit - idle, WATCH_SECONDS)))
        logger.info("no request for %d s", limit)
        self._stop.set()
