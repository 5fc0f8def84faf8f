"""What came out for each goal, and the figures that follow: curves, breakdowns, tables.

In: for each goal the ranks of its gold premises by system. Out: means with bootstrap intervals, overall and by the
kind of the premise, by how many premises there are, by whether training saw them, and by library.

One rule for goals without gold: they are left out, counted, and the count is printed with every table. Gold that no
system can return (not visible, not in the corpus) stays in the denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from training.data.examples import PremiseExample
from training.evaluation import metrics
from training.evaluation.metrics import Interval, Judged

DEPTHS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""k of recall@k and full-recall@k."""

FULL: Final = ("recall@1", "recall@16", "recall@32", "recall@128", "full-recall@32", "mrr")
"""Figures of the overall table."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out for one goal.

    Attributes:
        example: The goal.
        ranks: 1-based ranks of its gold premises, in the order of `example.gold`; 0 for those that did not come out.
    """

    example: PremiseExample
    ranks: npt.NDArray[np.int64]

    @classmethod
    def of(cls, example: PremiseExample, ranking: Iterable[str]) -> Outcome:
        """Find the gold premises in a ranking of names.

        Raises:
            ValueError: For a goal without gold.
        """
        if not example.gold:
            raise ValueError(f"{example.theorem} has no gold; leave it out and count it")
        places: dict[str, int] = {}
        for rank, name in enumerate(ranking, start=1):
            places.setdefault(name, rank)
        return cls(example, np.array([places.get(name, 0) for name in example.gold], dtype=np.int64))

    @property
    def judged(self) -> Judged:
        """The outcome without names."""
        return Judged(tuple(sorted(self.ranks[self.ranks > 0].tolist())), len(self.ranks))


def measure(outcomes: Sequence[Outcome], metric: str) -> Interval:
    """Mean of one metric over goals: `recall@K`, `full-recall@K` or `mrr`.

    Raises:
        ValueError: For another metric.
    """
    return metrics.bootstrap([_measure(metric)(outcome) for outcome in outcomes])


def compare(first: Sequence[Outcome], second: Sequence[Outcome], metric: str) -> Interval:
    """How much better the first system is on the same goals, with the interval of the paired difference."""
    value = _measure(metric)
    return metrics.paired_difference([value(one) for one in first], [value(one) for one in second])


def _measure(metric: str) -> Callable[[Outcome], float]:
    name, _, depth = metric.partition("@")
    if metric == "mrr":
        return lambda outcome: metrics.reciprocal_rank(outcome.judged)
    if name in ("recall", "full-recall") and depth.isdigit():
        value = metrics.recall if name == "recall" else metrics.full_recall
        return lambda outcome: value(outcome.judged, int(depth))
    raise ValueError(f"no metric {metric!r}")


Labels = Callable[[PremiseExample, str], str]
"""Class of a gold premise of an example."""


def breakdown(outcomes: Sequence[Outcome], label: Labels, k: int) -> dict[str, Interval]:
    """Recall@k among the gold premises of each class, over the goals that have any of it."""
    values: dict[str, list[float]] = {}
    for outcome in outcomes:
        found: dict[str, list[bool]] = {}
        for name, rank in zip(outcome.example.gold, outcome.ranks.tolist(), strict=True):
            found.setdefault(label(outcome.example, name), []).append(0 < rank <= k)
        for class_, hits in found.items():
            values.setdefault(class_, []).append(float(np.mean(hits)))
    return {class_: metrics.bootstrap(values[class_]) for class_ in sorted(values)}


def by_number(example: PremiseExample, premise: str) -> str:
    """How many premises the goal has."""
    count = len(example.gold)
    if count <= 2:
        return str(count)
    return "3 or 4" if count <= 4 else "5 to 8" if count <= 8 else "9 or more"


def by_origin(example: PremiseExample, premise: str) -> str:
    """How the proof came to use the premise."""
    return next("+".join(positive.origins) for positive in example.positives if positive.name == premise)


def by_library(example: PremiseExample, premise: str) -> str:
    """First two components of the theorem's module."""
    return ".".join(example.module.split(".")[:2])


def by_kind(kinds: Mapping[str, str]) -> Labels:
    """Kind of the premise's declaration."""
    return lambda example, premise: kinds.get(premise, "not in the corpus")


def by_seen(trained_on: frozenset[str]) -> Labels:
    """Whether the premise was a positive of any training state."""
    return lambda example, premise: "seen in training" if premise in trained_on else "never seen"


def table(systems: Mapping[str, Sequence[Outcome]], names: Sequence[str] = FULL, *, without_gold: int = 0) -> str:
    """Markdown table of all systems."""
    count = len(next(iter(systems.values()), ()))
    lines = [
        f"n = {count} goals; {without_gold} without gold left out.",
        "",
        "| system | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for system, outcomes in systems.items():
        lines.append(f"| {system} | " + " | ".join(_cell(measure(outcomes, name)) for name in names) + " |")
    return "\n".join(lines) + "\n"


def breakdown_table(systems: Mapping[str, Sequence[Outcome]], label: Labels, k: int, *, least: int = 20) -> str:
    """Markdown table of recall@k by class; classes of fewer than `least` goals are left out."""
    found = {system: breakdown(outcomes, label, k) for system, outcomes in systems.items()}
    classes = sorted({name for classes in found.values() for name, interval in classes.items() if interval.n >= least})
    lines = [f"| recall@{k} | n | " + " | ".join(systems) + " |", "|---" * (len(systems) + 2) + "|"]
    for name in classes:
        intervals = [classes[name] for classes in found.values()]
        lines.append(f"| {name} | {intervals[0].n} | " + " | ".join(map(_cell, intervals)) + " |")
    return "\n".join(lines) + "\n"


def _cell(interval: Interval) -> str:
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
