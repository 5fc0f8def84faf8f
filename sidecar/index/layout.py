"""Names of the files and folders of an index.

In: nothing. Out: the names that those who write and those who read agree on. Tables that keep their own file names
(`constants.py`, `formulas.py`, `labels.py`, `lexical.py`, `proofs.py`, `store.py`) are not listed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError

GRAPH_FILE: Final = "imports.npz"
"""The import graph (`sidecar.corpus.imports`)."""

NAMES: Final = "names"
"""Stem of the string table with the declarations' names, by row."""

MODULES_OF_ROWS_FILE: Final = "modules-of-rows.npy"
"""int32: number of each row's module in the import graph."""

KINDS_FILE: Final = "kinds.npy"
"""uint8: place of each row's kind in `sidecar.corpus.records.KINDS`."""

FLAGS_FILE: Final = "flags.npy"
"""uint8: sum of `PREMISE`, `TARGET` and `DEPRECATED` of each row."""

PREMISE, TARGET, DEPRECATED = 1, 2, 4

CONTENT_HASHES_FILE: Final = "content-hashes.npy"
"""uint8, shape (rows, HASH_BYTES): hash of all that the corpus says about each declaration."""

TEXT_HASHES_FILE: Final = "text-hashes.npy"
"""uint8, shape (rows, HASH_BYTES): hash of each canonical text."""

HASH_BYTES: Final = 16


def building_folder(folder: Path) -> Path:
    """Where an index grows before it takes its place."""
    return _beside(folder, ".building")


def replaced_folder(folder: Path) -> Path:
    """Where an index that is replaced waits for its end where folders cannot be exchanged in one step."""
    return _beside(folder, ".replaced")


def lock_file(folder: Path) -> Path:
    """What whoever writes an index holds."""
    return _beside(folder, ".lock")


def located(folder: Path) -> Path:
    """Where a folder really is: `.` and `..` have names too, and what a link leads to has room beside it.

    Raises:
        SidecarError: `bad_request` for the root of all folders, `not_found` when a relative path starts nowhere.
    """
    try:
        whole = folder.resolve()
    except FileNotFoundError:
        detail = f"{folder} is nowhere: the folder that this command runs in was removed or replaced"
        raise SidecarError("not_found", detail, field="index", hint="change to the folder again") from None
    if not whole.name:
        raise SidecarError("bad_request", f"{folder} cannot be an index", field="index", hint="choose a folder in it")
    return whole


def _beside(folder: Path, ending: str) -> Path:
    whole = located(folder)
    return whole.with_name(whole.name + ending)
