"""The folder of an index that is being built, and how much of it counts.

In: arrays and rows, batch by batch. Out: after any end of the process, the state of the last `commit`: files that grew
since then are cut back to the sizes that were committed together with the rows of the database.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from sidecar.index.store import STORE_FILE, create_store, reopen_store

logger = logging.getLogger(__name__)

PARTS: Final = "parts"
"""Subfolder for what is needed only until the index is finished."""


@dataclass(slots=True)
class State:
    """How far a build has come.

    Attributes:
        key: Hash of everything that the result depends on; a build with another key starts afresh.
        position: Declarations of the corpus that are done.
        rows: Rows that are done.
        counts: Tallies (`hidden`, `encoded`, `reused`).
        sizes: File (relative to the folder) → bytes that count.
    """

    key: str
    position: int = 0
    rows: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


class Staging:
    """Opens what an earlier run left, or starts afresh.

    Args:
        folder: The folder that is being built.
        key: See `State`.

    Attributes:
        state: The committed state at first, then the caller's to advance.
        connection: The database, inside a transaction.
        resumed: Whether there was something to go on with.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        opened = _resume(folder, key)
        self.resumed = opened is not None
        if opened is None:
            if (folder / PARTS).is_dir():
                logger.info("what an interrupted build left in %s is of no use here: starting afresh", folder)
            shutil.rmtree(folder, ignore_errors=True)
            (folder / PARTS).mkdir(parents=True)
            self.connection = create_store(folder / STORE_FILE)
            self.state = State(key)
            self.connection.execute("BEGIN")
            self.commit()
        else:
            self.connection, self.state = opened
            self.connection.execute("BEGIN")

    def append(self, name: str, data: bytes | npt.NDArray[Any]) -> None:
        """Add bytes or an array's elements to the end of a file."""
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = (self.folder / name).open("ab")
            self.state.sizes.setdefault(name, 0)
        written = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        file.write(written)
        self.state.sizes[name] += len(written)

    def commit(self) -> None:
        """Make everything up to now count."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        self.connection.execute("DELETE FROM progress")
        self.connection.execute("INSERT INTO progress VALUES (?)", (json.dumps(asdict(self.state)),))
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN")

    def read(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The elements of a file so far."""
        path = self.folder / name
        if name in self._files:
            self._files[name].flush()
        return np.fromfile(path, dtype=dtype) if path.exists() else np.zeros(0, dtype=dtype)

    def read_from(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a file so far."""
        if name in self._files:
            self._files[name].flush()
        with (self.folder / name).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def finish(self) -> None:
        """Make everything count and leave the database without a journal beside it."""
        self.commit()
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        """Leave; what was not committed does not count."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.connection.close()


def _resume(folder: Path, key: str) -> tuple[sqlite3.Connection, State] | None:
    if not (folder / STORE_FILE).exists() or not (folder / PARTS).is_dir():
        return None
    connection = reopen_store(folder / STORE_FILE)
    try:
        ((text,),) = connection.execute("SELECT state FROM progress").fetchall()
        state = State(**json.loads(text))
        if state.key == key and _cut_back(folder, state.sizes):
            return connection, state
    except (sqlite3.DatabaseError, ValueError, TypeError):
        pass
    connection.close()
    return None


def _cut_back(folder: Path, sizes: dict[str, int]) -> bool:
    """Cut files to their committed sizes; False when one is shorter than that."""
    for path in [*folder.iterdir(), *(folder / PARTS).iterdir()]:
        name = str(path.relative_to(folder))
        if not path.is_file() or name.startswith(STORE_FILE):
            continue
        if name not in sizes:
            path.unlink()
    for name, size in sizes.items():
        path = folder / name
        found = path.stat().st_size if path.exists() else 0
        if found < size:
            return False
        if found > size:
            os.truncate(path, size)
    return True
