"""Vectors of an index that is being built.

In: batches of rows with their canonical texts. Out: the file of a vector set, a row for every row. A text is encoded
once, however many declarations have it, and not at all where an older index has its vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Final

import numpy as np

from sidecar.encoder.base import Encoder
from sidecar.index.exact import HalfMatrix
from sidecar.index.staging import Staging

TEXTS_AT_ONCE: Final = 256
"""Texts that go through the encoder together; between two such lots a build can be stopped, within seconds even where a
large model runs on a CPU."""


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Vectors of an older index.

    Attributes:
        matrix: float16, shape (rows, dimension).
        row_of: Hash of a text → its row.
    """

    matrix: HalfMatrix
    row_of: Mapping[bytes, int]


@dataclass(slots=True)
class Plan:
    """Where the vectors of a batch come from, by place in the batch.

    Attributes:
        first_row: Row of place 0.
        rows: Size of the batch.
        repeated: Place → row of the index with the same text.
        known: Place → row of an older index with the same text.
        encoded: Places whose text goes through the encoder.
    """

    first_row: int
    rows: int
    repeated: dict[int, int] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)
    encoded: list[int] = field(default_factory=list)


class VectorFile:
    """Fills the file of one vector set.

    Args:
        encoder: What encodes.
        known: Vectors that need no encoding.

    Attributes:
        name: Name of the vector set.
        file: Name of its file.
    """

    def __init__(self, encoder: Encoder, known: KnownVectors | None) -> None:
        self.encoder = encoder
        self.name = f"vectors-{encoder.fingerprint[:12]}"
        self.file = f"{self.name}.f16"
        self._known = known
        self._row_of: dict[bytes, int] = {}

    def remember(self, text_hashes: Iterable[bytes]) -> None:
        """Take note of the rows that an earlier run finished, from row 0 on."""
        for row, text_hash in enumerate(text_hashes):
            self._row_of.setdefault(text_hash, row)

    def plan(self, text_hashes: Sequence[bytes], first_row: int) -> Plan:
        """Say where each vector of a batch comes from, and take note of its rows."""
        plan = Plan(first_row, len(text_hashes))
        for place, text_hash in enumerate(text_hashes):
            row = self._row_of.setdefault(text_hash, first_row + place)
            if row < first_row + place:
                plan.repeated[place] = row
            elif self._known is not None and text_hash in self._known.row_of:
                plan.known[place] = self._known.row_of[text_hash]
            else:
                plan.encoded.append(place)
        return plan

    def encode(self, texts: Sequence[str], plan: Plan, stop: Event) -> HalfMatrix:
        """The vectors of a batch; rows that repeat a text stay zero. Ends early, with less, when `stop` is set."""
        vectors = np.zeros((plan.rows, self.encoder.dimension), dtype=np.float16)
        if self._known is not None and plan.known:
            vectors[list(plan.known)] = self._known.matrix[list(plan.known.values())]
        # Texts of one length share a batch of the model without padding.
        places = sorted(plan.encoded, key=lambda place: len(texts[place]))
        # A cluster needs larger lots than one machine to be busy.
        at_once: int = getattr(self.encoder, "texts_at_once", TEXTS_AT_ONCE)
        for start in range(0, len(places), at_once):
            if stop.is_set():
                break
            chosen = places[start : start + at_once]
            vectors[chosen] = self.encoder.encode([texts[place] for place in chosen], "declaration")
        return vectors

    def append(self, staging: Staging, vectors: HalfMatrix, plan: Plan) -> None:
        """Write a batch, with rows that repeat a text filled in."""
        width = self.encoder.dimension * 2
        for place, row in plan.repeated.items():
            if row >= plan.first_row:
                vectors[place] = vectors[row - plan.first_row]
            else:
                vectors[place] = np.frombuffer(staging.read_from(self.file, row * width, width), dtype="<f2")
        staging.append(self.file, vectors.astype("<f2", copy=False))
