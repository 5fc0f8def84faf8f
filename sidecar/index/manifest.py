"""The manifest: what an index holds, what it was made from, and how to tell that it is whole.

In: `manifest.json` of an index folder. Out: `Manifest`, or an error that says what is wrong with the folder and which
command mends it. Reading it checks its own checksum and the size of every file; `soundness.py` looks into the files,
and `verify_index` reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from sidecar.errors import SidecarError
from sidecar.index.layout import building_folder, replaced_folder

FORMAT: Final = 6
"""Version of the folder's layout; an index of another version is refused."""

MANIFEST_FILE: Final = "manifest.json"
KIND: Final = "lean-sidecar index"

_LOOKS: Final = 5
_PAUSE_SECONDS: Final = 0.02

Role = Literal["premises", "search"]
"""What a vector set is used for."""

ROLES: Final[tuple[Role, ...]] = ("premises", "search")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the index.

    Attributes:
        bytes: Its size.
        sha256: Its checksum, hexadecimal.
    """

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CodesEntry:
    """8-bit codes of a set of vectors, for a faster exact search (`sidecar.index.codes`).

    Attributes:
        file: Name of the file with a code for each coordinate.
        directions_file: Name of the file with the directions along which coordinates are taken.
        scales_file: Name of the file with a scale for each coordinate.
        centre: What is taken from the length of what the directions leave out.
        error: No description of a vector lies farther than this from its codes times the scales (Euclidean).
        length: No vector is longer than this.
        codes_length: No row of codes is longer than this.
    """

    file: str
    directions_file: str
    scales_file: str
    centre: float
    error: float
    length: float
    codes_length: float


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """One set of vectors, a row for every declaration.

    Attributes:
        file: Name of the file with the float16 matrix.
        encoder: Name that loads the encoder again.
        fingerprint: The encoder's fingerprint.
        dimension: Length of a vector.
        approximate: Name of the file with the inverted lists, or None where search is exact.
        codes: The vectors' 8-bit codes, or None where search does without.
    """

    file: str
    encoder: str
    fingerprint: str
    dimension: int
    approximate: str | None = None
    codes: CodesEntry | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all its files."""
        beside = (self.codes.file, self.codes.directions_file, self.codes.scales_file) if self.codes else ()
        return (self.file, *((self.approximate,) if self.approximate else ()), *beside)


