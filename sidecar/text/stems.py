"""Words reduced to what their inflections share.

In: a lower-case word. Out: a key under which `continuous` and `continuity`, `subspaces` and `subspace` meet. The keys
serve for comparing a question with names and texts and are never shown.

The rules are those of M. F. Porter, "An algorithm for suffix stripping" (Program 14(3), 1980), after a few nouns that
they do not see through.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Final

_STOP_WORDS = """
a about all an and any are as at be by can do does each every for from has have how if in into is it its let of on or
over some such that the their then there these this to under we what when where which whose with
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that say nothing about what a question is about."""

OPERATIONS: Final = {
    "addition": "add",
    "division": "divide",
    "multiplication": "multiply",
    "subtraction": "subtract",
}
"""Nouns for operations → the word that names and statements are spelled with."""

_IRREGULAR: Final = OPERATIONS | {
    "axes": "axis",
    "bases": "basis",
    "extrema": "extremum",
    "indices": "index",
    "infima": "infimum",
    "lemmata": "lemma",
    "matrices": "matrix",
    "maxima": "maximum",
    "minima": "minimum",
    "simplices": "simplex",
    "suprema": "supremum",
    "vertices": "vertex",
}
"""Nouns whose kinship with a verb or a singular the rules do not see."""

_Rules = tuple[tuple[str, str], ...]

_STEP_2: Final[_Rules] = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("eli", "e"),
)
_STEP_3: Final[_Rules] = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
)
_STEP_4: Final[tuple[str, ...]] = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "sion", "tion", "ism", "ate", "iti", "ous"),
    *("ive", "ize", "al", "er", "ic", "ou"),
)


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The key of a word. Words of one or two letters, and words with letters outside a–z, are their own key."""
    word = _IRREGULAR.get(word, word)
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _inflection(word)
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    return _tidy(_suffix(word))


def _is_consonant(word: str, place: int) -> bool:
    letter = word[place]
    if letter == "y":
        return place == 0 or not _is_consonant(word, place - 1)
    return letter not in "aeiou"


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    kinds = [_is_consonant(word, place) for place in range(len(word))]
    return sum(not before and after for before, after in pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return any(not _is_consonant(word, place) for place in range(len(word)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last not w, x or y."""
    end = len(word) - 1
    return (
        end >= 2
        and _is_consonant(word, end)
        and not _is_consonant(word, end - 1)
        and _is_consonant(word, end - 2)
        and word[end] not in "wxy"
    )


def _inflection(word: str) -> str:
    """Step 1: plurals, past tenses, participles."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _measure(word[:-3]) > 0:
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending):
                if _has_vowel(word[: -len(ending)]):
                    word = _mended(word[: -len(ending)])
                break
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return word


def _mended(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _replace(word: str, rules: _Rules) -> str:
    for ending, instead in rules:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + instead if _measure(rest) > 0 else word
    return word


def _suffix(word: str) -> str:
    """Step 4."""
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -3 if ending in ("sion", "tion") else -len(ending)]
            return rest if _measure(rest) > 1 else word
    return word


def _tidy(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
