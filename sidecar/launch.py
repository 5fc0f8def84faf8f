"""Find the user's one local server, or start it.

In: the settings. Out: the address of a server that answers. The server writes `server.json` into the runtime folder
once it listens; whoever wants to start one holds `server.lock` while it looks and waits, so that two that start at the
same moment start one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sidecar import __version__
from sidecar.errors import SidecarError, room_or
from sidecar.settings import Limits, Settings
from sidecar.transport import Transport, Unanswered
from sidecar.wire import CONTENT_TYPE, PROTOCOL, decode, encode

ADDRESS_FILE = "server.json"
LOCK_FILE = "server.lock"
LOG_FILE = "server.log"
LOG_BYTES = 4 * 1024 * 1024
HEALTH_SECONDS = 30.0
"""How long a server may take to say how it is. It says so at once, but on a crowded machine at once takes a while."""

LEAST_SECONDS = 1.0
"""How long a server that is to be stopped may take to say that it is there, however short the patience."""

POLL_SECONDS = 0.05

STOP_SECONDS = 30.0
"""How long a server may take to stop: longer than it gives the requests that are under way."""

LAST_WORDS_SECONDS = 10.0
"""How long a server that gave up may take to say why and end."""

Say = Callable[[str], None]
"""Tells a person what is going on."""


@dataclass(frozen=True, slots=True)
class Address:
    """What a server publishes about itself.

    Attributes:
        url: Where it listens.
        pid: Its process.
        instance: Random word that its `/health` repeats, so that a port or process id used again is noticed.
        version: Its release.
        started: Unix time of its start.
        token: Bearer token that it wants; None for none.
    """

    url: str
    pid: int
    instance: str
    version: str
    started: float
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What `/health` answers.

    Attributes:
        ready: Whether the server answers requests already.
        stage: What it is doing (`"building the example index"`, `"ready"`).
        instance, version, protocol, pid: Who it is.
    """

    ready: bool
    stage: str
    instance: str
    version: str
    protocol: int
    pid: int


def publish(settings: Settings, address: Address) -> None:
    """Write the address file, readable by this user alone.

    Raises:
        SidecarError: `unreachable` when the runtime folder cannot be written.
    """
    folder = _runtime_folder(settings)
    temporary = folder / f"{ADDRESS_FILE}.{os.getpid()}"
    with _writing(folder):
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({key: value for key, value in asdict(address).items() if value is not None}, file)
            temporary.replace(folder / ADDRESS_FILE)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def withdraw(settings: Settings, instance: str) -> None:
    """Remove the address file, unless another server has published itself since."""
    address = read_address(settings)
    if address is not None and address.instance == instance:
        (settings.runtime_folder / ADDRESS_FILE).unlink(missing_ok=True)


