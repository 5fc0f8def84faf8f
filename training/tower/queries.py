"""What a tower learns from: goals with their premises, goals without their hypotheses, questions and Lean expressions.

In: examples of premise selection, an index, files of queries that evaluations ask. Out: `TowerQuery` rows, each with
the rows of the index that answer it; nothing that an evaluation asks is among them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Declaration
from sidecar.encoder.base import Purpose
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.text.goal import goal_text, parse_goal
from sidecar.text.query import query_text
from training.data.examples import PremiseExample
from training.data.questions import Forbidden, Pair, docstring_pairs

logger = logging.getLogger(__name__)

BATCH = 1_024
"""Declarations that are read at one time."""


@dataclass(frozen=True, slots=True)
class TowerQuery:
    """One query.

    Attributes:
        text: A goal as it was written, or the canonical text of a question.
        purpose: `goal` or `question`.
        rows: Rows of the index that answer it, at least one.
        own: Row of the theorem that the goal is of, which is no answer; −1 for none.
        alone: Whether the goal is shown without its hypotheses.
    """

    text: str
    purpose: Purpose
    rows: tuple[int, ...]
    own: int = -1
    alone: bool = False

    def spelled(self, max_tokens: int, count: Callable[[Sequence[str]], list[int]]) -> str:
        """The canonical text that an encoder of so many tokens reads."""
        if self.purpose == "question":
            return self.text
        text = f"⊢ {parse_goal(self.text).target}" if self.alone else self.text
        return goal_text(text, max_tokens, count).text


def state_queries(examples: Iterable[PremiseExample], index: Index) -> list[TowerQuery]:
    """Goals, with the premises that the index offers for them."""
    found: list[TowerQuery] = []
    for example in examples:
        rows = index.rows(example.gold)
        rows = rows[rows >= 0]
        rows = rows[index.premise[rows]]
        if len(rows):
            own = index.row(example.theorem)
            found.append(TowerQuery(example.state, "goal", tuple(np.unique(rows).tolist()), -1 if own is None else own))
    return found


def question_queries(
    index: Index, forbidden: Forbidden, hidden: frozenset[str], most: int, seed: int
) -> Iterator[TowerQuery]:
    """What declarations say, as questions about them: docstrings, and statements as a person writes them.

    Args:
        index: The declarations.
        forbidden: What evaluations of search ask and want.
        hidden: Theorems whose goals are evaluated on: their statements are those goals.
        most: How many are wanted; declarations are drawn at random.
        seed: Decides which.
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(index.target)).tolist()
    made = 0
    with Progress("questions", None) as progress:
        for start in range(0, len(rows), BATCH):
            chosen = rows[start : start + BATCH]
            for row, declaration in zip(chosen, index.declarations(chosen), strict=True):
                if declaration.name in hidden:
                    continue
                for pair in (*docstring_pairs([declaration]), *_expression(declaration)):
                    if pair.query and not forbidden.forbids(pair):
                        if made == most:
                            return
                        made += 1
                        progress.advance()
                        yield TowerQuery(pair.query, "question", (row,))


def _expression(declaration: Declaration) -> Iterator[Pair]:
    """The statement without the name that it is found by."""
    head = f"{declaration.kind} {declaration.name}"
    if declaration.shown.startswith(f"{head} "):
        yield Pair(query_text(declaration.shown.removeprefix(head)), declaration.name)


def run_order(
    states: int, questions: int, wanted: int, *, alone: float, share: float, seed: int
) -> npt.NDArray[np.int64]:
    """The queries of a whole run, in order.

    Args:
        states: Goals; goal i has number i, and number `states` + i without its hypotheses.
        questions: Questions, numbered after both.
        wanted: Queries of the run.
        alone, share: See `TowerSettings.alone`, `TowerSettings.question_share`.
        seed: Decides the order.

    Returns:
        int64, shape (wanted,). Goals and questions are each gone through whole before one comes again.
    """
    chance = np.random.default_rng(seed)
    share = 1.0 if not states else 0.0 if not questions else share
    is_question = chance.random(wanted) < share
    bare = chance.random(wanted) < alone

    def drawn(count: int, needed: int) -> npt.NDArray[np.int64]:
        whole = [chance.permutation(count) for _ in range(-(-needed // max(count, 1)))]
        return np.concatenate([np.zeros(0, np.int64), *whole])[:needed].astype(np.int64)

    order = np.zeros(wanted, dtype=np.int64)
    order[~is_question] = drawn(states, int((~is_question).sum())) + states * bare[~is_question]
    order[is_question] = drawn(questions, int(is_question.sum())) + 2 * states
    return order
