"""Every option's home: folders, environment variables, defaults and limits.

In: the process environment. Out: `Settings`, read once at start. Command-line options override these; nothing else in
the package reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.errors import SidecarError


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    if not value:
        return None
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise _bad(variable, f"{value!r} names the home folder of nobody here", f"give {variable} a folder") from None


def _folder(variable: str, fallback: Callable[[], Path]) -> Path:
    return _path(variable) or fallback()


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        hint = "set HOME, or LEAN_SIDECAR_DATA, LEAN_SIDECAR_CACHE and LEAN_SIDECAR_RUNTIME to folders of yours"
        raise _bad("HOME", "this user has no home folder", hint) from None


def _data_home() -> Path:
    return _folder("XDG_DATA_HOME", lambda: _home() / ".local" / "share") / "lean-sidecar"


def _cache_home() -> Path:
    return _folder("XDG_CACHE_HOME", lambda: _home() / ".cache") / "lean-sidecar"


def _runtime_home() -> Path:
    variable = os.environ.get("XDG_RUNTIME_DIR")
    return Path(variable) / "lean-sidecar" if variable else _cache_home() / "run"


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers that a client may rely on; `status` reports them under the same names.

    Attributes:
        body_bytes: Largest request body.
        goal_bytes: Longest goal text (UTF-8); longer ones are refused, not cut.
        text_bytes: Longest text of one premise, query or embedded text.
        name_bytes: Longest name of a declaration, module or environment.
        k: Largest number of results of one request.
        premises: Most premises sent along with one request.
        imports: Most directly imported modules.
        texts: Most texts of one `embed` request.
        depth: Deepest nesting of a request body.
        items: Most MessagePack items (numbers, texts, containers) of one request body.
        waiting: Requests that may wait for a model before new ones are refused with 503.
        deadline_ms: Largest and default deadline of a request.
    """

    body_bytes: int = 64 * 1024 * 1024
    goal_bytes: int = 262_144
    text_bytes: int = 65_536
    name_bytes: int = 4_096
    k: int = 4_096
    premises: int = 16_384
    imports: int = 20_000
    texts: int = 8_192
    depth: int = 16
    items: int = 1_000_000
    waiting: int = 512
    deadline_ms: int = 600_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are and how the sidecar runs.

    Attributes:
        data_folder: Indexes that the user built (`LEAN_SIDECAR_DATA`).
        cache_folder: What can be made again: the example index, embeddings of unknown premises
            (`LEAN_SIDECAR_CACHE`).
        runtime_folder: Address, token and lock of the running server (`LEAN_SIDECAR_RUNTIME`).
        index: Folder of the index to serve (`LEAN_SIDECAR_INDEX`); None means `data_folder/default`, or the embedded
            example library when that does not exist.
        url: Server to use instead of a local one (`LEAN_SIDECAR_URL`).
        token: Bearer token for servers that want one (`LEAN_SIDECAR_TOKEN`).
        threads: Threads of a model on a CPU (`LEAN_SIDECAR_THREADS`); 0 chooses half the cores, at most 4.
        idle_seconds: A server that a bridge started stops after this long without a request
            (`LEAN_SIDECAR_IDLE_SECONDS`).
        cache_bytes: Largest size of the on-disk cache of premise embeddings (`LEAN_SIDECAR_CACHE_BYTES`).
        feedback: Whether reports of which premises closed a goal are kept, in `data_folder` and nowhere else
            (`LEAN_SIDECAR_FEEDBACK`).
        documentation: Where the doc-gen4 pages of libraries are published: module prefix → address, an empty one for
            none; Mathlib's and what it imports are known (`LEAN_SIDECAR_DOCUMENTATION`, such as
            `MyLibrary=https://me.example/docs Other=https://other.example`).
        rewriter: What makes a second text of a query to search for beside it (`LEAN_SIDECAR_REWRITER`): `vocabulary`,
            the table of everyday words that comes with the package; `off`; or the address of an OpenAI-compatible
            endpoint (`http://127.0.0.1:8000/v1`), which then sees every query.
        rewriter_model, rewriter_token: Model to ask for there, and its token (`LEAN_SIDECAR_REWRITER_MODEL`,
            `LEAN_SIDECAR_REWRITER_TOKEN`).
        rewriter_prompt: File with the instruction for the model (`LEAN_SIDECAR_REWRITER_PROMPT`).
        reranker: Cross-encoder that reads the best results of a search again where a request asks for it
            (`LEAN_SIDECAR_RERANKER`): a folder, or `hub:owner/model`; none by default.
        limits: See `Limits`.
    """

    data_folder: Path = field(default_factory=lambda: _folder("LEAN_SIDECAR_DATA", _data_home))
    cache_folder: Path = field(default_factory=lambda: _folder("LEAN_SIDECAR_CACHE", _cache_home))
    runtime_folder: Path = field(default_factory=lambda: _folder("LEAN_SIDECAR_RUNTIME", _runtime_home))
    index: Path | None = field(default_factory=lambda: _path("LEAN_SIDECAR_INDEX"))
    url: str | None = field(default_factory=lambda: os.environ.get("LEAN_SIDECAR_URL") or None)
    token: str | None = field(default_factory=lambda: _token("LEAN_SIDECAR_TOKEN"))
    threads: int = field(default_factory=lambda: _integer("LEAN_SIDECAR_THREADS", 0))
    idle_seconds: int = field(default_factory=lambda: _integer("LEAN_SIDECAR_IDLE_SECONDS", 1_800))
    cache_bytes: int = field(default_factory=lambda: _integer("LEAN_SIDECAR_CACHE_BYTES", 1 << 30))
    feedback: bool = field(default_factory=lambda: _integer("LEAN_SIDECAR_FEEDBACK", 0) != 0)
    documentation: Mapping[str, str] = field(
        default_factory=lambda: documentation_addresses(
            os.environ.get("LEAN_SIDECAR_DOCUMENTATION", "").split(), "LEAN_SIDECAR_DOCUMENTATION"
        )
    )
    rewriter: str = field(default_factory=lambda: os.environ.get("LEAN_SIDECAR_REWRITER") or "vocabulary")
    rewriter_model: str | None = field(default_factory=lambda: os.environ.get("LEAN_SIDECAR_REWRITER_MODEL") or None)
    rewriter_token: str | None = field(default_factory=lambda: _token("LEAN_SIDECAR_REWRITER_TOKEN"))
    rewriter_prompt: Path | None = field(default_factory=lambda: _path("LEAN_SIDECAR_REWRITER_PROMPT"))
    reranker: str | None = field(default_factory=lambda: os.environ.get("LEAN_SIDECAR_RERANKER") or None)
    limits: Limits = field(default_factory=Limits)


def documentation_addresses(entries: Iterable[str], source: str) -> dict[str, str]:
    """Read entries `PREFIX=ADDRESS` of `Settings.documentation`.

    Args:
        entries: What was written, one prefix of module names each.
        source: The variable or option they come from, for the error.

    Raises:
        SidecarError: `bad_request` for an entry that is none.
    """
    addresses: dict[str, str] = {}
    for entry in entries:
        prefix, sign, address = entry.partition("=")
        if not prefix or not sign or not (address.startswith(("https://", "http://", "file://")) or not address):
            hint = "give module prefix and address, such as MyLibrary=https://me.example/docs"
            raise _bad(source, f"{entry!r} does not say where documentation is", hint)
        addresses[prefix] = address
    return addresses


def _integer(variable: str, default: int) -> int:
    value = os.environ.get(variable)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        number = -1
    if number < 0:
        hint = f"unset {variable} or give a whole number"
        raise _bad(variable, f"{value!r} is not a whole number of at least 0", hint)
    return number


def _token(variable: str) -> str | None:
    """A token, which clients send in a header of HTTP: one line of ASCII."""
    value = os.environ.get(variable)
    if value and not (value.isascii() and value.isprintable()):
        raise _bad(variable, "has characters that HTTP cannot carry", f"give {variable} letters and digits")
    return value or None


def _bad(variable: str, message: str, hint: str) -> SidecarError:
    return SidecarError("bad_request", message, field=variable, hint=hint)
