"""What came of each trial, and the tables that follow.

In: trials. Out: `trials.jsonl`, one line a trial, and Markdown: proofs by arm, what went wrong, arms on the same
problems against one another.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.proof_rate.report import interval
from sidecar.errors import SidecarError
from training.evaluation.metrics import paired_difference

FILE: Final = "trials.jsonl"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the agent on one problem.

    Attributes:
        arm: Which search tool it had.
        problem: Id of the problem.
        repetition: Which one of several, from 0.
        settings: Hash of problem, command lines and limits.
        status: `proved`; `error`, `sorry`, `axioms`, `timeout`, `unclear` of the check; `unchanged`, `sorry`,
            `changed`, `forbidden` by the text; `gone` when the file was not there any more.
        detail: More about it.
        end: How the agent ended: `exit`, `timeout`, `overflow`.
        exit_status: Of the agent.
        seconds: That the agent took.
        searches: Calls of the search command; None where the tool is an address.
    """

    arm: str
    problem: str
    repetition: int
    settings: str
    status: str
    detail: str
    end: str
    exit_status: int
    seconds: float
    searches: int | None

    @property
    def key(self) -> tuple[str, str, int]:
        """What is done once."""
        return self.arm, self.problem, self.repetition


class TrialFile:
    """The trials of one folder; each is on disk as soon as it is over.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / FILE
        self.trials: list[Trial] = []
        if self._file.is_file():
            whole, _, rest = self._file.read_bytes().rpartition(b"\n")
            if rest:  # killed while it wrote: that trial is done again
                self._file.write_bytes(whole + b"\n" if whole else b"")
            self.trials = [Trial(**json.loads(line)) for line in whole.splitlines()]
        self._known = {trial.key: trial.settings for trial in self.trials}

    def done(self, arm: str, problem: str, repetition: int, settings: str) -> bool:
        """Whether a trial is done.

        Raises:
            SidecarError: `conflict` when it was done with other settings.
        """
        before = self._known.get((arm, problem, repetition))
        if before is not None and before != settings:
            raise SidecarError(
                "conflict",
                f"{self._file} holds {problem} of {arm} with another agent, limit, tool or text of the problem",
                field="output",
                hint="name another --output, or the settings of the run that is there",
            )
        return before is not None

    def add(self, trial: Trial) -> None:
        """Keep a trial."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial), ensure_ascii=False) + "\n")
        self.trials.append(trial)
        self._known[trial.key] = trial.settings


def report(trials: Sequence[Trial]) -> str:
    """All tables."""
    parts = ["# Proofs by agents\n", proofs_table(trials), "## Against one another\n", differences_table(trials)]
    return "\n".join([*parts, "## How trials ended\n", endings_table(trials)])


def proofs_table(trials: Sequence[Trial]) -> str:
    """Markdown: proofs of each arm with Wilson's 95 % interval over trials."""
    lines = ["| arm | problems | trials | proved | share | seconds (median) | searches (mean) |", "|---" * 7 + "|"]
    for arm, own in _by_arm(trials).items():
        proved = sum(trial.status == "proved" for trial in own)
        low, high = interval(proved / len(own), len(own))
        counted = [trial.searches for trial in own if trial.searches is not None]
        cells = [
            arm,
            str(len({trial.problem for trial in own})),
            str(len(own)),
            str(proved),
            f"{proved / len(own):.3f} [{low:.3f}, {high:.3f}]",
            f"{median(trial.seconds for trial in own):.1f}",
            f"{sum(counted) / len(counted):.1f}" if counted else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def differences_table(trials: Sequence[Trial]) -> str:
    """Markdown: shares of proofs of every two arms on the problems that both tried, with a 95 % bootstrap interval."""
    shares: dict[str, dict[str, float]] = {}
    for arm, own in _by_arm(trials).items():
        of_problem: dict[str, list[float]] = defaultdict(list)
        for trial in own:
            of_problem[trial.problem].append(float(trial.status == "proved"))
        shares[arm] = {problem: sum(found) / len(found) for problem, found in of_problem.items()}
    lines = ["| arms | problems | proved more by the first |", "|---" * 3 + "|"]
    for one, other in itertools.combinations(shares, 2):
        both = sorted(shares[one].keys() & shares[other].keys())
        more = paired_difference([shares[one][name] for name in both], [shares[other][name] for name in both])
        lines.append(f"| {one} : {other} | {len(both)} | {more.mean:+.3f} [{more.low:+.3f}, {more.high:+.3f}] |")
    return "\n".join(lines) + "\n"


def endings_table(trials: Sequence[Trial]) -> str:
    """Markdown: how many trials of each arm ended in which way."""
    arms = _by_arm(trials)
    counts = {arm: Counter(trial.status for trial in own) for arm, own in arms.items()}
    for arm, own in arms.items():
        counts[arm]["agent stopped at its limit"] = sum(trial.end != "exit" for trial in own)
    kinds = sorted({kind for count in counts.values() for kind in count})
    lines = ["| | " + " | ".join(arms) + " |", "|---" * (len(arms) + 1) + "|"]
    lines += [f"| {kind} | " + " | ".join(str(counts[arm][kind]) for arm in arms) + " |" for kind in kinds]
    return "\n".join(lines) + "\n"


def _by_arm(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    arms: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        arms[trial.arm].append(trial)
    return arms
