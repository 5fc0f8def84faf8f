"""Run one program under a limit of time and output, and leave nothing of it behind.

In: a command line. Out: what it printed. It runs in a session of its own, and everything in that session is killed when
it ends, when its time is up, when it says too much, when the caller is cancelled, and when we are killed ourselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

End = Literal["exit", "timeout", "overflow"]
ERROR_BYTES = 8_192
COLLECT_SECONDS = 1.0
"""How long a killed program's pipes may take to end."""

GUARDED = """
exec 3<&0
( { read -r line <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 & )
exec "$@" </dev/null 3<&-
"""
"""What a shell does before it becomes the program: it leaves a guard in the program's group, which waits for the end of
a pipe that we alone hold open and then kills its own group. So nothing outlives us, however we end and whatever the
program has forked. (A signal at the parent's death, which Linux offers, reaches no grandchildren, and comes when the
thread ends that forked.) The guard's own parent is gone at once: a program that waits for its children must not wait
for a guard."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended.

    Attributes:
        end: By itself, by the time limit, or because it printed too much.
        output: What it printed to standard output, up to the limit; bytes that are not UTF-8 are replaced.
        errors: The start of what it printed to standard error.
        exit_status: Its exit status, negative for a signal.
        seconds: Wall clock seconds that it ran.
    """

    end: End
    output: str
    errors: str
    exit_status: int
    seconds: float


async def run_bounded(command: Sequence[str], *, folder: Path, seconds: float, output_bytes: int) -> Finished:
    """Run a program to its end, or to one of its limits.

    A program that is not there ends with the shell's status 127, and its words in `errors`.

    Raises:
        OSError: No process can be started.
    """
    began = time.monotonic()
    process, lifeline = await _start(command, folder)
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_drain(process.stderr, ERROR_BYTES))
    output = bytearray()
    end: End = "exit"
    try:
        async with asyncio.timeout(seconds):
            while chunk := await process.stdout.read(65_536):
                output += chunk
                if len(output) > output_bytes:
                    end = "overflow"
                    break
            else:
                await process.wait()
    except TimeoutError:
        end = "timeout"
    finally:
        _kill_group(process, lifeline)
        await asyncio.shield(_collect(process, errors))
    return Finished(
        end=end,
        output=bytes(output[:output_bytes]).decode(errors="replace"),
        errors=errors.result().decode(errors="replace") if not errors.cancelled() else "",
        exit_status=process.returncode if process.returncode is not None else -signal.SIGKILL,
        seconds=time.monotonic() - began,
    )


async def _start(command: Sequence[str], folder: Path) -> tuple[asyncio.subprocess.Process, int]:
    """Start a program, in a session of its own.

    asyncio kills a program whose start is cancelled, but not what that has started in turn, and then waits for it. So
    the start is never cancelled: a caller that leaves meanwhile has the whole group killed as soon as it is there.

    Returns:
        The program, and the end of the pipe that keeps it alive.
    """
    starting = asyncio.create_task(_spawn(command, folder))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            _kill_group(*await starting)
        raise


async def _spawn(command: Sequence[str], folder: Path) -> tuple[asyncio.subprocess.Process, int]:
    theirs, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            GUARDED,
            "sh",
            *command,
            stdin=theirs,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process, ours


def _kill_group(process: asyncio.subprocess.Process, lifeline: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    os.close(lifeline)


async def _collect(process: asyncio.subprocess.Process, errors: asyncio.Task[bytes]) -> None:
    """Wait until a killed program is gone. asyncio says so only once its pipes have been read to their end."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(COLLECT_SECONDS):
            await _drain(process.stdout, 0)
            await asyncio.wait([errors])
            await process.wait()
            await asyncio.to_thread(_reap, process.pid)
    except TimeoutError:
        # Something left the session and holds the pipes; it is not ours to hunt.
        errors.cancel()


def _reap(group: int) -> None:
    """Wait for the orphans of a killed group where they are ours: where we are the first process of a container."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-group, 0)


async def _drain(stream: asyncio.StreamReader, keep: int) -> bytes:
    """Read a stream to its end, so that its writer never waits, and keep the start."""
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk[: keep - len(kept)]
    return bytes(kept)
