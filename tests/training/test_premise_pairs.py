"""The reader of (theorem, premises) pairs, on made and on real files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sidecar.errors import SidecarError
from training.data.premise_pairs import read_pairs

ROW = {
    "name": "A.b",
    "module": "M",
    "line": 3,
    "statement": "theorem b : x",
    "state": "⊢ x",
    "premises": ["P", "Q", "P", "A.b"],
    "weak": ["Q"],
    "tactics": True,
    "rsplit": "train",
}


def _write(folder: Path, text: str, *, cut: int = 0) -> None:
    data = gzip.compress(text.encode())
    (folder / "pairs-valid-000.jsonl.gz").write_bytes(data[: len(data) - cut])


def test_positives_have_no_repeats_and_not_the_theorem_itself(tmp_path: Path) -> None:
    _write(tmp_path, json.dumps(ROW) + "\n")
    (example,) = read_pairs(tmp_path, "valid")
    assert example.gold == ("P", "Q")
    assert example.proof == "tactic"
    (strict,) = read_pairs(tmp_path, "valid", include_weak=False)
    assert strict.gold == ("P",)


def test_the_full_state_is_preferred(tmp_path: Path) -> None:
    _write(tmp_path, json.dumps({**ROW, "state_fq": "⊢ A.x"}) + "\n")
    (example,) = read_pairs(tmp_path, "valid")
    assert example.state == "⊢ A.x"


@pytest.mark.parametrize("text", [json.dumps(ROW) + "\n" + json.dumps(ROW)[:40], '{"name": "only"}\n'])
def test_a_broken_line_is_named(tmp_path: Path, text: str) -> None:
    _write(tmp_path, text)
    with pytest.raises(SidecarError, match=r"pairs-valid-000.jsonl.gz, line [12]"):
        list(read_pairs(tmp_path, "valid"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"premises": "abc"}, "line 2: TypeError premises is 'abc', not a list"),
        ({"premises": ["a", 5]}, "line 2: TypeError the state, or one of the premises, is not a text"),
        ({"state": 5}, "line 2: TypeError the state"),
        ({"name": None}, "line 2: TypeError name is None, not a text"),
    ],
)
def test_a_field_of_another_kind_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    _write(tmp_path, json.dumps(ROW) + "\n" + json.dumps({**ROW, **change}) + "\n")
    with pytest.raises(SidecarError, match=message):
        list(read_pairs(tmp_path, "valid"))


def test_what_is_not_utf_8_is_named_with_its_file(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "pairs-valid-000.jsonl.gz", "wb") as file:
        file.write(json.dumps(ROW).encode() + b"\n\xff\n")
    with pytest.raises(SidecarError, match=r"pairs-valid-000\.jsonl\.gz, after line \d: .*utf-8"):
        list(read_pairs(tmp_path, "valid"))


def test_a_cut_off_file_is_noticed(tmp_path: Path) -> None:
    _write(tmp_path, (json.dumps(ROW) + "\n") * 2_000, cut=12)
    with pytest.raises(SidecarError, match="cut off after line"):
        list(read_pairs(tmp_path, "valid"))


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="dev"):
        list(read_pairs(tmp_path, "dev"))
    with pytest.raises(SidecarError, match="no pairs-test"):
        list(read_pairs(tmp_path, "test"))


@pytest.mark.shared_data
def test_the_real_validation_split(shared: Path) -> None:
    examples = list(read_pairs(shared / "data" / "premises", "valid"))
    assert len(examples) > 8_800
    assert all(example.gold and example.theorem not in example.gold for example in examples)
    assert all("⊢" in example.state for example in examples)
