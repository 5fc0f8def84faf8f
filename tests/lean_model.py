"""A model of the Lean plugin, for machines without a Lean toolchain.

In: what the plugin's Lean functions take. Out: the bytes that they write to the bridge, and what they make of its
answers.

Each part names the Lean file that it follows, rule by rule; nothing of `sidecar` is used, so that both sides can be
tested against this one:

* `encode`: `LeanHammerExt/Msgpack.lean`
* `frame`, `request_frame`, `cancel_frame`, `parse_answer`: `LeanHammerExt/Bridge/Frames.lean`
* `…_params`: `LeanHammerExt/Protocol.lean`
* `content_hash`, `join_premise`, `cap_goal`: `LeanHammerExt/ContentHash.lean`, `Text.lean`
* `BridgeProcess`: `LeanHammerExt/Bridge/Process.lean` and `Sidecar.lean`
* `register`, `select`: `LeanHammerExt/Registration.lean` and `Select.lean`

`lean_keys` reads the names of fields out of the Lean sources themselves.
"""

from __future__ import annotations

import re
import struct
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "LeanHammerExt"

VERSION = 1
"""`Protocol.version`."""

DEPTH = 16
"""`Msgpack.Limits.depth`."""

LARGEST_MESSAGE = 134_217_728
"""`Bridge.largestMessage`."""

PREMISE_LIMIT = 16_384
"""`premiseLimit`."""

GOAL_LIMIT = 65_536
"""`goalLimit`."""

BATCH_SIZE = 2_048
"""`batchSize`."""

CANCELLATION_SECONDS = 2.0
"""`Bridge.cancellationTime`."""


Params = list[tuple[str, object]]
"""Entries in the order in which they are written."""


class Fault(Exception):
    """`Msgpack.Fault`: a value that cannot be written."""


