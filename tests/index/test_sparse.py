from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.index import sparse
from sidecar.index.files import map_array
from sidecar.index.sparse import SparseRows, offsets_of, transpose

COLUMNS = 7


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, COLUMNS - 1), unique=True), max_size=12), st.integers(1, 9))
def test_each_number_gets_the_rows_that_hold_it(lists: list[list[int]], block: int) -> None:
    values = np.array([number for each in lists for number in each], dtype=np.int32)
    rows = SparseRows(offsets_of(np.array([len(each) for each in lists], dtype=np.int32)), values)
    beside = np.arange(len(values), dtype=np.uint16) + 100
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "BLOCK", block)
        transpose(rows, COLUMNS, Path(name), "t", beside)
        turned = SparseRows.load(Path(name), "t")
        moved = map_array(Path(name) / "t.beside.npy")
        assert len(turned) == COLUMNS
        for number in range(COLUMNS):
            assert turned[number].tolist() == [row for row, each in enumerate(lists) if number in each]
            assert [values[place - 100] for place in moved[turned.span(number)]] == [number] * len(turned[number])


def test_rows_come_back_from_disk(tmp_path: Path) -> None:
    rows = SparseRows(offsets_of(np.array([2, 0, 1])), np.array([5, 1, 3], dtype=np.int32))
    rows.save(tmp_path, "t")
    again = SparseRows.load(tmp_path, "t")
    assert [again[row].tolist() for row in range(len(again))] == [[5, 1], [], [3]]


def test_several_rows_are_taken_as_one_by_one() -> None:
    lists = [[3, 1], [], [2], [5, 5, 0], []]
    rows = SparseRows(offsets_of(np.array([len(each) for each in lists])), np.concatenate(lists).astype(np.int32))
    for chosen in ([], [1], [3, 0, 4, 3], [0, 1, 2, 3, 4]):
        values, lengths = rows.take(np.array(chosen, dtype=np.int64))
        assert values.tolist() == [value for row in chosen for value in lists[row]]
        assert lengths.tolist() == [len(lists[row]) for row in chosen]
