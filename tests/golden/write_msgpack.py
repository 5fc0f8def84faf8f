"""Write `msgpack/vectors.json`: the bytes that both of our MessagePack codecs must read and write.

Run `python -m tests.golden.write_msgpack` in the root of the repository; a test checks that the file is what this
script writes. The bytes are put together here from the MessagePack specification, by no codec, so that a codec can be
tested against them.

The file is one JSON object:

    {"limits": {"depth": 16}, "values": [VALUE…], "malformed": [FAULT…]}

VALUE is `{"name", "value", "bytes", "shortest"}`. Every decoder reads `bytes` as `value`. Where `shortest` is true
every encoder writes `value` as exactly `bytes`; the others are longer forms that decoders accept as well.

`value` is a typed notation, an object with one key:

    {"nil": null}  {"bool": true}  {"int": "-1"}  {"float": "3ff8000000000000"}  {"str": "text"}  {"bin": "00ff"}
    {"array": [value…]}  {"map": [[key, value]…]}
    {"str_repeat": ["ab", 3]}      the text repeated
    {"bin_repeat": ["00", 3]}      the bytes repeated
    {"array_repeat": [value, 3]}   an array of equal items
    {"map_numbered": 3}            the map {"0": nil, "1": nil, "2": nil}

Integers are decimal in a string (JSON readers may round), floats the 16 hexadecimal digits of the IEEE 754 double.

`bytes` is a list of parts to be joined: `{"hex": "a161", "times": 3}`, or `{"keys": 3}`, which stands for the entries
of `map_numbered`: for each number from 0 the byte 0xa0 + its count of digits, the digits in ASCII, and 0xc0.

FAULT is `{"name", "bytes", "kind", "offset", "field"}`: a decoder refuses `bytes`; `kind` is one of

    empty      no byte at all
    cut        an item declares more than there is, or an item is missing
    trailing   bytes after the value
    reserved   byte 0xc1
    extension  an extension type; the protocol has none
    key        a map key that is not text
    duplicate  the same key twice in one map
    utf8       text that is not valid UTF-8
    deep       containers nested deeper than `limits.depth` (the outermost is at depth 1)

and `offset` is the first byte of the item at fault: of the container that declares more entries than there are bytes
left (an array needs one for each, a map two), of the text or number that is cut, of the second of two equal keys, of
the container that is too deep. Where an item is missing or bytes are left over, it is where the item should be or the
first byte too many. `field` is the path from the outermost map to the entry at fault, `null` at the top.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

FILE = Path(__file__).parent / "msgpack" / "vectors.json"
DEPTH = 16

Part = dict[str, object]


def part(octets: bytes | str, times: int = 1) -> Part:
    """Bytes, or their hexadecimal digits, repeated."""
    return {"hex": octets if isinstance(octets, str) else octets.hex(), "times": times}


def sized(heads: list[tuple[int, int, str]], small: tuple[int, int] | None, length: int) -> list[bytes]:
    """Every way to write the head of an item of this length, the shortest first."""
    ways = []
    if small is not None and length <= small[1]:
        ways.append(bytes([small[0] | length]))
    for byte, largest, width in heads:
        if length <= largest:
            ways.append(bytes([byte]) + struct.pack(width, length))
    return ways


def str_heads(length: int) -> list[bytes]:
    """Heads of a text of `length` bytes."""
    return sized([(0xD9, 0xFF, ">B"), (0xDA, 0xFFFF, ">H"), (0xDB, 0xFFFFFFFF, ">I")], (0xA0, 31), length)


def bin_heads(length: int) -> list[bytes]:
    """Heads of binary data."""
    return sized([(0xC4, 0xFF, ">B"), (0xC5, 0xFFFF, ">H"), (0xC6, 0xFFFFFFFF, ">I")], None, length)


def array_heads(length: int) -> list[bytes]:
    """Heads of an array."""
    return sized([(0xDC, 0xFFFF, ">H"), (0xDD, 0xFFFFFFFF, ">I")], (0x90, 15), length)


def map_heads(length: int) -> list[bytes]:
    """Heads of a map."""
    return sized([(0xDE, 0xFFFF, ">H"), (0xDF, 0xFFFFFFFF, ">I")], (0x80, 15), length)


def int_forms(number: int) -> list[bytes]:
    """Every way to write an integer, the shortest first; a number that is not negative is written unsigned."""
    forms = []
    if 0 <= number < 0x80 or -32 <= number < 0:
        forms.append(struct.pack(">b", number))
    unsigned = [(0xCC, ">B", 8), (0xCD, ">H", 16), (0xCE, ">I", 32), (0xCF, ">Q", 64)]
    signed = [(0xD0, ">b", 8), (0xD1, ">h", 16), (0xD2, ">i", 32), (0xD3, ">q", 64)]
    if number >= 0:
        forms += [bytes([head]) + struct.pack(form, number) for head, form, bits in unsigned if number < 1 << bits]
    forms += [
        bytes([head]) + struct.pack(form, number)
        for head, form, bits in signed
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1)
    ]
    return forms


def values() -> list[dict[str, object]]:
    """The valid vectors."""
    found: list[dict[str, object]] = []

    def add(name: str, value: object, ways: list[list[Part]]) -> None:
        for number, parts in enumerate(ways):
            longer = f" (longer form {number})" if number else ""
            found.append({"name": name + longer, "value": value, "bytes": parts, "shortest": number == 0})

    add("nil", {"nil": None}, [[part("c0")]])
    add("false", {"bool": False}, [[part("c2")]])
    add("true", {"bool": True}, [[part("c3")]])

    edges = [0, 1, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 65536]
    edges += [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    edges += [-1, -31, -32, -33, -127, -128, -129, -255, -256, -32768, -32769, -65536]
    edges += [-(2**31), -(2**31) - 1, -(2**63)]
    for number in edges:
        add(f"int {number}", {"int": str(number)}, [[part(form)] for form in int_forms(number)])

    for name, real in [
        ("0.0", 0.0),
        ("-0.0", -0.0),
        ("1.5", 1.5),
        ("0.1", 0.1),
        ("1e300", 1e300),
        ("smallest subnormal", 5e-324),
        ("infinity", float("inf")),
        ("minus infinity", float("-inf")),
    ]:
        double = struct.pack(">d", real)
        ways = [[part(b"\xcb" + double)]]
        if name in ("0.0", "1.5", "infinity"):
            ways.append([part(b"\xca" + struct.pack(">f", real))])
        add(f"float {name}", {"float": double.hex()}, ways)

    for text in [
        "",
        "a",
        "goal",
        "\x00",
        "ℕ",
        "∀ ε > 0, ∃ δ",
        "𝒰S",
        "\U0010ffff",
        "\ufffe",
        "e\u0301 and é",
        "n m : Nat\r\n⊢ n + m = m + n\t",
        "Lean.«term∃__,_»",
        "é" * 15 + "a",
        "é" * 16,
    ]:
        raw = text.encode()
        add(f"str {text!a}", {"str": text}, [[part(head + raw)] for head in str_heads(len(raw))])
    for length in (31, 32, 255, 256, 65535, 65536):
        ways = [[part(head), part("61", length)] for head in str_heads(length)[:2]]
        add(f"str of {length} bytes", {"str_repeat": ["a", length]}, ways)
    add(
        "str of 255 bytes in 85 characters",
        {"str_repeat": ["ℕ", 85]},
        [[part(str_heads(255)[0]), part("ℕ".encode(), 85)]],
    )
    add(
        "str of 256 bytes in 64 characters",
        {"str_repeat": ["𝒰", 64]},
        [[part(str_heads(256)[0]), part("𝒰".encode(), 64)]],
    )

    add("bin empty", {"bin": ""}, [[part(head)] for head in bin_heads(0)])
    add("bin not UTF-8", {"bin": "00ff80c1"}, [[part(head + bytes.fromhex("00ff80c1"))] for head in bin_heads(4)])
    for length in (31, 32, 255, 256, 65535, 65536):
        ways = [[part(head), part("ff", length)] for head in bin_heads(length)[:2]]
        add(f"bin of {length} bytes", {"bin_repeat": ["ff", length]}, ways)

    add("array empty", {"array": []}, [[part(head)] for head in array_heads(0)])
    for length in (15, 16, 31, 32, 255, 256, 65535, 65536):
        ways = [[part(head), part("c0", length)] for head in array_heads(length)[:2]]
        add(f"array of {length} items", {"array_repeat": [{"nil": None}, length]}, ways)

    add("map empty", {"map": []}, [[part(head)] for head in map_heads(0)])
    for length in (15, 16, 31, 32, 255, 256, 65535, 65536):
        ways = [[part(head), {"keys": length}] for head in map_heads(length)[:2]]
        add(f"map of {length} entries", {"map_numbered": length}, ways)

    add(
        "keys that differ only by spelling",
        {"map": [[{"str": k}, {"int": str(i)}] for i, k in enumerate(["", "a", "A", "é", "e\u0301", "ℕ"])]},
        [[part("86a000a16101a14102a2c3a903a365cc8104a3e2849505")]],
    )
    add(
        "entries keep their order",
        {"map": [[{"str": "b"}, {"int": "1"}], [{"str": "a"}, {"int": "2"}]]},
        [[part("82a16201a16102")]],
    )
    deep: dict[str, object] = {"array": []}
    for _ in range(DEPTH - 1):
        deep = {"array": [deep]}
    add(f"arrays {DEPTH} deep", deep, [[part("91", DEPTH - 1), part("90")]])
    add(
        "a small request",
        {
            "map": [
                [{"str": "id"}, {"int": "7"}],
                [{"str": "method"}, {"str": "search"}],
                [
                    {"str": "params"},
                    {"map": [[{"str": "query"}, {"str": "inv₀"}], [{"str": "k"}, {"int": "300"}]]},
                ],
            ]
        },
        [
            [
                part(
                    b"\x83\xa2id\x07\xa6method\xa6search\xa6params\x82\xa5query\xa6"
                    + "inv₀".encode()
                    + b"\xa1k\xcd\x01\x2c"
                )
            ]
        ],
    )
    return found


def malformed() -> list[dict[str, object]]:
    """The inputs that a decoder refuses."""
    found: list[dict[str, object]] = []

    def add(name: str, kind: str, offset: int, *parts: Part, field: str | None = None) -> None:
        found.append({"name": name, "bytes": list(parts), "kind": kind, "offset": offset, "field": field})

    add("no byte", "empty", 0)

    add("a text of 5 bytes that has 1", "cut", 0, part("a561"))
    for head, name in [("d9", "str 8"), ("da", "str 16"), ("db", "str 32"), ("c4", "bin 8"), ("c5", "bin 16")]:
        add(f"{name} without its length", "cut", 0, part(head))
    add("str 32 with half its length", "cut", 0, part("db0000"))
    add("str 32 that declares 4 GiB", "cut", 0, part("dbffffffff61"))
    add("bin 32 that declares 4 GiB", "cut", 0, part("c6ffffffff61"))
    add("array 32 that declares 4 Gi items", "cut", 0, part("ddffffffffc0"))
    add("map 32 that declares 4 Gi entries", "cut", 0, part("dfffffffffa161c0"))
    add("array 16 without its length", "cut", 0, part("dc00"))
    add("map 16 without its length", "cut", 0, part("de00"))
    widths = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
    for byte, width in widths.items():
        add(f"number {byte:#x} one byte short", "cut", 0, part(bytes([byte])), part("01", width - 1))
    add("an array of 3 that has 2 bytes", "cut", 0, part("930102"))
    add("an array of 3 that has 2 items", "cut", 4, part("93a16101"), field="[2]")
    add("a map of 1 that has a key only", "cut", 0, part("81a0"))
    add("a map of 1 whose value is missing", "cut", 3, part("81a161"), field="a")
    add("a map of 2 that has 1 entry", "cut", 5, part("82a26162c0"))
    add("a cut text inside", "cut", 10, part(b"\x81\xa8premises\xa5ab"), field="premises")
    add(
        "a cut text in a map in an array in a map",
        "cut",
        17,
        part(b"\x81\xa8premises\x91\x81\xa4text\xa5ab"),
        field="premises[0].text",
    )

    add("two values", "trailing", 1, part("c0c0"))
    add("two maps", "trailing", 4, part("81a16101"), part("81a16101"))
    add("a line feed after the value", "trailing", 1, part("800a"))

    add("the reserved byte", "reserved", 0, part("c1"))
    add("the reserved byte inside", "reserved", 2, part("9201c1"), field="[1]")
    for head, rest in [("d4", "0100"), ("d5", "010000"), ("d6", "0100000000"), ("c7", "0101ff")]:
        add(f"extension 0x{head}", "extension", 0, part(head + rest))
    add("a timestamp as a value", "extension", 3, part("81a174d6ff00000000"), field="t")

    for name, key in [
        ("an int", "01"),
        ("nil", "c0"),
        ("a bool", "c3"),
        ("binary data", "c40161"),
        ("a float", "cb3ff0000000000000"),
        ("an array", "90"),
        ("a map", "80"),
    ]:
        add(f"a key that is {name}", "key", 1, part("81" + key + "c0"))
    add("a key that is an int, inside", "key", 9, part(b"\x81\xa6params\x81\x01\xc0"), field="params")

    add("the same key twice", "duplicate", 4, part("82a16101a16102"))
    add("the same key twice, written in two widths", "duplicate", 4, part("82a16101d9016102"))
    add("the empty key twice", "duplicate", 3, part("82a001a002"))
    add(
        "the same key twice, inside",
        "duplicate",
        12,
        part(b"\x81\xa6params\x82\xa1k\x01\xa1k\x02"),
        field="params",
    )

    for name, octets in [
        ("a lone byte 0xff", "ff"),
        ("a lone continuation byte", "80"),
        ("a cut character", "e284"),
        ("an overlong slash", "c0af"),
        ("an overlong NUL", "c080"),
        ("a lone high surrogate", "eda080"),
        ("a lone low surrogate", "edb080"),
        ("a pair of surrogates (CESU-8)", "eda081edb080"),
        ("above U+10FFFF", "f4908080"),
        ("Latin-1", "e9"),
    ]:
        raw = bytes.fromhex(octets)
        add(f"text: {name}", "utf8", 0, part(bytes([0xA0 | len(raw)]) + raw))
    add("a goal that is not UTF-8", "utf8", 6, part(b"\x81\xa4goal\xa3a\xffb"), field="goal")
    add("a key that is not UTF-8", "utf8", 1, part("81a1ffc0"))

    add(f"arrays {DEPTH + 1} deep", "deep", DEPTH, part("91", DEPTH), part("90"), field="[0]" * DEPTH)
    add("10,000 nested arrays", "deep", DEPTH, part("91", 10_000), part("90"), field="[0]" * DEPTH)
    add("10,000 nested arrays, the last missing", "deep", DEPTH, part("91", 10_000), field="[0]" * DEPTH)
    add(
        "10,000 nested maps",
        "deep",
        3 * DEPTH,
        part("81a161", 10_000),
        part("80"),
        field=".".join("a" * DEPTH),
    )

    add("JSON", "trailing", 1, part(b'{"goal": "x"}'))
    add("a JSON array", "trailing", 1, part(b"[1, 2]"))
    return found


def document() -> str:
    """The text of the file: one vector a line, so that differences are readable."""
    lines = ["{", f'"limits": {{"depth": {DEPTH}}},', '"values": [']
    lines.append(",\n".join(json.dumps(vector, ensure_ascii=False) for vector in values()))
    lines += ["],", '"malformed": [']
    lines.append(",\n".join(json.dumps(vector, ensure_ascii=False) for vector in malformed()))
    lines += ["]", "}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document(), encoding="utf-8")
    print(f"{FILE}: {len(values())} values, {len(malformed())} malformed inputs")
