"""Tables of strings on disk: number → string and string → number, without a Python object a string.

In: distinct strings in the order of their numbers. Out: four files of one stem, mapped into memory when read. Look-up
by string goes through sorted 64-bit hashes and compares the text that is found, so that equal hashes do no harm.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, save_array

_WHOLE_SHARE: Final = 8
"""Who wants a larger share of the strings than one of so many gets them from a copy of the text."""


def text_hash(text: str) -> int:
    """64-bit hash of a string, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def write_strings(folder: Path, stem: str, strings: Iterable[str]) -> int:
    """Write a table.

    Returns:
        How many strings it holds.
    """
    lengths: list[int] = []
    hashes: list[int] = []
    with (folder / f"{stem}.text").open("wb") as file:
        for string in strings:
            encoded = string.encode("utf-8", "surrogatepass")
            file.write(encoded)
            lengths.append(len(encoded))
            hashes.append(int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little"))
    save_array(folder / f"{stem}.offsets.npy", np.cumsum([0, *lengths], dtype=np.int64))
    every = np.array(hashes, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    save_array(folder / f"{stem}.hashes.npy", every[order])
    save_array(folder / f"{stem}.order.npy", order.astype(np.int32))
    return len(lengths)


class StringTable(Sequence[str]):
    """A table that `write_strings` wrote.

    Args:
        folder: Folder of the index.
        stem: Stem of the four files.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        with (folder / f"{stem}.text").open("rb") as file:
            empty = not os.fstat(file.fileno()).st_size
            # Cutting bytes out of a map is several times as fast as cutting an array.
            self._text = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._offsets = map_array(folder / f"{stem}.offsets.npy")
        self._hashes = map_array(folder / f"{stem}.hashes.npy")
        self._order = map_array(folder / f"{stem}.order.npy")

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        if not 0 <= number < len(self):
            raise IndexError(f"no string {number} in a table of {len(self)}")
        return self._bytes(number).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        yield from self._cut(self._offsets[:-1].tolist(), self._offsets[1:].tolist())

    def take(self, numbers: Iterable[int]) -> list[str]:
        """The strings of several numbers."""
        wanted = np.fromiter(numbers, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"a number is outside a table of {len(self)} strings")
        return self._cut(self._offsets[wanted].tolist(), self._offsets[wanted + 1].tolist())

    def find(self, string: str) -> int | None:
        """The number of a string, or None."""
        encoded = string.encode("utf-8", "surrogatepass")
        wanted = np.uint64(int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little"))
        position = int(np.searchsorted(self._hashes, wanted))
        while position < len(self._hashes) and self._hashes[position] == wanted:
            number = int(self._order[position])
            if self._bytes(number) == encoded:
                return number
            position += 1
        return None

    def find_all(self, strings: Sequence[str]) -> npt.NDArray[np.int64]:
        """The numbers of several strings, −1 for those that are not in the table."""
        found = np.full(len(strings), -1, dtype=np.int64)
        if not len(self):
            return found
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        digests = b"".join([blake2b(each, digest_size=8).digest() for each in encoded])
        wanted = np.frombuffer(digests, dtype="<u8")
        positions = np.minimum(np.searchsorted(self._hashes, wanted), len(self) - 1)
        places = np.flatnonzero(self._hashes[positions] == wanted)
        numbers = self._order[positions[places]]
        starts, ends = self._offsets[numbers].tolist(), self._offsets[numbers + 1].tolist()
        for place, number, start, end in zip(places.tolist(), numbers.tolist(), starts, ends, strict=True):
            if self._text[start:end] == encoded[place]:
                found[place] = number
            else:
                other = self.find(strings[place])
                found[place] = -1 if other is None else other
        return found

    def _bytes(self, number: int) -> bytes:
        return self._text[self._offsets[number] : self._offsets[number + 1]]

    def _cut(self, starts: Sequence[int], ends: Sequence[int]) -> list[str]:
        # For many strings it pays to read the whole text at once.
        text = self._text if len(starts) * _WHOLE_SHARE < len(self) else bytes(self._text)
        try:
            return [text[start:end].decode() for start, end in zip(starts, ends, strict=True)]
        except UnicodeDecodeError:  # half characters, which only the slower way lets pass
            return [text[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]
