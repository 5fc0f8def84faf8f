"""Characters that carry no meaning, removed or made uniform.

In: any Python string, lone surrogates included. Out: text whose only line end is LF, whose only space is U+0020, and
that holds no control, format, zero-width or surrogate character (so it can always be written as UTF-8).
"""

from __future__ import annotations

import re
from typing import Final

_INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # controls, without those that separate
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff"  # lone surrogates: no UTF-8 holds them
    "\U000e0000-\U000e0fff"
)
"""Controls, zero-width and direction marks, variation selectors, fillers, tags, lone surrogates."""

_LINE_ENDS: Final = "\r\x85\u2028\u2029"
_SPACES: Final = "\t\x0b\x0c\x1c-\x1f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_UNUSUAL: Final = re.compile(f"[{_INVISIBLE}{_LINE_ENDS}{_SPACES}]")
_NOTHING: Final = re.compile(f"[{_INVISIBLE}]+")
_LINE_END: Final = re.compile(f"\r\n?|[{_LINE_ENDS}]")
_SPACE: Final = re.compile(f"[{_SPACES}]")


def clean(text: str) -> str:
    """Make line ends LF and every kind of space U+0020; remove what cannot be seen.

    Runs of spaces and blank lines stay, because goals give them meaning. Lone surrogates are removed like zero-width
    characters: they stand for nothing. Cleaning twice changes nothing more.
    """
    if (text.isascii() and text.isprintable()) or _UNUSUAL.search(text) is None:
        return text
    text = _NOTHING.sub("", text)
    text = _LINE_END.sub("\n", text)
    return _SPACE.sub(" ", text)


def one_line(text: str) -> str:
    """The cleaned text on one line, with single spaces and none at the ends."""
    text = clean(text)
    return " ".join(text.split()) if "  " in text or "\n" in text else text.strip(" ")
