"""Declarations and modules in SQLite.

In: records while an index is built. Out: records again, by row, from any thread.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sidecar.corpus.records import KINDS, Declaration, Module
from sidecar.errors import SidecarError

STORE_FILE: Final = "declarations.sqlite"

_SCHEMA: Final = """
CREATE TABLE declarations (
    row INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind INTEGER NOT NULL,
    module INTEGER NOT NULL,
    signature TEXT NOT NULL,
    display TEXT,
    docstring TEXT,
    attributes TEXT,
    line INTEGER,
    end_line INTEGER,
    parent TEXT,
    has_equations INTEGER NOT NULL,
    replacement TEXT
);
CREATE TABLE modules (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    docstring TEXT,
    source TEXT
);
CREATE TABLE progress (state TEXT NOT NULL);
"""
# Left out of a row to keep it small: a display that repeats the signature, empty docstrings, empty attribute lists.

_COLUMNS: Final = "row, name, kind, signature, display, docstring, attributes, line, end_line, parent, has_equations"
StoredRow = tuple[Any, ...]
"""A row as `fetch` and `scan` give it, for `restored`; its first element is its number."""

KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
"""Kind → place in `KINDS`."""

_ROWS_AT_ONCE: Final = 4_096
_ROWS_A_STATEMENT: Final = 512


def create_store(path: Path) -> sqlite3.Connection:
    """Make an empty store."""
    connection = _writable(path)
    connection.executescript(_SCHEMA)
    return connection


def reopen_store(path: Path) -> sqlite3.Connection:
    """Open a store that an interrupted build left; SQLite takes back what was not committed."""
    return _writable(path)


def _writable(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def insert_declarations(
    connection: sqlite3.Connection, declarations: Iterable[tuple[int, int, Declaration, str | None]]
) -> None:
    """Add rows: number, number of the module, the record, and what replaces it when it is deprecated."""
    values = [_values(*each) for each in declarations]
    # Python's lock is handed over at every statement. With the encoder at work in another thread, a statement a row
    # would wait for it at every row.
    for start in range(0, len(values), _ROWS_A_STATEMENT):
        some = values[start : start + _ROWS_A_STATEMENT]
        places = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
        connection.execute(f"INSERT INTO declarations VALUES {places}", list(chain.from_iterable(some)))


def _values(row: int, module: int, record: Declaration, replacement: str | None) -> tuple[object, ...]:
    return (
        row,
        record.name,
        KIND_NUMBERS[record.kind],
        module,
        record.signature,
        None if record.display == record.signature else record.display,
        record.docstring or None,
        json.dumps(record.attributes, ensure_ascii=False) if record.attributes else None,
        record.line,
        record.end_line,
        record.parent,
        record.has_equations,
        replacement,
    )


def insert_modules(connection: sqlite3.Connection, modules: Iterable[Module]) -> None:
    """Replace the modules."""
    connection.execute("DELETE FROM modules")
    connection.executemany(
        "INSERT INTO modules VALUES (?, ?, ?, ?)",
        ((number, module.name, module.docstring or None, module.source) for number, module in enumerate(modules)),
    )


class DeclarationStore:
    """Reads a store.

    One connection serves every thread, one at a time: fetching the rows of an answer takes a fraction of a millisecond.
    It is opened at once and not later thread by thread, because by then another index may have taken the folder.

    Args:
        path: The SQLite file, which nobody writes any more.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        try:
            self._connection.execute(f"PRAGMA mmap_size = {path.stat().st_size}")
            self._connection.execute("SELECT row FROM declarations LIMIT 1").fetchone()
        except sqlite3.DatabaseError:
            self._connection.close()
            raise

    def fetch(self, rows: Sequence[int]) -> dict[int, StoredRow]:
        """What is stored of some rows."""
        found: dict[int, StoredRow] = {}
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            wanted = json.dumps([int(row) for row in rows[start : start + _ROWS_AT_ONCE]])
            for values in self._query(
                f"SELECT {_COLUMNS} FROM declarations WHERE row IN (SELECT value FROM json_each(?))", (wanted,)
            ):
                found[values[0]] = values
        return found

    def scan(self) -> Iterator[list[StoredRow]]:
        """What is stored of every row, in order, many at a time."""
        start = 0
        while values := self._query(
            f"SELECT {_COLUMNS} FROM declarations WHERE row >= ? ORDER BY row LIMIT {_ROWS_AT_ONCE}", (start,)
        ):
            yield values
            start = values[-1][0] + 1

    def replacement(self, row: int) -> str | None:
        """What replaces a deprecated declaration, or None."""
        found = self._query("SELECT replacement FROM declarations WHERE row = ?", (int(row),))
        return found[0][0] if found else None

    def counts(self) -> tuple[int, int]:
        """Numbers of declarations and of modules."""
        ((declarations,),) = self._query("SELECT count(*) FROM declarations", ())
        ((modules,),) = self._query("SELECT count(*) FROM modules", ())
        return declarations, modules

    def faults(self) -> list[str]:
        """What SQLite's own integrity check complains about."""
        return [text for (text,) in self._query("PRAGMA integrity_check", ()) if text != "ok"]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _query(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.ProgrammingError as error:
                raise SidecarError(
                    "internal", "the index is closed", hint="close an index only after its last request"
                ) from error


def restored(stored: StoredRow, module: str, constants: tuple[str, ...], conclusion_count: int) -> Declaration:
    """The record of a stored row, with its module and constants, which are kept elsewhere."""
    _, name, kind, signature, display, docstring, attributes, line, end_line, parent, has_equations = stored
    return Declaration(
        name=name,
        kind=KINDS[kind],
        module=module,
        signature=signature,
        display=signature if display is None else display,
        docstring=docstring or "",
        constants=constants,
        conclusion_count=conclusion_count,
        attributes=tuple(json.loads(attributes)) if attributes else (),
        line=line,
        end_line=end_line,
        parent=parent,
        has_equations=bool(has_equations),
    )
