"""Run one program under a limit of time and output, and leave nothing of it behind.

In: a command line. Out: what it printed. It runs in a session of its own, and everything in that session is killed when
it ends, when its time is up, when it says too much, and when the caller is cancelled.
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

    Raises:
        OSError: The program cannot be started.
    """
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
    return Finished(
        end=end,
        output=bytes(output[:output_bytes]).decode(errors="replace"),
        errors=(await errors).decode(errors="replace"),
        exit_status=process.returncode if process.returncode is not None else -signal.SIGKILL,
        seconds=time.monotonic() - began,
    )


async def _drain(stream: asyncio.StreamReader, keep: int) -> bytes:
    """Read a stream to its end, so that its writer never waits, and keep the start."""
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk[: keep - len(kept)]
    return bytes(kept)
