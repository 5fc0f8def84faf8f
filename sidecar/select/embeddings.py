"""Vectors and constants of premises that the index does not know, kept by what they were made from.

In: raw texts of premises. Out: their vectors and the constants of their statements. Each text is normalised and encoded
once: what was made is kept in memory and in a SQLite file, so that it survives a restart. The key is a hash of the
encoder's fingerprint (which covers the text rules) and the raw text, so a warm request does no more than hash.

Both layers are bounded and drop what was not used for longest. A file that is damaged or out of reach costs time, never
an answer (see `store.py`).
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import FloatMatrix, Purpose
from sidecar.encoder.tower import documents_of
from sidecar.index.strings import text_hash
from sidecar.select.request import LocalPremise
from sidecar.select.statement import StatementConstants, premise_constants
from sidecar.select.store import CacheFile
from sidecar.select.symbolic import Statements
from sidecar.text.declaration import premise_text

if TYPE_CHECKING:
    import sqlite3

    from sidecar.encoder.base import Encoder

HalfMatrix = npt.NDArray[np.float16]

FILE: Final = "premises.sqlite"
_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS premises (
    key BLOB PRIMARY KEY, vector BLOB NOT NULL, constants BLOB NOT NULL, leading INTEGER NOT NULL,
    cut INTEGER NOT NULL, used INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS premises_by_use ON premises (used)
"""

MEMORY_PREMISES: Final = 65_536
"""Most premises that are kept in memory: about 55 MB with vectors of 384 numbers."""

FALLBACK_BYTES: Final = 64 * 1024 * 1024
"""Byte limit where the file cannot be used and SQLite works in memory."""

CHUNK: Final = 256
"""Texts that are encoded before they are stored: what a request that is cancelled has done by then is kept."""

TOUCH_SECONDS: Final = 600.0
"""How long it may take until the file learns which of its premises were used."""

CHUNK_CHARACTERS: Final = 500_000
"""Length of such texts together, unless one alone is longer: as much as takes about a second, for which a request that
is cancelled goes on and another one waits."""

_KEYS_PER_QUERY: Final = 512
_KEPT_SHARE: Final = 0.9


class Batcher(Protocol):
    """What is needed of `MicroBatcher`."""

    encoder: Encoder

    async def encode(self, texts: Sequence[str], purpose: Purpose, *, bulk: bool = False) -> FloatMatrix:
        """See `MicroBatcher.encode`."""


@dataclass(frozen=True, slots=True)
class PremiseFeatures:
    """What premises are ranked by, in the order asked for.

    Attributes:
        vectors: float16, shape (premises, dimension), or None where they were not asked for.
        statements: Their constants.
        cut: bool, shape (premises,): whether the encoder could not read the text to its end.
    """

    vectors: HalfMatrix | None
    statements: Statements
    cut: npt.NDArray[np.bool_]


class _Entry(NamedTuple):
    """What is known of one text, as the file holds it: bytes of its float16 vector and of its uint64 constants.

    Without a vector (no bytes) an entry is kept in memory only.
    """

    vector: bytes
    codes: bytes
    leading: int
    cut: int


