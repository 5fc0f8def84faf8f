"""MessagePack on the wire: a bounded decoder, the encoder, and the frames of the bridge.

In: bytes from a client that is not trusted. Out: Python values, or a `WireError` that names the byte and the field at
fault. Nothing is built before its declared size is known to fit: a body of n bytes costs O(n) time and at most
`Limits.items` objects, whatever it declares.

The dialect: one value, containers nested at most `Limits.depth` deep, map keys that are text and differ, valid UTF-8,
no extension types. Any width of a number or length is read; the shortest one is written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgpack

from sidecar.errors import SidecarError
from sidecar.settings import Limits

CONTENT_TYPE = "application/msgpack"
PROTOCOL = 1
"""Number of the protocol; a client and a server with different numbers do not talk."""

SENT_ONCE = ("feedback",)
"""Methods that are not sent again when the server may have read them already."""

FRAME_OVERHEAD = 4_096
"""Bytes that a frame may have beyond the largest body: its id, its method and its keys."""

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]

Fault = Literal[
    "empty",
    "cut",
    "trailing",
    "reserved",
    "extension",
    "key",
    "duplicate",
    "utf8",
    "deep",
    "many",
    "root",
]
"""What is wrong with a body. `empty`: no byte. `cut`: an item declares more than there is. `trailing`: bytes after the
value. `reserved`: byte 0xc1. `extension`: an extension type. `key`: a map key that is not text. `duplicate`: the same
key twice. `utf8`: text that is not UTF-8. `deep`, `many`: over `Limits.depth`, `Limits.items`. `root`: not a map."""


class WireError(SidecarError):
    """A body that is not MessagePack of our dialect.

    Attributes:
        kind: What is wrong.
        offset: Byte at which the item at fault starts; the length of the body where an item is missing.
    """

    def __init__(self, kind: Fault, offset: int, detail: str) -> None:
        super().__init__("bad_request", f"byte {offset}: {detail}")
        self.kind: Fault = kind
        self.offset = offset

    def inside(self, step: str | int) -> None:
        """Say that the fault lies in this entry of the enclosing container."""
        here = f"[{step}]" if isinstance(step, int) else step
        if self.field is None:
            self.field = here
        else:
            self.field = f"{here}{self.field}" if self.field.startswith("[") else f"{here}.{self.field}"


_NUMBERS: dict[int, tuple[int, Callable[[bytes, int], tuple[Any, ...]]]] = {
    0xCA: (4, struct.Struct(">f").unpack_from),
    0xCB: (8, struct.Struct(">d").unpack_from),
    0xCC: (1, struct.Struct(">B").unpack_from),
    0xCD: (2, struct.Struct(">H").unpack_from),
    0xCE: (4, struct.Struct(">I").unpack_from),
    0xCF: (8, struct.Struct(">Q").unpack_from),
    0xD0: (1, struct.Struct(">b").unpack_from),
    0xD1: (2, struct.Struct(">h").unpack_from),
    0xD2: (4, struct.Struct(">i").unpack_from),
    0xD3: (8, struct.Struct(">q").unpack_from),
}
_CONSTANTS: dict[int, Value] = {0xC0: None, 0xC2: False, 0xC3: True}
_STRINGS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_BINARIES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_SIZED = {**_STRINGS, **_BINARIES}
_ARRAYS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


def decode(body: bytes, limits: Limits) -> dict[str, Value]:
    """Read a request body: one map with text keys.

    Raises:
        WireError: The body is anything else.
    """
    value = decode_value(body, limits)
    if not isinstance(value, dict):
        raise WireError("root", 0, f"the body must be a map, got {kind_of(value)}")
    return value


def decode_value(body: bytes, limits: Limits) -> Value:
    """Read one value of any kind.

    Raises:
        WireError: The body is not exactly one value of the dialect.
    """
    if _is_bounded(body, limits):
        try:
            value: Value = msgpack.unpackb(
                body,
                raw=False,
                strict_map_key=True,
                object_pairs_hook=_distinct,
                max_ext_len=0,
            )
            return value
        except (ValueError, msgpack.UnpackException):
            pass
    # Something is wrong (or looks so): the slow reader has the last word, and says what and where.
    return _read_carefully(body, limits)


def _distinct(pairs: list[tuple[object, Value]]) -> dict[str, Value]:
    built: dict[str, Value] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise ValueError(key)
        built[key] = value
    if len(built) != len(pairs):
        raise ValueError("duplicate key")
    return built


def _fixed_sizes() -> tuple[int, ...]:
    """Size in bytes of the item that starts with each byte, 0 where the byte alone does not tell."""
    sizes = [0] * 256
    for byte in range(256):
        if byte < 0x80 or byte >= 0xE0 or byte in _CONSTANTS:
            sizes[byte] = 1
        elif 0xA0 <= byte <= 0xBF:
            sizes[byte] = 1 + (byte & 0x1F)
        elif byte in _NUMBERS:
            sizes[byte] = 1 + _NUMBERS[byte][0]
    return tuple(sizes)


_FIXED_SIZES = _fixed_sizes()


def _is_bounded(body: bytes, limits: Limits) -> bool:
    """Walk over a body without building anything: does it end where it should, within the limits?"""
    size = len(body)
    position = 0
    items_left = limits.items
    remaining = 1
    outer: list[int] = []
    while position < size:
        byte = body[position]
        remaining -= 1
        step = _FIXED_SIZES[byte]
        if step:
            position += step
        elif byte == 0xD9:
            # Short texts are most of a large body.
            position += 2 + (body[position + 1] if position + 1 < size else 0)
        elif byte in _SIZED:
            payload = position + 1 + _SIZED[byte]
            position = payload + int.from_bytes(body[position + 1 : payload], "big")
        else:
            if byte < 0x90:
                entries = 2 * (byte & 0x0F)
                position += 1
            elif byte < 0xA0:
                entries = byte & 0x0F
                position += 1
            elif byte in _ARRAYS or byte in _MAPS:
                width = _ARRAYS[byte] if byte in _ARRAYS else _MAPS[byte]
                entries = int.from_bytes(body[position + 1 : position + 1 + width], "big")
                entries *= 2 if byte in _MAPS else 1
                position += 1 + width
            else:
                return False
            items_left -= entries
            outer.append(remaining)
            if items_left < 0 or entries > size - position or len(outer) > limits.depth:
                return False
            remaining = entries
        while remaining == 0:
            if not outer:
                return position == size
            remaining = outer.pop()
    return False


def _read_carefully(body: bytes, limits: Limits) -> Value:
    """Read one value item by item, knowing byte and field at every step."""
    size = len(body)
    if size == 0:
        raise WireError("empty", 0, "the body is empty; a MessagePack map is expected")
    position = 0
    items_left = limits.items

    def count(width: int) -> int:
        """Read the length that follows the head byte at `position`, and move behind it."""
        nonlocal position
        end = position + 1 + width
        if end > size:
            raise WireError("cut", position, "the body ends inside a length")
        number = int.from_bytes(body[position + 1 : end], "big")
        position = end
        return number

    def chunk(length: int, head: int, what: str) -> bytes:
        """Take `length` bytes at `position` for the item whose head byte is at `head`."""
        nonlocal position
        end = position + length
        if end > size:
            detail = f"{what} of {length} bytes, but only {size - position} bytes are left"
            raise WireError("cut", head, detail)
        taken = body[position:end]
        position = end
        return taken

    def text(length: int, head: int) -> str:
        try:
            return chunk(length, head, "text").decode()
        except UnicodeDecodeError as error:
            detail = f"text that is not valid UTF-8 ({error.reason} at its byte {error.start})"
            raise WireError("utf8", head, detail) from None

    def enter(what: str, length: int, least: int, head: int, depth: int) -> None:
        """Check that a container may be built: its depth, its declared length, the number of items so far."""
        nonlocal items_left
        if depth == limits.depth:
            raise WireError("deep", head, f"nested more than {limits.depth} deep (limit `depth`)")
        if length * least > size - position:
            detail = f"{what} of {length} entries, but only {size - position} bytes are left"
            raise WireError("cut", head, detail)
        items_left -= length * least
        if items_left < 0:
            raise WireError("many", head, f"more than {limits.items} items (limit `items`)")

    def array(length: int, head: int, depth: int) -> list[Value]:
        enter("an array", length, 1, head, depth)
        found: list[Value] = []
        try:
            for _ in range(length):
                found.append(item(depth + 1))
        except WireError as error:
            error.inside(len(found))
            raise
        return found

    def mapping(length: int, head: int, depth: int) -> dict[str, Value]:
        enter("a map", length, 2, head, depth)
        found: dict[str, Value] = {}
        for _ in range(length):
            start = position
            key = item(depth + 1)
            if not isinstance(key, str):
                raise WireError("key", start, f"map keys must be text, got {kind_of(key)}")
            if key in found:
                raise WireError("duplicate", start, f"the key {key[:100]!r} stands twice in one map")
            try:
                found[key] = item(depth + 1)
            except WireError as error:
                error.inside(key[:100])
                raise
        return found

    def item(depth: int) -> Value:
        nonlocal position
        head = position
        if head >= size:
            raise WireError("cut", head, "the body ends where an item is expected")
        byte = body[head]
        if byte in _NUMBERS:
            width, read = _NUMBERS[byte]
            if head + 1 + width > size:
                raise WireError("cut", head, f"a number of {width} bytes is cut off")
            position = head + 1 + width
            number: int | float = read(body, head + 1)[0]
            return number
        if byte in _STRINGS:
            return text(count(_STRINGS[byte]), head)
        if byte in _BINARIES:
            return chunk(count(_BINARIES[byte]), head, "binary data")
        if byte in _ARRAYS:
            return array(count(_ARRAYS[byte]), head, depth)
        if byte in _MAPS:
            return mapping(count(_MAPS[byte]), head, depth)
        if byte == 0xC1:
            raise WireError("reserved", head, "byte 0xc1 is never used in MessagePack")
        if 0xC7 <= byte <= 0xC9 or 0xD4 <= byte <= 0xD8:
            raise WireError("extension", head, "extension types are not part of the protocol")
        position = head + 1
        if byte < 0x80:
            return byte
        if byte < 0x90:
            return mapping(byte & 0x0F, head, depth)
        if byte < 0xA0:
            return array(byte & 0x0F, head, depth)
        if byte < 0xC0:
            return text(byte & 0x1F, head)
        if byte >= 0xE0:
            return byte - 0x100
        return _CONSTANTS[byte]

    value = item(0)
    if position != size:
        detail = f"{size - position} bytes after the end of the value; send one value in a body"
        raise WireError("trailing", position, detail)
    return value


def kind_of(value: object) -> str:
    """Name of a decoded value's type as a client knows it (`"text"`, `"map"`)."""
    if value is None:
        return "nil"
    names = {
        bool: "bool",
        int: "int",
        float: "float",
        str: "text",
        bytes: "binary data",
        list: "array",
        dict: "map",
    }
    return names.get(type(value), type(value).__name__)


