"""What a build collects about its rows, and the tables that it becomes when every row is there.

In: batches of rows; at the end, the modules and what proofs use. Out: files of the index, and a hash of all they hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from sidecar.corpus.imports import ImportGraph
from sidecar.corpus.records import Module, Proof
from sidecar.index.constants import write_constants
from sidecar.index.files import save_array
from sidecar.index.formulas import write_formulas
from sidecar.index.labels import write_labels
from sidecar.index.layout import (
    CONTENT_HASHES_FILE,
    DEPRECATED,
    FLAGS_FILE,
    GRAPH_FILE,
    HASH_BYTES,
    KINDS_FILE,
    MODULES_OF_ROWS_FILE,
    NAMES,
    PREMISE,
    TARGET,
    TEXT_HASHES_FILE,
)
from sidecar.index.lexical import write_lexical
from sidecar.index.proofs import write_proofs
from sidecar.index.rows import Batch, RowMaker
from sidecar.index.sparse import SparseRows, offsets_of
from sidecar.index.staging import PARTS, Staging
from sidecar.index.store import insert_declarations, insert_modules
from sidecar.index.strings import StringTable, write_strings

_MODULES: Final = f"{PARTS}/modules.jsonl"
_CONSTANTS: Final = f"{PARTS}/constants.jsonl"
_WORDS: Final = f"{PARTS}/words.jsonl"
_ROW_MODULES: Final = f"{PARTS}/row-modules"
_KINDS: Final = f"{PARTS}/kinds"
_FLAGS: Final = f"{PARTS}/flags"
_CONTENT_HASHES: Final = f"{PARTS}/content-hashes"
_TEXT_HASHES: Final = f"{PARTS}/text-hashes"
_ROW_CONSTANTS: Final = f"{PARTS}/row-constants"
_CONSTANT_LENGTHS: Final = f"{PARTS}/constant-lengths"
_CONCLUSION_COUNTS: Final = f"{PARTS}/conclusion-counts"
_ROW_WORDS: Final = f"{PARTS}/row-words"
_WORD_COUNTS: Final = f"{PARTS}/word-counts"
_WORD_LENGTHS: Final = f"{PARTS}/word-lengths"
_TEXT_LENGTHS: Final = f"{PARTS}/text-lengths"
_FORMULAS: Final = f"{PARTS}/formulas"
_FORMULA_LENGTHS: Final = f"{PARTS}/formula-lengths"


def append_batch(staging: Staging, batch: Batch) -> None:
    """Add a batch to the files of the build; it counts once the staging is committed."""
    first = staging.state.rows
    insert_declarations(
        staging.connection,
        (
            (first + place, module, record, replacement)
            for place, (record, module, replacement) in enumerate(batch.records)
        ),
    )
    for name, strings in (
        (_MODULES, batch.fresh_modules),
        (_CONSTANTS, batch.fresh_constants),
        (_WORDS, batch.fresh_words),
    ):
        staging.append(name, "".join(f"{json.dumps(string)}\n" for string in strings).encode())
    for name, hashes in ((_CONTENT_HASHES, batch.content_hashes), (_TEXT_HASHES, batch.text_hashes)):
        staging.append(name, b"".join(hashes))
    for name, small in ((_KINDS, batch.kinds), (_FLAGS, batch.flags), (_WORD_COUNTS, batch.word_counts)):
        staging.append(name, np.array(small, dtype=np.uint8))
    for name, numbers in (
        (_ROW_MODULES, [module for _, module, _ in batch.records]),
        (_ROW_CONSTANTS, batch.constants),
        (_CONSTANT_LENGTHS, batch.constant_lengths),
        (_CONCLUSION_COUNTS, batch.conclusion_counts),
        (_ROW_WORDS, batch.words),
        (_WORD_LENGTHS, batch.word_lengths),
        (_TEXT_LENGTHS, batch.text_lengths),
        (_FORMULA_LENGTHS, batch.formula_lengths),
    ):
        staging.append(name, np.array(numbers, dtype=np.int32))
    staging.append(_FORMULAS, np.array(batch.formulas, dtype=np.uint64))
    staging.state.rows = first + len(batch)


def row_maker(staging: Staging, modules: Iterable[str], propositional: Container[str], *, instances: bool) -> RowMaker:
    """A maker of rows that goes on after the rows of the staging.

    Args:
        staging: What is done.
        modules: Modules that the corpus describes.
        propositional, instances: See `RowMaker`.
    """
    return RowMaker(
        propositional,
        instances=instances,
        modules=[*modules, *_strings(staging, _MODULES)],
        constants=_strings(staging, _CONSTANTS),
        words=_strings(staging, _WORDS),
    )


def finished_texts(staging: Staging) -> list[bytes]:
    """Hashes of the texts of the rows that are done."""
    whole = staging.read(_TEXT_HASHES, np.uint8).tobytes()
    return [whole[start : start + HASH_BYTES] for start in range(0, len(whole), HASH_BYTES)]


def write_tables(
    staging: Staging, maker: RowMaker, described: Sequence[Module], proofs: Iterable[Proof]
) -> tuple[dict[str, int], str]:
    """Write the tables that need every row.

    Args:
        staging: All rows.
        maker: What made them.
        described: Modules that the corpus describes, without repeats.
        proofs: What proofs use.

    Returns:
        The counts of the manifest, and a hash of the contents.
    """
    folder, rows = staging.folder, staging.state.rows
    # A module that no source described may still hold declarations; it imports nothing that we know of.
    modules = [*described, *(Module(name) for name in list(maker.modules)[len(described) :])]
    insert_modules(staging.connection, modules)
    ImportGraph(modules).save(folder / GRAPH_FILE)
    save_array(folder / MODULES_OF_ROWS_FILE, staging.read(_ROW_MODULES, np.int32))
    save_array(folder / KINDS_FILE, staging.read(_KINDS, np.uint8))
    flags = staging.read(_FLAGS, np.uint8)
    save_array(folder / FLAGS_FILE, flags)
    contents = staging.read(_CONTENT_HASHES, np.uint8)
    save_array(folder / CONTENT_HASHES_FILE, contents.reshape(rows, HASH_BYTES))
    save_array(folder / TEXT_HASHES_FILE, staging.read(_TEXT_HASHES, np.uint8).reshape(rows, HASH_BYTES))
    write_strings(folder, NAMES, _names(staging))
    write_labels(folder, _documented_names(staging))
    write_formulas(folder, staging.read(_FORMULAS, np.uint64), staging.read(_FORMULA_LENGTHS, np.int32))
    premise = (flags & PREMISE) != 0
    write_constants(
        folder,
        list(maker.constants),
        SparseRows(offsets_of(staging.read(_CONSTANT_LENGTHS, np.int32)), staging.read(_ROW_CONSTANTS, np.int32)),
        staging.read(_CONCLUSION_COUNTS, np.int32),
        premise,
    )
    write_lexical(
        folder,
        list(maker.words),
        SparseRows(offsets_of(staging.read(_WORD_LENGTHS, np.int32)), staging.read(_ROW_WORDS, np.int32)),
        staging.read(_WORD_COUNTS, np.uint8),
        staging.read(_TEXT_LENGTHS, np.int32),
    )
    used = write_proofs(folder, proofs, StringTable(folder, NAMES), premise)
    counts = {
        "declarations": rows,
        "premises": int(np.count_nonzero(premise)),
        "targets": int(np.count_nonzero(flags & TARGET)),
        "deprecated": int(np.count_nonzero(flags & DEPRECATED)),
        "modules": len(modules),
        "constants": len(maker.constants),
        "words": len(maker.words),
        "proofs": int(np.count_nonzero(np.diff(used.offsets))),
    }
    digest = hashlib.sha256(contents.tobytes() + flags.tobytes() + used.offsets.tobytes() + used.values.tobytes())
    for module in modules:
        digest.update(json.dumps([module.name, module.imports, module.docstring, module.source]).encode())
    return counts, digest.hexdigest()


def _names(staging: Staging) -> Iterator[str]:
    for (name,) in staging.connection.execute("SELECT name FROM declarations ORDER BY row"):
        yield name


def _documented_names(staging: Staging) -> Iterator[tuple[str, str]]:
    yield from staging.connection.execute("SELECT name, coalesce(docstring, '') FROM declarations ORDER BY row")


def _strings(staging: Staging, name: str) -> list[str]:
    return [json.loads(line) for line in staging.read(name, np.uint8).tobytes().splitlines()]
