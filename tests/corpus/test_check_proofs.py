"""The check of a list of proofs against a corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.corpus.check import Report
from sidecar.corpus.check_proofs import check_proofs
from sidecar.corpus.source import Corpus, open_corpus
from sidecar.errors import SidecarError
from tests.corpus.written import declaration_row, end_row, example_row, lines, module_row, write

AUXILIARY = "A.b._proof_1"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    folder = tmp_path / "corpus"
    folder.mkdir()
    names = ("A.a", "A.b", "A.c", AUXILIARY)
    instance = declaration_row("A.instance", kind="instance")
    write(folder, module_row("A"), *(declaration_row(name) for name in names), instance)
    return open_corpus(folder)


def proof(name: str, *premises: str) -> bytes:
    return json.dumps({"name": name, "premises": premises}, ensure_ascii=False).encode() + b"\n"


def check(tmp_path: Path, corpus: Corpus, *rows: bytes) -> Report:
    (tmp_path / "list.jsonl").write_bytes(b"".join(rows))
    return check_proofs(tmp_path / "list.jsonl", corpus)


def said(findings: Sequence[object], folder: Path) -> list[str]:
    return [str(finding).removeprefix(f"{folder}/") for finding in findings]


def test_what_a_list_holds_is_counted(tmp_path: Path, corpus: Corpus) -> None:
    report = check(
        tmp_path, corpus, proof("A.b", "A.a", "A.c"), proof("A.b", "A.a"), proof("A.c", "A.instance", "A.c"), b"\n"
    )
    assert report.counts == {
        "proofs": 3,
        "theorems": 2,
        # What no index has among its premises, and the theorem itself, tell nothing.
        "theorems whose proofs an index uses": 1,
        "mentions of premises": 5,
        "premises": 3,
    }
    assert (report.faults, report.warnings) == ([], [])


def test_names_that_the_corpus_does_not_have_are_counted_and_some_are_named(tmp_path: Path, corpus: Corpus) -> None:
    strangers = [f"Of.another{number:02}" for number in range(12)]
    report = check(
        tmp_path, corpus, proof("A.b", "A.a", AUXILIARY, *strangers), proof("Gone", "A.a"), proof("A.c", "Of.another07")
    )
    assert (report.counts["unknown theorems"], report.counts["unknown premises"]) == (1, 12)
    found = said(report.warnings, tmp_path)
    assert found[:2] == [
        "list.jsonl:2: theorem Gone is not in the corpus",
        "list.jsonl:1: premise Of.another07 is not in the corpus (and 1 times more)",
    ]
    assert found[-1] == "list.jsonl:1: 2 more premises are not in the corpus"
    assert len(found) == 1 + 10 + 1
    assert not report.faults


def test_every_row_that_is_no_proof_is_named(tmp_path: Path, corpus: Corpus) -> None:
    report = check(
        tmp_path, corpus, b"[]\n", proof("A.b", "A.a"), b'{"name": "A.c"}\n', b'{"name": 3, "premises": []}\n', b'{"na'
    )
    assert said(report.faults, tmp_path) == [
        "list.jsonl:1: not a row of JSON: the row is not a JSON object",
        "list.jsonl:3: premises is None, it must be a list of names",
        "list.jsonl:4: name is 3, it must be the name of a theorem",
        "list.jsonl:5: the file is cut off here",
    ]
    assert report.counts["proofs"] == 1


def test_a_fault_in_one_list_does_not_hide_those_of_the_next(tmp_path: Path, corpus: Corpus) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "1.jsonl.gz").write_bytes(gzip.compress(proof("A.b", "A.a") * 1_000)[:-12])
    (lists / "2.jsonl").write_bytes(proof("A.b", "A.a") + b"{}\n")
    found = said(check_proofs(lists, corpus).faults, lists)
    assert found[0].startswith("1.jsonl.gz:") and found[0].endswith("cut off here")
    assert found[1:] == ["2.jsonl:2: name is None, it must be the name of a theorem"]


@pytest.mark.parametrize("row", [b"", proof("Gone", "A.a"), proof("A.b", "Gone"), proof("A.b", "A.b"), proof("A.b")])
def test_a_list_that_tells_an_index_nothing_is_a_fault(tmp_path: Path, corpus: Corpus, row: bytes) -> None:
    (fault,) = check(tmp_path, corpus, row).faults
    assert "an index learns nothing" in fault.message


def test_an_extraction_is_checked_by_its_format(tmp_path: Path, corpus: Corpus) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other, module_row("A"), declaration_row("A.b"), example_row("A.b", ["A.a", "Of.another"]))
    report = check_proofs(other, corpus)
    assert report.counts["theorems whose proofs an index uses"] == 1
    assert [finding.message for finding in report.warnings] == ["premise Of.another is not in the corpus"]
    assert report.warnings[0].line == 3
    rows = [module_row("B"), declaration_row("B.b")]
    (other / "cut.jsonl").write_bytes(lines([*rows, end_row(rows)])[:-9])
    assert "cut off" in check_proofs(other, corpus).faults[0].message


def test_a_path_without_a_list_is_an_error(tmp_path: Path, corpus: Corpus) -> None:
    with pytest.raises(SidecarError) as refused:
        check_proofs(tmp_path / "nowhere", corpus)
    assert refused.value.code == "not_found"
