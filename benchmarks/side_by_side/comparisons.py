"""What is compared: for each query and each two systems the two answers, and which one stands on the left.

In: systems and queries, or a folder that was prepared. Out: `comparisons.jsonl`, one row a comparison, and its records.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from training.data.queries import SearchExample

FILE: Final = "comparisons.jsonl"

STATEMENT_CHARACTERS: Final = 1_200
DOCSTRING_CHARACTERS: Final = 600
"""Longer statements and docstrings are cut where they are shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One declaration of an answer, as a judge sees it."""

    name: str
    statement: str
    docstring: str

    @classmethod
    def of(cls, declaration: Declaration) -> Shown:
        """Cut to what is shown."""
        return cls(
            declaration.name,
            _cut(declaration.shown, STATEMENT_CHARACTERS),
            _cut(declaration.docstring, DOCSTRING_CHARACTERS),
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers to one query.

    Attributes:
        id: Names the comparison, and says nothing about the systems.
        query, set: The query, and where it comes from.
        systems: Names of the two systems.
        answers: Their answers, in the same order.
    """

    id: str
    query: str
    set: str
    systems: tuple[str, str]
    answers: tuple[tuple[Shown, ...], tuple[Shown, ...]]

    @property
    def alike(self) -> bool:
        """Whether both answers hold the same declarations in the same order: a tie that nobody need judge."""
        first, second = self.answers
        return [one.name for one in first] == [one.name for one in second]

    def left(self, seed: str) -> int:
        """Which of the two systems stands on the left in one shuffle: 0 or 1."""
        return hashlib.sha256(f"{seed}\n{self.id}".encode()).digest()[0] % 2


def compare_all(
    queries: Sequence[SearchExample],
    answers: Mapping[str, Sequence[Sequence[str]]],
    declarations: Mapping[str, Declaration],
    k: int,
) -> list[Comparison]:
    """Every two systems on every query.

    Args:
        queries: The queries.
        answers: System → for each query names, best first.
        declarations: What the names stand for.
        k: How many declarations of an answer are shown.
    """
    found = []
    for place, example in enumerate(queries):
        for systems in itertools.combinations(answers, 2):
            names = [answers[system][place][:k] for system in systems]
            first, second = (tuple(Shown.of(declarations[name]) for name in some) for some in names)
            said = json.dumps([example.query, systems, names], ensure_ascii=True)
            mark = hashlib.sha256(said.encode()).hexdigest()[:16]
            found.append(Comparison(mark, example.query, example.set, systems, (first, second)))
    # A query that the file holds twice is compared once.
    return list({comparison.id: comparison for comparison in found}.values())


def write_comparisons(folder: Path, comparisons: Iterable[Comparison]) -> None:
    """Write the comparisons of a folder.

    Raises:
        SidecarError: `conflict` when it holds others already: verdicts on those would be lost.
    """
    text = "".join(json.dumps(asdict(comparison), ensure_ascii=False) + "\n" for comparison in comparisons)
    file = folder / FILE
    if file.exists() and file.read_text(encoding="utf-8") != text:
        raise SidecarError(
            "conflict",
            f"{folder} holds other comparisons",
            field="output",
            hint="name another folder, or remove this one if its verdicts are not needed",
        )
    folder.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".writing")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def read_comparisons(folder: Path) -> list[Comparison]:
    """The comparisons of a folder.

    Raises:
        SidecarError: `not_found` when it holds none.
    """
    file = folder / FILE
    if not file.is_file():
        raise SidecarError(
            "not_found",
            f"{folder} holds no {FILE}",
            field="folder",
            hint="run `python -m benchmarks.side_by_side prepare` first",
        )
    return [_comparison(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def _comparison(row: Mapping[str, Any]) -> Comparison:
    first, second = (tuple(Shown(**one) for one in answer) for answer in row["answers"])
    one, other = row["systems"]
    return Comparison(row["id"], row["query"], row["set"], (one, other), (first, second))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
