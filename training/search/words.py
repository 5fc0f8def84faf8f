"""The words of a declaration, part by part.

In: a declaration. Out: the words of its name, its conclusion and its docstring's first sentence, and the stems of all
that it says. The stand-in generator writes queries from them, the word judge compares queries with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

from sidecar.corpus.records import Declaration
from sidecar.index.index import Index
from sidecar.text.declaration import declaration_text, parse_premise, wire_text
from sidecar.text.names import name_words
from sidecar.text.query import query_text
from sidecar.text.stems import STOP_WORDS, stem
from sidecar.text.words import line_words

_SENTENCE_END: Final = re.compile(r"(?<=[.;:])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class DeclarationWords:
    """Words of one declaration, in order.

    Attributes:
        name: Of its name.
        conclusion: Of the type after the binders.
        sentence: Of the docstring's first sentence; none where there is no docstring.
        core: Stems of these three, without stop words: what the declaration is about.
        all: Stems of everything that it says.
    """

    name: tuple[str, ...]
    conclusion: tuple[str, ...]
    sentence: tuple[str, ...]
    core: frozenset[str]
    all: frozenset[str]


@lru_cache(maxsize=4_096)
def declaration_words(declaration: Declaration) -> DeclarationWords:
    """Take a declaration apart."""
    statement = parse_premise(wire_text(declaration))
    types = {name: binder.type for binder in statement.binders for name in binder.names}
    name = tuple(name_words(statement.name))
    conclusion = tuple(line_words(statement.type, types).split())
    sentence = first_sentence(statement.docstring)
    return DeclarationWords(
        name,
        conclusion,
        sentence,
        frozenset(stems((*name, *conclusion, *sentence))),
        frozenset(stems(declaration_text(declaration).split())),
    )


def first_sentence(docstring: str) -> tuple[str, ...]:
    """The words of a docstring's first sentence."""
    return tuple(query_text(_SENTENCE_END.split(docstring.strip(), maxsplit=1)[0]).split())


def stems(words: Iterable[str]) -> list[str]:
    """Stems of words in order, without stop words and repeats."""
    return list(dict.fromkeys(stem(word) for word in words if word not in STOP_WORDS))


def word_rarity(index: Index) -> Callable[[str], float]:
    """How rare a word is: log(declarations / those that hold it); one that none holds counts as if one did."""

    @lru_cache(maxsize=1 << 16)
    def rarity(word: str) -> float:
        return log(index.size / max(index.lexical.document_frequency(word), 1))

    return rarity
