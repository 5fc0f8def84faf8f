"""docs/lean-evidence.md keeps step with the Lean sources: each name has one row, each row a name that is used.

Names are looked at as they are written, behind what is opened: `Core.wrapAsync` has a row when
`Lean.Core.wrapAsync` has.
"""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("LeanHammerExt", "extraction", "benchmarks/proof_rate", "tests/lean")

CATEGORIES = {"Aesop.feature", "Aesop.tactic_clause"}
"""Names of syntax categories, which are no declarations."""

_ROW = re.compile(r"^\| `([^`]+)` \| `(\w+) ", re.MULTILINE)
_INNERMOST_COMMENT = re.compile(r"/-(?:(?!/-|-/).)*-/", re.DOTALL)
_IGNORED = re.compile(
    r"--[^\n]*|'\"'|\"(?:\\.|[^\"\\])*\"|^(?:import|open|hammer_exclude_\w+) [^\n]*", re.MULTILINE | re.DOTALL
)
_QUALIFIED = re.compile(r"(?<![\w.`«])[A-Z]\w*(?:\.[\w?!']+)+")
_DECLARED = re.compile(
    r"(?:def|structure|inductive|abbrev|axiom|class|syntax|initialize|namespace|theorem)\s+(?:\(name := )?([\w.?!']+)"
)


def without_comments(text: str) -> str:
    """A Lean text without comments, which may stand inside each other, strings and imports."""
    count = 1
    while count:
        text, count = _INNERMOST_COMMENT.subn(" ", text)
    return _IGNORED.sub(" ", text)


def sources() -> dict[str, str]:
    """The text of each Lean file."""
    files = [file for folder in FOLDERS for file in sorted((REPOSITORY / folder).rglob("*.lean"))]
    return {str(file.relative_to(REPOSITORY)): file.read_text(encoding="utf-8") for file in files}


def rows() -> list[tuple[str, str]]:
    """Name and kind of each row; the first table is about places, not names."""
    text = (REPOSITORY / "docs" / "lean-evidence.md").read_text(encoding="utf-8")
    return _ROW.findall(text.partition("## Init and Std")[2])


def endings(name: str) -> set[str]:
    """The name, and what is left of it behind namespaces."""
    parts = name.split(".")
    return {".".join(parts[place:]) for place in range(len(parts))}


def beginnings(name: str) -> list[str]:
    """The name, and what is left of it without projections."""
    parts = name.split(".")
    return [".".join(parts[:place]) for place in range(len(parts), 0, -1)]


def test_each_name_has_one_row() -> None:
    names = [name for name, _ in rows()]
    assert len(names) > 300
    assert sorted(names) == sorted(set(names))


def test_each_row_is_of_a_name_that_is_used() -> None:
    # Strings count, because values are written into them.
    words = {word for text in sources().values() for word in re.findall(r"[\w?!']+", text)}
    # A type may only be used by the name of a field that has it.
    unused = [
        name for name, kind in rows() if kind not in ("structure", "inductive") and name.rpartition(".")[2] not in words
    ]
    assert unused == []


def test_each_qualified_name_has_a_row() -> None:
    texts = {file: without_comments(text) for file, text in sources().items()}
    declared = {name for text in texts.values() for name in _DECLARED.findall(text)}
    known = {part for name, _ in rows() for part in endings(name)}
    known |= {part for name in declared for begin in beginnings(name) for part in endings(begin)}
    missing = {
        name: file
        for file, text in texts.items()
        for name in _QUALIFIED.findall(text)
        if name not in CATEGORIES and not known.intersection(beginnings(name))
    }
    assert missing == {}
