"""The validator of extractions: every fault by file and line, and honest warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.corpus.check import Report, check_extraction
from sidecar.corpus.source import EXAMPLE_FOLDER
from sidecar.errors import SidecarError
from tests.corpus.written import declaration_row, end_row, example_row, lines, module_row, write


def faults_of(report: Report, folder: Path) -> list[str]:
    return [str(fault).removeprefix(f"{folder}/") for fault in report.faults]


def warnings_of(report: Report, folder: Path) -> list[str]:
    return [str(warning).removeprefix(f"{folder}/") for warning in report.warnings]


def test_a_good_extraction_has_no_findings(tmp_path: Path) -> None:
    write(
        tmp_path, module_row("A"), declaration_row("a"), declaration_row("b"), example_row("b", ["a"]), name="1.jsonl"
    )
    write(tmp_path, module_row("B", ["A"]), declaration_row("S", "structure"), name="2.jsonl")
    report = check_extraction(tmp_path)
    assert (report.faults, report.warnings) == ([], [])
    assert report.counts["files"] == 2
    assert report.counts["declaration rows"] == 3
    assert report.counts["kind theorem"] == 2
    assert report.counts["example rows"] == 1
    assert report.counts["premises named"] == 1


def test_all_faults_of_all_files_are_reported_by_file_and_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        module_row("A"),
        declaration_row("a", kind="notion"),
        declaration_row("b", conclusion_count=5),
        declaration_row("c"),
        declaration_row("c"),
        example_row("stranger"),
        example_row("c", state="no turnstile"),
        declaration_row("late"),
        name="1.jsonl",
    )
    (tmp_path / "2.jsonl").write_bytes(lines([module_row("B"), declaration_row("d")])[:-20])
    (tmp_path / "3.jsonl").write_bytes(lines([module_row("C"), declaration_row("e")]))
    (tmp_path / "4.jsonl").write_bytes(lines([module_row("D"), declaration_row("f"), end_row([])]))
    write(tmp_path, module_row("D"), name="5.jsonl")
    (tmp_path / "6.jsonl").write_bytes(b'{"row":"end","declarations":0,"declarations":0,"examples":0}\n')
    found = faults_of(check_extraction(tmp_path), tmp_path)
    assert [fault.split(": ")[0] for fault in found] == [
        *("1.jsonl:2", "1.jsonl:3", "1.jsonl:5", "1.jsonl:6", "1.jsonl:7", "1.jsonl:8", "1.jsonl:9"),
        *("2.jsonl:2", "3.jsonl:3", "4.jsonl:3", "5.jsonl:1", "6.jsonl:1", "6.jsonl:2"),
    ]
    assert "'notion'" in found[0]
    assert "more than there are constants" in found[1]
    assert "c is declared at line 4 already" in found[2]
    assert "example of stranger, which this file does not declare" in found[3]
    assert '"state" must be a goal with ⊢' in found[4]
    assert "a declaration row cannot stand after the example row" in found[5]
    assert "the end row counts 5 declarations and 2 examples, but the file has 3 and 1" in found[6]
    assert "cut off in the middle of this line" in found[7]
    assert "cut off before the end row" in found[8]
    assert "but the file has 1 and 0" in found[9]
    assert "module D has another file" in found[10]
    assert 'field "declarations" stands twice' in found[11]


@pytest.mark.parametrize(
    "premises",
    [
        [{"name": "a", "from": []}],
        [{"name": "a", "from": ["guess"]}],
        [{"name": "a", "from": ["simp", "simp"]}],
        [{"name": "a"}],
        [{"name": "a", "from": ["simp"]}, {"name": "a", "from": ["rw"]}],
        ["a"],
        None,
    ],
)
def test_premises_are_checked(tmp_path: Path, premises: object) -> None:
    write(tmp_path, module_row("A"), declaration_row("a"), example_row("a") | {"premises": premises})
    found = faults_of(check_extraction(tmp_path), tmp_path)
    assert found[0].startswith('file.jsonl:3: example row: "premises" must be a list of {name, from: some of explicit')


def test_what_is_odd_is_a_warning(tmp_path: Path) -> None:
    write(
        tmp_path,
        module_row("A", ["Init", "B"]),
        declaration_row("same"),
        declaration_row("a.match_1"),
        declaration_row("S.f", "field", parent="S"),
        declaration_row("a") | {"colour": "red"},
        example_row("a", ["same", "unheard"]),
        example_row("a", ["unheard"]),
        name="1.jsonl",
    )
    write(tmp_path, module_row("B"), declaration_row("same"), name="2.jsonl")
    (tmp_path / "C.jsonl.tmp").write_text("{")
    report = check_extraction(tmp_path)
    assert report.faults == []
    assert warnings_of(report, tmp_path) == [
        "1.jsonl:3: a.match_1 never surfaces (made by the elaborator); leave it out",
        '1.jsonl:5: the format has no field "colour"; readers ignore it',
        f"2.jsonl:2: same is declared at {tmp_path}/1.jsonl:2 too; readers keep the first",
        "1.jsonl:6: premise unheard is in no file of this folder (and 1 times more)",
        "1.jsonl:4: parent S is in no file of this folder",
        "1.jsonl:1: import Init is in no file of this folder",
        "C.jsonl.tmp:1: left over from an interrupted extraction; it is not read",
    ]


def test_random_rows_can_be_looked_at(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), *(declaration_row(f"a{number}") for number in range(200)))
    first = check_extraction(tmp_path, sample=10, seed=1).sample
    assert len(set(first)) == 10
    assert set(first) <= set((tmp_path / "file.jsonl").read_text().splitlines())
    assert check_extraction(tmp_path, sample=10, seed=1).sample == first
    assert check_extraction(tmp_path, sample=10, seed=2).sample != first
    assert len(check_extraction(tmp_path, sample=1_000).sample) == 202


def test_very_many_faults_are_counted_but_not_all_kept(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), *(declaration_row(f"a{number}", kind="x") for number in range(3_000)))
    report = check_extraction(tmp_path)
    assert report.counts["faults"] == 3_001
    assert len(report.faults) == 1_000
    assert len(report.as_wire()["faults"]) == 1_000  # type: ignore[arg-type]


def test_a_folder_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"has no \*\.jsonl file"):
        check_extraction(tmp_path)


def test_the_example_library_keeps_to_the_format() -> None:
    report = check_extraction(EXAMPLE_FOLDER)
    assert [str(fault) for fault in report.faults] == []
    assert report.counts["declaration rows"] > 0
