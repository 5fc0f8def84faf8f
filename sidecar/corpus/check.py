"""Validator of the extraction format.

In: a folder that `lake exe extract` wrote. Out: a `Report` with every fault and warning by file and line, counts, and
random rows to look at. The format itself is in `extraction_format.md`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.auxiliary import auxiliary_reason, shown_name
from sidecar.corpus.extraction import decoded, extraction_files
from sidecar.corpus.extraction_rows import Row, RowOrder, declaration_record, faults, unknown_fields
from sidecar.corpus.lines import read_lines
from sidecar.errors import SidecarError

_KEPT: Final = 1_000
_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or odd.

    Attributes:
        file: The file it is in.
        line: 1-based line.
        message: What is wrong, in one sentence.
    """

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {shown_name(self.message)}"


@dataclass(slots=True)
class Report:
    """What a check found.

    Attributes:
        counts: Files, rows of each kind, declarations of each kind, premises named, faults and warnings.
        faults: What breaks the format; the first thousand.
        warnings: What keeps to the format but looks wrong; the first thousand.
        sample: Random rows as they stand in the files.
    """

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    sample: list[str] = field(default_factory=list)

    def fault(self, file: Path, line: int, message: str) -> None:
        """Take note of a fault."""
        self.counts["faults"] += 1
        if len(self.faults) < _KEPT:
            self.faults.append(Finding(file, line, message))

    def warn(self, file: Path, line: int, message: str) -> None:
        """Take note of a warning."""
        self.counts["warnings"] += 1
        if len(self.warnings) < _KEPT:
            self.warnings.append(Finding(file, line, message))

    def as_wire(self) -> dict[str, object]:
        """The report as plain data."""
        return {
            "counts": dict(self.counts),
            "faults": list(map(str, self.faults)),
            "warnings": list(map(str, self.warnings)),
            "sample": self.sample,
        }


@dataclass(slots=True)
class _Mention:
    """How often a name is mentioned, and where first."""

    file: Path
    line: int
    count: int = 0


class Mentions:
    """The names of one kind that files mention."""

    def __init__(self) -> None:
        self._of: dict[str, _Mention] = {}

    def add(self, name: str, file: Path, line: int) -> None:
        """Take note of a mention."""
        self._of.setdefault(name, _Mention(file, line)).count += 1

    def __len__(self) -> int:
        """Different names."""
        return len(self._of)

    def warn(self, report: Report, what: str, known: Container[str], where: str) -> None:
        """Count the names that are not known, and warn of the ones that are mentioned most.

        Args:
            report: Takes count and warnings.
            what: What the names are, in the singular.
            known: What there is.
            where: Completes "premise Nat.x …" for one that is not known.
        """
        unknown = sorted(
            ((mention.count, name) for name, mention in self._of.items() if name not in known),
            key=lambda pair: (-pair[0], pair[1]),
        )
        if not unknown:
            return
        report.counts[f"unknown {what}s"] = len(unknown)
        for count, name in unknown[:_NAMED]:
            mention = self._of[name]
            times = f" (and {count - 1} times more)" if count > 1 else ""
            report.warn(mention.file, mention.line, f"{what} {name} is {where}{times}")
        if len(unknown) > _NAMED:
            mention = self._of[unknown[_NAMED][1]]
            report.warn(mention.file, mention.line, f"{len(unknown) - _NAMED} more {what}s are {where}")


def check_extraction(folder: Path, *, sample: int = 0, seed: int | None = None) -> Report:
    """Check every row of an extraction.

    Faults: rows that break the schema, files that are cut off or miscounted, rows out of order, a module with two
    files, a name declared twice in one file, an example whose theorem its file does not declare. Warnings: fields that
    the format does not have, names declared by several modules, auxiliary names, parents, imports and premises that no
    file declares, left-over temporary files.

    Args:
        folder: The folder, or one file of it.
        sample: How many random rows to keep in the report.
        seed: Makes the choice of rows repeatable.

    Raises:
        SidecarError: `not_found` when there is no such file at all.
    """
    if not folder.exists() or not (files := extraction_files(folder)):
        raise SidecarError(
            "not_found", f"{folder} has no *.jsonl file", field=str(folder), hint="run `lake exe extract` first"
        )
    checker = _Checker(sample, random.Random(seed))
    for file in files:
        checker.read(file)
    checker.compare()
    for leftover in sorted(folder.rglob("*.jsonl.tmp")):
        checker.report.warn(leftover, 1, "left over from an interrupted extraction; it is not read")
    return checker.report


