"""Build an index, or bring one up to date.

In: a corpus and an encoder. Out: the index folder. The work happens in `<folder>.building` and counts batch by batch:
a process that ends at any point loses the batch at hand, and the same command goes on from there. The finished folder
takes its place in one step; a server that has the old one open keeps it until it opens the new one.

Steps: one pass over the corpus for the constants that make propositions (roles want them); a second pass makes rows,
texts and vectors, the encoder at work in one thread while the next batch is prepared in another; then the tables that
need every row are written, and the manifest with the checksums of all files.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import json
import logging
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np

from sidecar import __version__
from sidecar.corpus.policy import propositional_constants
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import Corpus
from sidecar.encoder.base import Encoder
from sidecar.encoder.threads import usable_cores
from sidecar.encoder.tower import require_whole
from sidecar.errors import FULL, SidecarError, room_or
from sidecar.index.approximate import APPROXIMATE_ROWS, build_lists
from sidecar.index.codes import scan_order, write_codes
from sidecar.index.embed import KnownVectors, Plan, VectorFile
from sidecar.index.exact import HalfMatrix
from sidecar.index.files import open_matrix
from sidecar.index.index import Index
from sidecar.index.layout import FLAGS_FILE, PREMISE, building_folder, located
from sidecar.index.lock import writer_lock
from sidecar.index.manifest import (
    FORMAT,
    MANIFEST_FILE,
    ROLES,
    BuildFigures,
    Manifest,
    Role,
    VectorEntry,
    file_entry,
)
from sidecar.index.publish import check_place, publish, recover
from sidecar.index.rows import Batch, RowMaker
from sidecar.index.staging import PARTS, Staging
from sidecar.index.tables import append_batch, finished_texts, row_maker, write_tables
from sidecar.progress import Progress
from sidecar.text.fingerprint import text_fingerprint

logger = logging.getLogger(__name__)

SECONDS_PER_BATCH: Final = 5.0
"""How long a batch should take: that much work is lost when the process is killed."""

SMALLEST_BATCH: Final = 64
LARGEST_BATCH: Final = 8_192

_DISK_FAULTS: Final = (
    *(*FULL, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
)
"""What a person can mend: a disk that takes no more, a folder that is not theirs, a path that leads nowhere."""

_SQLITE_FAULTS: Final = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}
_CUT_SHORT: Final = re.compile("[0-9]+ requested and [0-9]+ written")
"""What numpy says of a file that took only a part of an array."""

_PROPOSITIONAL: Final = f"{PARTS}/propositional.json"


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What an update did.

    Attributes:
        added, changed, removed, unchanged: Declarations, compared by name and content.
        encoded: Texts that were encoded.
        reused: Rows whose vector was taken from the index before.
        manifest: The manifest of the index now.
    """

    added: int
    changed: int
    removed: int
    unchanged: int
    encoded: int
    reused: int
    manifest: Manifest

    def as_wire(self) -> dict[str, object]:
        """The report as a map, for people and programs."""
        return {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "encoded": self.encoded,
            "reused": self.reused,
            "proofs": self.manifest.counts["proofs"],
            "revision": self.manifest.revision,
        }


def build_index(
    corpus: Corpus,
    folder: Path,
    encoder: Encoder,
    *,
    search_encoder: Encoder | None = None,
    instances: bool = False,
    approximate_rows: int = APPROXIMATE_ROWS,
) -> Manifest:
    """Build an index from nothing, or go on with a build that was interrupted.

    Args:
        corpus: What to index.
        folder: Where the index shall be; an index that is there is replaced when the new one is finished.
        encoder: Encoder for premise selection, and for search unless there is another.
        search_encoder: Encoder for search.
        instances: Whether instances count as premises.
        approximate_rows: Indexes with more rows get inverted lists for approximate search.

    Raises:
        SidecarError: `conflict` when another process writes this index or the folder holds something else,
            `bad_request` when the corpus cannot be read or has no declaration or an encoder is a query tower,
            `internal` when the disk is full.
    """
    folder = located(folder)
    with _disk_errors(folder), writer_lock(folder):
        check_place(folder)
        recover(folder)
        return _Build(corpus, folder, _by_role(encoder, search_encoder), instances, approximate_rows, {}).run()


