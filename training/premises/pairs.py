"""Examples as numbers: what a batch is drawn from.

In: examples and a library. Out: `TrainingPairs`: for each state the rows of its positives, and one number for every
(state, positive) pair; and the order in which a run goes through the pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidecar.errors import SidecarError
from training.data.examples import PremiseExample
from training.data.premise_library import PremiseLibrary

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Left:
    """Pairs that cannot be trained on, and why.

    Attributes:
        not_a_premise: The library has no premise of that name.
        not_visible: The premise cannot be seen from the theorem, so no selector could offer it.
        states: States of which no pair is left.
        modules: States whose module the library does not know.
    """

    not_a_premise: int
    not_visible: int
    states: int
    modules: int


@dataclass(frozen=True, slots=True)
class TrainingPairs:
    """States with their positives, as numbers.

    Attributes:
        examples: The examples that can be trained on; a state's number is its place here.
        module: State → number of its module.
        line: State → its source line, 0 when unknown (then nothing of its own module is visible).
        own: State → row of the theorem itself, −1 when it is no premise.
        positives: State → rows of all its positives, visible or not: none of them may be a negative.
        state_of, premise_of: Pair → its state, the row of its premise, which is visible.
        left: What is not among them.
    """

    examples: tuple[PremiseExample, ...]
    module: IntArray
    line: IntArray
    own: IntArray
    positives: tuple[IntArray, ...]
    state_of: IntArray
    premise_of: IntArray
    left: Left

    @classmethod
    def from_examples(cls, examples: Iterable[PremiseExample], library: PremiseLibrary) -> TrainingPairs:
        """Number the examples and drop what cannot be trained on.

        Raises:
            SidecarError: When nothing is left.
        """
        kept: list[tuple[PremiseExample, int, IntArray]] = []
        visible: list[IntArray] = []
        not_a_premise = not_visible = states = modules = 0
        seen: dict[tuple[int, int | None], IntArray] = {}
        for example in examples:
            module = library.graph.number(example.module)
            if module is None:
                modules += 1
                continue
            rows = np.array([row for name in example.gold if (row := library.row(name)) is not None], dtype=np.int64)
            not_a_premise += len(example.gold) - len(rows)
            place = (module, example.line)
            if place not in seen:
                seen = {place: library.visible_counts(*place)}  # examples of one place follow each other
            modules_of = library.module[rows]
            seen_rows = rows[rows - library.starts[modules_of] < seen[place][modules_of]]
            not_visible += len(rows) - len(seen_rows)
            if len(seen_rows):
                kept.append((example, module, rows))
                visible.append(seen_rows)
            else:
                states += 1
        if not kept:
            raise SidecarError(
                "bad_request",
                "no example has a visible premise of the corpus",
                field="data",
                hint="give the corpus that the examples were made from",
            )
        counts = np.array([len(rows) for rows in visible])
        own = [library.row(example.theorem) for example, _, _ in kept]
        return cls(
            examples=tuple(example for example, _, _ in kept),
            module=np.array([module for _, module, _ in kept], dtype=np.int64),
            line=np.array([example.line or 0 for example, _, _ in kept], dtype=np.int64),
            own=np.array([-1 if row is None else row for row in own], dtype=np.int64),
            positives=tuple(rows for _, _, rows in kept),
            state_of=np.repeat(np.arange(len(kept), dtype=np.int64), counts),
            premise_of=np.concatenate(visible),
            left=Left(not_a_premise, not_visible, states, modules),
        )

    def __len__(self) -> int:
        return len(self.state_of)

    def never_negative(self, state: int, library: PremiseLibrary) -> IntArray:
        """Groups of rows that are never negatives of a state: those of its positives and of the theorem itself."""
        own = self.own[state : state + 1]
        return np.unique(library.group[np.concatenate([self.positives[state], own[own >= 0]])]).astype(np.int64)


def order(pairs: int, batch: int, passes: float, seed: int) -> IntArray:
    """The pairs of a whole run, in order: every pass goes through all pairs once, each time shuffled anew.

    Args:
        pairs: Number of pairs.
        batch: Pairs of a batch; the last batch of the run may be smaller.
        passes: How many passes, in parts too; at least one batch (or all pairs, where they are fewer) is given.
        seed: Decides the order.
    """
    wanted = max(round(pairs * passes), min(batch, pairs))
    whole = [np.random.default_rng((seed, number)).permutation(pairs) for number in range(-(-wanted // pairs))]
    return np.concatenate(whole)[:wanted].astype(np.int64)
