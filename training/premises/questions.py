"""Questions that a premise selector is trained on beside goals, so that one encoder serves search as well.

In: a corpus, its premise library, more questions with known answers, evaluation queries. Out: `Questions`: texts of
questions and of their answers, structures and classes among them, numbered so that the masks of the loss hold for both
kinds of pairs; and the order in which a run mixes them with goals.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.source import Corpus
from sidecar.progress import Progress
from sidecar.text.declaration import declaration_text
from sidecar.text.query import query_text
from training.data.premise_library import PremiseLibrary
from training.data.queries import SearchExample
from training.data.questions import Forbidden, Pair, allowed, docstring_pairs
from training.premises.pairs import order

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions with their answers; question i is answered by text i.

    Attributes:
        queries: Canonical texts of the questions.
        names: Names of the declarations.
        answers: Their canonical texts, without the docstring where the question was taken from it.
        group: Question → number of its answer's group: that of the library where the answer is a premise, a number
            behind all of the library's where it is none.
        left_out: Questions that an evaluation asks, or whose answers it wants.
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[str, ...]
    group: IntArray
    left_out: int

    @classmethod
    def none(cls) -> Questions:
        """No questions: a run on goals alone."""
        return cls((), (), (), np.empty(0, dtype=np.int64), 0)

    @classmethod
    def read(
        cls,
        corpus: Corpus,
        library: PremiseLibrary,
        given: Iterable[SearchExample],
        evaluation: Iterable[SearchExample],
    ) -> Questions:
        """Docstrings of everything that can be searched for, and given questions, less what an evaluation asks.

        Args:
            corpus: The corpus that the library was made from (read twice).
            library: The premises.
            given: Questions with names of right answers; names that the corpus lacks are passed over.
            evaluation: Every query that will be evaluated on.
        """
        forbidden = Forbidden(evaluation)
        wanted: dict[str, list[Pair]] = {}
        for example in given:
            for name in example.gold:
                wanted.setdefault(name, []).append(Pair(query_text(example.query), name))
        propositional = propositional_constants(corpus.declarations())
        queries: list[str] = []
        names: list[str] = []
        answers: list[str] = []
        groups: list[int] = []
        left_out = others = 0
        with Progress("questions", None) as progress:
            for declaration in corpus.declarations():
                if not declaration.docstring and declaration.name not in wanted:
                    continue
                if not role(declaration, propositional).target:
                    continue
                pairs = [*docstring_pairs([declaration]), *wanted.get(declaration.name, ())]
                kept, dropped = allowed(pairs, forbidden)
                left_out += dropped
                if not kept:
                    continue
                row = library.row(declaration.name)
                group = int(library.group[row]) if row is not None else len(library) + others
                others += row is None
                for pair in kept:
                    queries.append(pair.query)
                    names.append(pair.name)
                    answers.append(declaration_text(replace(declaration, docstring="") if pair.bare else declaration))
                    groups.append(group)
                progress.advance(len(kept))
        return cls(tuple(queries), tuple(names), tuple(answers), np.array(groups, dtype=np.int64), left_out)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def digest(self) -> str:
        """SHA-256 over questions and answers, whatever their order."""
        rows = sorted(json.dumps(pair, ensure_ascii=True) for pair in zip(self.queries, self.answers, strict=True))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def mixed_order(goals: int, questions: int, batch: int, share: float, passes: float, seed: int) -> IntArray:
    """The pairs of a whole run, in order: each batch has some goals first and some questions behind them.

    Args:
        goals: Number of pairs of a goal and a premise.
        questions: Number of questions; question i is number `goals + i`.
        batch: Pairs of a batch, both kinds together.
        share: Part of a batch that is questions; one place is always left for a goal.
        passes: How often the run goes through the pairs of goals.
        seed: Decides the order.
    """
    asked = min(round(batch * share), batch - 1) if questions else 0
    of_goals = order(goals, batch - asked, passes, seed)
    if not asked:
        return of_goals
    batches = -(-len(of_goals) // (batch - asked))
    of_questions = goals + order(questions, asked, batches * asked / questions, seed + 1)
    parts: list[IntArray] = []
    for number in range(batches):
        parts.append(of_goals[number * (batch - asked) : (number + 1) * (batch - asked)])
        parts.append(of_questions[number * asked : (number + 1) * asked])
    return np.concatenate(parts)
