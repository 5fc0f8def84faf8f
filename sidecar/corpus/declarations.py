"""Reader of the published-declarations corpus: JSON lines, gzipped, made from doc-gen4 pages of a whole library.

In: a folder with `declarations-*.jsonl.gz`, `modules-*.jsonl.gz` and `equations-*.jsonl.gz`. Out: `Module` and
`Declaration` records, streamed in file order.

A declaration row has `name`, `kind`, `module`, `signature`, `type_consts`, `n_concl`, `doc`, `line`, `end_line`, and
where they apply `signature_fq` (identifiers in full, when that differs), `notation_consts`, `attrs`, `modifiers`,
`parent`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.documented import has_equations, known_kind, source_revisions
from sidecar.corpus.lines import read_lines
from sidecar.corpus.records import Declaration, Module, Proof
from sidecar.errors import SidecarError

_NO_MODIFIERS: Final[frozenset[str]] = frozenset()
_NOTHING: Final[tuple[str, ...]] = ()
_CODE: Final = re.compile(r"(^```\n.*?^```$)(?:\n  (?=\S))?", re.MULTILINE | re.DOTALL)
_STRAY: Final = "```\n  "
_AFTER_RULE: Final = re.compile(r"(?<=\n---\n\n) (?=\S)")


class DeclarationsReader:
    """Reads the folder; every call of a method reads it again from the start.

    Args:
        folder: The folder with the files.

    Raises:
        SidecarError: `not_found` when a kind of file is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._declarations = self._files("declarations")
        self._modules = self._files("modules")
        self._equations = self._files("equations")

    @staticmethod
    def accepts(folder: Path) -> bool:
        """Whether the folder looks like this format."""
        return folder.is_dir() and any(folder.glob("declarations-*.jsonl*"))

    @property
    def files(self) -> list[Path]:
        """Every file that is read, in order."""
        return [*self._modules, *self._declarations, *self._equations]

    def modules(self) -> Iterator[Module]:
        """The modules, in file order."""
        for where, row in _rows(self._modules):
            try:
                yield Module(
                    name=row["module"],
                    imports=tuple(row["imports"]),
                    docstring="\n\n".join(filter(None, map(tidied, row["docs"]))),
                    source=row["source"],
                )
            except (KeyError, TypeError) as error:
                raise _unreadable(where, error) from error

    def revisions(self) -> dict[str, str]:
        """Revision of each repository, from the modules' source addresses."""
        return source_revisions(module.source for module in self.modules())

    def declarations(self) -> Iterator[Declaration]:
        """The declarations, in file order."""
        with_equations = {row["name"] for _, row in _rows(self._equations)}
        for where, row in _rows(self._declarations):
            try:
                yield _declaration(row, row["name"] in with_equations)
            except (KeyError, TypeError) as error:
                raise _unreadable(where, error) from error

    def proofs(self) -> Iterator[Proof]:
        """None: what is published says nothing about proofs."""
        return iter(())

    def _files(self, stem: str) -> list[Path]:
        files = sorted(self.folder.glob(f"{stem}-*.jsonl.gz")) or sorted(self.folder.glob(f"{stem}-*.jsonl"))
        if not files:
            raise SidecarError(
                "not_found",
                f"{self.folder} has no {stem}-*.jsonl.gz",
                field=str(self.folder),
                hint="this format needs declarations-, modules- and equations- files side by side",
            )
        return files


def _rows(files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in files:
        for number, line in read_lines(file, ended=False):
            where = f"{file}:{number}"
            try:
                row = json.loads(line.decode())
            except (ValueError, RecursionError) as error:
                raise _unreadable(where, error) from error
            if not isinstance(row, dict):
                raise _unreadable(where, TypeError("the row is not an object"))
            yield where, row


def _declaration(row: dict[str, Any], displays_equations: bool) -> Declaration:
    kind = known_kind(row["kind"])
    display = row["signature"]
    constants = tuple(row["type_consts"])
    notations = row.get("notation_consts")
    modifiers = row.get("modifiers")
    return Declaration(
        name=row["name"],
        kind=kind,
        module=row["module"],
        signature=row.get("signature_fq", display),
        display=display,
        docstring=tidied(row["doc"]),
        constants=tuple(dict.fromkeys([*constants, *notations])) if notations else constants,
        conclusion_count=row["n_concl"],
        attributes=tuple(row.get("attrs", _NOTHING)),
        line=row["line"],
        end_line=row["end_line"],
        parent=row.get("parent"),
        has_equations=has_equations(kind, frozenset(modifiers) if modifiers else _NO_MODIFIERS, displays_equations),
    )


def tidied(docstring: str) -> str:
    """The docstring with blank lines where these files have stray spaces: after a code block and after a rule."""
    if _STRAY in docstring:
        docstring = _CODE.sub(lambda code: code[1] + "\n\n" * (code.end() > code.end(1)), docstring)
    if "\n---\n" in docstring:
        docstring = _AFTER_RULE.sub("", docstring)
    return docstring


def _unreadable(where: str, error: Exception) -> SidecarError:
    what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
    return SidecarError(
        "bad_request",
        f"{where}: cannot read this row: {what}",
        field=where.rpartition(":")[0],
        hint="fetch the file again; its checksum stands in the README beside it",
    )