class _Checker:
    def __init__(self, sample: int, choice: random.Random) -> None:
        self.report = Report()
        self._sample = sample
        self._choice = choice
        self._rows = 0
        self._modules: dict[str, Path] = {}
        self._declared: dict[str, tuple[Path, int]] = {}
        self._imports = Mentions()
        self._premises = Mentions()
        self._parents = Mentions()

    def read(self, file: Path) -> None:
        """Check one file by itself and remember what it declares and mentions."""
        self.report.counts["files"] += 1
        order = RowOrder()
        module = ""
        number = 0
        try:
            for number, line in read_lines(file):
                self._keep(line)
                row = self._row(file, number, line)
                if row is None:
                    continue
                kind = row["row"]
                self.report.counts[f"{kind} rows"] += 1
                misplaced = order.follow(kind)
                if misplaced is not None:
                    self.report.fault(file, number, misplaced)
                if kind == "module":
                    module = row["module"]
                    self._module(file, number, row)
                elif kind == "declaration":
                    self._declaration(file, number, row, module)
                elif kind == "example":
                    self._example(file, number, row)
                elif (miscounted := order.miscounted(row)) is not None:
                    self.report.fault(file, number, miscounted)
        except SidecarError as error:
            cut = error.code == "bad_request"
            message = "the file is cut off in the middle of this line" if cut else error.message
            self.report.fault(file, number + 1, message)
            return
        if not order.complete:
            self.report.fault(file, number + 1, "the file is cut off before the end row")

    def compare(self) -> None:
        """Check what one file says against what all of them declare."""
        where = "in no file of this folder"
        self._premises.warn(self.report, "premise", self._declared, where)
        self._parents.warn(self.report, "parent", self._declared, where)
        self._imports.warn(self.report, "import", self._modules, where)

    def _keep(self, line: bytes) -> None:
        # Reservoir sampling: every row is equally likely to be kept, however many follow.
        self._rows += 1
        place = len(self.report.sample) if self._rows <= self._sample else self._choice.randrange(self._rows)
        if place < self._sample:
            self.report.sample[place : place + 1] = [line.decode("utf-8", errors="replace").rstrip("\n")]

    def _row(self, file: Path, number: int, line: bytes) -> Row | None:
        try:
            row = decoded(line, pairs=_without_repeats)
        except ValueError as error:
            self.report.fault(file, number, f"not a row of JSON: {error}")
            return None
        found = faults(row)
        for message in found:
            self.report.fault(file, number, message)
        if found:
            return None
        for name in unknown_fields(row):
            self.report.warn(file, number, f'the format has no field "{name}"; readers ignore it')
        return row

    def _module(self, file: Path, number: int, row: Row) -> None:
        other = self._modules.setdefault(row["module"], file)
        if other is not file:
            self.report.fault(file, number, f"module {row['module']} has another file, {other}")
        for name in row["imports"]:
            self._imports.add(name, file, number)

    def _declaration(self, file: Path, number: int, row: Row, module: str) -> None:
        name = row["name"]
        self.report.counts[f"kind {row['kind']}"] += 1
        other, line = self._declared.setdefault(name, (file, number))
        if other is not file:
            self.report.warn(file, number, f"{name} is declared at {other}:{line} too; readers keep the first")
        elif line != number:
            self.report.fault(file, number, f"{name} is declared at line {line} already")
        reason = auxiliary_reason(declaration_record(row, module))
        if reason is not None:
            self.report.warn(file, number, f"{name} never surfaces ({reason}); leave it out")
        if row["parent"] is not None:
            self._parents.add(row["parent"], file, number)

    def _example(self, file: Path, number: int, row: Row) -> None:
        if self._declared.get(row["theorem"], (None, 0))[0] is not file:
            self.report.fault(file, number, f"example of {row['theorem']}, which this file does not declare")
        self.report.counts["premises named"] += len(row["premises"])
        for premise in row["premises"]:
            self._premises.add(premise["name"], file, number)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"field {json.dumps(repeated)} stands twice in one object")
    return row
