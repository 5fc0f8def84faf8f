"""Who won, and whether the judges agree.

In: comparisons and verdicts. Out: Markdown tables: wins, ties and losses of every two systems by judge and by all
judges together; agreement of every two judges, raw and by Cohen's kappa. Intervals are 95 % bootstrap intervals.

Two answers that hold the same declarations in the same order are a tie that nobody was asked about: they count as ties
of every judge, and not in the agreement.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from benchmarks.side_by_side.comparisons import Comparison
from benchmarks.side_by_side.verdicts import Verdict
from training.evaluation.metrics import Interval, bootstrap

TOGETHER: Final = "all judges"

BOOTSTRAP_SAMPLES: Final = 1_000


def outcomes(comparisons: Sequence[Comparison], verdicts: Sequence[Verdict]) -> dict[str, dict[str, float]]:
    """Judge → comparison → 1, 0 or −1 for the first system of it; with several judges also the mean of those who said.

    What a judge refused, or said unreadably, is not there.
    """
    alike = {one.id: 0.0 for one in comparisons if one.alike}
    by_judge: dict[str, dict[str, float]] = {}
    for verdict in verdicts:
        of_judge = by_judge.setdefault(verdict.judge, dict(alike))
        if verdict.outcome is not None:
            of_judge[verdict.id] = float(verdict.outcome)
    if len(by_judge) > 1:
        said: dict[str, list[float]] = defaultdict(list)
        for of_judge in by_judge.values():
            for mark, outcome in of_judge.items():
                said[mark].append(outcome)
        by_judge[TOGETHER] = {mark: float(np.mean(values)) for mark, values in said.items()}
    return by_judge


def wins_table(comparisons: Sequence[Comparison], verdicts: Sequence[Verdict]) -> str:
    """Markdown: one row for two systems and a judge.

    Of all judges together a comparison is won when the mean of their verdicts is above 0.
    """
    missing = Counter((verdict.judge, verdict.id) for verdict in verdicts if verdict.outcome is None)
    of_pair: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        of_pair[comparison.systems].append(comparison)
    lines = [
        "| systems | judge | n | first wins | tie | second wins | wins − losses of the first | no verdict |",
        "|---" * 8 + "|",
    ]
    for (first, second), members in of_pair.items():
        for judge, of_judge in outcomes(comparisons, verdicts).items():
            values = np.array([of_judge[one.id] for one in members if one.id in of_judge])
            values = np.sign(values)
            shares = [bootstrap((values == said).astype(np.float64)) for said in (1, 0, -1)] + [bootstrap(values)]
            none = sum(missing[judge, one.id] for one in members)
            cells = [f"{first} : {second}", judge, str(len(values)), *map(_cell, shares)]
            lines.append("| " + " | ".join([*cells, "" if judge == TOGETHER else str(none)]) + " |")
    return "\n".join(lines) + "\n"


def judges_table(comparisons: Sequence[Comparison], verdicts: Sequence[Verdict]) -> str:
    """Markdown: what each judge was asked, refused, and how often it preferred what stood on the left."""
    alike = sum(one.alike for one in comparisons)
    lines = [
        f"{len(comparisons)} comparisons, {alike} of them of equal answers, which nobody was asked about.",
        "",
        "| judge | asked | refused | unreadable | left, where not a tie |",
        "|---" * 5 + "|",
    ]
    of_judge: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        of_judge[verdict.judge].append(verdict)
    for judge, said in of_judge.items():
        why = Counter(verdict.missing for verdict in said)
        left = bootstrap([float(one.better == "left") for one in said if one.better in ("left", "right")])
        cells = [judge, str(len(said)), str(why["refused"]), str(why["unreadable"]), _cell(left)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def agreement_table(verdicts: Sequence[Verdict]) -> str:
    """Markdown: every two judges on what both judged."""
    said: dict[str, dict[str, int]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.outcome is not None:
            said[verdict.judge][verdict.id] = verdict.outcome
    lines = ["| judges | n | same verdict | Cohen's kappa |", "|---" * 4 + "|"]
    for one, other in itertools.combinations(said, 2):
        both = sorted(said[one].keys() & said[other].keys())
        first, second = ([said[judge][mark] for mark in both] for judge in (one, other))
        raw, kappa_ = agreement(first, second)
        lines.append(f"| {one} : {other} | {len(both)} | {_cell(raw)} | {_cell(kappa_)} |")
    return "\n".join(lines) + "\n"


def agreement(first: Sequence[int], second: Sequence[int]) -> tuple[Interval, Interval]:
    """Share of equal verdicts and Cohen's kappa of two judges on the same comparisons, in order.

    Kappa's interval leaves out samples in which both judges say one thing throughout, where it is not defined.
    """
    one, other = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    raw = bootstrap((one == other).astype(np.float64))
    generator = np.random.default_rng(0)
    samples = (generator.integers(0, len(one), len(one)) for _ in range(BOOTSTRAP_SAMPLES if len(one) else 0))
    drawn = np.array([kappa(one[chosen], other[chosen]) for chosen in samples])
    drawn = drawn[~np.isnan(drawn)]
    low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (float("nan"), float("nan"))
    return raw, Interval(kappa(one, other), float(low), float(high), len(one))


def kappa(first: Sequence[int] | np.ndarray, second: Sequence[int] | np.ndarray) -> float:
    """Cohen's kappa (Cohen 1960): agreement beyond what the two distributions of verdicts would give by chance.

    Returns:
        NaN without verdicts, and where chance alone explains everything: both say one thing throughout.
    """
    one, other = np.asarray(first), np.asarray(second)
    if not len(one):
        return float("nan")
    by_chance = sum(float((one == said).mean() * (other == said).mean()) for said in (1, 0, -1))
    return float("nan") if by_chance == 1.0 else (float((one == other).mean()) - by_chance) / (1.0 - by_chance)


def report(comparisons: Sequence[Comparison], verdicts: Sequence[Verdict]) -> str:
    """All tables; verdicts on comparisons that are not given are left out."""
    known = {comparison.id for comparison in comparisons}
    verdicts = [verdict for verdict in verdicts if verdict.id in known]
    parts = ["# Side by side\n", judges_table(comparisons, verdicts)]
    parts += ["## Wins\n", wins_table(comparisons, verdicts), "## Agreement of judges\n", agreement_table(verdicts)]
    sets: dict[str, list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        sets[comparison.set].append(comparison)
    if len(sets) > 1:
        for on, members in sets.items():
            parts += [f"## Wins on {on}\n", wins_table(members, verdicts)]
    return "\n".join(parts)


def _cell(interval: Interval) -> str:
    if np.isnan(interval.mean):
        return "–"
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
