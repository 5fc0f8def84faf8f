from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sidecar.select.content_hash import content_hash, content_hashes

GOLDEN = Path(__file__).parents[1] / "golden" / "content-hashes.json"


def fnv1a(content: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in content:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def by_definition(name: str, text: str) -> str:
    return fnv1a(f"{name}\n{text}".encode())


def test_published_vectors() -> None:
    assert fnv1a(b"a") == "af63dc4c8601ec8c"
    assert fnv1a(b"foobar") == "85944171f73967e8"
    assert content_hash("", "") == fnv1a(b"\n")


def test_golden_file() -> None:
    """The same file is read by the Lean tests."""
    for entry in json.loads(GOLDEN.read_text(encoding="utf-8")):
        assert content_hash(entry["name"], entry["text"]) == entry["hash"], entry["name"]


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=40)), max_size=120))
def test_many_at_once_equal_one_by_one(premises: list[tuple[str, str]]) -> None:
    premises = [(name, text) for name, text in premises if not _has_surrogate(name + text)]
    found = content_hashes([name for name, _ in premises], [text for _, text in premises])
    assert found == [by_definition(name, text) for name, text in premises]


def test_a_few_long_texts_among_thousands_of_short_ones() -> None:
    texts = [f"theorem t{number} : {number} = {number}" for number in range(3_000)]
    texts[17] = "∀ x, " * 4_000
    texts[2_999] = "x" * 9_999
    names = [f"t{number}" for number in range(3_000)]
    found = content_hashes(names, texts)
    for place in (0, 17, 1_024, 2_998, 2_999):
        assert found[place] == by_definition(names[place], texts[place])


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
