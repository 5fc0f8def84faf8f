from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.index import strings as module
from sidecar.index.strings import StringTable, write_strings

any_text = st.text(st.characters(codec=None), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(any_text, unique=True, max_size=40), st.lists(any_text, max_size=10))
def test_every_string_comes_back_under_its_number(strings: list[str], others: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert write_strings(folder, "t", strings) == len(strings)
        table = StringTable(folder, "t")
        assert list(table) == strings
        assert [table[number] for number in range(len(table))] == strings
        assert table.take(reversed(range(len(strings)))) == strings[::-1]
        assert table.take(range(len(strings))) == strings
        assert table.take(range(2, len(strings) - 1)) == strings[2:-1]
        expected = {string: number for number, string in enumerate(strings)}
        asked = [*others, *strings, *others]
        assert [table.find(string) for string in asked] == [expected.get(string) for string in asked]
        assert table.find_all(asked).tolist() == [expected.get(string, -1) for string in asked]


def test_reading_all_names_at_once_and_one_by_one_agree(tmp_path: Path) -> None:
    names = [f"{'𝒰₂' if number % 700 == 0 else 'Nat'}.lemma_{number}" for number in range(3_000)]
    names[900] += "\ud835"  # half a character
    write_strings(tmp_path, "t", names)
    table = StringTable(tmp_path, "t")
    assert table.take(range(3_000)) == list(table) == names
    assert table.take(range(699, 2_102)) == names[699:2_102]
    assert table.take(range(5, 5)) == table.take(range(9, 5)) == []
    for numbers in (range(-1, 3), range(2_999, 3_001)):
        with pytest.raises(IndexError):
            table.take(numbers)


def test_names_that_look_alike_stay_apart(tmp_path: Path) -> None:
    names = ["quot.sound", "«quot.sound»", "Quot.sound", "map₂'", "map₂", "𝒰S", "US", "\u00c5", "A\u030a", "ﬁ", "fi"]
    write_strings(tmp_path, "t", names)
    table = StringTable(tmp_path, "t")
    assert [table.find(name) for name in names] == list(range(len(names)))


def test_strings_with_one_hash_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Weak:
        def __init__(self, data: bytes, digest_size: int) -> None:
            self._data = data

        def digest(self) -> bytes:
            return bytes([len(self._data), 0, 0, 0, 0, 0, 0, 0])

    monkeypatch.setattr(module, "blake2b", Weak)
    names = ["aa", "b", "ab", "ba", "c"]
    write_strings(tmp_path, "t", names)
    table = StringTable(tmp_path, "t")
    assert [table.find(name) for name in names] == [0, 1, 2, 3, 4]
    assert table.find("zz") is None
    assert table.find_all(["ba", "zz", "c"]).tolist() == [3, -1, 4]


def test_a_number_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write_strings(tmp_path, "t", ["a"])
    table = StringTable(tmp_path, "t")
    for number in (-1, 1):
        with pytest.raises(IndexError):
            table[number]
        with pytest.raises(IndexError):
            table.take([0, number])
