"""Write `bridge/frames.json`: what the Lean plugin sends through the bridge, and what it gets back.

Run `python -m tests.golden.write_bridge` in the root of the repository; a test checks that the file is what this script
writes, another sends every request through a real bridge to a real server.

The file is one JSON object `{"requests": […], "answers": […]}`.

A request is `{"name", "id", "method", "params", "frame"}`: the plugin writes `frame` (hexadecimal: four bytes of
length, big end first, and a MessagePack map with the keys `id`, `method`, `params` in this order) for these `params`,
whose entries are in the order in which the plugin writes them. A cancellation has no `params`.

An answer is `{"name", "id", "result" or "error", "frame"}`: the plugin reads `frame` as this.

Values are in the typed notation of `write_msgpack.py`.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tests.golden.write_msgpack import array_heads, bin_heads, int_forms, map_heads, str_heads

FILE = Path(__file__).parent / "bridge" / "frames.json"

Notation = dict[str, Any]


def notation(value: object) -> Notation:
    """The typed notation of a Python value."""
    if value is None:
        return {"nil": None}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": struct.pack(">d", value).hex()}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, bytes):
        return {"bin": value.hex()}
    if isinstance(value, list):
        return {"array": [notation(item) for item in value]}
    if isinstance(value, dict):
        return {"map": [[notation(key), notation(item)] for key, item in value.items()]}
    raise TypeError(f"no notation for {value!r}")


def octets(value: object) -> bytes:
    """The shortest MessagePack of a Python value, put together without a codec."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return int_forms(value)[0]
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        return str_heads(len(raw))[0] + raw
    if isinstance(value, bytes):
        return bin_heads(len(value))[0] + value
    if isinstance(value, list):
        return array_heads(len(value))[0] + b"".join(map(octets, value))
    if isinstance(value, dict):
        entries = b"".join(octets(key) + octets(item) for key, item in value.items())
        return map_heads(len(value))[0] + entries
    raise TypeError(f"no MessagePack for {value!r}")


def frame(message: object) -> str:
    """A frame in hexadecimal."""
    body = octets(message)
    return (len(body).to_bytes(4, "big") + body).hex()


GOAL = "n m : Nat\nh : @LT.lt.{0} Nat instLTNat n m\n⊢ @Eq.{1} Nat (HAdd.hAdd n m) (HAdd.hAdd m n)"

LOCAL = {
    "name": "Demo.double_eq",
    "text": "/-- Twice a number. -/\ntheorem Demo.double_eq (n : Nat) : Eq (Demo.double n) (HAdd.hAdd n n)",
    "constants": ["Eq", "Demo.double", "HAdd.hAdd", "Nat"],
}

PROBLEM = (
    "thf(man_type, type, man: $i > $o).\nthf(mortal_type, type, mortal: $i > $o).\nthf(s_type, type, s: $i).\n"
    "thf(fact0, axiom, ![X: $i]: ((man @ X) => (mortal @ X))).\nthf(fact1, axiom, man @ s).\n"
    "thf(goal, conjecture, mortal @ s).\n"
)


def content_hash(name: str, text: str) -> str:
    """FNV-1a, 64 bits, of name, line feed and text in UTF-8: 16 lower-case hexadecimal digits."""
    number = 0xCBF29CE484222325
    for byte in f"{name}\n{text}".encode():
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{number:016x}"


def requests() -> list[tuple[str, str, dict[str, object] | None]]:
    """Name, method and params of every request; the deadline is always the last entry."""
    described = {
        **LOCAL,
        "module": "Demo.Basic",
        "hash": content_hash(str(LOCAL["name"]), str(LOCAL["text"])),
    }
    return [
        ("status", "status", {"deadline_ms": 5000}),
        ("environment, first", "environment", {"imports": ["Init", "Demo.Basic"], "deadline_ms": 10000}),
        (
            "environment, with the hashes of a module that the index does not know",
            "environment",
            {
                "imports": ["Init", "Demo.Basic"],
                "modules": [{"module": "Demo.Basic", "hashes": [described["hash"]]}],
                "deadline_ms": 10000,
            },
        ),
        (
            "environment, with the texts that were missing",
            "environment",
            {
                "imports": ["Init", "Demo.Basic"],
                "modules": [{"module": "Demo.Basic", "hashes": [described["hash"]]}],
                "premises": [described],
                "deadline_ms": 10000,
            },
        ),
        (
            "premises, with everything",
            "premises",
            {
                "goal": GOAL,
                "k": 32,
                "environment": "ENVIRONMENT",
                "method": "fused",
                "premises": [{**LOCAL, "name": "Demo.local"}],
                "symbols": ["Eq", "HAdd.hAdd", "Nat", "LT.lt"],
                "exclude": ["Demo.bad"],
                "theorem": "Demo.goal",
                "module": "Demo.Main",
                "namespace": "Demo",
                "deadline_ms": 10000,
            },
        ),
        (
            "premises, with the least",
            "premises",
            {"goal": "⊢ True", "k": 1, "environment": "ENVIRONMENT", "method": "symbolic", "deadline_ms": 10000},
        ),
        ("search, with the least", "search", {"query": "inv₀", "k": 10, "deadline_ms": 10000}),
        (
            "search, with everything",
            "search",
            {
                "query": "addition of natural numbers is commutative",
                "k": 5,
                "modules": ["Init"],
                "kinds": ["theorem", "def"],
                "imports": ["Init"],
                "deadline_ms": 10000,
            },
        ),
        ("embed", "embed", {"texts": ["⊢ True", ""], "purpose": "goal", "deadline_ms": 10000}),
        ("prove", "prove", {"problem": PROBLEM, "deadline_ms": 10000}),
        ("prove, with one prover", "prove", {"problem": PROBLEM, "provers": ["e"], "deadline_ms": 10000}),
        (
            "feedback",
            "feedback",
            {"goal": GOAL, "premises": ["Nat.add_comm"], "tactic": "simp [Nat.add_comm]", "deadline_ms": 1000},
        ),
        ("feedback, without a tactic", "feedback", {"goal": GOAL, "premises": [], "deadline_ms": 1000}),
        ("cancel", "cancel", None),
    ]


