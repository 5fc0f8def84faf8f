"""Premises whose statement is the goal, whatever its variables are called.

In: a goal and which premises may be answered. Out: these premises, the surest first. The other rankings look at which
constants a goal holds and at what it is about, and for `a + b = b + a` over the reals both prefer what is about reals.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sidecar.index.index import Index
from sidecar.select.ranking import Ranking
from sidecar.select.symbolic import BoolArray
from sidecar.text.formula import question_formulas
from sidecar.text.names import components

MOST_PREMISES: Final = 8
"""Further premises that state the same are about other types."""


def rank_by_formula(index: Index, goal: str, allowed: BoolArray) -> Ranking | None:
    """The premises of the index that state a goal, or conclude it from hypotheses; None where there are none.

    Args:
        index: Where to look.
        goal: As Lean prints it.
        allowed: bool, shape (premises,): which may be answered; those of the index come first.
    """
    found: dict[int, None] = {}
    for part, rows in index.formulas.found(question_formulas(goal), allowed[: index.size]):
        if part == "sides":
            continue
        names = index.names(rows.tolist())
        # What holds for every group is named outside all namespaces, what holds for numbers inside of one.
        order = sorted(range(len(rows)), key=lambda place: (len(components(names[place])), len(names[place])))
        found |= dict.fromkeys(rows[order].tolist())
    if not found:
        return None
    numbers = np.array(list(found)[:MOST_PREMISES], dtype=np.int64)
    return Ranking(numbers, np.reciprocal(np.arange(1, len(numbers) + 1, dtype=np.float32)))