@dataclass(frozen=True, slots=True)
class BuildFigures:
    """How the last build went.

    Attributes:
        seconds: Wall time of the run that finished it (an interrupted run before it does not count).
        declarations_per_second: Declarations of that run by its seconds.
        encoded: Texts that were encoded.
        reused: Vectors taken from the index before (an update).
    """

    seconds: float
    declarations_per_second: float
    encoded: int
    reused: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of `manifest.json`.

    Attributes:
        revision: Short hash that changes with any content.
        created: Time of the build, ISO 8601, UTC.
        tool: Version of the program that wrote it.
        counts: Numbers of `declarations`, `premises`, `targets`, `deprecated`, `modules`, `constants`, `words`; of
            theorems whose `proofs` use some premise; and of what the corpus holds but the index does not, `hidden`.
        corpus_format: Format that the corpus was read from.
        corpus_fingerprint: Hash of the corpus' files.
        corpus_revisions: Package → revision, as far as the corpus knows.
        text_fingerprint: Hash of the text rules.
        vectors: Name → vector set.
        roles: Role → name of its vector set.
        instances: Whether instances count as premises.
        approximate_rows: Indexes with more rows than this get inverted lists.
        key: Hash of everything that the build depended on.
        build: See `BuildFigures`.
        files: File name → size and checksum; every file of the folder but the manifest.
    """

    revision: str
    created: str
    tool: str
    counts: dict[str, int]
    corpus_format: str
    corpus_fingerprint: str
    corpus_revisions: dict[str, str]
    text_fingerprint: str
    vectors: dict[str, VectorEntry]
    roles: dict[str, str]
    instances: bool
    approximate_rows: int
    key: str
    build: BuildFigures
    files: dict[str, FileEntry] = field(default_factory=dict)

    @property
    def encoder_name(self) -> str:
        """Name of the encoder that premise selection uses."""
        return self.vector_entry("premises").encoder

    def vector_entry(self, role: Role) -> VectorEntry:
        """The vector set that serves a role."""
        return self.vectors[self.roles[role]]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(entry.bytes for entry in self.files.values())

    def summary(self) -> dict[str, object]:
        """What `lean-sidecar index info` and `status` show."""
        encoders: dict[str, object] = {
            role: {"name": entry.encoder, "dimension": entry.dimension, "fingerprint": entry.fingerprint}
            for role in ROLES
            for entry in (self.vector_entry(role),)
        }
        return {
            "revision": self.revision,
            "created": self.created,
            "counts": self.counts,
            "corpus": {"format": self.corpus_format, "revisions": self.corpus_revisions},
            "encoders": encoders,
            "search": "approximate beyond narrow filters"
            if any(entry.approximate for entry in self.vectors.values())
            else "exact",
            "bytes": self.bytes,
            "build": asdict(self.build),
        }

    def write(self, folder: Path) -> None:
        """Write the manifest; the file appears whole or not at all, after the folder's other files."""
        body = {"kind": KIND, "format": FORMAT, **asdict(self)}
        body["checksum"] = _checksum(body)
        temporary = folder / f"{MANIFEST_FILE}.new"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(body, file, ensure_ascii=True, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / MANIFEST_FILE)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read and check the manifest, and check that every file is there at its full size.

        Raises:
            SidecarError: `not_found` when there is no index; `conflict` when it is damaged, foreign, or of another
                version.
        """
        content = _content(folder)
        while True:
            try:
                return _checked(folder, content)
            except SidecarError:
                # Another index may have taken the folder between the look at the manifest and that at the files.
                later = _content(folder)
                if later == content:
                    raise
                content = later


def _checked(folder: Path, content: bytes | None) -> Manifest:
    """The manifest in a file's content, if all that it says of the folder is so."""
    if content is None:
        raise _missing(folder)
    body = _object(folder, content)
    if body.get("kind") != KIND:
        raise SidecarError(
            "conflict",
            f"{folder / MANIFEST_FILE} does not belong to an index of lean-sidecar (kind {body.get('kind')!r})",
            field="index",
            hint=f"choose another folder, or {rebuild_hint(None)}",
        )
    if body.get("format") != FORMAT:
        age = "newer" if isinstance(body.get("format"), int) and body["format"] > FORMAT else "older"
        mend = f"upgrade lean-sidecar, or {rebuild_hint(folder)}" if age == "newer" else rebuild_hint(folder)
        raise SidecarError(
            "conflict",
            f"index {folder} has format {body.get('format')!r}, {age} than format {FORMAT} of this version",
            field="index",
            hint=mend,
        )
    if body.pop("checksum", None) != _checksum(body):
        raise damaged(folder, f"{MANIFEST_FILE} does not match its own checksum")
    try:
        manifest = Manifest(
            **{name: body[name] for name in Manifest.__dataclass_fields__ if name not in ("vectors", "build", "files")},
            vectors={name: _vector_entry(entry) for name, entry in body["vectors"].items()},
            build=BuildFigures(**body["build"]),
            files={name: FileEntry(**entry) for name, entry in body["files"].items()},
        )
        for role in ROLES:
            manifest.vector_entry(role)
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(folder, f"{MANIFEST_FILE} lacks a field or has a foreign one: {error}") from error
    named = {name for entry in manifest.vectors.values() for name in entry.files}
    strange = next(
        (name for name in (*named, *manifest.files) if name not in manifest.files or _leads_away(name)), None
    )
    if strange is not None:
        raise damaged(folder, f"{MANIFEST_FILE} names the file {strange!r}, which cannot be part of it")
    for name, entry in manifest.files.items():
        try:
            found = (folder / name).stat().st_size
        except OSError:
            raise damaged(folder, f"{name} is missing") from None
        if found != entry.bytes:
            raise damaged(folder, f"{name} has {found} bytes instead of {entry.bytes}")
    return manifest


