"""What declarations are called: by their names, however spelled, and by what their docstrings call them.

In: every row's name and docstring. Out: `LabelTable`, mapped from disk, which says for a spelling whose name ends in
it, and for a few words whose label has the same words.

A row has as labels the words of its name; every title in its docstring (what stands in bold there, as in
`**Cauchy-Schwarz inequality**`); and the first sentence of its docstring when that has no more than `LONGEST_SENTENCE`
words that say something. Words are compared by their stems, without stop words.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, save_array
from sidecar.index.sparse import IntArray, SparseRows, offsets_of, transpose
from sidecar.index.strings import StringTable, text_hash, write_strings
from sidecar.text.names import components, loose_name, name_words
from sidecar.text.query import query_text
from sidecar.text.stems import STOP_WORDS, stem
from sidecar.text.symbols import SPELLED_CONSTANTS

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
RowArray = npt.NDArray[np.int64]

LONGEST_SENTENCE: Final = 8
"""Words (without stop words and repeats) of a first sentence that is a label; longer ones explain rather than name."""

NAME, TITLE, SENTENCE = 0, 1, 2
"""What a label was taken from."""

_KEYS, _ROWS, _WHOLE = "spellings.keys.npy", "spellings.rows.npy", "spellings.whole.npy"
_WORDS, _LABELS_OF = "label-words", "labels-of-words"
_WEIGHTS, _OWNERS, _SOURCES = "label-weights.npy", "label-owners.npy", "label-sources.npy"

_TITLE: Final = re.compile(r"\*\*([^*\n]{3,120})\*\*")
_SENTENCE_END: Final = re.compile(r"(?<=[a-z0-9`)$])[.:;](?=\s|$)|\n\n")
_LONGEST_SENTENCE_TEXT: Final = 320
_ALIAS: Final = "**Alias**"
"""How Lean begins the docstring of an alias: it names another declaration, not this one."""


def write_labels(folder: Path, declarations: Iterable[tuple[str, str]]) -> None:
    """Write the files of the table.

    Args:
        folder: Folder of the index.
        declarations: Name and docstring of each row, in order.
    """
    keys, rows, whole = array("Q"), array("i"), array("Q")
    numbering = _Numbering()
    names, others = _Lists(), _Lists()
    owners, sources = array("i"), array("B")
    known: dict[str, tuple[str, list[int]]] = {}
    for row, (name, docstring) in enumerate(declarations):
        spelled = ""
        words: dict[int, None] = {}
        for part in reversed(components(name)):
            about = known.get(part)
            if about is None:
                about = known[part] = (loose_name(part), numbering.numbers(name_words(part)))
            words |= dict.fromkeys(about[1])
            if about[0]:
                spelled = about[0] + spelled
                keys.append(text_hash(spelled))
                rows.append(row)
        whole.append(text_hash(spelled))
        names.add(numbering.numbers(name_words(name)) if name in SPELLED_CONSTANTS else words)
        for source, numbers in _labels(docstring, numbering):
            others.add(numbers)
            owners.append(row)
            sources.append(source)
    every = np.array(keys, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    save_array(folder / _KEYS, every[order])
    save_array(folder / _ROWS, np.array(rows, dtype=np.int32)[order])
    save_array(folder / _WHOLE, np.array(whole, dtype=np.uint64))
    save_array(folder / _OWNERS, np.array(owners, dtype=np.int32))
    save_array(folder / _SOURCES, np.array(sources, dtype=np.uint8))
    write_strings(folder, _WORDS, numbering)
    of_labels = SparseRows(
        offsets_of(np.array(names.lengths + others.lengths, dtype=np.int64)),
        np.array(names.values + others.values, dtype=np.int32),
    )
    labels_of = transpose(of_labels, len(numbering), folder, _LABELS_OF)
    rarity = _rarity(labels_of, len(of_labels))
    label_of_entry = np.repeat(np.arange(len(of_labels)), np.diff(of_labels.offsets))
    weights = np.bincount(label_of_entry, weights=rarity[of_labels.values], minlength=len(of_labels))
    save_array(folder / _WEIGHTS, weights.astype(np.float32))


class _Numbering(dict[str, int]):
    """Stem → number, in order of first use."""

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Numbers of the stems of some words, without repeats and stop words."""
        stems = dict.fromkeys(stem(word) for word in words if word not in STOP_WORDS)
        return [self.setdefault(key, len(self)) for key in stems]


class _Lists:
    """Lists of numbers, one after another."""

    def __init__(self) -> None:
        self.values, self.lengths = array("i"), array("i")

    def add(self, numbers: Iterable[int]) -> None:
        before = len(self.values)
        self.values.extend(numbers)
        self.lengths.append(len(self.values) - before)


