"""What commands print: tables for people, one JSON value for programs, errors with an exit status.

In: results and errors. Out: text on stdout (answers) and stderr (everything else).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from sidecar.errors import SidecarError, room_or

PIPE_WIDTH = 160
"""Columns of a table that goes into a pipe or a file."""


class _Answers:
    """Stdout, on which a write that fails is an error that says so.

    The stream is wrapped because a write may fail wherever a buffer is full, and an `OSError` does not tell for which
    of the open files. What is lost is said again at every later write and flush: libraries that try whether a stream
    can be written to swallow the first error. A reader that went away (head, less) has seen enough and loses nothing.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost: SidecarError | None = None

    def write(self, text: str) -> int:
        with self._said_to_be_lost():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._said_to_be_lost():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _said_to_be_lost(self) -> Iterator[None]:
        if self._lost is not None:
            raise self._lost
        try:
            yield
        except BrokenPipeError:
            give_stdout_up()
        except OSError as error:
            give_stdout_up()
            detail = f"the answer cannot be written: {error.strerror or error}"
            self._lost = SidecarError("forbidden", detail, field="stdout", hint=room_or(error, "send it elsewhere"))
            raise self._lost from error


def give_stdout_up() -> None:
    """Let nothing that is still to be written or flushed on stdout fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def speak_to_people() -> None:
    """Set stdout and stderr up for a command.

    They take UTF-8 whatever the locale, as Lean does: names and statements hardly ever fit into anything else. A stdout
    that is closed takes everything, one that is full says what is lost.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open while the command runs
    sys.stdout = cast(TextIO, _Answers(sys.stdout))


def print_line(text: str) -> None:
    """Print one line on stdout."""
    sys.stdout.write(f"{text}\n")


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


def fail(error: SidecarError, *, as_json: bool) -> NoReturn:
    """Print an error and leave with its exit status."""
    try:
        if as_json and error.field != "stdout":
            print_json({"error": error.as_wire()})
            sys.stdout.flush()
        else:
            sys.stderr.write(f"error: {error}\n")
    except SidecarError as lost:
        sys.stderr.write(f"error: {error}\nerror: {lost}\n")
    # What is lost has been said; the interpreter, which flushes as it ends, need not say it again.
    sys.stdout = sys.__stdout__
    raise SystemExit(error.exit_status)