def _vector_entry(body: Mapping[str, Any]) -> VectorEntry:
    codes = body["codes"]
    return VectorEntry(**{**body, "codes": None if codes is None else CodesEntry(**codes)})


def _leads_away(name: str) -> bool:
    return Path(name).name != name


def rebuild_hint(folder: Path | None, encoder: str | None = None) -> str:
    """The command that makes an index anew, with what its manifest says of how it was made.

    Args:
        folder: Folder of an index, whose manifest may be of any version or damaged; None for a folder yet to be chosen.
        encoder: Encoder to make it with; None for the one that it was made with, as far as that can be read.
    """
    made_with, proofs = (None, False) if folder is None else _made_with(folder)
    words = ["lean-sidecar", "index", "build", "CORPUS", "--output", "FOLDER" if folder is None else str(folder)]
    if encoder is not None:
        made_with = (encoder, encoder)
    if made_with is not None:
        premises, search = made_with
        words += ["--encoder", premises, *(("--search-encoder", search) if search != premises else ())]
    words += ["--proofs", "PROOFS"] if proofs else []
    return f"build it again: `{shlex.join(words)}`"


def _made_with(folder: Path) -> tuple[tuple[str, str] | None, bool]:
    """The encoders of an index, and whether it was told proofs that its corpus does not bring along."""
    try:
        body = json.loads((folder / MANIFEST_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None, False
    if _field(body, "kind") != KIND:
        return None, False
    entries = [_field(body, "vectors", str(_field(body, "roles", role))) for role in ("premises", "search")]
    named = [_encoder_of(entry) for entry in (*entries, *_values(_field(body, "vectors")))]
    readable = next((name for name in named if name), None)
    proofs = _field(body, "counts", "proofs")
    told = isinstance(proofs, int) and proofs > 0 and _field(body, "corpus_format") != "extraction"
    if readable is None:
        return None, told
    premises, search = (name or readable for name in named[:2])
    return (premises, search), told


def _encoder_of(entry: object) -> str | None:
    """The encoder of an entry, where it can stand in a command."""
    name = _field(entry, "encoder")
    return name if isinstance(name, str) and name and name.isprintable() and "`" not in name else None


def _field(value: object, *names: str) -> object:
    """What stands under names one inside the other; None where there is no such thing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _values(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else []


def damaged(folder: Path, what: str) -> SidecarError:
    """The error for an index that is not whole."""
    return SidecarError("conflict", f"index {folder} is damaged: {what}", field="index", hint=rebuild_hint(folder))


def file_entry(path: Path) -> FileEntry:
    """Size and checksum of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return FileEntry(path.stat().st_size, digest.hexdigest())


def _checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


def _content(folder: Path) -> bytes | None:
    """What the manifest's file holds, None when there is none."""
    path = folder / MANIFEST_FILE
    for _ in range(_LOOKS):
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            if not replaced_folder(folder).is_dir():
                return None
            # Another index is about to take the place of the one that has just been put aside.
            time.sleep(_PAUSE_SECONDS)
        except OSError as error:
            raise SidecarError(
                "not_found", f"{path} cannot be read: {error.strerror}", field="index", hint="check its permissions"
            ) from error
    return None


def _object(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{MANIFEST_FILE} is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise damaged(folder, f"{MANIFEST_FILE} holds no object")
    return body


def _missing(folder: Path) -> SidecarError:
    unfinished = building_folder(folder)
    if unfinished.is_dir() and not folder.exists():
        return SidecarError(
            "not_found",
            f"the index {folder} was never finished: {unfinished} holds an interrupted build",
            field="index",
            hint="give the same `lean-sidecar index build` command again; it goes on where it stopped",
        )
    what = "does not exist" if not folder.exists() else f"has no {MANIFEST_FILE}"
    return SidecarError(
        "not_found",
        f"no index: {folder} {what}",
        field="index",
        hint=f"build one: `lean-sidecar index build CORPUS --output {folder}`",
    )
