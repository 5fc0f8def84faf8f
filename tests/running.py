"""Real servers and bridges for tests: processes of their own, in folders of their own, on a small real index."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.client import BridgeClient, Client
from sidecar.errors import SidecarError

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 120.0
"""How long anything may take on a busy machine before a test gives up; no test measures time with it."""


@functools.cache
def small_index() -> Path:
    """The example library's index with the static encoder, built once for all tests of this process."""
    from sidecar.corpus.source import example_corpus
    from sidecar.encoder.load import load_encoder
    from sidecar.index.build import build_index

    # Kept until the process ends; tests that change an index copy it first.
    folder = Path(_kept_folder().name) / "index"
    build_index(example_corpus(), folder, load_encoder("static", threads=1))
    return folder


@functools.cache
def _kept_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="lean-sidecar-tests-")


def own_folders(folder: Path) -> dict[str, str]:
    """An environment for a child process whose folders are all below `folder`: that of a user who is new here."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEAN_SIDECAR_")}
    environment.update(
        PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        LEAN_SIDECAR_DATA=str(folder / "data"),
        LEAN_SIDECAR_CACHE=str(folder / "cache"),
        LEAN_SIDECAR_RUNTIME=str(folder / "run"),
        LEAN_SIDECAR_IDLE_SECONDS="600",
        COLUMNS="200",
    )
    return environment


def environment(folder: Path, **changes: str | None) -> dict[str, str]:
    """The same with the small index and one thread; None takes a variable away."""
    environment = own_folders(folder)
    environment.update(LEAN_SIDECAR_INDEX=str(small_index()), LEAN_SIDECAR_THREADS="1")
    for name, value in changes.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return environment


def run_command(environment: dict[str, str], *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `lean-sidecar` with these words and this input, in the checkout."""
    return subprocess.run(
        [sys.executable, "-m", "sidecar", *words],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        cwd=ROOT,
    )


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < until, f"never came true: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gauge(client: Client, name: str) -> float:
    """A value of `/metrics`."""
    _, _, body = client.exchange("GET", "/metrics")
    found = re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)
    assert found, f"no metric {name}"
    return float(found[1])


@dataclass
class Server:
    """A server process."""

    process: subprocess.Popen[bytes]
    folder: Path
    url: str = ""
    token: str | None = None
    clients: list[Client] = field(default_factory=list)

    def client(self, timeout: float = PATIENCE_SECONDS) -> Client:
        """A client of this server, closed with it."""
        client = Client(self.url, self.token, timeout)
        self.clients.append(client)
        return client

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return (self.folder / "server.log").read_text(encoding="utf-8")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end.

        Returns:
            The exit status.
        """
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def running_server(folder: Path, *options: str, wait: bool = True, **changes: str | None) -> Iterator[Server]:
    """A server on a free port of this machine, ready unless told not to wait, gone at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "sidecar.server", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(folder, **changes),
            cwd=ROOT,
        )
    server = Server(process, folder, token=changes.get("LEAN_SIDECAR_TOKEN"))
    try:
        eventually(lambda: process.poll() is not None or "listening on" in server.log, "the server listens")
        found = re.search(r"listening on (http://\S+?)[ \"]", server.log)
        assert found, server.log
        server.url = found[1]
        if wait:
            client = server.client()
            eventually(lambda: client.exchange("GET", "/health")[0] == 200, "the server is ready")
        yield server
    finally:
        for client in server.clients:
            client.close()
        if process.poll() is None:
            process.kill()
        process.wait()


@contextlib.contextmanager
def running_bridge(folder: Path, **changes: str | None) -> Iterator[BridgeClient]:
    """A bridge whose server, if it starts one, ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = (folder / "bridge.err").open("ab")
    bridge = BridgeClient(environment(folder, **changes), errors=errors)
    try:
        yield bridge
    finally:
        errors.close()
        bridge.close()
        end_local_server(folder)


def local_server(folder: Path) -> int | None:
    """Process id of the server that published itself below this folder."""
    import json

    try:
        return int(json.loads((folder / "run" / "server.json").read_text(encoding="utf-8"))["pid"])
    except FileNotFoundError:
        return None


def end_local_server(folder: Path) -> None:
    """End the server that a bridge started."""
    pid = local_server(folder)
    if pid is not None and alive(pid):
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not alive(pid), "the server is gone")


def code_of(call: Callable[[], object]) -> SidecarError:
    """The error that a call ends with."""
    try:
        result = call()
    except SidecarError as error:
        return error
    raise AssertionError(f"no error, but {result!r}")
