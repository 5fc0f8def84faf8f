"""Phrases: two words that stand side by side often enough to have a vector of their own.

In: canonical texts, words between single spaces. Out: the phrases that training shall learn; the file that keeps them
beside a token table; their numbers in a text. A mean over single words cannot tell `mul le mul` from `le mul mul`;
pairs of neighbours can, and they name most lemmas of a library (the bag of n-grams of Joulin et al. 2017, "Bag of
Tricks for Efficient Text Classification", with a counted vocabulary in place of hashing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError

FILE: Final = "phrases.txt"
"""One phrase a line, in the order of their numbers."""

Phrase = tuple[str, str]


def count_phrases(texts: Iterable[str], least: int) -> list[Phrase]:
    """Phrases that stand in at least so many of the texts, the most frequent first, then in alphabetical order."""
    counts: Counter[Phrase] = Counter()
    for text in texts:
        counts.update(set(pairwise(text.split(" "))))
    kept = [(phrase, count) for phrase, count in counts.items() if count >= least]
    return [phrase for phrase, _ in sorted(kept, key=lambda entry: (-entry[1], entry[0]))]


def numbered(phrases: Sequence[Phrase], first: int) -> dict[Phrase, int]:
    """Phrase → row of the table, counted on from `first`."""
    return {phrase: first + place for place, phrase in enumerate(phrases)}


def phrases_text(phrases: Iterable[Phrase]) -> str:
    """What the file holds."""
    return "".join(f"{one} {other}\n" for one, other in phrases)


def read_phrases(file: Path) -> list[Phrase]:
    """Read the file.

    Raises:
        SidecarError: `bad_request` when a line is no phrase, or a phrase stands there twice.
    """
    found: dict[Phrase, int] = {}
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(file, f"cannot be read: {error}") from error
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        words = line.split(" ")
        if len(words) != 2 or not all(words):
            raise _wrong(file, f"line {number} is not two words: {line[:80]!r}")
        phrase = (words[0], words[1])
        if phrase in found:
            raise _wrong(file, f"line {number} says again what line {found[phrase]} says: {line[:80]!r}")
        found[phrase] = number
    return list(found)


def _wrong(file: Path, message: str) -> SidecarError:
    return SidecarError("bad_request", f"{file}: {message}", field="encoder", hint="write the folder again")
