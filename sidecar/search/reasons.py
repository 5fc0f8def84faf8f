"""Why a result is a result, in words that a person understands.

In: the ranks that the parts of the search gave a row, and what is known about it. Out: reasons, the weightiest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sidecar.corpus.records import Declaration
from sidecar.index.labels import NAME, SENTENCE, TITLE, LabelTable
from sidecar.search.rankings import Question
from sidecar.search.request import Reason
from sidecar.search.weights import RankingName
from sidecar.text.declaration import declaration_text
from sidecar.text.names import name_words
from sidecar.text.stems import stem

NAMED: Final = (
    "exact name",
    "its name ends in exactly this",
    "this is its name, spelled differently",
    "its name ends in this, spelled differently",
)
"""Reason for each group of `Named`, in order."""

_LABELS: Final = {
    NAME: "words of its name",
    TITLE: "its docstring gives it this title",
    SENTENCE: "its docstring begins with these words",
}


def named_reason(group: int, place: int) -> Reason:
    """Reason of a row that the query names: group and 0-based place in it."""
    return Reason("name", place + 1, NAMED[group])


def ranking_reason(
    labels: LabelTable, ranking: RankingName, rank: int, question: Question, row: int, declaration: Declaration
) -> Reason:
    """Reason of a row that a ranking of the query, or of the rewritten query, holds."""
    if ranking == "name" and question.agreement is not None:
        source = labels.source(question.agreement, row)
        detail = _LABELS[source]
        if source == NAME:
            own = {stem(word) for word in name_words(declaration.name)}
            detail += f": {_listed([word for word in question.words if stem(word) in own])}"
    elif ranking == "words":
        held = set(declaration_text(declaration).split())
        matched = [word for word in question.words if word in held]
        count = f" ({len(matched)} of {len(question.words)})" if len(question.words) > 1 else ""
        detail = f"words matched{count}: {_listed(matched)}"
    else:
        detail = "similar in meaning"
    return Reason(ranking, rank, f"{detail} (rewritten query)" if question.rewritten else detail)


def deprecated_reason(replacement: str | None) -> Reason:
    """Why a deprecated row ranks lower."""
    return Reason("penalty", None, f"deprecated: use {replacement}" if replacement else "deprecated")


def meta_reason() -> Reason:
    """Why a row of the meta level ranks lower."""
    return Reason("penalty", None, "meta-programming: ranks below mathematics unless named")


def replaces_reason(deprecated: str) -> Reason:
    """Why a row is here that the query did not find itself."""
    return Reason("name", None, f"replaces {deprecated}, which is deprecated")


def _listed(words: Sequence[str], most: int = 8) -> str:
    distinct = list(dict.fromkeys(words))
    rest = f" and {len(distinct) - most} more" if len(distinct) > most else ""
    return ", ".join(distinct[:most]) + rest
