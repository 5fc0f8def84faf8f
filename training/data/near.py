"""Texts that say the same but for a word: near duplicates.

In: texts. Out: whether two are near duplicates, whether one is among many, and lists without them.

A text is the set of its stems without stop words (its words, where it has nothing else). Two texts are near duplicates
when these sets share at least `NEAR` of what they hold together (their Jaccard index). With 0.8 a query of up to three
telling words is near to the same words in another order or inflection alone, one of five may differ in one more word,
and one of nine in one word for another; `continuous add left` and `continuous add right` are never near.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from math import ceil
from typing import Final, TypeVar

from sidecar.text.query import query_text
from sidecar.text.stems import STOP_WORDS, stem

NEAR: Final = 0.8
"""Least Jaccard index of near duplicates."""

Stems = frozenset[str]
Key = TypeVar("Key", bound=Hashable)


def telling_stems(text: str) -> Stems:
    """What a text is compared by.

    Args:
        text: A canonical text (`query_text`).
    """
    words = text.split()
    return frozenset(stem(word) for word in words if word not in STOP_WORDS) or frozenset(words)


def near(first: Stems, second: Stems) -> bool:
    """Whether two texts are near duplicates; a text without words is near to none."""
    return bool(first) and len(first & second) >= NEAR * len(first | second)


class NearTexts:
    """Many texts, among which near duplicates of a text are looked for.

    Args:
        texts: The texts, canonical or not.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._sets = list(dict.fromkeys(telling_stems(query_text(text)) for text in texts))
        frequency = Counter(key for one in self._sets for key in one)
        self._by_stem: defaultdict[str, list[Stems]] = defaultdict(list)
        for one in self._sets:
            # A near duplicate holds at least NEAR of these stems, so it holds one of any that many; the rarest are
            # looked up (prefix filtering: Chaudhuri, Ganti and Kaushik 2006).
            enough = len(one) - ceil(NEAR * len(one) - 1e-9) + 1
            for key in sorted(one, key=lambda key: (frequency[key], key))[:enough]:
                self._by_stem[key].append(one)

    def __contains__(self, text: object) -> bool:
        """Whether a canonical text is near to one of them."""
        if not isinstance(text, str):
            return False
        own = telling_stems(text)
        return any(near(own, other) for key in own for other in self._by_stem.get(key, ()))


def without_near(texts: Iterable[tuple[Key, str]]) -> Iterator[tuple[Key, str]]:
    """Texts, each with a key; of near duplicates with one key the first alone.

    Args:
        texts: Key and canonical text.
    """
    seen: defaultdict[Key, list[Stems]] = defaultdict(list)
    for key, text in texts:
        own = telling_stems(text)
        if not any(near(own, other) for other in seen[key]):
            seen[key].append(own)
            yield key, text
