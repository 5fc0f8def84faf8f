"""Slips of the pen: the keys that a misspelled name could have had.

In: the key of a spelling (`sidecar.text.names.loose_name`). Out: the keys from which it comes by one slip, the likelier
slips first — a letter doubled or not, or two neighbours exchanged; a letter too few or too many; a wrong letter — and
those from which it comes by two of the first sort. Four of five misspellings are a single slip (Damerau 1964).
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Final

LEAST: Final = 5
"""Characters of the shortest key that is looked at: what differs from a shorter one by a letter is another word."""

MOST: Final = 100
"""Characters of the longest key that is looked at; the number of keys grows with its length."""

MOST_TWICE: Final = 50
"""The same for two slips, where it grows with the square."""

_LETTERS: Final = string.ascii_lowercase + string.digits + "'"


def one_slip(key: str) -> list[list[str]]:
    """Keys one slip away from a key, in groups, the likeliest slips first; no key twice.

    Empty for a key that is too short or too long, or holds what no name holds outside « ».
    """
    if not _may_slip(key):
        return []
    seen = {key}
    groups: list[list[str]] = []
    for keys in (_common_slips(key), _letters_lost_or_added(key), _wrong_letters(key)):
        groups.append([near for near in dict.fromkeys(keys) if near not in seen])
        seen.update(groups[-1])
    return groups


def two_slips(key: str) -> list[str]:
    """Keys two of the commonest slips away from a key, without repeats; empty as for `one_slip`."""
    if not _may_slip(key) or len(key) > MOST_TWICE:
        return []
    keys = dict.fromkeys(again for first in _common_slips(key) for again in _common_slips(first))
    return [near for near in keys if near != key]


def _may_slip(key: str) -> bool:
    return LEAST <= len(key) <= MOST and all(character.isalnum() or character in "'!?" for character in key)


def _common_slips(key: str) -> Iterator[str]:
    for place in range(len(key)):
        before, letter, after = key[:place], key[place], key[place + 1 :]
        yield before + letter + letter + after
        if after.startswith(letter):
            yield before + after
        elif after:
            yield before + after[0] + letter + after[1:]


def _letters_lost_or_added(key: str) -> Iterator[str]:
    for place in range(len(key) + 1):
        yield key[:place] + key[place + 1 :]
        yield from (key[:place] + letter + key[place:] for letter in _LETTERS)


def _wrong_letters(key: str) -> Iterator[str]:
    for place in range(len(key)):
        yield from (key[:place] + letter + key[place + 1 :] for letter in _LETTERS)