def encode(value: object) -> bytes:
    """Write a value, each item in its shortest form."""
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def encode_unchecked(value: object) -> bytes:
    """The same for what a client sends: half of a surrogate pair is left to the server, which names its field."""
    packed: bytes = msgpack.packb(value, use_bin_type=True, unicode_errors="surrogatepass")
    return packed


def split_map(body: bytes, limits: Limits) -> list[tuple[str, bytes]]:
    """Take a map apart without building its values: the bridge forwards what it need not understand.

    Returns:
        Keys with the bytes of their values, in order.

    Raises:
        WireError: The outer map is at fault. Faults inside of values are left to the one who decodes them.
    """
    unpacker = msgpack.Unpacker(
        raw=False,
        max_buffer_size=max(len(body), 1),
        max_array_len=0,
        max_map_len=0,
        max_ext_len=0,
    )
    unpacker.feed(body)
    entries: dict[str, bytes] = {}
    try:
        for _ in range(unpacker.read_map_header()):
            key = unpacker.unpack()
            start = unpacker.tell()
            unpacker.skip()
            if not isinstance(key, str) or key in entries:
                raise ValueError("a key that is not text, or stands twice")
            entries[key] = body[start : unpacker.tell()]
        if unpacker.tell() != len(body):
            raise ValueError("bytes after the end of the map")
    except (ValueError, msgpack.UnpackException) as error:
        decode(body, limits)
        raise WireError("root", 0, f"the map could not be read: {error}") from error
    return list(entries.items())


def join_map(entries: Iterable[tuple[str, bytes]]) -> bytes:
    """Write a map from keys and values that are already MessagePack; the reverse of `split_map`."""
    listed = list(entries)
    packer = msgpack.Packer()
    parts: list[bytes] = [packer.pack_map_header(len(listed))]
    for key, value in listed:
        parts += (packer.pack(key), value)
    return b"".join(parts)


def frame(message: bytes) -> bytes:
    """A message of the bridge: its length as four bytes, big end first, then itself."""
    return len(message).to_bytes(4, "big") + message
