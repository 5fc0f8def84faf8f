"""Rows of the extraction format: what each field must be, and the records they become.

In: one decoded JSON object. Out: its faults in words, or a `Module` or `Declaration`. The format is described for the
writers in `extraction_format.md`; this is the same description for the readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sidecar.corpus.records import KINDS, Declaration, Module

FORMAT: Final = 1
"""Version of the format that this package reads."""

ORIGINS: Final = ("explicit", "simp", "rw", "definitional", "instance")
"""How a premise came into a proof."""

PROOFS: Final = ("tactic", "term")
"""What kind of proof an example comes from."""

Row = dict[str, Any]

_WITH_PARENT: Final = frozenset({"ctor", "field", "parent_proj"})
_KINDS: Final = {**{kind: kind for kind in KINDS}, "lemma": "theorem"}


_QUOTED: Final = re.compile("«[^»]*»")


@dataclass(frozen=True, slots=True)
class _Field:
    fits: Callable[[Any], bool]
    wanted: str


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_line_of_text(value: Any) -> bool:
    if not _is_name(value):
        return False
    broken = "\n" in value or "\r" in value
    return not broken or not any(end in _QUOTED.sub("", value) for end in "\n\r")  # « » allow line breaks in names


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_position(value: Any) -> bool:
    return _is_whole(value) and value > 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_name, value)) and len(set(value)) == len(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_line_of_text, value))


def _optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _is_premise(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_name(value.get("name"))
        and isinstance(value.get("from"), list)
        and bool(value["from"])
        and all(isinstance(origin, str) and origin in ORIGINS for origin in value["from"])
        and len(set(value["from"])) == len(value["from"])
    )


def _is_premises(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(map(_is_premise, value))
        and len({premise["name"] for premise in value}) == len(value)
    )


_NAME: Final = _Field(_is_name, "a name")
_OPTIONAL_NAME: Final = _Field(_optional(_is_name), "a name or null")
_NAMES: Final = _Field(_is_names, "a list of names without repeats")
_TEXT: Final = _Field(_is_text, 'a text ("" for none)')
_LINE_OF_TEXT: Final = _Field(_is_line_of_text, "a text on one line")
_OPTIONAL_TEXT: Final = _Field(_optional(_is_line_of_text), "a text or null")
_OPTIONAL_POSITION: Final = _Field(_optional(_is_position), "a line number from 1 or null")
_COUNT: Final = _Field(_is_whole, "a whole number")

FIELDS: Final[dict[str, dict[str, _Field]]] = {
    "module": {
        "format": _Field(lambda value: value == FORMAT and not isinstance(value, bool), f"{FORMAT}"),
        "module": _NAME,
        "imports": _NAMES,
        "docstring": _TEXT,
        "source": _OPTIONAL_TEXT,
        "package": _OPTIONAL_TEXT,
        "revision": _OPTIONAL_TEXT,
        "toolchain": _OPTIONAL_TEXT,
    },
    "declaration": {
        "name": _NAME,
        "kind": _Field(lambda value: isinstance(value, str) and value in _KINDS, f"one of {', '.join(KINDS)}"),
        "signature": _LINE_OF_TEXT,
        "display": _LINE_OF_TEXT,
        "docstring": _TEXT,
        "constants": _NAMES,
        "conclusion_count": _COUNT,
        "attributes": _Field(_is_texts, "a list of texts"),
        "line": _OPTIONAL_POSITION,
        "end_line": _OPTIONAL_POSITION,
        "parent": _OPTIONAL_NAME,
        "has_equations": _Field(lambda value: isinstance(value, bool), "true or false"),
    },
    "example": {
        "theorem": _NAME,
        "proof": _Field(lambda value: value in PROOFS, " or ".join(PROOFS)),
        "state": _Field(lambda value: isinstance(value, str) and "⊢" in value, "a goal with ⊢ in it"),
        "line": _OPTIONAL_POSITION,
        "column": _Field(_optional(_is_whole), "a column from 0 or null"),
        "premises": _Field(_is_premises, f"a list of {{name, from: some of {', '.join(ORIGINS)}}}, each name once"),
    },
    "end": {"declarations": _COUNT, "examples": _COUNT},
}
"""The fields of each kind of row; all of them are required."""


def faults(row: Row) -> list[str]:
    """What is wrong with a row, each in one sentence; empty when it keeps to the format."""
    kind = row.get("row")
    fields = FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        return [f'"row" must be one of {", ".join(FIELDS)}, not {shown(kind)}']
    found: list[str] = []
    for name, field in fields.items():
        if name not in row:
            found.append(f'{kind} row: "{name}" is missing')
        elif not field.fits(row[name]):
            found.append(f'{kind} row: "{name}" must be {field.wanted}, not {shown(row[name])}')
    if kind == "declaration" and not found:
        found += _faults_between_fields(row)
    return found


def unknown_fields(row: Row) -> list[str]:
    """Fields of a faultless row that the format does not have; readers ignore them."""
    return [name for name in row if name != "row" and name not in FIELDS[row["row"]]]


def _faults_between_fields(row: Row) -> list[str]:
    found: list[str] = []
    name, kind = row["name"], row["kind"]
    if row["conclusion_count"] > len(row["constants"]):
        found.append(f'"conclusion_count" is {row["conclusion_count"]}, more than there are constants')
    if (row["line"] is None) != (row["end_line"] is None) or (row["line"] or 0) > (row["end_line"] or 0):
        found.append(f'"end_line" {row["end_line"]} does not follow "line" {row["line"]}')
    if (row["parent"] is None) == (kind in _WITH_PARENT):
        found.append(f'"parent" of a {kind} must be {"a name" if kind in _WITH_PARENT else "null"}')
    if not f"{row['signature']} ".startswith((f"{kind} {name} ", f"{kind} {' '.join(name.split())} ")):
        found.append(f'"signature" must begin with "{kind} {name} ", not {shown(row["signature"])}')
    return found


class RowOrder:
    """Follows the rows of one file: module, declarations, examples, end, with the counts that the end row states.

    Attributes:
        declarations: Declaration rows so far.
        examples: Example rows so far.
    """

    _AFTER: Final = {
        "": ("module",),
        "module": ("declaration", "example", "end"),
        "declaration": ("declaration", "example", "end"),
        "example": ("example", "end"),
        "end": (),
    }

    def __init__(self) -> None:
        self.declarations = 0
        self.examples = 0
        self._last = ""

    def follow(self, kind: str) -> str | None:
        """Take note of the next row; what is wrong with its place, if anything."""
        fault = None
        if kind not in self._AFTER[self._last]:
            after = f"after the {self._last} row" if self._last else "at the start of the file"
            fault = f"a {kind} row cannot stand {after}"
        self._last = kind
        self.declarations += kind == "declaration"
        self.examples += kind == "example"
        return fault

    def miscounted(self, end: Row) -> str | None:
        """What is wrong with the counts of the end row, if anything."""
        if (end["declarations"], end["examples"]) == (self.declarations, self.examples):
            return None
        return (
            f"the end row counts {end['declarations']} declarations and {end['examples']} examples, "
            f"but the file has {self.declarations} and {self.examples}"
        )

    @property
    def complete(self) -> bool:
        """Whether the end row has come."""
        return self._last == "end"


def shown(value: Any) -> str:
    """A value as an error message shows it: short, on one line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def module_record(row: Row) -> Module:
    """The record of a faultless module row."""
    return Module(row["module"], tuple(row["imports"]), row["docstring"], row["source"])


def declaration_record(row: Row, module: str) -> Declaration:
    """The record of a faultless declaration row."""
    return Declaration(
        name=row["name"],
        kind=_KINDS[row["kind"]],
        module=module,
        signature=row["signature"],
        display=row["display"],
        docstring=row["docstring"],
        constants=tuple(row["constants"]),
        conclusion_count=row["conclusion_count"],
        attributes=tuple(row["attributes"]),
        line=row["line"],
        end_line=row["end_line"],
        parent=row["parent"],
        has_equations=row["has_equations"],
    )
