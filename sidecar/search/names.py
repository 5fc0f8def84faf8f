"""Names found by their spelling.

In: a query, and the spellings that an index holds. Out: the rows that the query names, in full or by their last whole
components, spelled exactly or loosely.

Names are cut into components here only to be found; the rows that come out stand for whole names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import KINDS
from sidecar.index.index import Index
from sidecar.search.priors import Priors
from sidecar.text.names import components

RowArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

LONGEST_NAME: Final = 300
"""A longer query is no name."""

MOST_NAMED: Final = 4_096
"""Rows that share a spelling and are looked at, the most used first: some 6,000 names end in `mk`."""

_BEFORE: Final = re.compile(r"(?:#(?:check|print)\s+)?[@`\"]*(?:_root_\.)?")
_AFTER: Final = re.compile(r"[`\".,;:]+[?!]*$")  # a name may end in ? or !, a quoted one does not
_KINDS: Final = "|".join(sorted((*KINDS, "lemma"), key=len, reverse=True))
_NAME: Final = r"(?:«[^«»]*»|[^\s«:(\[{⦃])+"
# Prose begins with such words too (`class group`, `field of fractions`): only what goes on like a statement is one.
_DECLARED: Final = re.compile(
    rf"(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable)\s+)*(?:{_KINDS})\s+({_NAME})"
    r"(?:\.\{[^{}]*\})?(?=\s*[(\[{⦃].*\s:\s|\s*:\s)"
)
_QUOTED: Final = re.compile("«[^«»]*»")
_NAME_MARKS: Final = re.compile(r"[._«»'!?\d₀-₉]|(?<=[^\W\d_])(?=[A-Z])")
_HYPHENS: Final = re.compile("[-\u2010-\u2015]")


@dataclass(frozen=True, slots=True)
class Named:
    """Which rows a query names: no row twice, each group with what is preferred first (`Priors.order`).

    Attributes:
        exact: The name itself, « » aside.
        suffix: Names that end in the query as whole components.
        whole: Names that are the query but for case, dots, underscores, spaces and hyphens.
        loose: Names whose last whole components are the query but for the same.
    """

    exact: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()


def find_named(index: Index, priors: Priors, query: str, mask: BoolArray) -> Named:
    """Find what a query names.

    Args:
        index: Where to look.
        priors: Orders rows that share a spelling.
        query: One line. A pasted declaration names what it declares, but only by its exact name: its author may call it
            `foo`, or `X`.
        mask: Rows that may be found. Only an exact name is found although it is no search target.
    """
    declared = _DECLARED.match(query.strip())
    spelled = spelled_name(query) if declared is None else declared[1]
    if not spelled or len(spelled) > LONGEST_NAME:
        return Named()
    rows, is_whole = index.labels.spelled(_HYPHENS.sub("", spelled))
    same = index.row(spelled)
    if same is not None and same not in rows:
        rows, is_whole = np.append(rows, same), np.append(is_whole, True)
    rows, is_whole = rows[mask[rows]], is_whole[mask[rows]]
    order = priors.order(rows)[:MOST_NAMED]
    parts = components(spelled)
    groups: tuple[list[int], ...] = ([], [], [], [])
    for row, whole, name in zip(rows[order].tolist(), is_whole[order].tolist(), index.names(rows[order]), strict=True):
        own = components(name)
        strict = own[len(own) - len(parts) :] == parts
        group = 0 if strict and len(own) == len(parts) else 1 if strict else 2 if whole else 3
        if group == 0 or index.target[row]:
            groups[group].append(row)
    exact = tuple(sorted(groups[0], key=lambda row: row != same))
    return Named(exact, *(tuple(group) for group in groups[1:])) if declared is None else Named(exact)


def spelled_name(query: str) -> str:
    """The query without what people put around a name: back quotes, `@`, `#check`, a full stop at the end."""
    query = query.strip()
    spelled = query[_BEFORE.match(query).end() :]  # type: ignore[union-attr]  # it matches the empty string too
    return _AFTER.sub("", spelled).strip()


def written_as_name(query: str) -> bool:
    """Whether the spelling of a query is that of a name (`add_comm`, `Nat.succ`, `primeIdeal`), not of plain words.

    Of plain words (`filter`, `Prime ideal`) nobody means the case, so no spelling of them is better than another.
    """
    spelled = spelled_name(query)
    return " " not in _QUOTED.sub("", spelled) and _NAME_MARKS.search(spelled) is not None
