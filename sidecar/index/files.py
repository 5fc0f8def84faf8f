"""Arrays on disk.

In: numpy arrays. Out: `.npy` files, and memory maps of them and of bare matrices. An array without elements has no
memory to map and is made instead; callers see no difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from sidecar.index.manifest import damaged

AnyArray = npt.NDArray[Any]


def save_array(path: Path, array: AnyArray) -> None:
    """Write an array; `path` ends in `.npy`."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def map_array(path: Path) -> AnyArray:
    """Map an array into memory, read-only.

    Raises:
        OSError, ValueError: The file cannot be read, or is no array.
    """
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, dtype = read_header(file)
        except (TokenError, SyntaxError, TypeError) as error:
            # numpy reads the header as Python, whose errors get through where the bytes are none.
            raise ValueError(f"{path.name} is no array: {error}") from error
        if 0 in shape or dtype.hasobject:
            return np.zeros(shape, dtype=dtype)
    # A plain array on the mapped memory: cutting a `memmap` costs several times as much.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def open_matrix(
    path: Path, rows: int, dimension: int, dtype: npt.DTypeLike = "<f2", *, private: bool = False
) -> AnyArray:
    """Map a file of `rows` × `dimension` numbers (little-endian, row by row, nothing else).

    Args:
        path, rows, dimension, dtype: Which file, and what is in it.
        private: The array may be written to, which no one else sees (torch takes no other); else it is read-only.

    Raises:
        SidecarError: `conflict` when the file has another size.
    """
    expected = rows * dimension * np.dtype(dtype).itemsize
    if path.stat().st_size != expected:
        raise damaged(path.parent, f"{path.name} has {path.stat().st_size} bytes instead of {expected}")
    if not expected:
        return np.zeros((rows, dimension), dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="c" if private else "r", shape=(rows, dimension)))


def create_array(path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    """Make a file for an array that is filled in place; its memory is the file's.

    Raises:
        OSError: There is no room for it: it is taken now where the system can, since a page that finds none later ends
            the process.
    """
    if 0 in shape:
        save_array(path, np.zeros(shape, dtype=dtype))
        return np.zeros(shape, dtype=dtype)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array
