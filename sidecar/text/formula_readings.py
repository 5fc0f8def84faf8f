"""The formulas that a question may mean.

In: a question, as a person types or pastes it. Out: spellings of the formulas that it may be, the likeliest first: as
it stands, and where that is no statement with words and ASCII for symbols (`formula_words.py`), LaTeX that has
structure (`formula_latex.py`), products without a sign (`formula_products.py`), within a sentence, and with other names
for what is bound. Readings are many but cost little: one that is wrong is no statement of a library.

All of this is about questions. Statements are spelled by `formula.py`, as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from sidecar.text.clean import one_line
from sidecar.text.formula import (
    LONGEST,
    Formulas,
    formula_spellings,
    pasted_statement,
    question_formulas,
    with_symbols,
)
from sidecar.text.formula_latex import drawn
from sidecar.text.formula_products import FUNCTION_LETTERS, with_products
from sidecar.text.formula_tokens import BINDERS, PROPOSITION, TOKEN, is_variable
from sidecar.text.formula_words import (
    FUNCTIONS,
    formulas_within,
    has_exponential,
    is_sentence,
    with_words,
    without_conjunctions,
)
from sidecar.text.query import without_latex

MOST_READINGS: Final = 32
"""Readings that are tried; further ones are unlikely."""

_FIRST: Final = (
    (re.compile(r"/\\(?![A-Za-z]{2})"), " ∧ "),
    (re.compile(r"\\/"), " ∨ "),
    (re.compile(r"\$+|\\[()\[\]]"), "`"),
)
"""What LaTeX would take for something else, and what encloses formulas."""

_BODY: Final = re.compile(r"(∫ [^∫=∂]*?, [^∫=∂]*?)(?= = | [-+] (?:- )?∫| *$)")
"""An integral without a measure: statements are about any."""

_ONE_OVER: Final = re.compile(r"(?<![\w^*] )\b1 / (\( [^()]* \)|\w+)|\( 1 \) / (\( [^()]* \)|\w+)")
_COEFFICIENT: Final = re.compile(
    r"(choose (?:\( \w+ \)|\w+) (?:\( \w+ \)|\w+)) \* ((?:\w+|[\^*]|\( [^()]* \)| )+)(?=$|[=+,])"
)
"""Where Lean writes an inverse, and a coefficient last."""

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_MATHEMATICAL: Final = re.compile(
    rf"{PROPOSITION.pattern}|[|+*/^~&\\‖²³→]|\b(?:iff|if|implies|or|and|not|divides|equals?|subset|in|plus|times)\b"
)
_VARIABLE: Final = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]|\d)(?![^\W\d_]{3})")
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_AFTER_A_NAME: Final = frozenset("+-*/^=≠≤<∣∈⊆∪∩∧∨→↔,)∘:↦") | {"++", "⁻¹"}


def question_readings(question: str) -> Iterator[Formulas]:
    """Spellings of what a question may mean, the likeliest first; nothing for one in words."""
    plain = question_formulas(question)
    further = len(question) <= LONGEST and _is_mathematical(question) and pasted_statement(question) is None
    later = further and has_exponential(question)
    if plain != Formulas() and not later:
        yield plain
    if not further:
        return
    seen = {Formulas()} if later else {plain, Formulas()}
    for text in islice(_texts(question), MOST_READINGS):
        found = formula_spellings(text)
        if found not in seen:
            seen.add(found)
            yield found


def _is_mathematical(question: str) -> bool:
    return _MATHEMATICAL.search(question) is not None and _VARIABLE.search(question) is not None


def _texts(question: str) -> Iterator[str]:
    """Formulas in Lean's symbols."""
    text = one_line(question).strip('"“”').rstrip(".?; ")
    for pattern, replacement in _FIRST:
        text = pattern.sub(replacement, text)
    said = [with_symbols(with_words(without_latex(way))) for way in drawn(text)]
    # Who tells of a thing with a subscript speaks of something of their own.
    within = [each for way in said if "_" not in way and is_sentence(way) for each in formulas_within(way)]
    for each in dict.fromkeys((*within, *(way.replace("`", " ") for way in said))):
        yield from _ways(each)


def _ways(text: str) -> Iterator[str]:
    """A formula with the products that it may hold, hypotheses apart, and other names for what is bound."""
    products = dict.fromkeys(
        (
            with_products(text, FUNCTION_LETTERS, split=True),
            with_products(text, (), split=True),
            with_products(text, _LETTERS, split=False),
        )
    )
    for each in products:
        yield each
        apart = without_conjunctions(each)
        if apart is not None:
            yield apart
        yield from _renamed(each)
    first = next(iter(products))
    for pattern, replacement in ((_ONE_OVER, r"\1\2 ⁻¹"), (_COEFFICIENT, r"\2 * \1 "), (_BODY, r"\1 ∂ μ")):
        other = pattern.sub(replacement, first)
        if other != first:
            yield other


def _renamed(text: str) -> Iterator[str]:
    """With one name for what is bound side by side, and with letters for words that stand where variables do."""
    tokens = TOKEN.findall(text)
    found = _with_letters(tokens)
    if found != tokens:
        yield " ".join(found)
        tokens = found
    alike = _bound_alike(tokens)
    if alike != tokens:
        yield " ".join(alike)


def _bound_alike(tokens: list[str]) -> list[str]:
    """With the first name that a binder or a set's braces bind for each that others bind, one at a time."""
    bound = [
        tokens[place + 1]
        for place, token in enumerate(tokens[:-2])
        if (token in BINDERS or (token == "{" and tokens[place + 2] in ("|", ":", "//")))
        and is_variable(tokens[place + 1])
    ]
    names = dict.fromkeys(bound)
    return [bound[0] if token in names else token for token in tokens]


def _with_letters(tokens: list[str]) -> list[str]:
    """With letters that are not used yet for the plain words behind which an operator or the end stands."""
    words = dict.fromkeys(
        token
        for place, token in enumerate(tokens)
        if _WORD.fullmatch(token)
        and token not in FUNCTIONS
        and token not in BINDERS
        and not is_variable(token)
        and (place + 1 == len(tokens) or tokens[place + 1] in _AFTER_A_NAME)
    )
    free = iter(sorted(_LETTERS - set(tokens), reverse=True))
    letters = {word: next(free, word) for word in words}
    return [letters.get(token, token) for token in tokens]
