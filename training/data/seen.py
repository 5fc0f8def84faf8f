"""Which declarations a retriever was trained to find.

In: training pairs. Out: `targets.txt.gz` in the run's folder, one name a line; and what several runs hold together.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError

FILE: Final = "targets.txt.gz"


def write_targets(folder: Path, names: Iterable[str]) -> None:
    """Write down the declarations of the training queries, each once."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name}\n" for name in sorted(set(names)))
    (folder / FILE).write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def read_targets(runs: Iterable[Path]) -> frozenset[str]:
    """All declarations that some training query of these runs asks for.

    Args:
        runs: Folders of runs; those of `search rounds` hold several.

    Raises:
        SidecarError: `not_found` for a folder without such a file.
    """
    found: set[str] = set()
    for run in runs:
        files = sorted(run.rglob(FILE))
        if not files:
            raise SidecarError(
                "not_found",
                f"{run} holds no {FILE}",
                field="run",
                hint="give the folder of a run of `python -m training search retriever` or `rounds`",
            )
        for file in files:
            found.update(gzip.decompress(file.read_bytes()).decode("utf-8").split("\n"))
    return frozenset(found - {""})
