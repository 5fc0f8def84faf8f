"""One writer at a time.

In: the folder of an index. Out: a context in which no other process writes it; the operating system ends the lock with
the process, however it ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sidecar.errors import SidecarError
from sidecar.index.layout import lock_file


@contextlib.contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold `<folder>.lock`.

    Raises:
        SidecarError: `conflict`, naming the process that holds it.
    """
    import fcntl

    path = lock_file(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise SidecarError(
                "conflict",
                f"process {holder} is writing the index {folder}",
                field="index",
                hint=f"wait for it to end, or stop it with `kill {holder}`; what it has done is kept",
            ) from None
        if _is_file(descriptor, path):
            break
        # Its last holder took the file away between our opening and our locking it.
        os.close(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
