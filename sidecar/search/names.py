"""Names found by their spelling.

In: a query, and the spellings that an index holds. Out: the rows that the query names, in full or by their last whole
components, spelled exactly, loosely, or with a slip.

Names are cut into components here only to be found; the rows that come out stand for whole names.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import KINDS
from sidecar.index.index import Index
from sidecar.search.priors import Priors
from sidecar.search.slips import one_slip, two_slips
from sidecar.search.spelling import Reading, is_written_as_name, readings
from sidecar.text.names import components, loose_name, name_words
from sidecar.text.query import query_text

RowArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

LONGEST_NAME: Final = 300
"""A longer query is no name."""

MOST_NAMED: Final = 4_096
"""Rows that share a spelling and are looked at, the most used first: some 6,000 names end in `mk`."""

_HYPHENS: Final = re.compile("[-\u2010-\u2015]")


@dataclass(frozen=True, slots=True)
class Named:
    """Which rows a query names: no row twice, each group with what is preferred first (`Priors.order`).

    Attributes:
        exact: The name itself, « » aside.
        suffix: Names that end in the query as whole components.
        whole: Names that are the query but for case, dots, underscores, spaces and hyphens.
        loose: Names whose last whole components are the query but for the same.
        near: When there is none of these: names that are the query, or end in it, but for a slip.
        by_spelling: Whether the query is spelled like a name, so that an exact spelling is better than another one.
        of_words: Of how many words the last component of the whole names is.
        corrected: When there are near names: the query without its slip, as the first of them spells it.
    """

    exact: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    by_spelling: bool = False
    of_words: int = 1
    corrected: str | None = None

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups, the surest first."""
        return self.exact, self.suffix, self.whole, self.loose, self.near


def find_named(index: Index, priors: Priors, query: str, mask: BoolArray) -> Named:
    """Find what a query names.

    Args:
        index: Where to look.
        priors: Orders rows that share a spelling.
        query: One line.
        mask: Rows that may be found. Only an exact name is found although it is no search target.
    """
    found = [reading for reading in readings(query) if len(reading.name) <= LONGEST_NAME]
    for reading in found:
        named = _spelled(index, priors, reading, mask)
        if any(named.groups):
            return named
    for reading in found:
        near = None if reading.exact_only else _near(index, priors, reading.name, mask & index.target)
        if near is not None:
            return near
    return Named()


def _spelled(index: Index, priors: Priors, reading: Reading, mask: BoolArray) -> Named:
    """What a reading names without a slip."""
    spelled = reading.name
    rows, is_whole = index.labels.spelled(_HYPHENS.sub("", spelled))
    same = index.row(spelled)
    if same is not None and same not in rows:
        rows, is_whole = np.append(rows, same), np.append(is_whole, True)
    allowed = mask[rows]
    if reading.kind is not None:
        allowed &= index.kinds[rows] == KINDS.index(reading.kind)
    rows, is_whole = rows[allowed], is_whole[allowed]
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
    if reading.exact_only:
        return Named(exact)
    suffix, whole, loose = (tuple(group) for group in groups[1:])
    by_spelling = is_written_as_name(spelled)
    of_words = max((len(name_words(components(index.name(row))[-1])) for row in whole), default=1)
    return Named(exact, suffix, whole, loose, by_spelling=by_spelling, of_words=of_words)


def _near(index: Index, priors: Priors, spelled: str, allowed: BoolArray) -> Named | None:
    """What a name means whose author slipped: the likelier slip first, then whole names before ends of names.

    Plain words are no names; one that no text of the index holds may be one with a slip.
    """
    if not is_written_as_name(spelled):
        said = query_text(spelled).split()
        if len(said) != 1 or index.lexical.document_frequency(said[0]):
            return None
    key = loose_name(_HYPHENS.sub("", spelled))
    for groups in (one_slip(key), [two_slips(key)]):
        rows = dict.fromkeys(row for keys in groups for row in _keyed(index, priors, keys, allowed))
        if rows:
            near = tuple(rows)
            return Named(near=near, by_spelling=True, corrected=_end(index.name(near[0]), frozenset(chain(*groups))))
    return None


def _keyed(index: Index, priors: Priors, keys: Sequence[str], allowed: BoolArray) -> list[int]:
    rows, is_whole = index.labels.keyed(keys)
    rows, is_whole = rows[allowed[rows]], is_whole[allowed[rows]]
    order = priors.order(rows, is_whole.astype(np.float32))[:MOST_NAMED]
    return [int(row) for row in rows[order]]


def _end(name: str, keys: Container[str]) -> str:
    """The shortest end of a name, in whole components, that has one of some keys."""
    parts = components(name)
    ends = (".".join(parts[start:]) for start in reversed(range(len(parts))))
    return next((end for end in ends if loose_name(end) in keys), name)
