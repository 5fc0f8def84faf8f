"""Check every byte of an index.

In: the folder of an index. Out: what is wrong with it, nothing when all is well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Declaration
from sidecar.encoder.base import Encoder
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.codes import uncovered_rows
from sidecar.index.exact import HalfMatrix
from sidecar.index.index import Index
from sidecar.index.manifest import MANIFEST_FILE, ROLES, Manifest, file_entry
from sidecar.index.rows import content_hash, hash_bytes
from sidecar.index.sparse import SparseRows
from sidecar.index.store import STORE_FILE
from sidecar.index.vectors import VectorSet
from sidecar.progress import Progress
from sidecar.text.declaration import declaration_text

MOST_FAULTS: Final = 20
"""Most faults that one check lists."""

SAMPLE: Final = 64
"""Declarations whose text is encoded again and compared."""

LENGTH_TOLERANCE: Final = 0.01
"""How far from 1 the length of a float16 vector may be."""

LEAST_COSINE: Final = 0.99
"""A vector that is this near to the one made now is the same: batches and number formats differ a little."""


def verify_index(folder: Path, encoder: Encoder | None = None) -> list[str]:
    """Check an index: checksums of all files, counts, the database, references, and a sample of the vectors.

    Args:
        folder: The index.
        encoder: The encoder of the index's premises, if it is at hand; else it is loaded by the name in the manifest.

    Returns:
        One line a fault.

    Raises:
        SidecarError: As `Index.open`, for an index that cannot even be opened.
    """
    manifest = Manifest.read(folder)
    faults = list(_file_faults(folder, manifest))
    if faults:
        return faults
    with Index.open(folder) as index:
        checks = (_table_faults(index), _content_faults(index), _vector_faults(index, encoder))
        return [fault for check in checks for fault in _some(check)]


def _some(faults: Iterator[str]) -> Iterator[str]:
    """The first `MOST_FAULTS` of them: what breaks one row often breaks every row."""
    yield from islice(faults, MOST_FAULTS)
    if next(faults, None) is not None:
        yield "… and more of the same kind"


def _file_faults(folder: Path, manifest: Manifest) -> Iterator[str]:
    for name, entry in manifest.files.items():
        found = file_entry(folder / name)
        if found != entry:
            yield f"{name}: its checksum is {found.sha256[:12]}… instead of {entry.sha256[:12]}…"
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST_FILE and path.name not in manifest.files:
            yield f"{path.name}: does not belong to the index"


def _table_faults(index: Index) -> Iterator[str]:
    counts = index.manifest.counts
    declarations, modules = index.store.counts()
    found = {
        "declarations": index.size,
        "premises": int(np.count_nonzero(index.premise)),
        "targets": int(np.count_nonzero(index.target)),
        "deprecated": int(np.count_nonzero(index.deprecated)),
        "modules": len(index.graph.names),
        "constants": len(index.constants),
        "words": len(index.lexical),
        "proofs": len(index.proofs),
    }
    for what, count in found.items():
        if counts.get(what) != count:
            yield f"{MANIFEST_FILE}: counts {counts.get(what)} {what}, the tables hold {count}"
    if (declarations, modules) != (index.size, len(index.graph.names)):
        yield f"{STORE_FILE}: holds {declarations} declarations of {modules} modules"
    for fault in index.store.faults():
        yield f"{STORE_FILE}: {fault}"
    if len(index.module_of) and not 0 <= int(index.module_of.min()) <= int(index.module_of.max()) < found["modules"]:
        yield "a declaration belongs to a module that is not in the import graph"
    yield from _sparse_faults("constants of rows", index.constants.of_rows, index.size, len(index.constants))
    yield from _sparse_faults("rows of constants", index.constants.rows_of, len(index.constants), index.size)
    yield from _sparse_faults("rows of words", index.lexical.rows_of, len(index.lexical), index.size)
    yield from _sparse_faults("premises of proofs", index.proofs.premises_of, index.size, index.size)
    if not index.premise[index.proofs.premises_of.values].all():
        yield "premises of proofs: a row is no premise"
    labels_of = index.labels.labels_of
    yield from _sparse_faults("labels of words", labels_of, len(labels_of), len(index.labels))


def _sparse_faults(what: str, table: SparseRows, rows: int, columns: int) -> Iterator[str]:
    offsets, values = table.offsets, table.values
    if len(table) != rows or offsets[0] != 0 or offsets[-1] != len(values) or np.any(np.diff(offsets) < 0):
        yield f"{what}: the offsets do not fit {rows} lists of {len(values)} entries"
    elif len(values) and not 0 <= int(values.min()) <= int(values.max()) < columns:
        yield f"{what}: an entry is outside 0 to {columns - 1}"


def _content_faults(index: Index) -> Iterator[str]:
    with Progress("declarations checked", index.size) as progress:
        for row, declaration in enumerate(index.all_declarations()):
            progress.advance()
            yield from _row_faults(index, row, declaration)


def _row_faults(index: Index, row: int, declaration: Declaration) -> Iterator[str]:
    if declaration.name != index.name(row):
        yield f"row {row}: {STORE_FILE} says {declaration.name!r}, the names say {index.name(row)!r}"
    elif index.row(declaration.name) != row:
        yield f"row {row}: looking up {declaration.name!r} gives row {index.row(declaration.name)}"
    elif content_hash(declaration) != index.content_hashes[row].tobytes():
        yield f"row {row}: {declaration.name!r} does not match the hash of its content"


def _vector_faults(index: Index, given: Encoder | None) -> Iterator[str]:
    for entry in index.manifest.vectors.values():
        roles = [role for role in ROLES if index.manifest.vector_entry(role) == entry]
        vectors = index.vectors(roles[0])
        lengths = np.concatenate([np.zeros(0), *_lengths(vectors.matrix)])
        wrong = np.flatnonzero(~((lengths == 0) | (np.abs(lengths - 1) < LENGTH_TOLERANCE)))
        if len(wrong):
            yield f"{entry.file}: {len(wrong)} vectors have not length 1, the first is row {wrong[0]}"
        if vectors.codes is not None and entry.codes is not None:
            strange = list(uncovered_rows(vectors.matrix, vectors.codes))
            if strange:
                what = f"{len(strange)} vectors have not their own codes, the first is row {strange[0]}"
                yield f"{entry.codes.file}: {what}"
        encoder = given if given is not None and given.fingerprint == entry.fingerprint else None
        try:
            encoder = encoder or load_encoder(entry.encoder)
            index.require_encoder(encoder, roles[0])
        except SidecarError as error:
            yield f"{entry.file}: cannot be compared with its encoder: {error}"
            continue
        yield from _sample_faults(index, vectors, encoder, entry.file)


def _sample_faults(index: Index, vectors: VectorSet, encoder: Encoder, file: str) -> Iterator[str]:
    chosen = np.random.default_rng(index.size).choice(index.size, min(SAMPLE, index.size), replace=False).tolist()
    texts = [declaration_text(declaration) for declaration in index.declarations(chosen)]
    made = encoder.encode(texts, "declaration")
    for row, text, vector in zip(chosen, texts, made, strict=True):
        if hash_bytes(text) != index.text_hashes[row].tobytes():
            yield f"row {row}: the text rules give another text for {index.name(row)!r} now"
            continue
        cosine = float(vectors.matrix[row].astype(np.float32) @ vector)
        if np.any(vector) and not cosine >= LEAST_COSINE:
            yield f"{file}: the vector of row {row} ({index.name(row)!r}) is not that of its text (cosine {cosine:.3f})"


def _lengths(matrix: HalfMatrix) -> Iterator[npt.NDArray[np.float64]]:
    block = 1 << 14
    for start in range(0, len(matrix), block):
        yield np.linalg.norm(matrix[start : start + block].astype(np.float64), axis=1)
