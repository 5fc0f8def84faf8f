"""The rankings of one text: by formula, by labels, by words, by meaning.

In: a text to search for, its vector, and which rows may be found. Out: rows, best first, for each ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import FloatMatrix
from sidecar.index.formulas import Part
from sidecar.index.index import Index
from sidecar.index.labels import Agreement
from sidecar.search.operations import variables
from sidecar.search.priors import Priors
from sidecar.search.weights import LEAST_AGREEMENT, RankingName
from sidecar.text.formula_readings import question_readings
from sidecar.text.query import query_text
from sidecar.text.stems import OPERATIONS, STOP_WORDS

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
RowArray = npt.NDArray[np.int64]

MOST_WORDS: Final = 32
"""The rarest words of a long query that are looked up: further ones are common and change nothing but the time."""


@dataclass(slots=True)
class Question:
    """A text that is searched for.

    Attributes:
        text: As it was given.
        spelled: Its canonical text.
        words: The words of it that are looked up, in order, without repeats.
        rewritten: Whether a rewriter made it.
        agreeing: Rows whose statement is the formula, in order, and which part of it is.
        agreement: How well the labels agree with the words, once they were compared.
        rankings: Rows by ranking, best first.
    """

    text: str
    spelled: str
    words: list[str]
    rewritten: bool
    agreeing: dict[int, Part] = field(default_factory=dict)
    agreement: Agreement | None = None
    rankings: dict[RankingName, RowArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """One ranking of one question."""

    ranking: RankingName
    question: Question

    @property
    def rows(self) -> RowArray:
        """Its rows, best first."""
        return self.question.rankings[self.ranking]


def sources(questions: Sequence[Question]) -> dict[str, Source]:
    """Every ranking that was made, under a name of its own."""
    return {
        f"{ranking} of question {place}": Source(ranking, question)
        for place, question in enumerate(questions)
        for ranking in question.rankings
    }


class Rankings:
    """Ranks the rows of an index.

    Args:
        index, priors: What is known about the rows.
    """

    def __init__(self, index: Index, priors: Priors) -> None:
        self._index = index
        self._priors = priors
        self._vectors = index.vectors("search")

    def question(self, text: str, *, rewritten: bool) -> Question:
        """Read a text."""
        spelled = query_text(text)
        words = [said for word in spelled.split() for said in (word, OPERATIONS.get(word, word))]
        unnamed = {variable.lower() for variable in variables(text)}
        words = [word for word in words if word not in unnamed] or words
        return Question(text, spelled, self._rarest(words), rewritten)

    def by_formula(self, question: Question, mask: BoolArray, depth: int) -> None:
        """Rank the rows whose statement is the formula that is asked for; no ranking where there are none."""
        for formulas in question_readings(question.text):
            for part, rows in self._index.formulas.found(formulas, mask):
                for row in rows[self._priors.order(rows, self._priors.general[rows])].tolist():
                    question.agreeing.setdefault(row, part)
            if question.agreeing:  # less likely readings are not what is meant then
                question.rankings["formula"] = np.array(list(question.agreeing)[:depth], dtype=np.int64)
                return

    def by_name(self, question: Question, mask: BoolArray, depth: int) -> None:
        """Rank the rows that have a label which agrees well, those that agree equally in the order of preference."""
        agreement = question.agreement = self._index.labels.agreement(question.words)
        found = agreement.agreeing
        rows = np.unique(found[(agreement.rows[found] >= LEAST_AGREEMENT) & mask[found]])
        agreeing = np.round(agreement.rows[rows], 3)
        question.rankings["name"] = rows[self._priors.order(rows, agreeing)][:depth]

    def by_words(self, question: Question, mask: BoolArray, depth: int) -> None:
        """Rank the rows whose text holds some of the words (BM25)."""
        question.rankings["words"], _ = self._index.lexical.search(question.words, depth, mask)

    def by_meaning(self, questions: Sequence[Question], vectors: FloatMatrix, mask: BoolArray, depth: int) -> None:
        """Rank all rows by how near their vector is to that of each question."""
        # A text without any token has the zero vector, to which nothing is near.
        meant = [place for place in range(len(questions)) if vectors[place].any()]
        if not meant:
            return
        _, rows = self._vectors.search(vectors[meant], depth, mask)
        for place, found in zip(meant, rows, strict=True):
            questions[place].rankings["meaning"] = found[found >= 0]

    def _rarest(self, words: Sequence[str]) -> list[str]:
        distinct = list(dict.fromkeys(words))
        kept = [word for word in distinct if word not in STOP_WORDS] or distinct
        if len(kept) <= MOST_WORDS:
            return kept
        frequencies = {word: self._index.lexical.document_frequency(word) for word in kept}
        known = [word for word in kept if frequencies[word]]
        rarest = set(sorted(known, key=frequencies.__getitem__)[:MOST_WORDS])
        return [word for word in kept if word in rarest]
