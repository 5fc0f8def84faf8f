"""Read `tests/golden/msgpack/vectors.json`: typed notation to values, parts to bytes."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "golden" / "msgpack" / "vectors.json"
DOCUMENT: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def value_of(notation: dict[str, Any]) -> Any:
    """The value that a typed notation stands for."""
    ((kind, content),) = notation.items()
    match kind:
        case "nil":
            return None
        case "bool" | "str":
            return content
        case "int":
            return int(content)
        case "float":
            return struct.unpack(">d", bytes.fromhex(content))[0]
        case "bin":
            return bytes.fromhex(content)
        case "array":
            return [value_of(item) for item in content]
        case "map":
            return {value_of(key): value_of(item) for key, item in content}
        case "str_repeat":
            return content[0] * content[1]
        case "bin_repeat":
            return bytes.fromhex(content[0]) * content[1]
        case "array_repeat":
            return [value_of(content[0]) for _ in range(content[1])]
        case "map_numbered":
            return {str(number): None for number in range(content)}
    raise AssertionError(f"unknown notation {kind}")


def bytes_of(parts: list[dict[str, Any]]) -> bytes:
    """The bytes that a list of parts stands for."""
    joined = bytearray()
    for part in parts:
        if "keys" in part:
            for number in range(part["keys"]):
                digits = str(number).encode()
                joined += bytes([0xA0 + len(digits)]) + digits + b"\xc0"
        else:
            joined += bytes.fromhex(part["hex"]) * part["times"]
    return bytes(joined)
