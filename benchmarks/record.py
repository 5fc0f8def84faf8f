"""One line of `benchmarks/results/<bench>.jsonl` for every figure that is reported.

In: a figure. Out: the line, with the machine and the commit it was measured on.
"""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@cache
def machine() -> str:
    """Processor, cores and memory of this machine, as one line."""
    processor, memory = platform.processor() or platform.machine(), ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
        first = Path("/proc/meminfo").read_text().splitlines()[0]
        memory = f", {int(first.split()[1]) / 1024 / 1024:.0f} GiB"
    except OSError:
        pass
    import os

    return f"{processor}, {os.cpu_count()} cores{memory}"


@cache
def commit() -> str:
    """Short hash of the commit, with `+` when the tree holds changes to tracked files outside the results."""
    folder = Path(__file__).parent.parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def record(
    bench: str,
    set_: str,
    system: str,
    metric: str,
    value: float,
    n: int,
    low: float | None = None,
    high: float | None = None,
) -> None:
    """Append one figure.

    Args:
        bench: File it belongs to (`retrieval`, `speed`).
        set_: What it was measured on (`premises/valid`).
        system: What was measured (`bm25`, `static`, `fused`).
        metric: `recall@32`, `p50_ms`, …
        value: The figure.
        n: How many queries, requests or texts stand behind it.
        low, high: Bounds of the 95 % interval, where one was computed.
    """
    line = {
        "bench": bench,
        "set": set_,
        "system": system,
        "metric": metric,
        "value": round(value, 6),
        "n": n,
        "low": low if low is None else round(low, 6),
        "high": high if high is None else round(high, 6),
        "machine": machine(),
        "commit": commit(),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{bench}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