def read_address(settings: Settings) -> Address | None:
    """The published address; None when there is none or it cannot be read. The server may be gone."""
    try:
        raw = json.loads((settings.runtime_folder / ADDRESS_FILE).read_text(encoding="utf-8"))
        return Address(
            url=str(raw["url"]),
            pid=int(raw["pid"]),
            instance=str(raw["instance"]),
            version=str(raw["version"]),
            started=float(raw["started"]),
            token=str(raw["token"]) if raw.get("token") else None,
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


class _Silent(SidecarError):
    """Somebody listens, but does not answer in time."""


async def ask_health(transport: Transport, seconds: float = HEALTH_SECONDS) -> Health:
    """Ask a server how it is.

    Raises:
        Unanswered: Nobody listens there.
        SidecarError: `unreachable` when something else than a sidecar answers, or nothing within `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            answer = await transport.request("GET", "/health")
        raw = json.loads(answer.body)
        return Health(
            ready=answer.status == 200,
            stage=str(raw["status"]),
            instance=str(raw["instance"]),
            version=str(raw["version"]),
            protocol=int(raw["protocol"]),
            pid=int(raw["pid"]),
        )
    except TimeoutError:
        raise _Silent(
            "unreachable",
            f"the server at {transport.url} did not answer within {seconds:.3g} s",
            hint="it may hang: stop it and try again",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SidecarError(
            "unreachable",
            f"what answers at {transport.url} is not a sidecar",
            hint="check the address (LEAN_SIDECAR_URL)",
        ) from None


async def served_index(address: Address) -> Path | None:
    """The folder of the index that a server answers from; None where it does not say so in time."""
    transport = Transport(address.url, address.token)
    try:
        async with asyncio.timeout(HEALTH_SECONDS):
            answer = await transport.request("POST", "/v1/status", encode({}), CONTENT_TYPE)
        index = decode(answer.body, Limits()).get("index") if answer.status == 200 else None
        return Path(str(index["folder"])) if isinstance(index, dict) else None
    except (Unanswered, SidecarError, TimeoutError, KeyError):
        return None
    finally:
        await transport.close()


async def other_index(address: Address, asked: Path | None) -> str | None:
    """Warning for who asked for an index where a server that runs already answers from another one."""
    served = None if asked is None else await served_index(address)
    if asked is None or served is None or served.resolve() == asked.resolve():
        return None
    return (
        f"the server that runs already answers from the index {served}, not from {asked.absolute()}:"
        " to switch, end it with `lean-sidecar stop` and give the command again"
    )


async def find_server(settings: Settings) -> tuple[Address, Health] | None:
    """The published server, if it is really there; it may still be starting.

    Raises:
        SidecarError: `conflict` when it speaks another protocol, `unreachable` when it hangs.
    """
    found = await _published(settings)
    if found is not None and found[1].protocol != PROTOCOL:
        health = found[1]
        raise SidecarError(
            "conflict",
            f"the running server (version {health.version}, process {health.pid}) speaks protocol {health.protocol}; "
            f"this is version {__version__} with protocol {PROTOCOL}",
            hint="stop it with `lean-sidecar stop` and try again",
        )
    return found


async def _published(settings: Settings, seconds: float = HEALTH_SECONDS) -> tuple[Address, Health] | None:
    """The published server, whatever protocol it speaks."""
    address = read_address(settings)
    if address is None:
        return None
    transport = Transport(address.url, address.token)
    try:
        health = await ask_health(transport, seconds)
    except _Silent as silent:
        if not _runs(address.pid):
            return None
        silent.hint = f"it may hang: end it with `kill -9 {address.pid}` and try again"
        raise
    except (Unanswered, SidecarError):
        # Nobody, or somebody else who has the port by now.
        return None
    finally:
        await transport.close()
    return (address, health) if health.instance == address.instance else None


async def ensure_server(settings: Settings, say: Say, within: float | None = None) -> Address:
    """Find the local server or start it, and wait until it is ready.

    Args:
        settings: Where it is.
        say: Is told what is waited for.
        within: Seconds to wait; the server goes on starting after that. None for as long as it takes.

    Raises:
        SidecarError: `unreachable` when it cannot start, with the last words of its log; `overloaded`, saying what the
            server is doing, when it is not ready in time.
    """
    doing = "starting the server"

    def say_and_remember(message: str) -> None:
        nonlocal doing
        doing = message
        say(message)

    timeout = asyncio.timeout(within)
    try:
        async with timeout:
            return await _ensured(settings, say_and_remember)
    except TimeoutError:
        if not timeout.expired():
            raise
        raise SidecarError(
            "overloaded",
            f"the server is not ready after {within:.3g} s: {doing.removeprefix('server: ')}",
            hint="it goes on with that; ask again in a minute",
            retry_after=30.0,
        ) from None


async def _ensured(settings: Settings, say: Say) -> Address:
    found = await find_server(settings)
    process: subprocess.Popen[bytes] | None = None
    log_start = 0
    if found is None:
        async with _lock(settings):
            found = await find_server(settings)
            if found is None:
                say("starting the server")
                log_start = _trim_log(settings)
                process = _spawn(settings)
                found = await _wait_for(settings, process, log_start)
    address, health = found
    if health.version != __version__:
        say(f"the running server is version {health.version}, this is {__version__}: stop it to use this version")
    transport = Transport(address.url, address.token)
    try:
        said = ""
        while not health.ready:
            if health.stage != said:
                said = health.stage
                say(f"server: {said}")
            await asyncio.sleep(POLL_SECONDS)
            try:
                health = await ask_health(transport)
            except _Silent:
                # Loading a model can keep it from answering; only its end is a reason to give up.
                if not _runs(address.pid):
                    raise
    except Unanswered:
        await _ended(address.pid)
        raise _failed(settings, log_start, process) from None
    finally:
        await transport.close()
    if process is None:
        warning = await other_index(address, settings.index)
        if warning is not None:
            say(f"warning: {warning}")
    return address


async def stop_server(settings: Settings, seconds: float = STOP_SECONDS) -> Health | None:
    """Ask the local server to finish what it does and stop, and wait until its process is gone.

    Returns:
        What it said of itself before; None where no server runs.

    Raises:
        SidecarError: `deadline` when it is still there after `seconds`, `unreachable` when it hangs, `forbidden` when
            it is not ours.
    """
    import signal

    until = time.monotonic() + seconds
    found = await _published(settings, max(LEAST_SECONDS, min(HEALTH_SECONDS, seconds)))
    if found is None:
        return None
    _, health = found
    try:
        os.kill(health.pid, signal.SIGTERM)
    except ProcessLookupError:
        return health
    except PermissionError:
        raise SidecarError("forbidden", f"the server (process {health.pid}) belongs to another user") from None
    try:
        async with asyncio.timeout(until - time.monotonic()):
            while _runs(health.pid):
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise SidecarError(
            "deadline",
            f"the server (process {health.pid}) did not stop within {seconds:g} s",
            hint=f"give it more time, or end it with `kill -9 {health.pid}`",
        ) from None
    return health


def _runs(pid: int) -> bool:
    """Whether a process of this user with this id runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        # A system without /proc, or the process ended this moment; the next look will tell.
        return True


def _runtime_folder(settings: Settings) -> Path:
    folder = settings.runtime_folder
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SidecarError(
            "unreachable",
            f"the runtime folder {folder} cannot be written: {error.strerror}",
            hint=room_or(error, "set LEAN_SIDECAR_RUNTIME to a folder of yours"),
        ) from None


@contextlib.asynccontextmanager
async def _lock(settings: Settings) -> AsyncIterator[None]:
    """Hold the lock file; the system lets go of it when its holder dies."""
    with _lock_file(settings) as try_to_lock:
        while not try_to_lock():
            await asyncio.sleep(POLL_SECONDS)
        yield


@contextlib.contextmanager
def _lock_file(settings: Settings) -> Iterator[Callable[[], bool]]:
    import fcntl

    path = _runtime_folder(settings) / LOCK_FILE
    with _writing(path.parent):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_to_lock() -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        yield try_to_lock
    finally:
        os.close(handle)


def _spawn(settings: Settings) -> subprocess.Popen[bytes]:
    """Start a server that outlives us: a session of its own, nothing of our input and output."""
    with _writing(settings.runtime_folder):
        log = (settings.runtime_folder / LOG_FILE).open("ab")
    with log:
        return subprocess.Popen(
            # -P: the folder we are in must not be searched for modules.
            [sys.executable, "-P", "-m", "sidecar.server", "--idle-seconds", str(settings.idle_seconds)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=settings.runtime_folder,
            env=_environment(settings),
            start_new_session=True,
        )


def _environment(settings: Settings) -> dict[str, str]:
    """Our environment with these settings in it, so that the server reads the same ones."""
    environment = dict(os.environ)
    environment.pop("LEAN_SIDECAR_URL", None)
    environment.update(
        LEAN_SIDECAR_DATA=str(settings.data_folder.absolute()),
        LEAN_SIDECAR_CACHE=str(settings.cache_folder.absolute()),
        LEAN_SIDECAR_RUNTIME=str(settings.runtime_folder.absolute()),
        LEAN_SIDECAR_THREADS=str(settings.threads),
        LEAN_SIDECAR_CACHE_BYTES=str(settings.cache_bytes),
        LEAN_SIDECAR_FEEDBACK=str(int(settings.feedback)),
        LEAN_SIDECAR_DOCUMENTATION=" ".join(f"{prefix}={base}" for prefix, base in settings.documentation.items()),
    )
    for variable, value in (
        ("LEAN_SIDECAR_INDEX", settings.index.absolute() if settings.index else None),
        ("LEAN_SIDECAR_TOKEN", settings.token),
    ):
        environment.pop(variable, None)
        if value is not None:
            environment[variable] = str(value)
    return environment


async def _wait_for(settings: Settings, process: subprocess.Popen[bytes], log_start: int) -> tuple[Address, Health]:
    """Wait until the process that we started listens."""
    while True:
        if process.poll() is not None:
            raise _failed(settings, log_start, process)
        with contextlib.suppress(_Silent):
            found = await find_server(settings)
            if found is not None:
                return found
        await asyncio.sleep(POLL_SECONDS)


async def _ended(pid: int) -> None:
    """Wait for the end of a server that does not listen any more: its last words come after that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            while _runs(pid):
                await asyncio.sleep(POLL_SECONDS)


def _trim_log(settings: Settings) -> int:
    """Set a long log aside.

    Returns:
        Size of the log that is left: what a new server says stands behind it.
    """
    file = settings.runtime_folder / LOG_FILE
    try:
        size = file.stat().st_size
    except OSError:
        return 0
    if size > LOG_BYTES:
        with _writing(file.parent):
            file.replace(file.with_suffix(".1.log"))
        return 0
    return size


def _failed(settings: Settings, log_start: int, process: subprocess.Popen[bytes] | None) -> SidecarError:
    """The error for a server that ended while it started: its own last words say most."""
    file = settings.runtime_folder / LOG_FILE
    try:
        with file.open("rb") as log:
            log.seek(log_start)
            lines = [line for line in log.read()[-4096:].decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    status = "" if process is None or process.poll() is None else f" (exit status {process.returncode})"
    words = f": {lines[-1].strip()}" if lines else ""
    hint = f"its log is {file}" if lines else f"it wrote nothing to its log {file}: is there room on that disk?"
    return SidecarError("unreachable", f"the server ended while it started{status}{words}", hint=hint)
