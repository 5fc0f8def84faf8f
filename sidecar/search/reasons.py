"""Why a result is a result, in words that a person understands.

In: the ranks that the parts of the search gave a row, and what is known about it. Out: reasons, the weightiest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sidecar.index.formulas import Part
from sidecar.index.labels import NAME, SENTENCE, TITLE
from sidecar.search.rankings import Question
from sidecar.search.request import Reason
from sidecar.text.names import name_words
from sidecar.text.stems import stem

NAMED: Final = (
    "exact name",
    "its name ends in exactly this",
    "this is its name, spelled differently",
    "its name ends in this, spelled differently",
    "this is its name, or the end of it, but for a slip",
)
"""Reason for each group of `Named`, in order."""

_LABELS: Final = {
    NAME: "words of its name",
    TITLE: "its docstring gives it this title",
    SENTENCE: "its docstring begins with these words",
}


_FORMULAS: Final[dict[Part, str]] = {
    "exact": "this formula, whatever its variables are called",
    "bare": "this formula but for brackets, whatever its variables are called",
    "conclusion": "concludes this formula",
    "sides": "one side is this formula",
}


def named_reason(group: int, place: int) -> Reason:
    """Reason of a row that the query names: group and 0-based place in it."""
    return Reason("name", place + 1, NAMED[group])


def formula_reason(question: Question, rank: int, part: Part) -> Reason:
    """Reason of a row whose statement, or a part of it, is the formula that a question is."""
    return Reason("formula", rank, _said_of(question, _FORMULAS[part]))


def label_reason(question: Question, rank: int, source: int, name: str) -> Reason:
    """Reason of a row of which a label agrees with a question; `source` is what the label was taken from."""
    detail = _LABELS[source]
    if source == NAME:
        own = {stem(word) for word in name_words(name)}
        detail += f": {_listed([word for word in question.words if stem(word) in own])}"
    return Reason("name", rank, _said_of(question, detail))


def words_reason(question: Question, rank: int, held: Iterable[bool]) -> Reason:
    """Reason of a row whose text holds words of a question; `held` says for each word whether it does."""
    matched = [word for word, holds in zip(question.words, held, strict=True) if holds]
    count = f" ({len(matched)} of {len(question.words)})" if len(question.words) > 1 else ""
    return Reason("words", rank, _said_of(question, f"words matched{count}: {_listed(matched)}"))


def meaning_reason(question: Question, rank: int) -> Reason:
    """Reason of a row whose vector is near that of a question."""
    return Reason("meaning", rank, _said_of(question, "similar in meaning"))


def deprecated_reason(replacement: str | None) -> Reason:
    """Why a deprecated row ranks lower."""
    return Reason("penalty", None, f"deprecated: use {replacement}" if replacement else "deprecated")


def meta_reason() -> Reason:
    """Why a row of the meta level ranks lower."""
    return Reason("penalty", None, "meta-programming: ranks below mathematics unless named")


def rerank_reason(rank: int, before: int) -> Reason:
    """Why a row stands where a reranker put it; ranks are among the rows that the reranker read."""
    moved = "" if rank == before else f", {before} before"
    return Reason("rerank", rank, f"the reranker's number {rank}{moved}")


def replaces_reason(deprecated: str) -> Reason:
    """Why a row is here that the query did not find itself."""
    return Reason("name", None, f"replaces {deprecated}, which is deprecated")


def _said_of(question: Question, detail: str) -> str:
    return f"{detail} (rewritten query)" if question.rewritten else detail


def _listed(words: Sequence[str], most: int = 8) -> str:
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + rest
