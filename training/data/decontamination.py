"""Takes out of the training examples whatever an evaluation would ask.

In: training examples and evaluation examples. Out: the training examples without

- those whose state has the text of an evaluation state, or its target and hypotheses in whatever order;
- the pair of a state and a premise where the state's target is that of an evaluation state and the premise its gold.

Texts are compared after `clean` and with white space collapsed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sidecar.text.clean import clean, one_line
from sidecar.text.goal import parse_goal
from training.data.examples import PremiseExample

_Content = tuple[str, frozenset[tuple[tuple[str, ...], str, str | None]]]


@dataclass(slots=True)
class Removed:
    """How much was taken out, and how much went through.

    Attributes:
        kept: Examples that are left, and `kept_pairs` their (state, premise) pairs.
        same_state: Examples dropped because of their state.
        gold_pairs: Pairs dropped because of target and premise.
        emptied: Examples dropped because every pair of theirs was.
    """

    kept: int = 0
    kept_pairs: int = 0
    same_state: int = 0
    gold_pairs: int = 0
    emptied: int = 0


class Decontamination:
    """The filter for one set of evaluation examples.

    Args:
        evaluation: Every example that will be evaluated on.
    """

    def __init__(self, evaluation: Iterable[PremiseExample]) -> None:
        self._texts: set[str] = set()
        self._contents: set[_Content] = set()
        self._gold: dict[str, set[str]] = defaultdict(set)
        self.removed = Removed()
        for example in evaluation:
            self._texts.add(one_line(example.state))
            content = _content(example.state)
            self._contents.add(content)
            self._gold[content[0]].update(example.gold)

    def contaminated(self, example: PremiseExample) -> bool:
        """Whether an evaluation asks this very state."""
        return one_line(example.state) in self._texts or _content(example.state) in self._contents

    def leaking(self, example: PremiseExample) -> frozenset[str]:
        """Premises of the example that an evaluation wants for the same target."""
        return frozenset(self._gold.get(_content(example.state)[0], ())) & frozenset(example.gold)

    def filter(self, examples: Iterable[PremiseExample]) -> Iterator[PremiseExample]:
        """The examples that may be trained on; `removed` counts what went."""
        for example in examples:
            plain = plain_target(example.state)
            if plain is not None and plain not in self._gold and one_line(example.state) not in self._texts:
                # Both rules ask for a target that an evaluation has: most states need not be taken apart.
                self._keep(example)
                yield example
                continue
            content = _content(example.state)
            if one_line(example.state) in self._texts or content in self._contents:
                self.removed.same_state += 1
                continue
            gold = self._gold.get(content[0])
            if gold and not gold.isdisjoint(example.gold):
                positives = tuple(positive for positive in example.positives if positive.name not in gold)
                self.removed.gold_pairs += len(example.positives) - len(positives)
                if not positives:
                    self.removed.emptied += 1
                    continue
                example = replace(example, positives=positives)
            self._keep(example)
            yield example

    def _keep(self, example: PremiseExample) -> None:
        self.removed.kept += 1
        self.removed.kept_pairs += len(example.positives)


def plain_target(state: str) -> str | None:
    """The target of a state that has one goal, whose target is its last line; None where that is not plain to see.

    Ten times faster than taking the state apart, and never another answer than `parse_goal` gives.
    """
    before, turnstile, after = clean(state).rpartition("⊢")
    if not turnstile or "⊢" in before or after.startswith("ₛ") or "\n" in after:
        return None
    if before.rpartition("\n")[2].strip():  # a hypothesis or a tag on the same line
        return None
    return one_line(after) or None


def _content(state: str) -> _Content:
    goal = parse_goal(state)
    return goal.target, frozenset(
        (hypothesis.names, hypothesis.type, hypothesis.value) for hypothesis in goal.hypotheses
    )
