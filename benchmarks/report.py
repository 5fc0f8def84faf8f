"""Tables of what was measured, for benchmarks/README.md.

Usage: `python -m benchmarks.report`. Reads benchmarks/results/*.jsonl, takes the newest line of each figure, and writes
the tables between the markers of benchmarks/README.md. The text around the markers is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MARKER = re.compile(r"(<!-- table (\S+)(?: ([^\n]+?))? -->\n).*?(<!-- end -->)", re.DOTALL)

Line = dict[str, Any]


def main() -> None:
    """Write the tables."""
    path = FOLDER / "README.md"
    path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")


def fill(text: str) -> str:
    """The text with the tables between its markers made anew.

    A marker `<!-- table BENCH SET -->` asks for one set of a bench, `<!-- table BENCH -->` for all of them.
    """

    def table(match: re.Match[str]) -> str:
        lines = newest(read(match[2]))
        wanted = match[3]
        chosen = [line for line in lines if wanted is None or line["set"] == wanted]
        return f"{match[1]}{markdown(chosen)}{match[4]}"

    return MARKER.sub(table, text)


def read(bench: str) -> list[Line]:
    """The lines of one bench, oldest first; none when it was never recorded."""
    path = FOLDER / "results" / f"{bench}.jsonl"
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def newest(lines: Iterable[Line]) -> list[Line]:
    """The last line of each figure, in the order in which figures first appeared."""
    kept: dict[tuple[str, str, str], Line] = {}
    for line in lines:
        kept[line["set"], line["system"], line["metric"]] = line
    return list(kept.values())


def markdown(lines: list[Line]) -> str:
    """A table with one row for each set and system and one column for each metric.

    Benches with more metrics than fit beside one another get one row a figure instead.
    """
    if not lines:
        return "not measured yet\n"
    sets = list(dict.fromkeys(line["set"] for line in lines))
    several = len(sets) > 1
    names = list(dict.fromkeys(line["metric"] for line in lines))
    if len(names) > 7:
        head = "| " + ("set | " if several else "") + "system | metric | value | n |"
        rows = [
            "| "
            + (f"{line['set']} | " if several else "")
            + f"{line['system']} | {line['metric']} | {_cell(line)} | {line['n']} |"
            for line in lines
        ]
        rule = "|---" * (4 + several) + "|"
    else:
        head = "| " + ("set | " if several else "") + "system | n | " + " | ".join(names) + " |"
        rule = "|---" * (2 + several + len(names)) + "|"
        rows = []
        for on, system in dict.fromkeys((line["set"], line["system"]) for line in lines):
            by_metric = {line["metric"]: line for line in lines if (line["set"], line["system"]) == (on, system)}
            count = next(iter(by_metric.values()))["n"]
            cells = [_cell(by_metric[name]) if name in by_metric else "" for name in names]
            rows.append("| " + (f"{on} | " if several else "") + f"{system} | {count} | " + " | ".join(cells) + " |")
    origins = "; ".join(dict.fromkeys(f"{line['machine']}, commit {line['commit']}" for line in lines))
    return "\n".join([head, rule, *rows]) + f"\n\n<sub>{origins}</sub>\n"


def _cell(line: Line) -> str:
    value = line["value"]
    shown = f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
    if line["low"] is None:
        return shown
    return f"{shown} [{line['low']:.3f}, {line['high']:.3f}]"


if __name__ == "__main__":
    main()