def update_index(
    folder: Path, corpus: Corpus, encoder: Encoder, *, search_encoder: Encoder | None = None
) -> UpdateReport:
    """Bring an index up to date with a corpus: only texts that it has no vector for are encoded.

    Args:
        folder: The index.
        corpus: What it shall hold; all of it, not only what is new.
        encoder: The encoder that the index was made with.
        search_encoder: The one for search, where the index has another for that.

    Raises:
        SidecarError: As `build_index` and `Index.open`; `conflict` when an encoder is not the index's.
    """
    folder = located(folder)
    with _disk_errors(folder), writer_lock(folder):
        recover(folder)
        encoders = _by_role(encoder, search_encoder)
        with Index.open(folder) as old:
            before = old.manifest
            for role in ROLES:
                old.require_encoder(encoders[role], role)
            if (before.corpus_fingerprint, before.tool) == (corpus.fingerprint(), __version__):
                return UpdateReport(0, 0, 0, old.size, 0, 0, before)
            row_of = {text_hash.tobytes(): row for row, text_hash in enumerate(old.text_hashes)}
            known = {
                entry.fingerprint: KnownVectors(open_matrix(folder / entry.file, old.size, entry.dimension), row_of)
                for entry in before.vectors.values()
            }
            _Build(corpus, folder, encoders, before.instances, before.approximate_rows, known).run()
            with Index.open(folder) as new:
                return _compare(old, new)


def _by_role(encoder: Encoder, search_encoder: Encoder | None) -> dict[Role, Encoder]:
    encoders: dict[Role, Encoder] = {"premises": encoder, "search": search_encoder or encoder}
    for each in encoders.values():
        require_whole(each)
    return encoders


def _compare(old: Index, new: Index) -> UpdateReport:
    rows = old.rows(new.names(range(new.size)))
    kept = np.flatnonzero(rows >= 0)
    unchanged = int(np.count_nonzero((new.content_hashes[kept] == old.content_hashes[rows[kept]]).all(axis=1)))
    figures = new.manifest.build
    return UpdateReport(
        added=new.size - len(kept),
        changed=len(kept) - unchanged,
        removed=old.size - len(kept),
        unchanged=unchanged,
        encoded=figures.encoded,
        reused=figures.reused,
        manifest=new.manifest,
    )


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.OperationalError) as cause:
        error = _as_disk_fault(cause)
        if error is None or error.errno not in _DISK_FAULTS:
            raise
        raise SidecarError(
            "forbidden",
            f"the index {folder} cannot be written: {error.strerror} ({error.filename or folder.parent})",
            field="output",
            hint=room_or(error, "choose another folder")
            + (", then give the same command again: it goes on where it stopped" if error.errno in FULL else ""),
        ) from cause


def _as_disk_fault(cause: OSError | sqlite3.OperationalError) -> OSError | None:
    """The system's error behind one of numpy, which has no number, or of SQLite, which has its own; None for others."""
    if isinstance(cause, sqlite3.OperationalError):
        number = _SQLITE_FAULTS.get(cause.sqlite_errorcode & 0xFF)
        return None if number is None else OSError(number, str(cause))
    if cause.errno is None and _CUT_SHORT.fullmatch(str(cause)):
        return OSError(errno.ENOSPC, f"no room for all of a file ({cause})")
    return cause


@dataclass(slots=True)
class _Pending:
    """A batch whose vectors are being made."""

    batch: Batch
    plans: dict[str, Plan]
    vectors: Future[tuple[dict[str, HalfMatrix], float]]


