"""Statements out of doc-gen4 markup: text, full names and constants.

In: lxml elements of a displayed statement, where an identifier or a notation links to the constant that it stands for.
Out: `Linked` runs of text, and from them the text as displayed, the text with identifiers in full, and the constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from lxml.etree import _Element

_WHITE_SPACE: Final = re.compile(r"\s+")

NOTATIONS: Final[dict[str, tuple[str, ...]]] = {
    "∑": ("Finset.sum",),
    "∏": ("Finset.prod",),
    "⨆": ("iSup",),
    "⨅": ("iInf",),
    "⋃": ("Set.iUnion",),
    "⋂": ("Set.iInter",),
    "∃": ("Exists",),
    "∉": ("Not", "Membership.mem"),
    "∈": ("Membership.mem",),
    "⊓": ("Min.min",),
    "⊔": ("Max.max",),
    "×": ("Prod",),
    "×'": ("PProd",),
    "⟮": ("IntermediateField.adjoin",),
    "⇑": ("DFunLike.coe",),
}
"""Notations that doc-gen4 prints without a link, and the constants behind them (for `⇑` the usual one)."""

_NOTATION: Final = re.compile("×'|[" + "".join(symbol for symbol in NOTATIONS if len(symbol) == 1) + "]")


class Linked(NamedTuple):
    """A run of text.

    Attributes:
        text: The text as displayed.
        constant: The constant that it links to, if any.
        local: Whether the text names a local variable all the same, so that it is never spelled in full.
    """

    text: str
    constant: str | None
    local: bool = False


def linked_text(element: _Element, into: list[Linked]) -> None:
    """Append the text of an element, run by run.

    Args:
        element: Any element; links are `a` elements whose address ends in `#constant`.
        into: Where the runs go.
    """
    _append(element, link_target(element) if element.tag == "a" else None, into)


def _append(element: _Element, constant: str | None, into: list[Linked]) -> None:
    if element.text:
        into.append(Linked(element.text, constant))
    for child in element:
        if child.tag == "a":
            _append(child, link_target(child), into)
        else:
            _append(child, constant, into)
        if child.tail:
            into.append(Linked(child.tail, constant))


def trimmed(runs: Sequence[Linked]) -> list[Linked]:
    """The runs without blank ones at either end."""
    kept = [position for position, run in enumerate(runs) if run.text.strip()]
    return list(runs[kept[0] : kept[-1] + 1]) if kept else []


def link_target(link: _Element) -> str | None:
    """The constant that a link leads to; None for links to whole pages (`Type`, `Prop`)."""
    _, mark, target = (link.get("href") or "").partition("#")
    return unquote(target) if mark and target else None


def one_line(text: str) -> str:
    """The text with every run of white space made one space, trimmed."""
    return _WHITE_SPACE.sub(" ", text).strip()


def displayed(runs: Iterable[Linked]) -> str:
    """The text as a page shows it, on one line."""
    return one_line("".join(run.text for run in runs))


def in_full(runs: Iterable[Linked]) -> str:
    """The text with each linked identifier spelled in full, on one line.

    Notation stays as displayed, and so does field notation: the `foo` of `x.foo` is not a name by itself.
    """
    parts: list[str] = []
    after_dot = False
    for text, constant, local in runs:
        part = text
        if constant is not None and not local and not after_dot:
            identifier, brace, levels = text.partition(".{")
            if constant == identifier or constant.endswith("." + identifier):
                part = constant + brace + levels
        parts.append(part)
        after_dot = part.endswith(".")
    return one_line("".join(parts))


def linked_constants(conclusion: Sequence[Linked], binders: Sequence[Linked]) -> tuple[list[str], int]:
    """Constants without repeats and how many come from the conclusion.

    Args:
        conclusion: Runs of the type after the colon; their constants come first, in order.
        binders: Runs of everything before the colon, in order.

    Returns:
        The linked constants, then those of unlinked notations (see `NOTATIONS`) in the order displayed, and the
        number of leading ones that are linked in the conclusion.
    """
    constants = dict.fromkeys(run.constant for run in conclusion if run.constant is not None)
    count = len(constants)
    constants.update(dict.fromkeys(run.constant for run in binders if run.constant is not None))
    symbols = [
        symbol
        for runs in (binders, conclusion)
        for run in runs
        if run.constant is None
        for symbol in _NOTATION.findall(run.text)
    ]
    # `∑ x ∈ s, f x` displays a membership that is part of the notation, not a constant of the statement.
    binds_members = "∑" in symbols or "∏" in symbols
    for symbol in symbols:
        if symbol == "∈" and binds_members:
            continue
        constants.update(dict.fromkeys(NOTATIONS[symbol]))
    return list(constants), count
