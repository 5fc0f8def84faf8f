"""What commands print: tables for people, one JSON value for programs, errors with an exit status.

In: results and errors. Out: text on stdout (answers) and stderr (everything else).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from sidecar.errors import SidecarError

PIPE_WIDTH = 160
"""Columns of a table that goes into a pipe or a file."""


def speak_utf8() -> None:
    """Write UTF-8 whatever the locale, as Lean does: names and statements hardly ever fit into anything else."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def print_json(value: object) -> None:
    """Print one JSON value on stdout, non-ASCII letters as they are."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, without a head where no column has a name; markup characters in cells are shown as they are."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        sys.stdout.write(f"{title}: none\n")
        return
    table = Table(title=title, title_justify="left", title_style="bold", show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    # A pipe has no width: what reads it may be a program, so rows stay on their line as far as possible.
    Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH).print(table)


def print_pairs(title: str, pairs: Mapping[str, object]) -> None:
    """Print names and values, one a line; names and numbers inside maps and lists of maps are joined by dots."""
    print_table(title, ["", ""], _flat(pairs))


def _shown(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return "" if cell is None else str(cell)


def _flat(value: object, name: str = "") -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [row for key, inner in value.items() for row in _flat(inner, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return _flat({str(number): item for number, item in enumerate(value)}, name)
    if isinstance(value, list):
        return [(name, ", ".join(str(item) for item in value))]
    return [(name, value)]


def note(message: str) -> None:
    """Say something to the person, beside the answer."""
    sys.stderr.write(message + "\n")


def stdout_is_full(error: OSError) -> bool:
    """Whether an error says that an answer did not fit where stdout leads; a file that is named is another matter."""
    import errno

    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def fail(error: SidecarError, *, as_json: bool) -> NoReturn:
    """Print an error and leave with its exit status."""
    if as_json:
        print_json({"error": error.as_wire()})
    else:
        sys.stderr.write(f"error: {error}\n")
    raise SystemExit(error.exit_status)