class PluginError(Exception):
    """`SidecarError` of the Lean side.

    Attributes:
        kind: `refused`, `protocol`, `ended` or `deadline`.
        code: The sidecar's code, for `refused`.
        field: The field at fault.
        hint: What to do about it.
    """

    def __init__(
        self, kind: str, message: str, code: str = "", field: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code
        self.field = field
        self.hint = hint


# Msgpack.lean


def _big_endian(width: int, number: int) -> bytes:
    """`pushBigEndian`."""
    return bytes((number >> (8 * (width - 1 - place))) & 0xFF for place in range(width))


def _natural(number: int) -> bytes:
    """`pushNat`."""
    if number < 128:
        return bytes([number])
    for byte, width in ((0xCC, 1), (0xCD, 2), (0xCE, 4)):
        if number < 1 << (8 * width):
            return bytes([byte]) + _big_endian(width, number)
    return b"\xcf" + _big_endian(8, number)


def _integer(number: int) -> bytes:
    """`pushInt`."""
    size = abs(number)
    if number >= 0:
        return _natural(size)
    if size <= 32:
        return bytes([256 - size])
    for byte, width in ((0xD0, 1), (0xD1, 2), (0xD2, 4)):
        if size <= 1 << (8 * width - 1):
            return bytes([byte]) + _big_endian(width, (1 << (8 * width)) - size)
    return b"\xd3" + _big_endian(8, (1 << 64) - size)


def _header(size: int, small: tuple[int, int] | None, wide: Sequence[tuple[int, int]]) -> bytes:
    """The header of a string, of bytes, of an array or of a map."""
    if small is not None and size < small[1]:
        return bytes([small[0] + size])
    for byte, width in wide[:-1]:
        if size < 1 << (8 * width):
            return bytes([byte]) + _big_endian(width, size)
    byte, width = wide[-1]
    return bytes([byte]) + _big_endian(width, size)


def _string(text: str) -> bytes:
    """`pushString`."""
    octets = text.encode()
    return _header(len(octets), (0xA0, 32), ((0xD9, 1), (0xDA, 2), (0xDB, 4))) + octets


def encode(value: object, depth: int = DEPTH) -> bytes:
    """`Msgpack.encode`; a map is a dict or a list of pairs.

    Raises:
        Fault: As `writeItem` does.
    """
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            if not -(1 << 63) <= value < 1 << 64:
                raise Fault(f"{value} does not fit into 64 bits")
            return _integer(value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case str():
            return _string(value)
        case bytes():
            return _header(len(value), None, ((0xC4, 1), (0xC5, 2), (0xC6, 4))) + value
        case dict():
            return _map(list(value.items()), depth)
        case Pairs():
            return _map(list(value), depth)
        case list() | tuple():
            if depth == 0:
                raise Fault("arrays and maps are nested too deep")
            header = _header(len(value), (0x90, 16), ((0xDC, 2), (0xDD, 4)))
            return header + b"".join(encode(item, depth - 1) for item in value)
    raise TypeError(f"the plugin has no value like {value!r}")


class Pairs(list[tuple[str, object]]):
    """The entries of a map, where a list would mean an array."""


def _map(entries: list[tuple[str, object]], depth: int) -> bytes:
    if depth == 0:
        raise Fault("arrays and maps are nested too deep")
    header = _header(len(entries), (0x80, 16), ((0xDE, 2), (0xDF, 4)))
    return header + b"".join(_string(key) + encode(item, depth - 1) for key, item in entries)


# Bridge/Frames.lean


def frame(message: bytes) -> bytes:
    """`Bridge.frame`."""
    return _big_endian(4, len(message)) + message


def request_frame(id: int, method: str, params: Params) -> bytes:
    """`Bridge.requestFrame`."""
    return frame(encode(Pairs([("id", id), ("method", method), ("params", Pairs(params))])))


def cancel_frame(id: int) -> bytes:
    """`Bridge.cancelFrame`."""
    return frame(encode(Pairs([("id", id), ("method", "cancel")])))


def parse_answer(message: dict[str, Any]) -> tuple[int, dict[str, Any] | PluginError]:
    """`Bridge.parseAnswer`, of a decoded message.

    Raises:
        PluginError: The stream cannot be followed any more.
    """
    id = message.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        if id < 0:
            raise PluginError("protocol", f"the sidecar's answer cannot be read: the id {id} is negative")
        if "error" in message:
            return id, _error(message["error"])
        if "result" in message:
            return id, message["result"]
        return id, PluginError("protocol", "the sidecar's answer cannot be read: neither result nor error")
    if "error" in message:
        raise _error(message["error"])
    raise PluginError("protocol", "the sidecar's answer cannot be read: there is no id")


def _error(value: dict[str, Any]) -> PluginError:
    """`Bridge.errorOfValue`."""

    def text(key: str) -> str | None:
        found = value.get(key)
        return found if isinstance(found, str) else None

    message = text("message") or "the sidecar gave no message"
    return PluginError("refused", message, text("code") or "internal", text("field"), text("hint"))


# ContentHash.lean and Text.lean


def content_hash(name: str, text: str) -> str:
    """`contentHash`."""
    number = 0xCBF29CE484222325
    for octet in f"{name}\n{text}".encode():
        number = (number ^ octet) * 0x100000001B3 % (1 << 64)
    return f"{number:016x}"


def join_premise(docstring: str, signature: str) -> str:
    """`joinPremise`."""
    short = signature[:PREMISE_LIMIT]
    if not docstring:
        return short
    whole = f"/-- {docstring} -/\n{short}"
    return whole if len(whole) <= PREMISE_LIMIT else short


def cap_goal(text: str, limit: int) -> tuple[str, int]:
    """`capGoal`, with `dropLines`."""
    size = len(text)
    if size <= limit:
        return text, 0
    lines = text.split("\n")
    before = 0
    while before < len(lines) and not lines[before].startswith("⊢"):
        before += 1
    hypotheses = before if before < len(lines) else 0
    dropped = 0
    while dropped < hypotheses and limit < size:
        size -= len(lines[dropped]) + 1
        dropped += 1
    return "\n".join(lines[dropped:])[:limit], dropped


# Protocol.lean


@dataclass(frozen=True)
class Described:
    """`DescribedPremise`."""

    name: str
    text: str
    constants: tuple[str, ...]
    module: str = ""
    hash: str = ""

    def entries(self, with_hash: bool) -> Pairs:
        """`DescribedPremise.toValue`."""
        entries = Pairs([("name", self.name), ("text", self.text), ("constants", list(self.constants))])
        if self.module:
            entries.append(("module", self.module))
        if with_hash:
            entries.append(("hash", self.hash))
        return entries


def environment_params(
    imports: Sequence[str],
    modules: Sequence[tuple[str, Sequence[str]]] = (),
    premises: Sequence[Described] = (),
) -> Params:
    """`EnvironmentRequest.params`."""
    entries: Params = [("imports", list(imports))]
    if modules:
        entries.append(("modules", [Pairs([("module", name), ("hashes", list(hashes))]) for name, hashes in modules]))
    if premises:
        entries.append(("premises", [premise.entries(True) for premise in premises]))
    return entries


def premises_params(
    goal: str,
    count: int,
    environment: str,
    *,
    premises: Sequence[Described] = (),
    symbols: Sequence[str] = (),
    theorem: str | None = None,
    module: str | None = None,
    namespace: str | None = None,
    exclude: Sequence[str] = (),
    method: str = "fused",
) -> Params:
    """`PremisesRequest.params`."""
    entries: Params = [("goal", goal), ("k", count), ("environment", environment), ("method", method)]
    if premises:
        entries.append(("premises", [premise.entries(False) for premise in premises]))
    if symbols:
        entries.append(("symbols", list(symbols)))
    if exclude:
        entries.append(("exclude", list(exclude)))
    for key, text in (("theorem", theorem), ("module", module), ("namespace", namespace)):
        if text is not None:
            entries.append((key, text))
    return entries


def search_params(
    query: str,
    count: int,
    modules: Sequence[str] = (),
    kinds: Sequence[str] = (),
    imports: Sequence[str] = (),
) -> Params:
    """`SearchRequest.params`."""
    entries: Params = [("query", query), ("k", count)]
    for key, texts in (("modules", modules), ("kinds", kinds), ("imports", imports)):
        if texts:
            entries.append((key, list(texts)))
    return entries


def embed_params(texts: Sequence[str], purpose: str) -> Params:
    """`embedParams`."""
    return [("texts", list(texts)), ("purpose", purpose)]


def prove_params(problem: str, provers: Sequence[str] = ()) -> Params:
    """`proveParams`."""
    return [("problem", problem), *([("provers", list(provers))] if provers else [])]


def feedback_params(goal: str, premises: Sequence[str], tactic: str | None) -> Params:
    """`feedbackParams`."""
    entries: Params = [("goal", goal), ("premises", list(premises))]
    return entries if tactic is None else [*entries, ("tactic", tactic)]


# Bridge/Process.lean and Sidecar.lean


@dataclass
class BridgeProcess:
    """One child process; a thread reads only while answers are due, and one writes while frames are waiting.

    Args:
        command: What starts a bridge.
        environment: Its environment variables.
        decode: Reads the MessagePack of an answer; the Lean decoder has golden vectors of its own.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    decode: Any
    next: int = 1
    waiting: dict[int, Future[dict[str, Any]]] = field(default_factory=dict)
    reading: bool = False
    outgoing: list[bytes] = field(default_factory=list)
    writing: bool = False
    failure: PluginError | None = None
    readers: int = 0
    """How many threads were started to read: an idle process has none."""

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.child = subprocess.Popen(
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(self.environment),
        )

    def send(self, method: str, params: Params) -> tuple[int, Future[dict[str, Any]]]:
        """`Process.send`."""
        with self.lock:
            id = self.next
            self.next += 1
        octets = request_frame(id, method, params)
        future: Future[dict[str, Any]] = Future()
        with self.lock:
            if self.failure is not None:
                raise self.failure
            reader, self.reading = not self.reading, True
            writer, self.writing = not self.writing, True
            self.waiting[id] = future
            self.outgoing.append(octets)
        if reader:
            self.readers += 1
            threading.Thread(target=self._read, daemon=True).start()
        if writer:
            threading.Thread(target=self._write, daemon=True).start()
        return id, future

    def cancel(self, id: int) -> None:
        """`Process.cancel`, without the watch over the answer."""
        with self.lock:
            if self.failure is not None:
                return
            writer, self.writing = not self.writing, True
            self.outgoing.append(cancel_frame(id))
        if writer:
            threading.Thread(target=self._write, daemon=True).start()

    def ask(self, method: str, params: Params, milliseconds: int) -> dict[str, Any]:
        """`Sidecar.askOnce`.

        Raises:
            PluginError: Whatever went wrong.
        """
        deadline = time.monotonic() + milliseconds / 1000
        id, future = self.send(method, [*params, ("deadline_ms", max(1, milliseconds))])
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self.cancel(id)
            raise PluginError("deadline", f"no answer to `{method}` within {milliseconds} ms") from None

    def close(self) -> None:
        """What the end of a Lean process does: its pipes close."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait(60)

    def _write(self) -> None:
        """`Process.write`."""
        assert self.child.stdin is not None
        while True:
            with self.lock:
                frames, self.outgoing = self.outgoing, []
                self.writing = bool(frames)
            if not frames:
                return
            try:
                for octets in frames:
                    self.child.stdin.write(octets)
                self.child.stdin.flush()
            except (OSError, ValueError):
                self._abandon(PluginError("ended", "the sidecar process ended"))
                return

    def _read(self) -> None:
        assert self.child.stdout is not None
        while True:
            header = self.child.stdout.read(4)
            if len(header) < 4:
                self._abandon(PluginError("ended", "the sidecar process ended"))
                return
            size = int.from_bytes(header, "big")
            assert size <= LARGEST_MESSAGE
            try:
                id, answer = parse_answer(self.decode(self.child.stdout.read(size)))
            except PluginError as error:
                self._abandon(error)
                self.child.kill()
                return
            with self.lock:
                future = self.waiting.pop(id, None)
                more = bool(self.waiting)
                self.reading = more
            if future is not None:
                if isinstance(answer, PluginError):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
            if not more:
                return

    def _abandon(self, error: PluginError) -> None:
        with self.lock:
            waiting, self.waiting = self.waiting, {}
            self.reading = False
            self.outgoing = []
            self.failure = self.failure or error
        for future in waiting.values():
            future.set_exception(error)


# Registration.lean and Select.lean


@dataclass(frozen=True)
class Registered:
    """`Registered`, with the requests that were made."""

    environment: str
    unknown_modules: tuple[str, ...]
    described: int
    omitted: int
    steps: tuple[str, ...]


def register(
    bridge: BridgeProcess,
    direct: Sequence[str],
    everything: Sequence[str],
    premises: Mapping[str, Sequence[Described]],
    limit: int = 16_384,
    milliseconds: int = 120_000,
) -> Registered:
    """`register`.

    Args:
        bridge: The bridge.
        direct: Modules that the file imports itself.
        everything: All imported modules, in the order of imports.
        premises: Premises of the modules that the index does not know, by module.
        limit: `hammer.newPremises`.
        milliseconds: `registrationTimeout`.
    """
    status = bridge.ask("status", [], milliseconds)
    if status["protocol"] != VERSION:
        raise PluginError(
            "protocol", f"version {status['version']} of the sidecar speaks protocol {status['protocol']}"
        )
    answer = bridge.ask("environment", environment_params(direct), milliseconds)
    if not answer["unknown_modules"]:
        return Registered(answer["environment"], (), 0, 0, ("direct",))
    answer = bridge.ask("environment", environment_params(everything), milliseconds)
    unknown = tuple(answer["unknown_modules"])
    kept: list[str] = []
    room = limit
    for name in reversed([name for name in everything if name in unknown]):
        room -= len(premises.get(name, ()))
        if room < 0:
            break
        kept.insert(0, name)
    described = [
        replace(premise, hash=content_hash(premise.name, premise.text))
        for name in kept
        for premise in premises.get(name, ())
    ]
    hashes = [(name, [premise.hash for premise in described if premise.module == name]) for name in kept]
    answer = bridge.ask("environment", environment_params(everything, hashes), milliseconds)
    missing = set(answer["missing"])
    wanted = [premise for premise in described if premise.hash in missing]
    steps = ["direct", "everything", "hashes"]
    for start in range(0, len(wanted), BATCH_SIZE):
        batch = wanted[start : start + BATCH_SIZE]
        answer = bridge.ask("environment", environment_params(everything, hashes, batch), milliseconds)
        steps.append("texts")
    bridge.ask("premises", premises_params("⊢ True", 1, answer["environment"]), milliseconds)
    steps.append("warm-up")
    return Registered(answer["environment"], unknown, len(described), len(unknown) - len(kept), tuple(steps))


def select(
    bridge: BridgeProcess,
    registered: Registered,
    goal: str,
    count: int,
    *,
    in_file: Sequence[Described] = (),
    symbols: Sequence[str] = (),
    module: str = "Demo.Main",
    namespace: str | None = None,
    milliseconds: int = 30_000,
) -> list[str]:
    """`selectBySidecar`: the names that the sidecar chose; `in_file` is in the order of the file."""
    text, _ = cap_goal(goal, GOAL_LIMIT)
    params = premises_params(
        text,
        count,
        registered.environment,
        premises=in_file,
        symbols=symbols,
        module=module,
        namespace=namespace,
    )
    answer = bridge.ask("premises", params, milliseconds)
    return [premise["name"] for premise in answer["premises"]]


# The Lean sources themselves

_KEY = re.compile(
    r'\("([a-z_]+)", '
    r'|(?:requiredOf|optionalOf|textOf|numberOf|listOf) \w+ "([a-z_]+)"'
    r'|"([a-z_]+)" [\w.]+\?'
)


def lean_keys(definition: str, file: str = "Protocol.lean") -> list[str]:
    """Names of the fields that a Lean definition writes or reads, in the order of the source.

    Args:
        definition: Its name as it stands behind `def`.
        file: The Lean file.
    """
    source = (SOURCES / file).read_text(encoding="utf-8")
    found = re.search(rf"^def {re.escape(definition)}\b.*?(?=^/--|^end |\Z)", source, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{file} has no definition {definition}"
    return [next(group for group in match.groups() if group) for match in _KEY.finditer(found[0])]
