"""A judge that needs no model: a rule over words.

In: queries, each with its declaration. Out: verdicts, the same for the same input everywhere.

A query is consistent when all three hold, words weighing by their rarity w = log(declarations / those that hold it):

- supported: of what the query says, at least 75 % by weight is said by the declaration;
- about it: at least half of that is in the declaration's name, conclusion or first sentence, not in its hypotheses;
- specific: so many words are supported that, were words independent, no more than 20 declarations would hold them all.

Words like `prove` and `lemma` do not count. A query that fails as it is may hold with the terms that the rewriter's
tables give for its everyday words. The rule sees words and no meaning: it cannot tell `a ≤ b` from `b ≤ a`, and knows
no paraphrase that the tables do not have. It stands in for a language model where there is none, and its verdicts are
not to be compared with one's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from sidecar.index.index import Index
from sidecar.search.vocabulary import vocabulary
from sidecar.text.query import query_text
from sidecar.text.stems import STOP_WORDS, stem
from training.search.judge import Asked, Verdict
from training.search.words import declaration_words, word_rarity

SUPPORTED: Final = 0.75
ABOUT: Final = 0.5
MATCHES: Final = 20.0

_ASKING: Final = frozenset({"how", "prove", "proof", "show", "lemma", "theorem", "statement", "true", "fact"})
"""Words of a question that say nothing about what is asked."""


class WordJudge:
    """Judges by words.

    Args:
        index: Knows how many declarations hold a word.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._weight = word_rarity(index)

    @property
    def name(self) -> str:
        """See `Judge.name`."""
        return f"words {SUPPORTED} {ABOUT} {MATCHES}"

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        """See `Judge.judge`."""
        return [self._verdict(one) for one in asked]

    def _verdict(self, asked: Asked) -> Verdict:
        verdict = self._of_words(asked.query, asked)
        rewritten = None if verdict.consistent else vocabulary().rewrite(asked.query)
        return verdict if rewritten is None else self._of_words(rewritten, asked)

    def _of_words(self, query: str, asked: Asked) -> Verdict:
        words = query_text(query).split()
        weights: dict[str, float] = {}
        for word in words:
            if word not in STOP_WORDS and word not in _ASKING:
                weights.setdefault(stem(word), self._weight(word))
        total = sum(weights.values())
        if not total:
            return Verdict(False, "says nothing")
        said = declaration_words(asked.declaration)
        supported = {key: weight for key, weight in weights.items() if key in said.all}
        by_declaration = sum(supported.values())
        if by_declaration < SUPPORTED * total:
            missing = max(weights.keys() - supported.keys(), key=lambda key: weights[key])
            return Verdict(False, f"the declaration says {by_declaration / total:.0%} of it, not `{missing}`")
        about = sum(weight for key, weight in supported.items() if key in said.core)
        if about < ABOUT * by_declaration:
            return Verdict(
                False, f"{about / by_declaration:.0%} of it is about the declaration, the rest its hypotheses"
            )
        matches = self._index.size * math.exp(-by_declaration)
        if matches > MATCHES:
            return Verdict(False, f"vague: some {matches:.0f} declarations may say that")
        return Verdict(True, f"the declaration says {by_declaration / total:.0%} of it")
