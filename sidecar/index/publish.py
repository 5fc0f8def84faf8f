"""Put a finished index in its place.

In: the folder that was built and the folder where the index shall be. Out: the new index there, the old one gone. Those
who have the old one open keep it: its files live as long as they are open.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError
from sidecar.index.layout import replaced_folder
from sidecar.index.manifest import MANIFEST_FILE
from sidecar.index.store import STORE_FILE

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2  # Linux, renameat2
_RENAME_SWAP: Final = 2  # macOS, renamex_np


def check_place(folder: Path) -> None:
    """Refuse a place that holds something else than an index: it would be deleted.

    Raises:
        SidecarError: `conflict`.
    """
    if not folder.exists():
        return
    if folder.is_dir():
        names = {entry.name for entry in folder.iterdir()}
        if not names or names & {MANIFEST_FILE, STORE_FILE}:
            return
    raise SidecarError(
        "conflict",
        f"{folder} is there and is not an index",
        field="output",
        hint="choose a folder that is new or empty, or one with an index to replace",
    )


def publish(built: Path, folder: Path) -> None:
    """Move `built` to `folder`, in one step where the system can exchange two folders."""
    _sync(built)
    if not folder.exists():
        built.rename(folder)
    elif _exchange(built, folder):
        shutil.rmtree(built)
    else:
        old = replaced_folder(folder)
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
        built.rename(folder)
        shutil.rmtree(old)
    _sync_folder(folder.parent)


def recover(folder: Path) -> None:
    """Bring back the old index when a process ended between the two steps of `publish`."""
    old = replaced_folder(folder)
    if old.is_dir():
        if folder.exists():
            shutil.rmtree(old)
        else:
            old.rename(folder)


def _exchange(first: Path, second: Path) -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        result = library.renameat2(
            _AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), ctypes.c_uint(_RENAME_EXCHANGE)
        )
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        result = library.renamex_np(os.fsencode(first), os.fsencode(second), ctypes.c_uint(_RENAME_SWAP))
    else:
        return False
    # A file system that cannot exchange says so (EINVAL); the two-step way then works or says what is wrong.
    return bool(result == 0)


def _sync(folder: Path) -> None:
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
