"""The constants of goals and premises, those of the target or conclusion first; and whether a text has a goal at all.

In: raw texts, perhaps the constants that a client names itself. Out: constants without repeats and how many of them, at
the front, belong to the part after the binders; what a text without a goal is instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.text.declaration import parse_premise, premise_identifiers
from sidecar.text.goal import identifiers, parse_goal
from sidecar.text.words import mentioned

_WORD: Final = re.compile(r"[^\W\d_]+")
_DONE: Final = re.compile(
    "(error )?(there are )?no (more |open |remaining |unsolved )?goals?( left| remaining| to be (proved|solved))?"
    "|(all )?(the )?goals? (are |is )?(accomplished|completed|solved|closed|proved|proven)"
    "|(the )?proof (is )?(complete|completed|finished|done)"
)
"""What Lean and its editors say where nothing is left to prove, in lower case and without punctuation."""


@dataclass(frozen=True, slots=True)
class StatementConstants:
    """Constants of one statement.

    Attributes:
        names: Without repeats, the first `leading` of them from the target or conclusion.
        leading: See `names`.
    """

    names: tuple[str, ...]
    leading: int


def missing_goal(text: str) -> str | None:
    """Why a text has no goal, in words that complete "there is no goal: …"; None where it has one."""
    if "⊢" in text:
        return None if parse_goal(text).target else "nothing stands behind ⊢"
    if _DONE.fullmatch(" ".join(_WORD.findall(text.casefold()))):
        return "the text says that nothing is left to prove"
    return None if parse_goal(text).target else "the text holds none"


def goal_constants(text: str, symbols: Sequence[str] | None = None) -> StatementConstants:
    """Constants of a goal.

    Args:
        text: The goal as printed.
        symbols: The goal's constants as the client knows them; they replace those read from the text, which then only
            says which of them stand in the target. None of them there: all count as the target's.
    """
    goal = parse_goal(text)
    types = {name: hypothesis.type for hypothesis in goal.hypotheses for name in hypothesis.names}
    target = set(mentioned(goal.target, types))
    if symbols is None:
        return _split(identifiers(text), target)
    return _split(symbols, target)


def premise_constants(text: str, constants: Sequence[str] | None = None) -> StatementConstants:
    """Constants of a premise.

    Args:
        text: Raw wire text of the premise.
        constants: Its constants as the client knows them; see `goal_constants`.
    """
    statement = parse_premise(text)
    types = {name: binder.type for binder in statement.binders for name in binder.names}
    conclusion = set(mentioned(statement.type, types))
    return _split(premise_identifiers(text) if constants is None else constants, conclusion)


def _split(names: Sequence[str], leading: set[str]) -> StatementConstants:
    distinct = list(dict.fromkeys(names))
    first = [name for name in distinct if name in leading]
    if not first:
        return StatementConstants(tuple(distinct), len(distinct))
    return StatementConstants((*first, *(name for name in distinct if name not in leading)), len(first))
