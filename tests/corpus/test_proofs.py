"""What proofs use, from lists and from extractions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.proofs import ProofLists
from sidecar.corpus.records import Proof
from sidecar.corpus.source import EXAMPLE_FOLDER, open_corpus
from sidecar.errors import SidecarError

ROWS = [{"name": "A.b", "premises": ["A.a", "«x y».c"], "module": "A"}, {"name": "A.c", "premises": []}]
PROOFS = [Proof("A.b", ("A.a", "«x y».c")), Proof("A.c", ())]


def _lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def test_a_file_a_packed_file_and_a_folder_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_bytes(_lines(*ROWS))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "list.jsonl.gz").write_bytes(gzip.compress(_lines(*ROWS)))
    (tmp_path / "more" / "README.md").write_text("not a list")
    for path in (tmp_path / "list.jsonl", tmp_path / "more" / "list.jsonl.gz", tmp_path / "more"):
        lists = ProofLists(path)
        assert list(lists.proofs()) == list(lists.proofs()) == PROOFS


def _extraction(folder: Path, separators: tuple[str, str] = (",", ":")) -> Path:
    folder.mkdir()
    rows = [
        {"row": "module", "format": 1, "module": "A", "imports": [], "docstring": "", "source": None}
        | {"package": None, "revision": None, "toolchain": None},
        *(
            {"row": "declaration", "name": name, "kind": "theorem", "signature": f"theorem {name} : True"}
            | {"display": f"theorem {name} : True", "docstring": "", "constants": ["True"], "conclusion_count": 1}
            | {"attributes": [], "line": 1, "end_line": 1, "parent": None, "has_equations": False}
            for name in ("A.a", "A.b")
        ),
        *(
            {"row": "example", "theorem": "A.b", "proof": "tactic", "state": "⊢ True", "line": 1, "column": 0}
            | {"premises": [{"name": name, "from": origins} for name, origins in premises.items()]}
            for premises in ({"A.a": ["simp", "instance"], "A.i": ["instance"]}, {"A.z": ["rw"]})
        ),
        {"row": "end", "declarations": 2, "examples": 2},
    ]
    text = "".join(json.dumps(row, separators=separators) + "\n" for row in rows)
    (folder / "A.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_an_extraction_brings_its_proofs_and_gives_them_to_another_corpus(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    folder = _extraction(tmp_path / "extraction", separators)
    # What nothing but instance search found is no premise that a prover needs to be given.
    expected = [Proof("A.b", ("A.a",)), Proof("A.b", ("A.z",))]
    assert list(open_corpus(folder).proofs()) == expected
    assert list(ProofLists(folder).proofs()) == expected
    assert list(open_corpus(EXAMPLE_FOLDER).proofs()) == []
    assert list(open_corpus(EXAMPLE_FOLDER, proofs=folder).proofs()) == expected


def test_a_corpus_with_other_proofs_is_another_corpus(tmp_path: Path) -> None:
    file = tmp_path / "list.jsonl"
    file.write_bytes(_lines(*ROWS))
    without = open_corpus(EXAMPLE_FOLDER).fingerprint()
    first = open_corpus(EXAMPLE_FOLDER, proofs=file).fingerprint()
    assert first == open_corpus(EXAMPLE_FOLDER, proofs=file).fingerprint()
    file.write_bytes(_lines(ROWS[0]))
    assert len({without, first, open_corpus(EXAMPLE_FOLDER, proofs=file).fingerprint()}) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_lines(ROWS[0], {"premises": []}), "list.jsonl:2: name is None"),
        (_lines({"name": "", "premises": []}), "list.jsonl:1: name is ''"),
        (_lines({"name": "a"}), "list.jsonl:1: premises is None, it must be a list of names"),
        (_lines({"name": "a", "premises": "b"}), "premises is 'b'"),
        (_lines({"name": "a", "premises": ["b", 3]}), r"premises is \['b', 3\]"),
        (_lines({"name": "a", "premises": [{"name": "x" * 90}]}), r"premises is \[\{'name': 'x+…"),
        (_lines(["a"]), "list.jsonl:1: not a row of JSON"),
        (b'{"name": "a", \n', "list.jsonl:1: not a row of JSON"),
        (b'{"name": "a\\ud800", "premises": []}\n', "list.jsonl:1: not a row of JSON"),
        (_lines(ROWS[0])[:-4], "list.jsonl:1: the file is cut off here"),
    ],
)
def test_a_row_that_is_no_proof_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "list.jsonl"
    file.write_bytes(content)
    with pytest.raises(SidecarError, match=message) as refused:
        list(ProofLists(file).proofs())
    assert refused.value.code == "bad_request"


def test_a_packed_list_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "list.jsonl.gz"
    file.write_bytes(gzip.compress(_lines(*ROWS * 1_000))[:-20])
    with pytest.raises(SidecarError, match="cut off"):
        list(ProofLists(file).proofs())


@pytest.mark.parametrize("end", [b"", b"\r", b" \t", b"\n  ", b"\n\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_list_need_not_end_its_last_line(tmp_path: Path, pack: Callable[[bytes], bytes], end: bytes) -> None:
    file = tmp_path / ("list.jsonl" if pack is bytes else "list.jsonl.gz")
    file.write_bytes(pack(_lines(*ROWS).rstrip(b"\n") + end))
    assert list(ProofLists(file).proofs()) == PROOFS


@given(st.integers(1, len(_lines(ROWS[0])) - 2))
def test_a_list_that_ends_inside_a_row_is_cut_off(tmp_path_factory: pytest.TempPathFactory, kept: int) -> None:
    file = tmp_path_factory.mktemp("cut") / "list.jsonl"
    file.write_bytes(_lines(ROWS[1]) + _lines(ROWS[0])[:kept])
    with pytest.raises(SidecarError, match=r"list\.jsonl:2: the file is cut off here"):
        list(ProofLists(file).proofs())


def test_lists_in_a_folder_go_before_an_extraction_below_it(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl.gz").write_bytes(gzip.compress(_lines(*ROWS)))
    _extraction(tmp_path / "old")
    assert list(ProofLists(tmp_path).proofs()) == PROOFS
    (tmp_path / "list.jsonl.gz").unlink()
    assert list(ProofLists(tmp_path).proofs()) == [Proof("A.b", ("A.a",)), Proof("A.b", ("A.z",))]


@pytest.mark.parametrize("path", ["nowhere", "empty", "empty/note.txt"])
def test_a_path_without_lists_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "note.txt").write_text("no list")
    with pytest.raises(SidecarError) as refused:
        ProofLists(tmp_path / path)
    assert refused.value.code == "not_found" and path in str(refused.value)