def _labels(docstring: str, numbering: _Numbering) -> Iterator[tuple[int, list[int]]]:
    """Source and words of each label that a docstring gives."""
    if not docstring or docstring.startswith(_ALIAS):
        return
    for title in _TITLE.findall(docstring):
        numbers = numbering.numbers(query_text(title).split())
        if numbers:
            yield TITLE, numbers
    sentence = _SENTENCE_END.split(docstring, maxsplit=1)[0]
    if len(sentence) <= _LONGEST_SENTENCE_TEXT:
        words = [word for word in query_text(sentence).split() if word not in STOP_WORDS]
        if 0 < len(set(words)) <= LONGEST_SENTENCE:
            yield SENTENCE, numbering.numbers(words)


def _rarity(labels_of: SparseRows, labels: int) -> npt.NDArray[np.float64]:
    """What each word weighs: the logarithm of 1 + how many labels there are for each that holds it."""
    return np.log1p(labels / np.maximum(np.diff(labels_of.offsets), 1))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well each label agrees with some words, 0 to 1.

    Attributes:
        rows: float32, shape (rows,): the best label of each row.
        labels: float32, shape (labels,): every label; the names' come first, in order of rows.
        agreeing: Rows that agree at all, in any order, perhaps with repeats.
    """

    rows: FloatArray
    labels: FloatArray
    agreeing: RowArray


class LabelTable:
    """The labels of an index. Safe to use from several threads.

    Args:
        folder: Folder of the index.
        rows: How many rows the index has.
    """

    def __init__(self, folder: Path, rows: int) -> None:
        self._rows = rows
        self._keys = map_array(folder / _KEYS)
        self._rows_of_keys = map_array(folder / _ROWS)
        self._whole = map_array(folder / _WHOLE)
        self._words = StringTable(folder, _WORDS)
        self._weights = map_array(folder / _WEIGHTS)
        self._owners = map_array(folder / _OWNERS)
        self._sources = map_array(folder / _SOURCES)
        self.labels_of = SparseRows.load(folder, _LABELS_OF)
        self._rarity = _rarity(self.labels_of, len(self._weights)).astype(np.float32)

    def __len__(self) -> int:
        return len(self._weights)

    def spelled(self, spelling: str) -> tuple[RowArray, BoolArray]:
        """Rows whose last components are spelled like this but for case, dots, underscores and spaces.

        Returns:
            Rows (int64) in ascending order, and for each whether the spelling is that of the whole name.
        """
        return self.keyed([loose_name(spelling)])

    def keyed(self, keys: Sequence[str]) -> tuple[RowArray, BoolArray]:
        """Rows whose last components have one of some keys (`loose_name`).

        Returns:
            Rows (int64) in ascending order, and for each whether one of the keys is that of the whole name.
        """
        hashes = np.unique(np.array([text_hash(key) for key in keys], dtype=np.uint64))
        starts, ends = (np.searchsorted(self._keys, hashes, side) for side in ("left", "right"))
        spans = [self._rows_of_keys[start:end] for start, end in zip(starts, ends, strict=True) if start < end]
        rows = np.unique(np.concatenate(spans)).astype(np.int64) if spans else np.zeros(0, dtype=np.int64)
        return rows, np.isin(self._whole[rows], hashes)

    def agreement(self, words: Sequence[str]) -> Agreement:
        """Compare the labels with some words.

        The agreement of a label is twice the weight of the words it shares by the weight of its words and of those
        asked for (Dice's coefficient, 1945): 1 where both have the same words, 0 where they share none. A word weighs
        the more the fewer labels hold it; one that no label holds weighs as if one did.

        Args:
            words: Words as `sidecar.text` makes them.
        """
        asked = list(dict.fromkeys(stem(word) for word in words if word not in STOP_WORDS))
        labels = np.zeros(len(self), dtype=np.float32)
        holding: list[IntArray] = []
        total = 0.0
        for number in self._words.find_all(asked).tolist():
            if number < 0:
                total += float(np.log1p(len(self)))
                continue
            weight = self._rarity[number]
            total += float(weight)
            holding.append(self.labels_of[number])
            labels[holding[-1]] += weight
        # Few labels hold any of the words; looking only at those takes a fraction of the time of whole arrays.
        found = np.concatenate(holding) if holding else np.zeros(0, dtype=np.int32)
        labels[found] = 2 * labels[found] / (self._weights[found] + np.float32(total))
        rows = labels[: self._rows].copy()
        others = found[found >= self._rows]
        owners = self._owners[others - self._rows]
        np.maximum.at(rows, owners, labels[others])
        agreeing = np.concatenate([found[found < self._rows], owners]).astype(np.int64)
        return Agreement(rows, labels, agreeing)

    def source(self, agreement: Agreement, row: int) -> int:
        """Where the best label of a row comes from: `NAME`, `TITLE` or `SENTENCE`."""
        start, end = np.searchsorted(self._owners, [row, row + 1])
        others = agreement.labels[self._rows + start : self._rows + end]
        if not len(others) or others.max() <= agreement.labels[row]:
            return NAME
        return int(self._sources[start + int(others.argmax())])
