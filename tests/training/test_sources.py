"""Examples from a folder of any format, divided one way or the other."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import SidecarError
from tests.corpus.written import declaration_row, example_row, module_row, write
from training.data.examples import Positive, PremiseExample
from training.data.lean_dojo import module_of, read_lean_dojo
from training.data.sources import ExampleSource, naive


def _premise(name: str) -> dict[str, Any]:
    return {"full_name": name, "def_path": "Mathlib/Order/Basic.lean", "def_pos": [9, 8], "def_end_pos": [9, 15]}


def _tactic(text: str, *premises: str) -> dict[str, Any]:
    marked = text
    for premise in premises:
        marked = marked.replace(premise, f"<a>{premise}</a>")
    return {
        "tactic": text,
        "annotated_tactic": [marked, [_premise(premise) for premise in premises]],
        "state_before": f"a b : ℕ\n⊢ before {text}",
        "state_after": "no goals",
    }


def _theorem(name: str, *tactics: dict[str, Any], path: str = "Mathlib/Order/Lattice.lean") -> dict[str, Any]:
    return {
        "url": "https://github.com/leanprover-community/mathlib4",
        "commit": "fe4454af900584467d21f4fd4fe951d29d9332a7",
        "file_path": path,
        "full_name": name,
        "start": [42, 1],
        "end": [44, 30],
        "traced_tactics": list(tactics),
    }


def _benchmark(folder: Path, split: str = "random", *theorems: dict[str, Any]) -> Path:
    (folder / split).mkdir(parents=True)
    for part in ("train", "val", "test"):
        (folder / split / f"{part}.json").write_text(
            json.dumps(list(theorems) if part == "train" else []), encoding="utf-8"
        )
    return folder


def test_every_tactic_that_names_a_premise_is_an_example(tmp_path: Path) -> None:
    _benchmark(
        tmp_path,
        "novel_premises",
        _theorem("a", _tactic("rw [p, q]", "p", "q"), _tactic("intro h"), _tactic("exact r p", "r", "p", "a")),
        _theorem("b", path=".lake/packages/batteries/Batteries/Logic.lean"),
        _theorem("c", _tactic("simp only [p]", "p"), path=".lake/packages/lean4/src/lean/Init/Core.lean"),
    )
    source = ExampleSource.open(tmp_path, "novel_premises")
    one, two, three = source.read("train")
    assert (one.theorem, one.module, one.line, one.state) == (
        "a",
        "Mathlib.Order.Lattice",
        42,
        "a b : ℕ\n⊢ before rw [p, q]",
    )
    assert one.positives == (Positive("p", ("rw",)), Positive("q", ("rw",)))
    assert two.positives == (Positive("r"), Positive("p"))
    assert (three.module, three.positives) == ("Init.Core", (Positive("p", ("simp",)),))
    assert list(source.read("valid")) == []
    assert module_of(".lake/packages/batteries/Batteries/Logic.lean") == "Batteries.Logic"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_benchmark_file_cut_anywhere_gives_all_before_and_names_the_line(tmp_path: Path, indent: int | None) -> None:
    theorems = [_theorem(f"t{number}", _tactic("rw [p]", "p")) for number in range(3)]
    text = json.dumps(theorems, indent=indent)
    (tmp_path / "random").mkdir()
    file = tmp_path / "random" / "train.json"
    third = text.index('"t2"')
    for cut in (len(text) - 1, third + 20, text.index('"t1"') + 3, 1):
        file.write_text(text[:cut], encoding="utf-8")
        line = 1 + text[:cut].count("\n")
        seen = []
        with pytest.raises(SidecarError, match=rf"train\.json:{line}: "):
            for example in read_lean_dojo(tmp_path, "random", "train"):
                seen.append(example.theorem)
        assert seen == [name for name in ("t0", "t1", "t2") if _ends_before(text, name, cut, theorems, indent)]


def _ends_before(text: str, name: str, cut: int, theorems: list[dict[str, Any]], indent: int | None) -> bool:
    """Whether the whole theorem stands before the cut."""
    number = int(name[1:])
    whole = json.dumps(theorems[: number + 1], indent=indent).rstrip("]").rstrip()
    return len(whole) <= cut


@pytest.mark.parametrize("text", ['{"full_name": "a"}', '[{"full_name": "a"}]', '[{"full_name": "a"} 3]', ""])
def test_a_file_that_is_no_benchmark_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "random").mkdir()
    (tmp_path / "random" / "train.json").write_text(text, encoding="utf-8")
    with pytest.raises(SidecarError, match=r"train\.json:1: "):
        list(read_lean_dojo(tmp_path, "random", "train"))


def _pairs(folder: Path) -> None:
    for part in ("train", "valid", "test"):
        with gzip.open(folder / f"pairs-{part}-000.jsonl.gz", "wt", encoding="utf-8") as file:
            for number, random_split in enumerate(("train", "train", "valid", "test")):
                row = {
                    "name": f"{part}{number}",
                    "module": part,
                    "line": 1,
                    "statement": "theorem x : y",
                    "state": "⊢ y",
                    "premises": ["p"],
                    "tactics": number == 0,
                    "rsplit": random_split,
                }
                file.write(json.dumps(row) + "\n")


def test_pairs_are_divided_by_module_or_at_random(tmp_path: Path) -> None:
    _pairs(tmp_path)
    by_module = ExampleSource.open(tmp_path, "module")
    assert [example.theorem for example in by_module.read("valid")] == ["valid0", "valid1", "valid2", "valid3"]
    at_random = ExampleSource.open(tmp_path, "random")
    assert [example.theorem for example in at_random.read("valid")] == ["train2", "valid2", "test2"]
    assert sum(1 for part in ("train", "valid", "test") for _ in at_random.read(part)) == 12
    assert len(at_random.files()) == 3


def test_an_extraction_is_divided_by_what_is_asked_for(tmp_path: Path) -> None:
    for number in range(60):
        theorem = f"t{number}"
        rows = [module_row(f"M{number}"), declaration_row(theorem), example_row(theorem, ["p"])]
        write(tmp_path, *rows, name=f"M{number}.jsonl")
    for split in ("module", "random"):
        source = ExampleSource.open(tmp_path, split)
        parts = {part: [example.theorem for example in source.read(part)] for part in ("train", "valid", "test")}
        assert sorted(name for names in parts.values() for name in names) == sorted(f"t{n}" for n in range(60))
        assert len(parts["train"]) > 45


def test_a_split_that_a_folder_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="no examples in"):
        ExampleSource.open(tmp_path, "module")
    _benchmark(tmp_path / "dojo")
    with pytest.raises(SidecarError, match="not divided by 'module'"):
        ExampleSource.open(tmp_path / "dojo", "module")
    with pytest.raises(SidecarError, match=r"novel_premises.*is not a file"):
        list(read_lean_dojo(tmp_path / "dojo", "novel_premises", "train"))


def test_the_naive_variant_keeps_what_tactic_proofs_name_and_source_text() -> None:
    example = PremiseExample(
        "t", "M", 1, "⊢ Eq a b", "theorem t : a = b", (Positive("p", ("rw", "explicit")), Positive("q", ("simp",)))
    )
    reduced = naive(example)
    assert reduced is not None
    assert (reduced.state, reduced.gold) == ("theorem t : a = b", ("p",))
    assert naive(PremiseExample("t", "M", 1, "⊢ a", "theorem t : a", (Positive("p"),), proof="term")) is None
    assert naive(PremiseExample("t", "M", 1, "⊢ a", "theorem t : a", (Positive("p", ("simp",)),))) is None
