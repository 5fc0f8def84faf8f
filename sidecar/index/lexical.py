"""Ranking by words: BM25 over the canonical texts of the declarations.

In: the words of every row's canonical text, some of them its name. Out: `LexicalTable`, mapped from disk: for each word
the rows that hold it and what the word is worth there, so that a query adds up a few arrays.

The formula is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009); a word of the name counts
`NAME_WEIGHT` times, and the logarithm is of 1 + the usual odds, so that no word counts against a row. Repeats say
little in formal texts, on either side: k1 is half of what is usual for prose, and a word that is asked for twice counts
once. Both were chosen on questions with known answers and on goals with known premises.

SQLite's FTS5 ranks by the same formula but works out the worth of each matching row anew. Questions in plain words
match a quarter of Mathlib and more, which takes it a hundred times as long as adding up arrays (benchmarks/index.py
shows both), so that a search would miss its time many times over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.exact import BoolArray, FloatArray, RowArray
from sidecar.index.files import map_array
from sidecar.index.sparse import IntArray, SparseRows, transpose
from sidecar.index.strings import StringTable, write_strings

NAME_WEIGHT: Final = 2
"""How often a word of the name counts."""

SATURATION: Final = 0.6
"""BM25's k1: how soon further occurrences of a word stop counting."""

LENGTH_SHARE: Final = 0.75
"""BM25's b: how much longer texts are discounted."""

_WORDS, _ROWS_OF = "words", "rows-of-words"
_STEP: Final = (SATURATION + 1) / 65_535
"""Worth of a word in a row is stored in steps of this size, in 16 bits."""


def weigh_words(name_words: Iterable[int], words: Iterable[int]) -> dict[int, int]:
    """Distinct words of one text → how often each counts.

    Args:
        name_words: Numbers of the name's words.
        words: Numbers of all words of the text, the name's included.
    """
    counts = Counter(words)
    for word in name_words:
        counts[word] += NAME_WEIGHT - 1
    return counts


def write_lexical(
    folder: Path, words: Sequence[str], of_rows: SparseRows, counts: npt.NDArray[np.uint8], lengths: IntArray
) -> None:
    """Write the files of the table.

    Args:
        folder: Folder of the index.
        words: Words by number.
        of_rows: Row → distinct words.
        counts: How often each counts, in step with `of_rows.values`.
        lengths: Words of each row's text, repeats included.
    """
    write_strings(folder, _WORDS, words)
    mean = max(float(lengths.mean()) if len(lengths) else 0.0, 1.0)
    discount = (SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / mean)).astype(np.float32)
    worth = np.empty(len(counts), dtype=np.uint16)
    block = 1 << 20
    for start in range(0, len(counts), block):
        entries = np.arange(start, min(start + block, len(counts)))
        owners = np.searchsorted(of_rows.offsets, entries, side="right") - 1
        often = counts[entries].astype(np.float32)
        worth[entries] = np.rint(often * (SATURATION + 1) / (often + discount[owners]) / _STEP)
    transpose(of_rows, len(words), folder, _ROWS_OF, worth)


class LexicalTable:
    """Ranks rows by words. Safe to use from several threads.

    Args:
        folder: Folder of the index.
        rows: How many rows the index has.

    Attributes:
        rows_of: Number of a word → rows whose text holds it, ascending.
    """

    def __init__(self, folder: Path, rows: int) -> None:
        self._rows = rows
        self._words = StringTable(folder, _WORDS)
        self.rows_of = SparseRows.load(folder, _ROWS_OF)
        self._worth: npt.NDArray[np.uint16] = map_array(folder / f"{_ROWS_OF}.beside.npy")

    def __len__(self) -> int:
        return len(self._words)

    def document_frequency(self, word: str) -> int:
        """How many rows hold a word."""
        number = self._words.find(word)
        return 0 if number is None else len(self.rows_of[number])

    def held(self, words: Sequence[str], rows: RowArray) -> BoolArray:
        """Which words the texts of some rows hold.

        Returns:
            bool, shape (words, rows).
        """
        held = np.zeros((len(words), len(rows)), dtype=np.bool_)
        for place, number in enumerate(self._words.find_all(words).tolist()):
            if number >= 0:
                holding = self.rows_of[number]
                found = np.minimum(np.searchsorted(holding, rows), len(holding) - 1)
                held[place] = holding[found] == rows
        return held

    def search(self, words: Sequence[str], limit: int, mask: BoolArray | None = None) -> tuple[RowArray, FloatArray]:
        """Rank the rows that hold at least one of the words.

        Args:
            words: Words as `sidecar.text` makes them.
            limit: Most rows to return.
            mask: Which rows are visible; None for all. It does not change any score.

        Returns:
            Rows (int64), best first, equal scores in order of rows, and their scores (float32, above 0).
        """
        scores = np.zeros(self._rows, dtype=np.float32)
        for number in self._words.find_all(list(dict.fromkeys(words))).tolist():
            if number < 0:
                continue
            span = self.rows_of.span(number)
            frequency = span.stop - span.start
            rarity = np.log(1 + (self._rows - frequency + 0.5) / (frequency + 0.5))
            scores[self.rows_of.values[span]] += self._worth[span] * np.float32(rarity * _STEP)
        if mask is not None:
            scores *= mask
        found = np.flatnonzero(scores > 0)  # on booleans it takes a tenth of the time
        if len(found) > limit:
            values = scores[found]
            least = np.partition(values, len(values) - limit)[len(values) - limit] if limit > 0 else np.inf
            found = found[values >= least]
        order = np.lexsort((found, -scores[found]))[: max(limit, 0)]
        rows = found[order].astype(np.int64)
        return rows, scores[rows]
