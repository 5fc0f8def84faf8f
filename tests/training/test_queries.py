"""The reader of queries, on made and on real files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sidecar.errors import SidecarError
from training.data.queries import read_queries

ROW = {"query": "sum of subspaces", "gold": ["A", "A", "B"], "set": "s", "kind": "short"}


def test_gold_has_no_repeats(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    assert next(read_queries(path)).gold == ("A", "B")


@pytest.mark.parametrize(
    "line", ['{"query": "cut o', '{"query": "x"}', '{"query": " ", "gold": ["A"], "set": "s", "kind": "short"}']
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(SidecarError, match=r"queries\.jsonl, line 2"):
        list(read_queries(path))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="is not a file"):
        list(read_queries(tmp_path / "none.jsonl"))


@pytest.mark.shared_data
def test_the_real_development_queries(shared: Path) -> None:
    examples = list(read_queries(shared / "data" / "queries" / "dev.jsonl"))
    assert len(examples) == 806
    assert set(Counter(example.style for example in examples)) == {"short", "long"}
