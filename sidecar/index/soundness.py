"""What opening an index looks at, so that damage is met there and not by a request.

In: the folder of an index and its manifest. Out: an error for a table that cannot be what was written. Small files are
compared with their checksums; of large tables the header, the order and the ends are looked at, which costs a hundredth
of reading them. What lies inside large files is left to `verify_index`, and to the file formats that check themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from sidecar.index.files import map_array
from sidecar.index.layout import CONTENT_HASHES_FILE, HASH_BYTES, TEXT_HASHES_FILE
from sidecar.index.manifest import Manifest, file_entry

SMALL_BYTES: Final = 2 << 20
"""Files up to this size are compared with their checksums: on an index of 400,000 declarations 12 MB, 16 ms."""

_HEADER_BYTES: Final = 128
"""What stands before the numbers in the files that `save_array` and `create_array` make."""

_OFFSETS: Final = ".offsets.npy"
_TYPES: Final[dict[str, np.dtype[Any]]] = {
    _OFFSETS: np.dtype(np.int64),
    ".hashes.npy": np.dtype(np.uint64),
    ".keys.npy": np.dtype(np.uint64),
    ".whole.npy": np.dtype(np.uint64),
    ".order.npy": np.dtype(np.int32),
    ".values.npy": np.dtype(np.int32),
    ".rows.npy": np.dtype(np.int32),
    "-of-rows.npy": np.dtype(np.int32),
    ".beside.npy": np.dtype(np.uint16),
    CONTENT_HASHES_FILE: np.dtype(np.uint8),
    TEXT_HASHES_FILE: np.dtype(np.uint8),
}
"""Type of the numbers in the large arrays, by the ending of their names."""

_ASCENDING: Final = (_OFFSETS, ".hashes.npy", ".keys.npy")
_TWO_DIMENSIONAL: Final = (CONTENT_HASHES_FILE, TEXT_HASHES_FILE)


def check_tables(folder: Path, manifest: Manifest) -> None:
    """Look at every table of an index.

    Raises:
        OSError, ValueError: For the first table that cannot be right; the message names it.
    """
    for fault in _faults(folder, manifest):
        raise ValueError(fault)


def _faults(folder: Path, manifest: Manifest) -> Iterator[str]:
    for name, entry in manifest.files.items():
        if entry.bytes <= SMALL_BYTES:
            if file_entry(folder / name) != entry:
                yield f"{name} is not what was written: its checksum differs"
        elif name.endswith(".npy"):
            fault = _array_fault(folder, name, manifest)
            if fault is not None:
                yield f"{name} is not what was written: {fault}"


def _array_fault(folder: Path, name: str, manifest: Manifest) -> str | None:
    array = map_array(folder / name)
    kind = next((kind for ending, kind in _TYPES.items() if name.endswith(ending)), array.dtype)
    per_row = HASH_BYTES if name in _TWO_DIMENSIONAL else None
    entries = (manifest.files[name].bytes - _HEADER_BYTES) // kind.itemsize
    shape = (entries,) if per_row is None else (entries // per_row, per_row)
    if (array.dtype, array.shape) != (kind, shape):
        return f"it holds {array.dtype} of shape {array.shape} instead of {kind} of shape {shape}"
    if name.endswith(_ASCENDING) and np.any(array[1:] < array[:-1]):
        return "its numbers do not ascend"
    if name.endswith(_OFFSETS):
        end = _end(folder, name.removesuffix(_OFFSETS), manifest)
        if (array[0], array[-1]) != (0, end):
            return f"it reaches from {array[0]} to {array[-1]} instead of 0 to {end}"
    return None


def _end(folder: Path, stem: str, manifest: Manifest) -> int:
    """What the last offset of a table must be: the bytes of its text, or how many values it has."""
    text = manifest.files.get(f"{stem}.text")
    return len(map_array(folder / f"{stem}.values.npy")) if text is None else text.bytes
