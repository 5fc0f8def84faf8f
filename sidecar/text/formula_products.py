"""Products without a sign and calls with commas, as Lean prints them.

In: a formula in Lean's symbols in which `2ab`, `(a+b)(a-b)` or `gcd(a, b)` may stand. Out: the same with `*` between
factors and arguments side by side. Whether `f(x)` is a value or a product nobody can tell from the text, so one says
which letters are functions.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.text.formula_tokens import BINDERS, TOKEN, is_variable
from sidecar.text.formula_words import FUNCTIONS

FUNCTION_LETTERS: Final = frozenset("fghuvpqsFGHPQφψϕ")
"""What mostly stands for a function, a sequence or a predicate."""

_PRODUCT: Final = re.compile(r"[A-Za-z]{2,4}")
_WHOLE: Final = frozenset(("pi", "fun", "in", "if", "mod", "MOD", "ZMOD", "id", "atTop", "then", "else", "True"))
"""What may be a product of letters, and short words that are none."""

_SUBSCRIPTED: Final = re.compile(r"([A-Za-z])_([A-Za-z]?)")
_SUBSCRIPT: Final = "_"
_BARS: Final = frozenset("|‖")
_OPENING: Final = frozenset("([{⟨⌊⌈")
_CLOSING: Final = frozenset(")]}⟩⌋⌉")
_ENDING: Final = frozenset((*_CLOSING, "⁻¹", "!", *"ᶜᵀᴴˣᗮ"))
_BEGINNING: Final = frozenset("(⌊⌈√∑∏∫")
_GREEDY: Final = 99
"""Arguments that a name takes of which nothing is known."""


@dataclass(slots=True)
class _Level:
    """What is open.

    Attributes:
        bracket: The bracket or bar that opened it, `""` for the whole.
        pending: How many arguments the function before may still take.
        naming: Whether a binder's variables are being named.
    """

    bracket: str
    pending: int = 0
    naming: bool = False


def with_products(text: str, functions: Container[str], *, split: bool) -> str:
    """A formula with `*` for every product.

    Args:
        text: The formula, on one line.
        functions: Letters that take an argument where one stands behind them.
        split: Whether a short unknown word is a product of letters.
    """
    tokens = _called(_factors(TOKEN.findall(text), split=split), functions)
    kept: list[str] = []
    levels = [_Level("")]
    ended = joined = False  # whether a term ends before the token, and whether the token is its subscript
    for place, token in enumerate(tokens):
        if token == _SUBSCRIPT:
            joined = True
            continue
        level = levels[-1]
        closes = token in _CLOSING or (token in _BARS and ended and level.bracket == token)
        opens = token in _OPENING or (
            token in _BARS and not closes and _opens(token, tokens[place + 1 :], level, ended)
        )
        begins = token in _BEGINNING or (opens and token in _BARS) or _is_name(token)
        if begins and not joined and not level.naming and token != "in":
            if ended and level.pending == 0:
                kept.append("*")
            elif level.pending > 0:
                level.pending -= 1
        if not level.naming:
            if _is_name(token) and token[0].isalpha():
                level.pending = level.pending if joined else max(_arity(token, functions), level.pending)
            elif token not in _OPENING and not begins and not closes and token not in _ENDING:
                level.pending = 0
        kept.append(token)
        if token in BINDERS:
            level.naming = True
        elif token in (",", "↦"):
            level.naming = False
        if opens:
            levels.append(_Level(token))
        elif closes and len(levels) > 1:
            levels.pop()
        ended = closes or token in _ENDING or (_is_name(token) and token not in BINDERS and token != "in")
        joined = False
    return " ".join(kept)


def _opens(bar: str, rest: Sequence[str], level: _Level, ended: bool) -> bool:
    """Whether a bar that closes nothing opens something; else it divides, or stands within the braces of a set."""
    return bar in rest and not (ended and level.bracket == "{")


def _is_name(token: str) -> bool:
    return token[0].isalnum() and token not in _ENDING


def _arity(token: str, functions: Container[str]) -> int:
    if token in FUNCTIONS:
        return FUNCTIONS[token]
    if is_variable(token):
        return 1 if token in functions else 0
    if is_variable(token.partition(".")[0]):
        return 0
    return 0 if token in ("π", "pi", "ℝ", "ℕ", "ℤ", "ℚ", "ℂ") else _GREEDY


def _factors(tokens: Sequence[str], *, split: bool) -> list[str]:
    """With members of sequences (`a_n`, `a_(n + 1)`) as letter, `_SUBSCRIPT`, index, and short words as letters."""
    kept: list[str] = []
    for token in tokens:
        found = _SUBSCRIPTED.fullmatch(token)
        if found is not None:
            kept += [found[1], _SUBSCRIPT, *found[2]]
        elif split and _PRODUCT.fullmatch(token) and not (is_variable(token) or token in _WHOLE or token in FUNCTIONS):
            kept += list(token)
        else:
            kept.append(token)
    return kept


def _called(tokens: Sequence[str], functions: Container[str]) -> list[str]:
    """With the arguments of calls side by side."""
    kept: list[str] = []
    calls: list[bool] = []  # whether each open bracket is that of a call
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else ""
        if token in _OPENING:
            name = before[:1].isalpha() and before not in BINDERS
            calls.append(token == "(" and name and (not is_variable(before) or before in functions))
        elif token in _CLOSING and calls:
            calls.pop()
        if token in BINDERS and calls:
            calls[-1] = False
        if token == "," and calls and calls[-1]:
            kept += [")", "("]
        else:
            kept.append(token)
    return kept
