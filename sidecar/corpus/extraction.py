"""Reader of the extraction format: what `lake exe extract` writes, one JSON-lines file a module.

In: a folder (or one file) in the format of `extraction_format.md`. Out: `Module` and `Declaration` records, streamed,
modules in order of their names; and `Proof` records, from the training examples.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.extraction_rows import Row, RowOrder, declaration_record, faults, module_record
from sidecar.corpus.lines import cut_off, read_lines
from sidecar.corpus.records import Declaration, Module, Proof
from sidecar.errors import SidecarError

_EXAMPLE: Final = b'"row":"example"'


class ExtractionReader:
    """Reads an extraction; every call of a method reads it again from the start.

    Args:
        path: A folder, searched for `*.jsonl` at any depth, or one such file.

    Raises:
        SidecarError: `not_found` when there is no such file, `bad_request` when a file does not start with a module row
            or a module has two files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = extraction_files(path)
        if not found:
            raise SidecarError(
                "not_found", f"{path} has no *.jsonl file", field=str(path), hint="run `lake exe extract` first"
            )
        by_module: dict[str, Path] = {}
        for file in found:
            name = _module_row(file)["module"]
            if name in by_module:
                raise SidecarError(
                    "bad_request",
                    f"module {name} stands in both {by_module[name]} and {file}",
                    field=str(path),
                    hint="remove the older file",
                )
            by_module[name] = file
        self.files: list[Path] = [by_module[name] for name in sorted(by_module)]
        """Every file that is read, in order of the modules' names."""

    @staticmethod
    def accepts(path: Path) -> bool:
        """Whether the folder or file looks like this format."""
        files = extraction_files(path)
        if not files:
            return False
        with files[0].open("rb") as lines:
            return b'"module"' in lines.readline()

    def modules(self) -> Iterator[Module]:
        """The modules, in order of their names."""
        return (module_record(row) for row in self._module_rows())

    def revisions(self) -> dict[str, str]:
        """Revision of each package, and the toolchain under `toolchain`, as far as the files state them."""
        revisions: dict[str, str] = {}
        for row in self._module_rows():
            if row["package"] is not None and row["revision"] is not None:
                revisions.setdefault(row["package"], row["revision"])
            if row["toolchain"] is not None:
                revisions.setdefault("toolchain", row["toolchain"])
        return revisions

    def declarations(self) -> Iterator[Declaration]:
        """The declarations, file by file."""
        for file in self.files:
            yield from _declarations(file)

    def proofs(self) -> Iterator[Proof]:
        """What the proofs use, an entry for each example; not what nothing but instance search found."""
        return (proof for _, _, proof in self.placed_proofs())

    def placed_proofs(self) -> Iterator[tuple[Path, int, Proof]]:
        """The same with file and line."""
        for file in self.files:
            for number, line in read_lines(file):
                if b'"example"' in line and (row := _row(file, number, line))["row"] == "example":
                    used = (each["name"] for each in row["premises"] if each["from"] != ["instance"])
                    yield file, number, Proof(row["theorem"], tuple(used))

    def _module_rows(self) -> Iterator[Row]:
        return map(_module_row, self.files)


def extraction_files(path: Path) -> list[Path]:
    """The files of an extraction, sorted by path."""
    if path.is_file():
        return [path] if path.suffix == ".jsonl" else []
    return sorted(file for file in path.rglob("*.jsonl") if file.is_file())


def decoded(line: bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Row:
    """One line as a JSON object.

    Args:
        line: UTF-8.
        pairs: Makes an object out of its fields, as in `json.loads`.

    Raises:
        ValueError: Saying what is wrong: not UTF-8, not JSON, not an object, or half of a surrogate pair in a text.
    """
    try:
        row = json.loads(line.decode("utf-8"), object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError("the row is not a JSON object")
    if b"\\u" in line:
        # JSON can spell half a surrogate pair, which no later step could write as UTF-8.
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    return row


def _declarations(file: Path) -> Iterator[Declaration]:
    order = RowOrder()
    module = ""
    number = 0
    for number, line in read_lines(file):
        if _EXAMPLE in line:
            _stop_at(file, number, order.follow("example"))
            continue
        row = _row(file, number, line)
        kind = row["row"]
        _stop_at(file, number, order.follow(kind))
        if kind == "module":
            module = row["module"]
        elif kind == "declaration":
            yield declaration_record(row, module)
        elif kind == "end":
            _stop_at(file, number, order.miscounted(row))
    if not order.complete:
        raise cut_off(file, number + 1)


def _module_row(file: Path) -> Row:
    for number, line in read_lines(file):
        row = _row(file, number, line)
        _stop_at(file, number, RowOrder().follow(row["row"]))
        return row
    raise cut_off(file, 1)


def _row(file: Path, number: int, line: bytes) -> Row:
    try:
        row = decoded(line)
    except ValueError as error:
        _stop_at(file, number, f"not a row of JSON: {error}")
        raise
    for fault in faults(row):
        _stop_at(file, number, fault)
    return row


def _stop_at(file: Path, number: int, fault: str | None) -> None:
    if fault is not None:
        raise SidecarError(
            "bad_request",
            f"{file}:{number}: {fault}",
            field=str(file),
            hint=f"`lean-sidecar corpus check {file.parent}` shows every fault",
        )
