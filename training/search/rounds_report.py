"""What rounds did: figures of every round and arm, and what each changed since round 0.

In: the `ranks.json` of a run. Out: figures with intervals, paired differences, and both as Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError
from training.data.queries import SearchExample
from training.evaluation.metrics import Interval
from training.search.figures import differences, figures, own_groups, table
from training.search.rounds import RANKS, RoundRanks

FIRST: Final = "round 0"
COMPARED: Final = "ndcg@10"
SHOWN: Final = ("all", "style: short", "style: long")


@dataclass(frozen=True, slots=True)
class RoundsReport:
    """A run's figures.

    Attributes:
        figures: System (`retriever`, `search`) → set → round → measure → interval.
        changes: System → round (but the first) → set → paired difference of nDCG@10 to round 0.
    """

    figures: dict[str, dict[str, dict[str, dict[str, Interval]]]]
    changes: dict[str, dict[str, dict[str, Interval]]]

    def text(self) -> str:
        """Tables: all queries, short and long ones, and the changes."""
        parts = []
        for system, sets in self.figures.items():
            for on in SHOWN:
                if on in sets:
                    count = next(iter(sets[on][FIRST].values())).n
                    parts.append(f"### {system}, {on} (n = {count})\n\n{table(sets[on])}")
            if self.changes[system]:
                parts.append(_changes(system, self.changes[system]))
        return "\n".join(parts)


def read_report(run: Path) -> RoundsReport:
    """The report on a finished run.

    Raises:
        SidecarError: `not_found` when the folder holds none.
    """
    file = run / RANKS
    if not file.is_file():
        raise SidecarError(
            "not_found",
            f"{run} holds no {RANKS}",
            field="run",
            hint="give the folder of a run of `python -m training search rounds` that has ended",
        )
    body = json.loads(file.read_text(encoding="utf-8"))
    queries = [SearchExample(**{**row, "gold": tuple(row["gold"])}) for row in body["queries"]]
    return report(queries, body["ranks"])


def report(queries: Sequence[SearchExample], ranks: RoundRanks) -> RoundsReport:
    """The report on the ranks of all rounds."""
    by_system: dict[str, dict[str, dict[str, dict[str, Interval]]]] = {}
    changes: dict[str, dict[str, dict[str, Interval]]] = {}
    for name, systems in ranks.items():
        for system, found in systems.items():
            sets = by_system.setdefault(system, {})
            for on, values in figures(queries, found, own_groups).items():
                sets.setdefault(on, {})[name] = values
            since = changes.setdefault(system, {})
            if name != FIRST:
                compared = differences(queries, found, ranks[FIRST][system], own_groups, COMPARED)
                since[name] = {on: difference for on, (_, difference) in compared.items()}
    return RoundsReport(by_system, changes)


def _changes(system: str, changes: dict[str, dict[str, Interval]]) -> str:
    sets = [on for on in SHOWN if on in next(iter(changes.values()))]
    lines = [
        f"### {system}: change of {COMPARED} since round 0, on the same queries",
        "",
        "| round | " + " | ".join(sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    for name, by_set in changes.items():
        cells = (f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]" for one in (by_set[on] for on in sets))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
