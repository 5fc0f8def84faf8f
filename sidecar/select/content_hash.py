"""Content hashes of premises, the same ones that the Lean side computes.

In: names and texts. Out: FNV-1a with 64 bits over the UTF-8 bytes of the name, a line feed and the text, as 16
lower-case hexadecimal digits (offset basis and prime as published by Fowler, Noll and Vo). It tells texts apart; it is
no safeguard against a forger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 0xFFFFFFFFFFFFFFFF

_GROUP: Final = 1_024
"""Contents that are hashed in step; bounds the memory that a few long ones among many short ones cost."""

_FEW: Final = 48
"""With fewer contents left than this, plain Python is faster a byte than one array operation for all of them."""


def content_hash(name: str, text: str) -> str:
    """Content hash of one premise."""
    return content_hashes([name], [text])[0]


def content_hashes(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Content hashes of premises; thousands of ordinary texts take a few milliseconds.

    Raises:
        ValueError: The two sequences differ in length.
    """
    encoded = [f"{name}\n{text}".encode("utf-8", "surrogatepass") for name, text in zip(names, texts, strict=True)]
    return [f"{value:016x}" for value in _fnv1a(encoded).tolist()]


def _fnv1a(contents: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Hashes of all contents, in order; contents of like length run together."""
    order = sorted(range(len(contents)), key=lambda place: len(contents[place]), reverse=True)
    hashes = np.empty(len(contents), dtype=np.uint64)
    for start in range(0, len(order), _GROUP):
        group = order[start : start + _GROUP]
        hashes[group] = _in_step([contents[place] for place in group])
    return hashes


def _in_step(contents: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Hash contents byte by byte in step; the longest come first, so that those still running stand at the front."""
    hashes = np.full(len(contents), _BASIS, dtype=np.uint64)
    width = len(contents[_FEW - 1]) if len(contents) >= _FEW else 0
    padded = b"".join(content[:width].ljust(width, b"\0") for content in contents)
    columns = np.frombuffer(padded, dtype=np.uint8).reshape(len(contents), width).T.copy()
    lengths = np.fromiter(map(len, contents), dtype=np.int64, count=len(contents))
    running = np.searchsorted(-lengths, -np.arange(width), side="left").tolist()
    prime = np.uint64(_PRIME)
    for column, count in zip(columns, running, strict=True):
        part = hashes[:count]
        part ^= column[:count].astype(np.uint64)
        part *= prime
    for place in range(min(_FEW - 1, len(contents))):
        value = int(hashes[place])
        for byte in contents[place][width:]:
            value = ((value ^ byte) * _PRIME) & _MASK
        hashes[place] = value
    return hashes
