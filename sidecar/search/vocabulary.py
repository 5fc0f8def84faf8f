"""From everyday words to Mathlib's: the local rewriter, which needs no model and no network.

In: a query. Out: the query with each phrase that a table knows replaced by the term for it ("doesn't change under
negating the input" → "even function"), or nothing when they know none. The same query always gives the same text.

Three tables come with the package: `vocabulary.txt` (everyday words) and `translations.txt` (other languages), written
by hand, and `learned.txt`, learned from docstrings and names by `python -m training search vocabulary` ("conditional
expectation" → "cond exp"). Of equal phrases the one in the table named first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

from sidecar.search.operations import in_operations
from sidecar.search.rewriter import Rewrite
from sidecar.text.query import query_text
from sidecar.text.stems import STOP_WORDS, stem

EVERYDAY: Final = Path(__file__).with_name("vocabulary.txt")
TRANSLATIONS: Final = Path(__file__).with_name("translations.txt")
LEARNED: Final = Path(__file__).with_name("learned.txt")

_FURTHER: Final = "always also been both he her his i just me my our she they was were will you your"
IGNORED: Final = STOP_WORDS | frozenset(_FURTHER.split())
"""Words that do not count in a phrase."""

_CANNOT: Final = re.compile(r"(?i)\bcan(?:not|['’]t)\b")
_NOT: Final = re.compile(r"(?i)n['’]t\b")
_END: Final = "$"
_MARKED: Final = re.compile(r"@|\?|\$")

Stems = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A phrase as stems, and the term for it."""

    stems: Stems
    term: str
    at_end: bool


class Vocabulary:
    """A table of phrases.

    Args:
        lines: Lines of the table (see `vocabulary.txt`).

    Attributes:
        phrases: Term → the phrases that the table writes for it without groups and marks.

    Raises:
        ValueError: For a line that is none of the table's, a group that is not there, or a phrase without words; names
            the line's number.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.phrases: dict[str, list[str]] = {}
        self._by_first: dict[str, list[_Entry]] = {}
        groups: dict[str, list[Stems]] = {}
        for number, line in enumerate(lines, start=1):
            text = line.split("#")[0].strip()
            if not text:
                continue
            head, mark, phrases = text.partition(" = " if text.startswith("@") else " : ")
            if not mark or not head.strip() or not phrases.strip():
                raise ValueError(f"line {number} is neither `@group = phrases` nor `term : phrases`: {text!r}")
            for phrase in phrases.split("|"):
                try:
                    alternatives = list(_expanded(phrase.strip(), groups))
                except KeyError as error:
                    raise ValueError(f"line {number}: no group {error.args[0]!r} above it") from None
                if head.startswith("@"):
                    groups.setdefault(head.strip(), []).extend(alternatives)
                    continue
                if not _MARKED.search(phrase):
                    self.phrases.setdefault(head.strip(), []).append(phrase.strip())
                for stems in alternatives:
                    at_end = stems[-1:] == (_END,)
                    plain = stems[:-1] if at_end else stems
                    if not plain or _END in plain:
                        raise ValueError(f"line {number}: phrase {phrase.strip()!r} has no words, or an end within")
                    if plain != _stems(head):  # `groupe` has the stem of `group`: nothing to say
                        self._by_first.setdefault(plain[0], []).append(_Entry(plain, head.strip(), at_end))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -len(entry.stems))

    def rewrite(self, query: str) -> str | None:
        """The query in Mathlib's words.

        Of phrases that begin at one word the longest counts. The words that stand in no phrase stay as they are.

        Returns:
            Canonical words, or None when no phrase of the table is in the query.
        """
        words = query_text(_plain(query)).split()
        kept = [place for place, word in enumerate(words) if word not in IGNORED]
        stems = [stem(words[place]) for place in kept]
        said: list[str] = []
        at = done = 0
        found = False
        while at < len(stems):
            entry = self._longest(stems, at)
            if entry is None:
                at += 1
                continue
            found = True
            said += words[done : kept[at]]
            said.append(entry.term)
            at += len(entry.stems)
            done = kept[at - 1] + 1
        return " ".join([*said, *words[done:]]) if found else None

    def _longest(self, stems: Sequence[str], at: int) -> _Entry | None:
        for entry in self._by_first.get(stems[at], ()):
            end = at + len(entry.stems)
            if tuple(stems[at:end]) == entry.stems and (not entry.at_end or end == len(stems)):
                return entry
        return None


@cache
def vocabulary() -> Vocabulary:
    """The tables that come with the package."""
    return Vocabulary(
        line for file in (EVERYDAY, TRANSLATIONS, LEARNED) for line in file.read_text(encoding="utf-8").splitlines()
    )


class VocabularyRewriter:
    """Rewrites by the table. See `Rewriter`."""

    async def rewrite(self, query: str) -> Rewrite:
        """The query in Mathlib's words; nothing when it holds no phrase of the table and no operation."""
        said = vocabulary().rewrite(query)
        return Rewrite(in_operations(said or query) or said or "")


def _plain(text: str) -> str:
    """With `doesn't` and `cannot` written as two words."""
    return _NOT.sub(" not", _CANNOT.sub("can not", text))


def _stems(text: str) -> Stems:
    return tuple(stem(word) for word in query_text(_plain(text)).split() if word not in IGNORED)


def _expanded(phrase: str, groups: dict[str, list[Stems]]) -> Iterator[Stems]:
    """All sequences of stems that a phrase stands for."""
    parts: list[list[Stems]] = []
    plain: list[str] = []

    def words() -> None:
        if plain:
            parts.append([_stems(" ".join(plain))])
            plain.clear()

    for item in phrase.split():
        optional = item.endswith("?") and len(item) > 1
        bare = item.removesuffix("?")
        if bare.startswith("@") or optional or item == _END:
            words()
        if bare.startswith("@"):
            parts.append([*groups[bare], *([()] if optional else [])])
        elif item == _END:
            parts.append([(_END,)])
        elif optional:
            parts.append([_stems(bare), ()])
        else:
            plain.append(item)
    words()
    for chosen in product(*parts):
        yield tuple(one for part in chosen for one in part)
