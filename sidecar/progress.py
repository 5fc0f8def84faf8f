"""Progress of long work: a bar on a terminal, one log line a minute elsewhere.

In: an iterable or a total. Out: the same items, with progress on stderr.
"""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType
from typing import Self

logger = logging.getLogger(__name__)

LOG_INTERVAL_SECONDS = 60.0


class Progress:
    """Counts work that is done. Use as a context manager and call `advance`.

    Args:
        what: What is counted (`"declarations"`).
        total: How many there will be, or None when unknown.
        start: How many were done before (a resumed run); they do not count in the rate.
    """

    def __init__(self, what: str, total: int | None, start: int = 0) -> None:
        self.what = what
        self.total = total
        self.done = start
        self._start = start
        self._began = time.monotonic()
        self._said = self._began
        self._bar: object | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bars

            bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = bars.add_task(self.what, total=self.total, completed=self.done)
            bars.start()
            self._bar = bars
        return self

    def advance(self, count: int = 1) -> None:
        """Say that `count` more are done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)  # type: ignore[attr-defined]
            return
        now = time.monotonic()
        if now - self._said >= LOG_INTERVAL_SECONDS:
            self._said = now
            of = f" of {self.total}" if self.total is not None else ""
            logger.info("%d%s %s, %.0f/s", self.done, of, self.what, self.rate)

    @property
    def rate(self) -> float:
        """Items a second since this run began."""
        return (self.done - self._start) / max(time.monotonic() - self._began, 1e-9)

    @property
    def seconds(self) -> float:
        """Seconds since this run began."""
        return time.monotonic() - self._began

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]
        else:
            logger.info("%d %s in %.1f s (%.0f/s)", self.done, self.what, self.seconds, self.rate)