class _Build:
    """One run of a build.

    Args:
        corpus, instances, approximate_rows: As in `build_index`.
        folder: Where the index shall be.
        encoders: Encoder of each role.
        known: Fingerprint of an encoder → vectors that need no encoding.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: Path,
        encoders: Mapping[Role, Encoder],
        instances: bool,
        approximate_rows: int,
        known: Mapping[str, KnownVectors],
    ) -> None:
        self._corpus = corpus
        self._corpus_fingerprint = corpus.fingerprint()
        self._folder = folder
        self._building = building_folder(folder)
        self._instances = instances
        self._approximate_rows = approximate_rows
        self._files: dict[str, VectorFile] = {}
        self._roles: dict[str, str] = {}
        for role, encoder in encoders.items():
            file = VectorFile(encoder, known.get(encoder.fingerprint))
            self._roles[role] = file.name
            self._files.setdefault(file.name, file)
        self._began = time.monotonic()
        self._key = _hash(
            *(FORMAT, __version__, corpus.source_fingerprint(), text_fingerprint()),
            *(instances, approximate_rows, self._roles),
        )

    def run(self) -> Manifest:
        """Go on from wherever the last run with the same key ended."""
        manifest = self._waiting()
        if manifest is None:
            staging = Staging(self._building, self._key)
            try:
                if staging.resumed:
                    logger.info("going on after %d declarations of an interrupted build", staging.state.position)
                manifest = self._fill(staging)
            finally:
                staging.close()
            manifest = self._seal(manifest)
        shutil.rmtree(self._building / PARTS, ignore_errors=True)
        publish(self._building, self._folder)
        logger.info("index %s is ready, revision %s", self._folder, manifest.revision)
        return manifest

    def _waiting(self) -> Manifest | None:
        """The manifest of a build that only lacks its place."""
        try:
            manifest = Manifest.read(self._building)
        except SidecarError:
            return None
        same = (manifest.key, manifest.corpus_fingerprint) == (self._key, self._corpus_fingerprint)
        return manifest if same else None

    def _fill(self, staging: Staging) -> Manifest:
        described = list({module.name: module for module in self._corpus.modules()}.values())
        propositional, total = self._propositional(staging)
        if not total:
            raise SidecarError(
                "bad_request",
                "the corpus has no declaration",
                field="corpus",
                hint="check the folder and its format with `lean-sidecar corpus check CORPUS`",
            )
        # Proofs are written last; a fault in them must be met before hours of encoding, not behind them.
        with Progress("proofs read", None) as progress:
            for _ in self._corpus.proofs():
                progress.advance()
        maker = row_maker(staging, [module.name for module in described], propositional, instances=self._instances)
        texts = finished_texts(staging)
        for file in self._files.values():
            file.remember(texts)
        before = staging.state.position
        with Progress("declarations", total, start=before) as progress:
            self._make_rows(staging, maker, progress)
        logger.info("writing tables")
        counts, digest = write_tables(staging, maker, described, self._corpus.proofs())
        vectors = {name: self._vector_entry(file, staging.state.rows) for name, file in self._files.items()}
        tallies = staging.state.counts
        counts["hidden"] = tallies.get("hidden", 0)
        staging.finish()
        seconds = time.monotonic() - self._began
        return Manifest(
            revision=_hash(FORMAT, digest, self._instances, self._roles)[:12],
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            tool=__version__,
            counts=counts,
            corpus_format=self._corpus.format,
            corpus_fingerprint=self._corpus_fingerprint,
            corpus_revisions=self._corpus.revisions(),
            text_fingerprint=text_fingerprint(),
            vectors=vectors,
            roles=self._roles,
            instances=self._instances,
            approximate_rows=self._approximate_rows,
            key=self._key,
            build=BuildFigures(
                seconds=round(seconds, 2),
                declarations_per_second=round((total - before) / seconds, 1),
                encoded=tallies.get("encoded", 0),
                reused=tallies.get("reused", 0),
            ),
        )

    def _propositional(self, staging: Staging) -> tuple[frozenset[str], int]:
        """Constants that make propositions, and the number of declarations; read once, then remembered."""
        if _PROPOSITIONAL in staging.state.sizes:
            total, names = json.loads(staging.read(_PROPOSITIONAL, np.uint8).tobytes())
            return frozenset(names), total
        with Progress("declarations read", None) as progress:
            found = propositional_constants(_counted(self._corpus.declarations(), progress))
        staging.append(_PROPOSITIONAL, json.dumps([progress.done, sorted(found)]).encode())
        staging.commit()
        return found, progress.done

    def _make_rows(self, staging: Staging, maker: RowMaker, progress: Progress) -> None:
        position, row = staging.state.position, staging.state.rows
        declarations = islice(self._corpus.declarations(), position, None)
        size = SMALLEST_BATCH
        stop = Event()
        pending: _Pending | None = None
        with ThreadPoolExecutor(1, thread_name_prefix="encode") as encoding:
            try:
                while chosen := list(islice(declarations, size)):
                    batch = maker.batch(chosen, position)
                    plans = {name: file.plan(batch.text_hashes, row) for name, file in self._files.items()}
                    following = _Pending(batch, plans, encoding.submit(self._encode, batch.texts, plans, stop))
                    position, row = batch.position, row + len(batch)
                    if pending is not None:
                        size = _next_size(size, self._write(staging, pending, progress))
                    pending = following
                if pending is not None:
                    self._write(staging, pending, progress)
            finally:
                stop.set()

    def _encode(self, texts: list[str], plans: Mapping[str, Plan], stop: Event) -> tuple[dict[str, HalfMatrix], float]:
        began = time.monotonic()
        vectors = {name: file.encode(texts, plans[name], stop) for name, file in self._files.items()}
        return vectors, time.monotonic() - began

    def _write(self, staging: Staging, pending: _Pending, progress: Progress) -> float:
        """Write and commit a batch.

        Returns:
            Seconds that its encoding took.
        """
        vectors, seconds = pending.vectors.result()
        for name, file in self._files.items():
            file.append(staging, vectors[name], pending.plans[name])
        batch, state = pending.batch, staging.state
        append_batch(staging, batch)
        advanced = batch.position - state.position
        state.position = batch.position
        for tally, count in (
            ("hidden", batch.hidden),
            ("encoded", sum(len(plan.encoded) for plan in pending.plans.values())),
            ("reused", sum(len(plan.known) for plan in pending.plans.values())),
        ):
            state.counts[tally] = state.counts.get(tally, 0) + count
        staging.commit()
        progress.advance(advanced)
        return seconds

    def _vector_entry(self, file: VectorFile, rows: int) -> VectorEntry:
        encoder = file.encoder
        matrix = open_matrix(self._building / file.file, rows, encoder.dimension)
        approximate = codes = None
        if rows > self._approximate_rows:
            logger.info("making inverted lists of %d vectors", rows)
            approximate = f"{file.name}.ivf"
            build_lists(matrix, self._building / approximate, usable_cores())
        else:
            logger.info("making 8-bit codes of %d vectors", rows)
            premise = (np.load(self._building / FLAGS_FILE) & PREMISE) != 0
            codes = write_codes(matrix, scan_order(premise), self._building, file.name)
        return VectorEntry(file.file, encoder.name, encoder.fingerprint, encoder.dimension, approximate, codes)

    def _seal(self, manifest: Manifest) -> Manifest:
        """Write the manifest, which says that all other files are whole."""
        files = {path.name: file_entry(path) for path in sorted(self._building.iterdir()) if path.is_file()}
        files.pop(MANIFEST_FILE, None)
        sealed = replace(manifest, files=files)
        sealed.write(self._building)
        return sealed


def _next_size(size: int, seconds: float) -> int:
    """Size of the next batch, so that it takes about `SECONDS_PER_BATCH`; at most twice or half the last one."""
    fitting = int(size * SECONDS_PER_BATCH / max(seconds, 1e-3))
    return max(SMALLEST_BATCH, size // 2, min(fitting, 2 * size, LARGEST_BATCH))


def _counted(declarations: Iterator[Declaration], progress: Progress) -> Iterator[Declaration]:
    for declaration in declarations:
        progress.advance()
        yield declaration


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