class PremiseEmbeddings:
    """The cache. Belongs to one event loop.

    Args:
        folder: Where the file lies or is made; several processes may share it.
        fingerprint: Fingerprint of the encoder that the vectors are of: a query tower's documents.
        byte_limit: Largest size of what the file holds.
        memory_premises: Most premises that are kept in memory.
    """

    def __init__(
        self,
        folder: Path,
        fingerprint: str,
        byte_limit: int,
        *,
        memory_premises: int = MEMORY_PREMISES,
    ) -> None:
        self.fingerprint = fingerprint
        self._byte_limit = byte_limit
        self._file = CacheFile(folder / FILE, _SCHEMA, _VERSION)
        self._salt = blake2b(fingerprint.encode()).digest()
        self._turn = asyncio.Lock()
        self._lock = threading.Lock()
        self._memory: OrderedDict[bytes, _Entry] = OrderedDict()
        self._memory_premises = memory_premises
        self._touched: set[bytes] = set()
        self._touches_written = time.monotonic()

    async def features(
        self,
        premises: Sequence[LocalPremise],
        batcher: Batcher,
        *,
        vectors: bool = True,
    ) -> PremiseFeatures:
        """Vectors and constants of premises.

        Args:
            premises: The premises; only their texts and constants count.
            batcher: Encodes what is not known yet, as bulk work.
            vectors: False when only constants are needed: then nothing is encoded.

        Raises:
            SidecarError: `overloaded` and others that encoding raises. What was encoded until then is kept.
        """
        dimension = batcher.encoder.dimension if vectors else None
        keys, known = await asyncio.to_thread(self._look_up, premises, dimension)
        missing = list({key: place for place, key in enumerate(keys) if key not in known}.values())
        # Texts of like length fill a batch of the encoder without waste.
        missing.sort(key=lambda place: len(premises[place].text))
        for places in _chunks(missing, [len(premises[place].text) for place in missing]):
            chunk = {keys[place]: premises[place] for place in places}
            # In turn with other requests, chunk by chunk: what two of them miss is encoded once.
            async with self._turn:
                known.update(self._remembered(chunk, dimension))
                rest = {key: premise for key, premise in chunk.items() if key not in known}
                if not rest:
                    continue
                texts, constants, cut = await asyncio.to_thread(_prepare, list(rest.values()), batcher.encoder)
                matrix = await batcher.encode(texts, "declaration", bulk=True) if vectors else None
                made = dict(zip(rest, _entries(matrix, constants, cut), strict=True))
                known.update(made)
                self._remember(made)
                if vectors:
                    await asyncio.to_thread(self._write, made)
        return await asyncio.to_thread(_features, [known[key] for key in keys], dimension)

    def close(self) -> None:
        """Write down what was used, and close the file."""
        self._write({})
        self._file.close()

    def _look_up(
        self, premises: Sequence[LocalPremise], dimension: int | None
    ) -> tuple[list[bytes], dict[bytes, _Entry]]:
        """The key of each premise, and what is known of them in memory or in the file; see `_remembered`."""
        keys = [self._key(premise) for premise in premises]
        known = self._remembered(keys, dimension)
        absent = list({key for key in keys if key not in known})
        if absent:
            read = self._file.run(lambda connection: _read(connection, absent, dimension))
            self._remember(read)
            known.update(read)
        return keys, known

    def _remembered(self, keys: Iterable[bytes], dimension: int | None) -> dict[bytes, _Entry]:
        """What is known in memory, with vectors of that dimension, or with or without vectors where it is None."""
        known: dict[bytes, _Entry] = {}
        with self._lock:
            for key in keys:
                entry = self._memory.get(key)
                if entry is not None and (dimension is None or len(entry.vector) == 2 * dimension):
                    self._memory.move_to_end(key)
                    known[key] = entry
            self._touched.update(known)
        return known

    def _key(self, premise: LocalPremise) -> bytes:
        digest = blake2b(premise.text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._salt)
        if premise.constants is not None:
            # No text holds this byte: it is not UTF-8.
            digest.update(b"\xff" + "\0".join(premise.constants).encode("utf-8", "surrogatepass"))
        return digest.digest()

    def _remember(self, entries: Mapping[bytes, _Entry]) -> None:
        with self._lock:
            self._memory.update(entries)
            self._touched.update(entries)
            while len(self._memory) > self._memory_premises:
                self._memory.popitem(last=False)

    def _write(self, made: Mapping[bytes, _Entry]) -> None:
        """Add entries to the file, note what was used, and drop what was not used for longest beyond the limit."""
        now = int(time.time())
        due = not made or time.monotonic() - self._touches_written > TOUCH_SECONDS
        with self._lock:
            touched = [key for key in self._touched if key not in made] if due else []
            if due:
                self._touched = set()
                self._touches_written = time.monotonic()

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO premises VALUES (?, ?, ?, ?, ?, ?)",
                [(key, *entry, now) for key, entry in made.items()],
            )
            connection.executemany("UPDATE premises SET used = ? WHERE key = ?", [(now, key) for key in touched])
            self._evict(connection)

        self._file.run(work)

    def _evict(self, connection: sqlite3.Connection) -> None:
        limit = min(self._byte_limit, FALLBACK_BYTES) if self._file.in_memory else self._byte_limit
        size = self._file.bytes_used(connection)
        if size <= limit:
            return
        (count,) = connection.execute("SELECT count(*) FROM premises").fetchone()
        surplus = math.ceil(count * (1 - _KEPT_SHARE * limit / size))
        connection.execute(
            "DELETE FROM premises WHERE key IN (SELECT key FROM premises ORDER BY used, rowid LIMIT ?)", (surplus,)
        )


