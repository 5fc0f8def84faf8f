"""Names of the files of an index.

In: nothing. Out: the names that those who write and those who read agree on. Tables that keep their own file names
(`constants.py`, `labels.py`, `lexical.py`, `store.py`) are not listed.
"""

from __future__ import annotations

from typing import Final

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
