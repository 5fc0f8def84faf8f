"""Questions about declarations, and what of them must not be trained on.

In: declarations with docstrings, evaluation queries. Out: pairs of a question and the name of its answer, without
anything that an evaluation asks: neither its texts, nor what is nearly one of them (`near.py`), nor its right answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sidecar.corpus.records import Declaration
from sidecar.text.query import query_text
from training.data.near import NearTexts
from training.data.queries import SearchExample

LEAST_WORDS: Final = 2
"""A docstring of fewer words is no query."""

_SENTENCE_END: Final = re.compile(r"(?<=[.;:])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Pair:
    """One training pair.

    Attributes:
        query: Canonical text of the query.
        name: Name of the declaration that answers it.
        bare: Whether the declaration is to be shown without its docstring, because the query was taken from there.
    """

    query: str
    name: str
    bare: bool = False


class Forbidden:
    """What evaluations ask, and what they want.

    Args:
        evaluation: Every query that will be evaluated on.

    Attributes:
        names: Right answers.
    """

    def __init__(self, evaluation: Iterable[SearchExample]) -> None:
        examples = list(evaluation)
        self._texts = NearTexts(example.query for example in examples)
        self.names = {name for example in examples for name in example.gold}

    def asked(self, query: str) -> bool:
        """Whether a canonical text is what an evaluation asks, or nearly so."""
        return query in self._texts

    def forbids(self, pair: Pair) -> bool:
        """Whether a pair must not be trained on."""
        return pair.name in self.names or self.asked(pair.query)

    def forbids_example(self, example: SearchExample) -> bool:
        """Whether a given query must not be trained on: one of its right answers is wanted, or its text is asked."""
        return not self.names.isdisjoint(example.gold) or self.asked(query_text(example.query))


def docstring_pairs(declarations: Iterable[Declaration]) -> Iterator[Pair]:
    """Docstrings, first sentence and whole, as questions about their declarations."""
    for declaration in declarations:
        if not declaration.docstring:
            continue
        sentence = _SENTENCE_END.split(declaration.docstring.strip(), maxsplit=1)[0]
        for text in dict.fromkeys((query_text(sentence), query_text(declaration.docstring))):
            if len(text.split()) >= LEAST_WORDS:
                yield Pair(text, declaration.name, bare=True)


def allowed(pairs: Iterable[Pair], forbidden: Forbidden) -> tuple[list[Pair], int]:
    """The pairs that may be trained on, and how many may not."""
    kept, dropped = [], 0
    for pair in pairs:
        if forbidden.forbids(pair):
            dropped += 1
        else:
            kept.append(pair)
    return kept, dropped
