"""A SQLite file that may be lost: opened with write-ahead logging, set aside when damaged, never fatal.

In: a path, a schema and its version. Out: a connection for one piece of work at a time. When the file cannot be used
(damaged, locked, read-only, full disk) a warning is logged and the work goes on in memory, lost when the process ends.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

LOCK_SECONDS: Final = 2.0
"""How long to wait for another process that writes to the file."""

_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)


class CacheFile:
    """One SQLite file. Safe to use from several threads: they take turns.

    Args:
        path: The file; its folder is made.
        schema: Statements that make the tables.
        version: Number of the schema. A file of another version is set aside like a damaged one.
    """

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.in_memory = False

    def run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do a piece of work in one transaction.

        The work may run twice: when the file turns out to be unusable it is run again on an empty database.
        """
        with self._lock:
            try:
                return self._run(work)
            except sqlite3.Error as error:
                if self.in_memory:
                    raise
                self._give_up_file(error)
                return self._run(work)

    def bytes_used(self, connection: sqlite3.Connection) -> int:
        """Size of what the database holds, without pages that are free."""
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        return int((pages - free) * size)

    def close(self) -> None:
        """Close the file; a later `run` opens it again."""
        with self._lock:
            self._disconnect()

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        connection.execute("BEGIN")
        try:
            result = work(connection)
        except BaseException:
            connection.rollback()
            raise
        connection.commit()
        return result

    def _connect(self) -> sqlite3.Connection:
        if self.in_memory:
            connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            connection.executescript(self._schema)
            return connection
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise sqlite3.OperationalError(f"the folder cannot be made: {error}") from error
        connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA journal_size_limit=16777216")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not (tables or version):
                connection.executescript(
                    f"BEGIN IMMEDIATE; {self._schema}; PRAGMA user_version={self._version}; COMMIT;"
                )
            elif version != self._version:
                raise _Foreign(f"schema version {version} instead of {self._version}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_up_file(self, error: sqlite3.Error) -> None:
        """Set a damaged file aside and start a new one; leave a file alone that is only out of reach."""
        self._disconnect()
        if isinstance(error, _Foreign) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            aside = self._set_aside()
            if aside is not None:
                logger.warning("%s is damaged (%s): set aside as %s, starting anew", self.path, error, aside)
                try:
                    self._connection = self._connect()
                    return
                except sqlite3.Error as again:
                    error = again
        logger.warning("%s cannot be used (%s): what belongs there is kept in memory only", self.path, error)
        self.in_memory = True

    def _set_aside(self) -> Path | None:
        """Rename the file, replacing one that was set aside before; None when that fails."""
        aside = self.path.with_name(self.path.name + ".damaged")
        try:
            self.path.replace(aside)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            logger.warning("%s cannot be set aside: %s", self.path, error)
            return None
        return aside

    def _disconnect(self) -> None:
        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error as error:
                logger.warning("%s was not closed cleanly: %s", self.path, error)
            self._connection = None


class _Foreign(sqlite3.DatabaseError):
    """The file is a database, but not one of ours."""
