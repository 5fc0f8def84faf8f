"""Builds an index in a process of its own and dies by SIGKILL at a chosen point.

Usage: python -m tests.index.dying_build CORPUS FOLDER POINT, where POINT is `commit:N` (when batch N is on disk but not
yet committed), `tables` (in the middle of writing the tables), `manifest` (when only its place is missing), `publish`
(when the folder has its place) or `never`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidecar.corpus.source import open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index import build, staging, tables


def _die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, action: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        action()
        return original(*arguments, **options)

    setattr(owner, name, wrapped)


def main(corpus: str, folder: str, point: str) -> None:
    build.SMALLEST_BATCH = build.LARGEST_BATCH = 100  # type: ignore[misc]
    what, _, number = point.partition(":")
    if what == "commit":
        commits = 0

        def count() -> None:
            nonlocal commits
            commits += 1
            # Two commits come before the first batch: that of the empty folder and that of the first pass.
            if commits == int(number) + 2:
                _die()

        _before(staging.Staging, "commit", count)
    elif what == "tables":
        _before(tables, "write_lexical", _die)
    elif what == "manifest":
        _before(build, "publish", _die)
    elif what == "publish":
        original = build.publish
        build.publish = lambda *arguments: (original(*arguments), _die())  # type: ignore[assignment, func-returns-value]
    build.build_index(open_corpus(Path(corpus)), Path(folder), load_encoder("static"))


if __name__ == "__main__":
    main(*sys.argv[1:])
