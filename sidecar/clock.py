"""Stage timings of one request.

In: the stages as they run, some of them at the same time in several threads. Out: milliseconds by stage.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._spans: dict[str, tuple[float, float]] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage; each stage runs once."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._spans[name] = (began, time.perf_counter())

    def finish(self) -> dict[str, float]:
        """Milliseconds of each stage, of the time that belongs to none (`other`), and of all (`total`)."""
        now = time.perf_counter()
        covered, until = 0.0, self._began
        for began, ended in sorted(self._spans.values()):
            covered += max(0.0, ended - max(began, until))
            until = max(until, ended)
        timings = {name: _milliseconds(ended - began) for name, (began, ended) in self._spans.items()}
        total = now - self._began
        return {**timings, "other": _milliseconds(max(0.0, total - covered)), "total": _milliseconds(total)}


def _milliseconds(seconds: float) -> float:
    return round(1_000 * seconds, 3)
