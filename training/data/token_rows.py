"""Texts as token numbers, made once and kept on disk.

In: texts and a tokenizer. Out: `TokenRows`, one row of token numbers a text, in one array.
"""

from __future__ import annotations

import hashlib
import logging
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

logger = logging.getLogger(__name__)

IntArray = npt.NDArray[np.int64]


class TokenRows:
    """Token numbers of many texts.

    Args:
        tokens: The rows one after the other.
        offsets: Where each row begins, and the end of the last: shape (rows + 1,).
    """

    def __init__(self, tokens: npt.NDArray[np.int32], offsets: IntArray) -> None:
        self.tokens = tokens
        self.offsets = offsets
        self.lengths: IntArray = np.diff(offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> TokenRows:
        """Pack rows; an empty one becomes a single padding token 0, so that every row has a vector."""
        filled = [row or (0,) for row in rows]
        offsets = np.zeros(len(filled) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in filled], out=offsets[1:])
        tokens = np.fromiter((token for row in filled for token in row), dtype=np.int32, count=int(offsets[-1]))
        return cls(tokens, offsets)

    @classmethod
    def joined(cls, first: TokenRows, second: TokenRows) -> TokenRows:
        """The rows of one and then those of the other."""
        offsets = np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]])
        return cls(np.concatenate([first.tokens, second.tokens]), offsets)

    @classmethod
    def cached(cls, cache: Path, parts: Sequence[str], make: Callable[[], Sequence[Sequence[int]]]) -> TokenRows:
        """Load rows that an earlier run left in a folder, or make and keep them.

        Args:
            cache: The folder.
            parts: Everything that decides the rows; hashed into the file's name.
            make: Gives the rows when no file is there.
        """
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little") + data)
        file = cache / f"tokens-{digest.hexdigest()[:16]}.npz"
        if file.is_file():
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    return cls(arrays["tokens"], arrays["offsets"])
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                logger.warning("%s is damaged (%s); it is made again", file, error)
        rows = cls.from_rows(make())
        cache.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(".tmp.npz")
        np.savez(temporary, tokens=rows.tokens, offsets=rows.offsets)
        temporary.replace(file)
        return rows

    def padded(self, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """Rows as one matrix, padded with 0 on the right, and its mask (1 for tokens): both (len(numbers), longest)."""
        lengths = self.lengths[numbers]
        width = int(lengths.max()) if len(numbers) else 0
        mask = np.arange(width) < lengths[:, None]
        matrix = np.zeros(mask.shape, dtype=np.int64)
        places = self.offsets[numbers][:, None] + np.arange(width)
        matrix[mask] = self.tokens[places[mask]]
        return matrix, mask.astype(np.int64)
