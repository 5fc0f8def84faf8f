"""One way into every kind of corpus.

In: a path, its format if it should not be guessed, and lists of proofs if the source has none. Out: a `Corpus`, which
streams modules, declarations and proofs and says what it was made of.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from sidecar.corpus.auxiliary import has_control, shown_name
from sidecar.corpus.declarations import DeclarationsReader
from sidecar.corpus.docgen import DocgenReader
from sidecar.corpus.extraction import ExtractionReader
from sidecar.corpus.proofs import ProofLists
from sidecar.corpus.records import Declaration, Module, Proof
from sidecar.errors import SidecarError

logger = logging.getLogger(__name__)

FORMATS: Final = ("extraction", "declarations", "docgen")
"""Formats by name: our extractor's, the published-declarations JSON lines, doc-gen4's HTML pages."""

EXAMPLE_FOLDER: Final = Path(__file__).with_name("example")
"""The library that comes with the package, in the extraction format."""

_CHUNK_BYTES: Final = 1 << 20


class Reader(Protocol):
    """What every format's reader offers; each call reads the source again from the start."""

    @property
    def files(self) -> list[Path]:
        """Every file that is read, in order."""

    def modules(self) -> Iterator[Module]:
        """The modules."""

    def declarations(self) -> Iterator[Declaration]:
        """The declarations, as the source has them."""

    def proofs(self) -> Iterator[Proof]:
        """What the proofs use, as far as the source says; a theorem may come again."""

    def revisions(self) -> dict[str, str]:
        """Revision of each package."""


class Corpus:
    """A library's modules and declarations, from whichever source.

    Every iteration reads the source again, one file at a time: what is kept in memory is one file's worth and the names
    that have gone by.

    Args:
        path: The folder or file of the source.
        format: One of `FORMATS`.
        reader: The reader of that format.
        proofs: What proofs use, beside what the source says of it.
    """

    def __init__(self, path: Path, format: str, reader: Reader, proofs: ProofLists | None = None) -> None:
        self.path = path
        self.format = format
        self._reader = reader
        self._proofs = proofs

    def modules(self) -> Iterator[Module]:
        """The modules, in the order in which `declarations` visits them."""
        return self._reader.modules()

    def declarations(self) -> Iterator[Declaration]:
        """The declarations, each name once, those of a module together and in source order.

        Two modules that are never imported together may declare the same name; the first is kept and the others are
        named in the log. So is a name that holds a control character, which hides its declaration (`auxiliary.py`).
        """
        seen: set[str] = set()
        for declaration in self._reader.declarations():
            if declaration.name in seen:
                logger.warning(
                    "%s of %s has a namesake in an earlier module",
                    shown_name(declaration.name),
                    shown_name(declaration.module),
                )
                continue
            seen.add(declaration.name)
            if has_control(declaration.name):
                logger.warning(
                    "%s of %s is hidden: its name holds a control character",
                    shown_name(declaration.name),
                    shown_name(declaration.module),
                )
            yield declaration

    def proofs(self) -> Iterator[Proof]:
        """What the proofs use; of a theorem that comes again everything counts."""
        yield from self._reader.proofs()
        if self._proofs is not None:
            yield from self._proofs.proofs()

    def revisions(self) -> dict[str, str]:
        """Revision of each package, by its name or its `owner/repository`, as far as the source states them.

        Extractions also state the Lean version, under `toolchain`.
        """
        return self._reader.revisions()

    def fingerprint(self) -> str:
        """Hash of the names and contents of every input file: 64 hexadecimal digits."""
        total = hashlib.sha256(self.source_fingerprint().encode())
        for file in self._proofs.files if self._proofs is not None else ():
            total.update(f"\nproofs {_digest(file)}".encode())
        return total.hexdigest()

    def source_fingerprint(self) -> str:
        """The same of the source alone, without lists of proofs: what declarations are made of."""
        root = self.path if self.path.is_dir() else self.path.parent
        total = hashlib.sha256(self.format.encode())
        for file in self._reader.files:
            total.update(f"\n{file.relative_to(root).as_posix()} {_digest(file)}".encode())
        return total.hexdigest()


def open_corpus(path: Path, format: str = "auto", proofs: Path | None = None) -> Corpus:
    """Open a corpus.

    Args:
        path: A folder, or for an extraction also one of its files.
        format: One of `FORMATS`, or `auto` to see which one fits.
        proofs: Lists of proofs (`ProofLists`), where the source has none or lacks some.

    Raises:
        SidecarError: `not_found` when the path does not exist or fits no format, `bad_request` when the format is
            unknown or a file is damaged.
    """
    if format not in ("auto", *FORMATS):
        raise SidecarError(
            "bad_request",
            f"{format!r} is not a corpus format",
            field="format",
            hint=f"use auto, {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
        )
    if not path.exists():
        raise SidecarError("not_found", f"{path} does not exist", field=str(path), hint="check the path of the corpus")
    chosen = _guess(path) if format == "auto" else format
    beside = ProofLists(proofs) if proofs is not None else None
    if chosen == "extraction":
        return Corpus(path, chosen, ExtractionReader(path), beside)
    if chosen == "declarations":
        return Corpus(path, chosen, DeclarationsReader(path), beside)
    return Corpus(path, chosen, DocgenReader(path), beside)


def example_corpus() -> Corpus:
    """The example library that comes with the package."""
    return open_corpus(EXAMPLE_FOLDER, "extraction")


def _digest(file: Path) -> str:
    content = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            content.update(chunk)
    return content.hexdigest()


def _guess(path: Path) -> str:
    if DeclarationsReader.accepts(path):
        return "declarations"
    if ExtractionReader.accepts(path):
        return "extraction"
    if DocgenReader.accepts(path):
        return "docgen"
    raise SidecarError(
        "not_found",
        f"{path} is no corpus: it has neither extraction files, nor declarations-*.jsonl.gz, nor doc-gen4 pages",
        field=str(path),
        hint="give the folder that `lake exe extract` wrote, or .lake/build/doc",
    )
