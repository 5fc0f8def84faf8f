"""An index, opened.

In: the folder of an index. Out: declarations by row and by name, masks of what is visible, the searches by vectors, by
words and by constants, and what proofs use. Opening checks that the folder is whole, as far as that costs little
(`soundness.py`), and maps its files; hardly anything is read before it is needed.

An open index does not notice when a new one takes its folder: it holds its files open, and they stay until it is
closed. A server therefore opens the new one, lets new requests use it, and closes the old one; `close` returns at once
and takes effect when the last request inside `in_use` has ended.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from sidecar.corpus.imports import ImportGraph
from sidecar.corpus.records import Declaration
from sidecar.encoder.base import Encoder
from sidecar.encoder.threads import usable_cores
from sidecar.encoder.tower import documents_of
from sidecar.errors import SidecarError
from sidecar.index.constants import ConstantTable
from sidecar.index.exact import BoolArray, RowArray
from sidecar.index.files import map_array
from sidecar.index.formulas import FormulaTable
from sidecar.index.labels import LabelTable
from sidecar.index.layout import (
    CONTENT_HASHES_FILE,
    DEPRECATED,
    FLAGS_FILE,
    GRAPH_FILE,
    KINDS_FILE,
    MODULES_OF_ROWS_FILE,
    NAMES,
    PREMISE,
    TARGET,
    TEXT_HASHES_FILE,
)
from sidecar.index.lexical import LexicalTable
from sidecar.index.manifest import ROLES, Manifest, Role, damaged, rebuild_hint
from sidecar.index.proofs import ProofTable
from sidecar.index.soundness import check_tables
from sidecar.index.sparse import IntArray
from sidecar.index.store import STORE_FILE, DeclarationStore, StoredRow, restored
from sidecar.index.strings import StringTable
from sidecar.index.vectors import VectorSet
from sidecar.text.fingerprint import text_fingerprint

_ATTEMPTS: Final = 5
"""How often opening starts again because another index took the folder meanwhile."""


class Index:
    """Everything that an index knows. Safe to use from several threads. Make one with `Index.open`.

    Attributes:
        folder: Where it was opened.
        manifest: See `Manifest`.
        graph: Which module imports which.
        module_of: int32, shape (rows,): number of each row's module in `graph`.
        kinds: uint8, shape (rows,): place of each row's kind in `sidecar.corpus.records.KINDS`.
        premise, target, deprecated: bool, shape (rows,): premise selection may offer the row; search may find it; it is
            marked deprecated.
        content_hashes: uint8, shape (rows, 16): hash of all that the corpus says about each declaration.
        text_hashes: uint8, shape (rows, 16): hash of each canonical text.
        constants: See `ConstantTable`.
        lexical: See `LexicalTable`.
        labels: See `LabelTable`.
        formulas: See `FormulaTable`.
        proofs: See `ProofTable`.
        store: See `DeclarationStore`.
    """

    def __init__(self, folder: Path, manifest: Manifest, device: str, threads: int) -> None:
        self.folder = folder
        self.manifest = manifest
        self._uses = 0
        self._closing = False
        self._lock = threading.Lock()
        self._names = StringTable(folder, NAMES)
        self.module_of: IntArray = map_array(folder / MODULES_OF_ROWS_FILE)
        self.kinds: npt.NDArray[np.uint8] = map_array(folder / KINDS_FILE)
        flags = np.array(map_array(folder / FLAGS_FILE))
        self.premise: BoolArray = (flags & PREMISE) != 0
        self.target: BoolArray = (flags & TARGET) != 0
        self.deprecated: BoolArray = (flags & DEPRECATED) != 0
        self.content_hashes: npt.NDArray[np.uint8] = map_array(folder / CONTENT_HASHES_FILE)
        self.text_hashes: npt.NDArray[np.uint8] = map_array(folder / TEXT_HASHES_FILE)
        self.graph = ImportGraph.load(folder / GRAPH_FILE)
        self.constants = ConstantTable(folder)
        self.lexical = LexicalTable(folder, self.size)
        self.labels = LabelTable(folder, self.size)
        self.formulas = FormulaTable(folder)
        self.proofs = ProofTable(folder)
        self.store = DeclarationStore(folder / STORE_FILE)
        sets = {
            name: VectorSet(folder, entry, self.premise, device, threads) for name, entry in manifest.vectors.items()
        }
        self._vectors: dict[str, VectorSet] = {role: sets[manifest.roles[role]] for role in ROLES}

    @classmethod
    def open(cls, folder: Path, *, device: str = "cpu", threads: int = 0) -> Index:
        """Open an index.

        Args:
            folder: Its folder.
            device: Where vectors are searched: `cpu`, or a torch device such as `cuda`.
            threads: Threads that share a search on a CPU; 0 for every usable core, at most 4.

        Raises:
            SidecarError: `not_found` when there is no index; `conflict` when it is damaged, foreign or of another
                version. The message says what is wrong and which command mends it.
        """
        for _ in range(_ATTEMPTS):
            manifest = Manifest.read(folder)
            fault = "its files do not fit together"
            try:
                check_tables(folder, manifest)
                index = cls(folder, manifest, device, threads or min(usable_cores(), 4))
            except (OSError, ValueError, sqlite3.DatabaseError, SidecarError) as error:
                # Either a file is broken, or the folder was replaced while we were opening it.
                fault = str(error) or type(error).__name__
            else:
                if _is_current(folder, manifest):
                    return index
                index.close()
                continue
            if _is_current(folder, manifest):
                break
        raise damaged(folder, fault)

    @property
    def revision(self) -> str:
        """Short hash that changes with any content."""
        return self.manifest.revision

    @property
    def size(self) -> int:
        """Number of rows: declarations that are not hidden, in corpus order."""
        return len(self._names)

    def name(self, row: int) -> str:
        """The name of a row."""
        return self._names[row]

    def names(self, rows: Iterable[int]) -> list[str]:
        """The names of several rows."""
        return self._names.take(rows)

    def row(self, name: str) -> int | None:
        """The row of a name, or None."""
        return self._names.find(name)

    def rows(self, names: Sequence[str]) -> RowArray:
        """The rows of several names, −1 for names that the index does not have."""
        return self._names.find_all(names)

    def declaration(self, row: int) -> Declaration:
        """The declaration of a row."""
        return self.declarations([row])[0]

    def declarations(self, rows: Sequence[int]) -> list[Declaration]:
        """The declarations of several rows, in the order asked for.

        Raises:
            IndexError: For a row that there is not.
        """
        stored = self.store.fetch(rows)
        missing = next((row for row in rows if int(row) not in stored), None)
        if missing is not None:
            raise IndexError(f"no row {missing} in an index of {self.size}")
        return self._restored([stored[int(row)] for row in rows])

    def all_declarations(self) -> Iterator[Declaration]:
        """Every declaration, in order of rows."""
        for stored in self.store.scan():
            yield from self._restored(stored)

    def module(self, row: int) -> str:
        """The module of a row."""
        return self.graph.names[int(self.module_of[row])]

    def replacement(self, row: int) -> str | None:
        """What replaces a deprecated declaration, if that is known; the name need not be in the index."""
        return self.store.replacement(row)

    def visible(self, imports: Iterable[str]) -> tuple[BoolArray, list[str]]:
        """Which rows can be seen from modules that are imported directly.

        Returns:
            bool, shape (rows,), and the imports that the index does not know.
        """
        modules, unknown = self.graph.visible(imports)
        return modules[self.module_of], unknown

    def vectors(self, role: Role) -> VectorSet:
        """The vectors that serve a role."""
        return self._vectors[role]

    def search_on(self, device: str) -> None:
        """Search vectors on a torch device (`cuda`, `cuda:1`) from now on; call it before others use the index.

        Raises:
            RuntimeError: What torch says when the device has no room; what was not moved is searched where it was.
        """
        for vectors in set(self._vectors.values()):
            vectors.search_on(device)

    def require_encoder(self, encoder: Encoder, role: Role = "premises") -> None:
        """Refuse an encoder whose vectors cannot be compared with the index's; a tower's documents must be the index's.

        Raises:
            SidecarError: `conflict`, saying what differs and which command mends it.
        """
        entry = self.manifest.vector_entry(role)
        documents = documents_of(encoder)
        if documents.fingerprint == entry.fingerprint:
            return
        if documents is not encoder:
            raise SidecarError(
                "conflict",
                f"index {self.folder} was made with encoder {entry.encoder!r} ({entry.fingerprint}); the query tower"
                f" {encoder.name} was trained for documents of {documents.name!r} ({documents.fingerprint})",
                field="encoder",
                hint=f"use --encoder {entry.encoder}, or train a tower for this index:"
                f" python -m training tower --index {self.folder}",
            )
        if entry.dimension != encoder.dimension:
            difference = f"vectors of {encoder.dimension} numbers instead of {entry.dimension}"
        elif self.manifest.text_fingerprint != text_fingerprint():
            difference = "other text rules, those of another version of lean-sidecar"
        elif encoder.name == entry.encoder:
            difference = "other weights, another tokenizer or another pooling under the same name"
        else:
            difference = "another model with vectors of the same length"
        mending = rebuild_hint(self.folder, None if encoder.name == entry.encoder else encoder.name)
        raise SidecarError(
            "conflict",
            f"index {self.folder} was made with encoder {entry.encoder!r} ({entry.fingerprint}) and cannot be"
            f" searched with {encoder.name!r} ({encoder.fingerprint}): {difference}",
            field="encoder",
            hint=mending if encoder.name == entry.encoder else f"use --encoder {entry.encoder}, or {mending}",
        )

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Self]:
        """Keep the index open while a request uses it, even when it is closed meanwhile.

        Raises:
            SidecarError: `conflict` when it is closed already: take the index that replaced it.
        """
        with self._lock:
            if self._closing:
                raise SidecarError("conflict", f"revision {self.revision} of the index is closed", field="index")
            self._uses += 1
        try:
            yield self
        finally:
            with self._lock:
                self._uses -= 1
                last = self._closing and not self._uses
            if last:
                self.store.close()

    def close(self) -> None:
        """Close the index once the last request inside `in_use` has ended; may be called again."""
        with self._lock:
            first, self._closing = not self._closing, True
            idle = not self._uses
        if first and idle:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _restored(self, stored: Sequence[StoredRow]) -> list[Declaration]:
        rows = [values[0] for values in stored]
        numbers = [self.constants.of_rows[row] for row in rows]
        constants = iter(self.constants.names(np.concatenate(numbers) if numbers else ()))
        return [
            restored(values, self.graph.names[module], tuple(islice(constants, len(own))), conclusion)
            for values, module, own, conclusion in zip(
                stored,
                self.module_of[rows].tolist(),
                numbers,
                self.constants.conclusion_counts[rows].tolist(),
                strict=True,
            )
        ]


def _is_current(folder: Path, manifest: Manifest) -> bool:
    try:
        return Manifest.read(folder) == manifest
    except SidecarError:
        return False
