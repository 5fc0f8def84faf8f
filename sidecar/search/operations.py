"""Products and sums of two things, and variables: what a sentence about an operation is called in Mathlib.

In: a query. Out: the query in which "product" of two things is `mul` and "sum" is `add` ("log of a product" → "log of
mul"), or nothing where it speaks of none; and which of its words are products of variables.
"""

from __future__ import annotations

import re
from typing import Final

_OPERATION: Final = re.compile(
    r"(?i)(?P<before>^|\b(?:of|is)\s+)(?:an?\s+|the\s+)?(?:two\s+)?(?P<noun>product|sum)s?\b"
    r"(?!\s+(?:over|topology|spaces?|metric|measures?|order|category|rule|formula|from|type|indexed))"
)
_HOMOMORPHIC: Final = re.compile(r"(?i)\bis\s+(multiplicative|additive)\s*$")
_CALLED: Final = {"product": "mul", "multiplicative": "mul", "sum": "add", "additive": "add"}
_OF_MANY: Final = re.compile(
    r"(?i)\b(?:finite|infinite|over|series|finset|constant|constants|all|first|squares)\b|[∑∏Σ]"
)
"""Words of queries in which a sum or product is of many."""

_NOUNS: Final = {
    "absolute value": "abs",
    "commutes": "comm",
    "cosine": "cos",
    "derivative": "deriv",
    "determinant": "det",
    "exponential": "exp",
    "limits?": "tendsto",
    "logarithm": "log",
    "sine": "sin",
}
_IDLE: Final = re.compile(r"(?i)\b(?:functions?|two)\b")
_PAIR: Final = re.compile(r"\b[A-Z]{2}\b")
_LETTER: Final = re.compile(r"\b[A-Z]\b")


def variables(text: str) -> frozenset[str]:
    """Words that are variables or products of two of them: `AB` beside `BA`, or beside `A` or `B` alone."""
    alone = set(_LETTER.findall(text))
    pairs = set(_PAIR.findall(text))
    products = {pair for pair in pairs if pair[::-1] in pairs - {pair} or alone & set(pair)}
    return frozenset(products | (alone if products else set()))


def in_operations(query: str) -> str | None:
    """The query with the names of operations, or None where it speaks of no operation on two things."""
    written = variables(query)
    text = query
    for word in written:
        text = re.sub(rf"\b{word}\b", "mul" if len(word) > 1 else " ", text)
    if any(len(word) > 1 and word[::-1] in written for word in written):
        text += " comm"
    if not _OF_MANY.search(text):
        text = _OPERATION.sub(lambda found: found["before"] + _CALLED[found["noun"].lower()], text)
        text = _HOMOMORPHIC.sub(lambda found: _CALLED[found[1].lower()], text)
    if text == query:
        return None
    for noun, name in _NOUNS.items():
        text = re.sub(rf"(?i)\b{noun}\b", name, text)
    return " ".join(_IDLE.sub(" ", text).replace("=", " ").split())