def _chunks(places: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Cut places into chunks of at most `CHUNK` texts and `CHUNK_CHARACTERS` characters; the lengths are the texts'."""
    chunk: list[int] = []
    characters = 0
    for place, length in zip(places, lengths, strict=True):
        if chunk and (len(chunk) == CHUNK or characters + length > CHUNK_CHARACTERS):
            yield chunk
            chunk, characters = [], 0
        chunk.append(place)
        characters += length
    if chunk:
        yield chunk


def _read(connection: sqlite3.Connection, keys: Sequence[bytes], dimension: int | None) -> dict[bytes, _Entry]:
    found: dict[bytes, _Entry] = {}
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        part = keys[start : start + _KEYS_PER_QUERY]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, vector, constants, leading, cut FROM premises WHERE key IN ({marks})"
        for key, *values in connection.execute(query, part):
            entry = _Entry(*values)
            # Another process may have written what we would not: what does not fit is made again.
            fits = dimension is None or len(entry.vector) == 2 * dimension
            if fits and len(entry.codes) % 8 == 0:
                found[key] = entry
    return found


def _prepare(
    premises: Sequence[LocalPremise], encoder: Encoder
) -> tuple[list[str], list[StatementConstants], list[bool]]:
    """Canonical texts, constants, and whether each text is too long for the encoder."""
    texts = [premise_text(premise.text) for premise in premises]
    constants = [premise_constants(premise.text, premise.constants) for premise in premises]
    documents = documents_of(encoder)
    return texts, constants, [count > documents.max_tokens for count in documents.count_tokens(texts)]


def _entries(
    matrix: FloatMatrix | None, constants: Sequence[StatementConstants], cut: Sequence[bool]
) -> Iterator[_Entry]:
    for place, statement in enumerate(constants):
        vector = matrix[place].astype(np.float16).tobytes() if matrix is not None else b""
        codes = np.array([text_hash(name) for name in statement.names], dtype=np.uint64)
        yield _Entry(vector, codes.tobytes(), statement.leading, int(cut[place]))


def _features(entries: Sequence[_Entry], dimension: int | None) -> PremiseFeatures:
    lengths = np.fromiter((len(entry.codes) // 8 for entry in entries), dtype=np.int64, count=len(entries))
    starts = np.zeros(len(entries) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    leading = np.fromiter((entry.leading for entry in entries), dtype=np.int64, count=len(entries))
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    statements = Statements(
        starts,
        np.frombuffer(b"".join([entry.codes for entry in entries]), dtype=np.uint64),
        places < np.repeat(leading, lengths),
    )
    vectors = None
    if dimension is not None:
        joined = b"".join([entry.vector for entry in entries])
        vectors = np.frombuffer(joined, dtype=np.float16).reshape(len(entries), dimension)
    return PremiseFeatures(vectors, statements, np.fromiter((entry.cut for entry in entries), dtype=np.bool_))
