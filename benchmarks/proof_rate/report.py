"""Tables and pictures of proof rates.

Usage: `python -m benchmarks.proof_rate.report RESULTS [--output FOLDER]`, where RESULTS is what
`python -m benchmarks.proof_rate.run` wrote. Prints, at the statements and at the steps, the proof rate of every setting
with a 95 % interval, the rates after 1, 2, 5, 10, 20 and 30 seconds, and how often each engine failed at which stage;
writes them to `proof_rate.md`, and the curves over time to `statements.png` and `steps.png`.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.proof_rate.settings import MEASURES, all_settings
from benchmarks.proof_rate.trials import Trial, failures, read_results

TIMES: Final[tuple[int, ...]] = (1, 2, 5, 10, 20, 30)
"""Seconds at which the rates are shown."""


def rate(trials: Sequence[Trial], seconds: float = math.inf) -> float:
    """Share of the trials that closed the goal within a time; 0 without trials."""
    return sum(trial.closed and trial.milliseconds <= 1000 * seconds for trial in trials) / max(len(trials), 1)


def effective_count(trials: Sequence[Trial]) -> float:
    """How many independent trials say as much about the rate as these, of which those in one proof are alike.

    The variance of a share over clusters, here the declarations, against that over independent trials (W. G. Cochran,
    Sampling Techniques, 1977, section 3.12). When all of them ended alike, the number of declarations.
    """
    clusters: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for trial in trials:
        clusters[trial.module, trial.theorem].append(trial.closed)
    share, count, groups = rate(trials), len(trials), len(clusters)
    if groups < 2 or share in (0, 1):
        return groups
    scatter = sum((sum(closed) - share * len(closed)) ** 2 for closed in clusters.values())
    clustered = scatter * groups / (groups - 1) / count**2
    independent = share * (1 - share) / (count - 1)
    return min(count * independent / clustered, count) if clustered else count


def interval(share: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (E. B. Wilson, 1927)."""
    if count == 0:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    width = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(middle - width, 0.0), min(middle + width, 1.0)


def rates_table(at: str, results: Mapping[str, Sequence[Trial]]) -> str:
    """Markdown: one row a setting, with its rate, its interval and the rates over time."""
    head = ["setting", at, "proved", "95 %", *(f"{seconds} s" for seconds in TIMES)]
    rows = [head, ["---"] * len(head)]
    for name, trials in results.items():
        share = rate(trials)
        low, high = interval(share, effective_count(trials))
        over_time = [f"{rate(trials, seconds):.1%}" for seconds in TIMES]
        rows.append([name, str(len(trials)), f"{share:.1%}", f"{low:.1%}–{high:.1%}", *over_time])
    return _markdown(rows)


def failures_table(results: Mapping[str, Sequence[Trial]]) -> str:
    """Markdown: for each setting how many failed trials ended at which engine and stage."""
    rows = [["setting", "engine", "stage", "failed trials"], ["---"] * 4]
    for name, trials in results.items():
        counted = Counter(stage for trial in trials for stage in failures(trial).items())
        ordered = sorted(counted.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        rows += [[name, engine, stage, str(count)] for (engine, stage), count in ordered]
    return _markdown(rows)


def picture(path: Path, at: str, results: Mapping[str, Sequence[Trial]]) -> None:
    """A curve a setting: share of the statements or steps proved within a time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    for name, trials in results.items():
        times = sorted(trial.milliseconds / 1000 for trial in trials if trial.closed)
        shares = [(place + 1) / len(trials) for place in range(len(times))]
        axes.step([0.0, *times], [0.0, *shares], where="post", label=name, linewidth=1.2)
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"share of {at} proved")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, ncols=2)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def read_all(folder: Path) -> dict[str, list[Trial]]:
    """Setting → its trials, in the order of the tables; settings without results are left out."""
    read = {setting.name: list(read_results(folder / setting.name)) for setting in all_settings()}
    return {name: trials for name, trials in read.items() if trials}


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path, help="folder that the runner wrote")
    parser.add_argument("--output", type=Path, help="folder of the report; the results' own when not given")
    arguments = parser.parse_args()
    measured = {at: results for at in MEASURES if (results := read_all(arguments.results / at))}
    if not measured:
        raise SystemExit(f"{arguments.results} has no results; run python -m benchmarks.proof_rate.run first")
    output: Path = arguments.output or arguments.results
    output.mkdir(parents=True, exist_ok=True)
    text = "\n".join(
        f"## At the {at}\n\n{rates_table(at, results)}\n\n{failures_table(results)}\n"
        for at, results in measured.items()
    )
    print(text)
    (output / "proof_rate.md").write_text(text, encoding="utf-8")
    for at, results in measured.items():
        picture(output / f"{at}.png", at, results)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
