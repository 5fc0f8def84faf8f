"""Whether rounds of generated queries help a retriever, arm by arm.

Usage: `python -m benchmarks.rounds RUN [--output FOLDER] [--record]`, RUN being the folder of a finished
`python -m training search rounds`.

Prints tables of every round and arm for all, short and long queries, and the change since round 0 on the same queries
with its interval (long queries must not get worse); writes them as `rounds.md` with plots of each system's nDCG@10 by
set; `--record` appends to benchmarks/results/rounds.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.record import record
from training.evaluation.plots import bars
from training.search.rounds_report import COMPARED, SHOWN, RoundsReport, read_report


def main() -> None:
    """Print, write, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of tables and plots")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/rounds.jsonl")
    options = parser.parse_args()
    found = read_report(options.run)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "rounds.md").write_text(found.text(), encoding="utf-8")
    print(found.text())
    plot(found, options.output)
    if options.record:
        write_down(found)


def plot(found: RoundsReport, output: Path) -> None:
    """One picture a system: the compared measure of each round, by set."""
    for system, sets in found.figures.items():
        shown = [on for on in SHOWN if on in sets]
        by_round = {name: {on: sets[on][name][COMPARED] for on in shown} for name in sets[shown[0]]}
        bars(output / f"rounds-{system}.png", f"{system}, {COMPARED}, by round and arm", by_round, shown)


def write_down(found: RoundsReport) -> None:
    """Append every figure, and every change since round 0 as a measure of its own."""
    for system, sets in found.figures.items():
        for on, rounds in sets.items():
            for name, values in rounds.items():
                for measure, one in values.items():
                    record("rounds", on, f"{system}, {name}", measure, one.mean, one.n, one.low, one.high)
        for name, by_set in found.changes[system].items():
            for on, one in by_set.items():
                measure = f"{COMPARED} − round 0"
                record("rounds", on, f"{system}, {name}", measure, one.mean, one.n, one.low, one.high)


if __name__ == "__main__":
    main()