def answers() -> list[tuple[str, str, object]]:
    """Name, `result` or `error`, and its value."""
    return [
        (
            "status",
            "result",
            {
                "version": "0.1.0",
                "protocol": 1,
                "instance": "0011223344556677",
                "pid": 4242,
                "uptime_s": 12.5,
                "revision": "5ca1ab1e",
                "index": {
                    "folder": "/home/me/.local/share/lean-sidecar/default",
                    "example": False,
                    "declarations": 300000,
                    "premises": 250000,
                    "targets": 290000,
                    "deprecated": 5000,
                    "modules": 8000,
                    "constants": 200000,
                    "words": 90000,
                    "hidden": 1000,
                    "revisions": {"mathlib": "0123456789abcdef0123456789abcdef01234567"},
                },
                "encoder": {
                    "name": "small",
                    "dimension": 384,
                    "max_tokens": 256,
                    "fingerprint": "c0ffee",
                    "backend": "cpu bf16, 1 thread",
                },
                "search_encoder": {
                    "name": "small",
                    "dimension": 384,
                    "max_tokens": 256,
                    "fingerprint": "c0ffee",
                    "backend": "cpu bf16, 1 thread",
                },
                "queue": 0,
                "limits": {"body_bytes": 67108864, "k": 4096, "deadline_ms": 600000},
                "feedback": False,
                "provers": ["e"],
            },
        ),
        (
            "environment",
            "result",
            {
                "environment": "6b1e5c0d",
                "missing": ["00112233445566ff"],
                "unknown_modules": ["Demo.Other"],
                "revision": "5ca1ab1e",
            },
        ),
        (
            "premises",
            "result",
            {
                "premises": [
                    {
                        "name": "Nat.add_comm",
                        "score": 0.0328,
                        "origin": "index",
                        "kind": "theorem",
                        "module": "Init.Data.Nat.Basic",
                        "ranks": {"neural": 1, "symbolic": 2},
                    },
                    {
                        "name": "Demo.«a.b»",
                        "score": 0.0161,
                        "origin": "file",
                        "kind": None,
                        "module": None,
                        "ranks": {"neural": 300},
                    },
                ],
                "warnings": [{"code": "unknown_modules", "message": "the index does not know Demo.Other"}],
                "revision": "5ca1ab1e",
                "visible": 150000,
                "timings": {"encode": 4.25, "total": 11.0},
            },
        ),
        (
            "premises, none",
            "result",
            {"premises": [], "warnings": [], "revision": "5ca1ab1e", "visible": 0, "timings": {}},
        ),
        (
            "search",
            "result",
            {
                "results": [
                    {
                        "name": "Nat.add_comm",
                        "kind": "theorem",
                        "module": "Init.Data.Nat.Basic",
                        "signature": "theorem Nat.add_comm (n m : ℕ) : n + m = m + n",
                        "docstring": "",
                        "link": None,
                        "score": 0.05,
                        "why": [{"method": "name", "rank": 1, "detail": "its name is the query"}],
                        "deprecated": False,
                    }
                ],
                "rewritten": None,
                "warnings": [],
                "revision": "5ca1ab1e",
                "timings": {"total": 3.5},
            },
        ),
        (
            "embed",
            "result",
            {"vectors": struct.pack("<4f", 1.0, 0.0, 0.5, -0.25), "dimension": 2, "fingerprint": "c0ffee"},
        ),
        (
            "prove",
            "result",
            {
                "status": "theorem",
                "prover": "e",
                "used": ["fact0", "fact1"],
                "used_from": "proof",
                "provers": [
                    {"name": "e", "status": "theorem", "milliseconds": 31.5},
                    {"name": "z3", "status": "error", "milliseconds": 2.0, "detail": "invalid option"},
                ],
            },
        ),
        (
            "prove, no prover",
            "result",
            {"status": "no_prover", "prover": None, "used": [], "used_from": None, "provers": []},
        ),
        ("feedback", "result", {"stored": False}),
        (
            "an error with everything",
            "error",
            {
                "code": "overloaded",
                "message": "512 requests wait for the model already",
                "field": "texts[3]",
                "hint": "try again later",
                "retry_after": 1.5,
            },
        ),
        ("an error with the least", "error", {"code": "cancelled", "message": "the request was cancelled"}),
    ]


def document() -> str:
    """The text of the file, one frame a line."""
    asked = []
    for id, (name, method, params) in enumerate(requests(), start=1):
        message: dict[str, object] = {"id": id, "method": method}
        if params is not None:
            message["params"] = params
        row = {"name": name, "id": id, "method": method}
        if params is not None:
            row["params"] = notation(params)
        asked.append(json.dumps({**row, "frame": frame(message)}, ensure_ascii=False))
    answered = []
    for id, (name, key, value) in enumerate(answers(), start=1):
        row = {"name": name, "id": id, key: notation(value), "frame": frame({"id": id, key: value})}
        answered.append(json.dumps(row, ensure_ascii=False))
    lines = ["{", '"requests": [', ",\n".join(asked), "],", '"answers": [', ",\n".join(answered), "]", "}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document(), encoding="utf-8")
    print(f"{FILE}: {len(requests())} requests, {len(answers())} answers")
