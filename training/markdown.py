"""Markdown as the documents of this repository write it, so that no formatter has anything to change.

In: paragraphs, list items, cells. Out: lines; paragraphs and items are broken at `WIDTH` characters, tables are not
padded.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

WIDTH: Final = 120
"""Characters of the longest line outside tables and code."""


def paragraph(text: str) -> list[str]:
    """The lines of a paragraph, and the blank line behind it."""
    return [*_broken(text), ""]


def items(texts: Iterable[str]) -> list[str]:
    """The lines of a list, and the blank line behind it."""
    return [*(line for text in texts for line in _broken(text, first="- ", others="  ")), ""]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, and the blank line behind it."""
    return [_row(head), "|---" * len(head) + "|", *map(_row, rows), ""]


def shown(value: object) -> str:
    """A setting as a cell shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else str(value)


def _row(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _broken(text: str, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
