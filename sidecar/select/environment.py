"""Environments: what a Lean process can see, registered once and named by id afterwards.

In: directly imported modules and, for modules that the index does not know, content hashes of their premises; the texts
that are missing. Out: an id that depends on the content alone, and the environment behind an id.

Everything is kept in a SQLite file, so that a restart loses nothing; the environments that were not used for longest go
first when there are too many. An environment names modules and texts, never rows, so it outlives the index: a new
revision looks its modules up anew, and a premise that the new index knows as well is taken from the environment.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import numpy.typing as npt

from sidecar.errors import SidecarError
from sidecar.select.content_hash import content_hashes
from sidecar.select.request import LocalPremise
from sidecar.select.store import CacheFile

if TYPE_CHECKING:
    import sqlite3

    from sidecar.index.index import Index

FILE: Final = "environments.sqlite"
_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS environments (
    id TEXT PRIMARY KEY, imports TEXT NOT NULL, modules TEXT NOT NULL, hashes BLOB NOT NULL, used INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS premises (
    hash INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, constants TEXT)
"""

COUNT_LIMIT: Final = 256
"""Most environments that are kept."""

BYTE_LIMIT: Final = 512 * 1024 * 1024
"""Largest size of the file's content."""

IN_MEMORY: Final = 8
"""Environments whose premises are held in memory, ready for the next request."""

USE_SECONDS: Final = 600
"""How exactly the file knows when an environment was last used."""

_HASHES_PER_QUERY: Final = 512

HashArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ModuleHashes:
    """A module that the index may not know.

    Attributes:
        module: Its name.
        hashes: Content hashes of its premises (see `content_hash.py`), in the order of the file.
    """

    module: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentPremise:
    """A premise whose text is sent because it was missing.

    Attributes:
        hash: Its content hash as the client computed it; checked.
        name, text, constants: See `LocalPremise`.
    """

    hash: str
    name: str
    text: str
    constants: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentRequest:
    """What a client registers.

    Attributes:
        imports: Directly imported modules. Modules that the index does not know bring only the premises listed for
            them, so what they import in turn must be named here too, down to modules that the index knows.
        modules: Premises of modules that the index does not know, or knows otherwise.
        premises: Texts that an earlier answer called missing, in any order and any number of requests.
    """

    imports: tuple[str, ...]
    modules: tuple[ModuleHashes, ...] = ()
    premises: tuple[SentPremise, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvironmentAnswer:
    """The answer to a registration.

    Attributes:
        environment: Id for later requests; the same content always has the same id.
        missing: Hashes whose texts are not known yet; send them with the same imports and modules.
        unknown_modules: Imports that neither the index nor `modules` knows.
        revision: Revision of the index that was asked.
    """

    environment: str
    missing: tuple[str, ...]
    unknown_modules: tuple[str, ...]
    revision: str

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {
            "environment": self.environment,
            "missing": list(self.missing),
            "unknown_modules": list(self.unknown_modules),
            "revision": self.revision,
        }


@dataclass(frozen=True, slots=True)
class Environment:
    """A registered environment.

    Attributes:
        id: Its id.
        imports: Directly imported modules, sorted.
        modules: Modules that came with premises of their own.
        premises: Those premises, module after module.
        missing: How many of them have no text yet and so are not among `premises`.
    """

    id: str
    imports: tuple[str, ...]
    modules: tuple[str, ...]
    premises: tuple[LocalPremise, ...]
    missing: int


class Environments:
    """The registry. Safe to use from several threads; every call may wait for the disk.

    Args:
        folder: Where its file lies or is made; several processes may share it.
        count_limit: Most environments that are kept.
        byte_limit: Largest size of the file's content.
    """

    def __init__(self, folder: Path, *, count_limit: int = COUNT_LIMIT, byte_limit: int = BYTE_LIMIT) -> None:
        self._file = CacheFile(folder / FILE, _SCHEMA, _VERSION)
        self._count_limit = count_limit
        self._byte_limit = byte_limit
        self._lock = threading.Lock()
        self._memory: OrderedDict[str, Environment] = OrderedDict()
        self._noted: dict[str, float] = {}

    def register(self, request: EnvironmentRequest, index: Index) -> EnvironmentAnswer:
        """Register an environment, or add texts to one that is registered.

        Raises:
            SidecarError: `bad_request` for a hash that is none or does not fit its text; `too_large` for an environment
                that alone is over the byte limit.
        """
        hashes = _listed_hashes(request.modules)
        sent = _checked(request.premises)
        imports = sorted(set(request.imports))
        modules = [(module.module, len(module.hashes)) for module in request.modules]
        content = json.dumps([imports, modules], ensure_ascii=True, separators=(",", ":")).encode() + hashes.tobytes()
        environment = blake2b(content, digest_size=16).hexdigest()

        def work(connection: sqlite3.Connection) -> set[int]:
            listed = set(hashes.tolist())
            connection.executemany(
                "INSERT OR REPLACE INTO premises VALUES (?, ?, ?, ?)", [row for row in sent if row[0] in listed]
            )
            connection.execute(
                "INSERT OR REPLACE INTO environments VALUES (?, ?, ?, ?, ?)",
                (environment, json.dumps(imports), json.dumps(modules), hashes.tobytes(), int(time.time())),
            )
            self._evict(connection, environment)
            return set(hashes.tolist()) - _stored(connection, hashes)

        absent = self._file.run(work)
        with self._lock:
            self._memory.pop(environment, None)
        described = {module.module for module in request.modules}
        unknown = [name for name in index.visible(request.imports)[1] if name not in described]
        missing = [digest for module in request.modules for digest in module.hashes if _signed(digest) in absent]
        return EnvironmentAnswer(environment, tuple(dict.fromkeys(missing)), tuple(unknown), index.revision)

    def get(self, environment: str) -> Environment:
        """The environment of an id.

        Raises:
            SidecarError: `conflict` for an id that is not, or not any more, registered.
        """
        with self._lock:
            known = self._memory.get(environment)
            if known is not None:
                self._memory.move_to_end(environment)
            due = time.monotonic() - self._noted.get(environment, -USE_SECONDS) >= USE_SECONDS
        if known is not None and not due:
            return known
        found = self._file.run(lambda connection: _read(connection, environment))
        if found is None:
            unknown_environment(environment)
        with self._lock:
            self._noted[environment] = time.monotonic()
            self._memory[environment] = found
            while len(self._memory) > IN_MEMORY:
                dropped, _ = self._memory.popitem(last=False)
                self._noted.pop(dropped, None)
        return found

    def imports(self, environment: str) -> tuple[str, ...]:
        """The imports of an environment; see `get`."""
        return self.get(environment).imports

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _evict(self, connection: sqlite3.Connection, kept: str) -> None:
        """Drop environments, the longest unused first and never `kept`, until both limits hold."""
        (count,) = connection.execute("SELECT count(*) FROM environments").fetchone()
        surplus = count - self._count_limit
        while surplus > 0 or self._file.bytes_used(connection) > self._byte_limit:
            if count == 1:
                raise SidecarError(
                    "too_large",
                    f"the texts of this environment take more than {self._byte_limit} bytes",
                    field="premises",
                    hint="index the modules that the index does not know: lean-sidecar index update",
                )
            drop = min(count - 1, max(1, surplus, count // 4))
            connection.execute(
                "DELETE FROM environments WHERE id IN"
                " (SELECT id FROM environments WHERE id != ? ORDER BY used, rowid LIMIT ?)",
                (kept, drop),
            )
            _drop_orphans(connection)
            count -= drop
            surplus -= drop


def _listed_hashes(modules: Sequence[ModuleHashes]) -> HashArray:
    hashes: list[int] = []
    for number, module in enumerate(modules):
        for place, digest in enumerate(module.hashes):
            try:
                hashes.append(_signed(digest))
            except ValueError:
                raise SidecarError(
                    "bad_request",
                    f"{digest!r} is not 16 lower-case hexadecimal digits",
                    field=f"modules[{number}].hashes[{place}]",
                ) from None
    return np.array(hashes, dtype="<i8")


def _signed(digest: str) -> int:
    """A content hash as SQLite keeps it: a signed 64-bit integer.

    Raises:
        ValueError: It is no content hash.
    """
    if len(digest) != 16 or digest.strip("0123456789abcdef"):
        raise ValueError(digest)
    return int.from_bytes(bytes.fromhex(digest), "big", signed=True)


def _checked(premises: Sequence[SentPremise]) -> list[tuple[int, str, str, str | None]]:
    """Rows of the table, after checking every hash against its text."""
    found = content_hashes([premise.name for premise in premises], [premise.text for premise in premises])
    for number, (premise, digest) in enumerate(zip(premises, found, strict=True)):
        if premise.hash != digest:
            raise SidecarError(
                "bad_request",
                f"{premise.name!r} and its text hash to {digest}, not to {premise.hash!r}",
                field=f"premises[{number}].hash",
                hint="the hash is FNV-1a with 64 bits over name, a line feed and text in UTF-8",
            )
    return [
        (
            _signed(premise.hash),
            premise.name,
            premise.text,
            None if premise.constants is None else json.dumps(premise.constants),
        )
        for premise in premises
    ]


def _stored(connection: sqlite3.Connection, hashes: HashArray) -> set[int]:
    """Which of these hashes have a text."""
    found: set[int] = set()
    for start in range(0, len(hashes), _HASHES_PER_QUERY):
        part = hashes[start : start + _HASHES_PER_QUERY].tolist()
        marks = ",".join("?" * len(part))
        found.update(row[0] for row in connection.execute(f"SELECT hash FROM premises WHERE hash IN ({marks})", part))
    return found


def _texts(connection: sqlite3.Connection, hashes: HashArray) -> dict[int, tuple[str, str, str | None]]:
    found: dict[int, tuple[str, str, str | None]] = {}
    for start in range(0, len(hashes), _HASHES_PER_QUERY):
        part = hashes[start : start + _HASHES_PER_QUERY].tolist()
        marks = ",".join("?" * len(part))
        query = f"SELECT hash, name, text, constants FROM premises WHERE hash IN ({marks})"
        for digest, name, text, constants in connection.execute(query, part):
            found[digest] = (name, text, constants)
    return found


def _read(connection: sqlite3.Connection, environment: str) -> Environment | None:
    """Read an environment and note that it was used."""
    row = connection.execute(
        "SELECT imports, modules, hashes FROM environments WHERE id = ?", (environment,)
    ).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE environments SET used = ? WHERE id = ?", (int(time.time()), environment))
    imports, modules, hashes = json.loads(row[0]), json.loads(row[1]), np.frombuffer(row[2], dtype="<i8")
    texts = _texts(connection, hashes)
    premises: list[LocalPremise] = []
    start = 0
    for module, count in modules:
        for digest in hashes[start : start + count].tolist():
            if digest in texts:
                name, text, constants = texts[digest]
                listed = None if constants is None else tuple(json.loads(constants))
                premises.append(LocalPremise(name, text, listed, module))
        start += count
    return Environment(
        environment,
        tuple(imports),
        tuple(module for module, _ in modules),
        tuple(premises),
        len(hashes) - len(premises),
    )


def _drop_orphans(connection: sqlite3.Connection) -> None:
    """Drop texts that no environment lists."""
    listed = [np.frombuffer(row[0], dtype="<i8") for row in connection.execute("SELECT hashes FROM environments")]
    stored = np.fromiter((row[0] for row in connection.execute("SELECT hash FROM premises")), dtype=np.int64)
    orphans = stored[~np.isin(stored, np.concatenate(listed))] if listed else stored
    connection.executemany("DELETE FROM premises WHERE hash = ?", [(digest,) for digest in orphans.tolist()])


def unknown_environment(environment: str) -> NoReturn:
    """Refuse the id of an environment.

    Raises:
        SidecarError: `conflict`, always.
    """
    raise SidecarError(
        "conflict",
        f"environment {environment!r} is not registered here, or was dropped to make room",
        field="environment",
        hint="register it again with the method environment, then repeat the request",
    )
