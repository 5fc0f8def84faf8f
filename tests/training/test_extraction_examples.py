"""The reader of extractions, on files as the Lean program writes them and on broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.corpus.check import check_extraction
from sidecar.corpus.source import open_corpus
from sidecar.errors import SidecarError
from tests.corpus.written import declaration_row, end_row, example_row, lines, module_row, write
from training.data.examples import ORIGINS, PremiseExample
from training.data.extraction import read_extraction

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "extraction"


@pytest.fixture(scope="module")
def examples() -> list[PremiseExample]:
    return list(read_extraction(GOLDEN))


def test_the_files_keep_to_the_format() -> None:
    report = check_extraction(GOLDEN)
    assert report.faults == []
    # The core library is not among the files; every premise and every parent is.
    assert [finding.message.split(" is in no file")[0] for finding in report.warnings] == ["import Init"]


def test_the_sidecar_reads_the_same_files() -> None:
    corpus = open_corpus(GOLDEN)
    assert corpus.format == "extraction"
    assert [module.name for module in corpus.modules()] == ["Golden.Numbers", "Golden.Sums"]
    names = {declaration.name for declaration in corpus.declarations()}
    assert {"Num", "Num.add", "Num.add_comm"} <= names


def test_positions_are_those_of_the_sources() -> None:
    for file in sorted(GOLDEN.glob("*.jsonl")):
        source = GOLDEN.joinpath(*file.stem.split(".")).with_suffix(".lean").read_text(encoding="utf-8").split("\n")
        for example in read_extraction(file):
            assert example.line is not None
            short = example.theorem.removeprefix("Num.")
            assert any(f"theorem {short}" in line for line in source[example.line - 1 : example.line + 1])


def test_states_without_premises_are_left_out(examples: list[PremiseExample]) -> None:
    assert all(example.positives for example in examples)
    assert "Num.add_zero" not in {example.theorem for example in examples}


def test_every_state_of_a_proof_has_the_premises_that_close_it(examples: list[PremiseExample]) -> None:
    of_comm = [example for example in examples if example.theorem == "Num.add_comm"]
    assert [sorted(example.gold) for example in of_comm] == [
        ["Num.add_succ", "Num.add_zero", "Num.succ_add", "Num.zero_add"],
        ["Num.add_zero", "Num.zero_add"],
        ["Num.add_succ", "Num.succ_add"],
    ]
    assert {example.module for example in of_comm} == {"Golden.Sums"}
    assert all(example.signature.startswith("theorem Num.add_comm (a b : Num) : Eq") for example in of_comm)


def test_origins_are_kept(examples: list[PremiseExample]) -> None:
    root = next(example for example in examples if example.theorem == "Num.double_zero")
    assert {positive.name: positive.origins for positive in root.positives} == {
        "Num.add_zero": ("explicit",),
        "Num.double": ("definitional", "explicit"),
    }
    seen = {origin for example in examples for positive in example.positives for origin in positive.origins}
    assert seen <= set(ORIGINS)


def test_term_proofs_are_examples(examples: list[PremiseExample]) -> None:
    (term,) = [example for example in examples if example.proof == "term"]
    assert (term.theorem, term.gold, term.generated) == ("Num.comm", ("Num.add_comm",), False)


def test_instances_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    premises = [
        {"name": "found", "from": ["instance"]},
        {"name": "named", "from": ["explicit", "instance"]},
        {"name": "a", "from": ["simp"]},
    ]
    row = example_row("a") | {"premises": premises}
    write(tmp_path, module_row("A"), declaration_row("a"), row, name="A.jsonl")
    (example,) = read_extraction(tmp_path)
    assert example.gold == ("named",)
    (example,) = read_extraction(tmp_path, include_instances=True)
    assert example.gold == ("found", "named")


def test_proofs_that_an_attribute_made_are_marked(tmp_path: Path) -> None:
    row = example_row("a", ["b"], line=None, column=None, proof="term")
    write(tmp_path, module_row("A"), declaration_row("a"), row, name="A.jsonl")
    (example,) = read_extraction(tmp_path)
    assert example.generated


def test_an_example_of_an_unknown_theorem_is_named(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), declaration_row("a"), example_row("b", ["a"]), name="A.jsonl")
    with pytest.raises(SidecarError, match=r"A\.jsonl:3: example of b"):
        list(read_extraction(tmp_path))


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_file_that_was_cut_off_is_noticed(tmp_path: Path, kept: int) -> None:
    rows = [module_row("A"), declaration_row("a"), example_row("a", ["b"])]
    (tmp_path / "A.jsonl").write_bytes(b"".join(lines([*rows, end_row(rows)]).splitlines(keepends=True)[:kept]))
    with pytest.raises(SidecarError, match="cut off"):
        list(read_extraction(tmp_path))


def test_a_row_that_breaks_the_format_is_named(tmp_path: Path) -> None:
    (tmp_path / "A.jsonl").write_text('{"row":"module","format":2}\n', encoding="utf-8")
    with pytest.raises(SidecarError, match=r"A\.jsonl:1: "):
        list(read_extraction(tmp_path))


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"no \*\.jsonl"):
        list(read_extraction(tmp_path))
