"""The evaluation of premise selection, on the example library."""

from __future__ import annotations

import gzip
import itertools
import json
import sys
from pathlib import Path

import pytest

from benchmarks import premises
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import EXAMPLE_FOLDER, open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index


def _write_pairs(folder: Path, declarations: list[Declaration]) -> None:
    """Theorems of the library that cite the one before them; a state says what is to be proved."""
    folder.mkdir()
    theorems = [one for one in declarations if one.kind == "theorem" and one.line]
    pairs = [(one, two) for one, two in itertools.pairwise(theorems) if one.module == two.module]
    for place, part in enumerate(("train", "valid", "test")):
        with gzip.open(folder / f"pairs-{part}-000.jsonl.gz", "wt", encoding="utf-8") as file:
            for earlier, theorem in pairs[place :: 3 if part == "train" else 25]:
                row = {"name": theorem.name, "module": theorem.module, "line": theorem.line, "tactics": True}
                row |= {"statement": theorem.signature, "state": f"⊢ {theorem.signature.partition(' : ')[2]}"}
                file.write(json.dumps(row | {"premises": [earlier.name], "rsplit": part}) + "\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("premises")
    corpus = open_corpus(EXAMPLE_FOLDER, "extraction")
    _write_pairs(folder / "pairs", list(corpus.declarations()))
    build_index(corpus, folder / "index", load_encoder("static"))
    return folder


def _run(monkeypatch: pytest.MonkeyPatch, world: Path, *options: str) -> None:
    command = ["premises", str(EXAMPLE_FOLDER), "--data", str(world / "pairs"), "--index", str(world / "index")]
    command += ["--output", str(world / "results"), "--sample", "12", *options]
    monkeypatch.setattr(sys, "argv", command)
    premises.main()


def test_every_system_is_judged_on_the_same_goals(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(monkeypatch, world, "--forest-goals", "60", "--forest-trees", "5")
    printed = capsys.readouterr().out
    assert "n = 12 goals; 0 without gold left out." in printed
    stored = json.loads((world / "results" / "premises-valid.json").read_text())
    assert set(stored["systems"]) == {
        *("nothing", "forest", "bm25", "mepo", "symbolic"),
        *("static", "union static", "fused static"),
    }
    assert all(len(ranks) == len(stored["goals"]) == 12 for ranks in stored["systems"].values())
    assert "| nothing | 0.000 [0.000, 0.000] |" in printed
    # A premise that stands just before the theorem is visible, and the symbols of both are alike.
    assert sum(rank[0] > 0 for rank in stored["systems"]["symbolic"]) == 12
    for title in ("Kind of premise", "Number of premises", "Premises of training", "Library"):
        assert f"## {title}" in printed
    for metric in ("recall", "full-recall"):
        assert (world / "results" / f"premises-valid-{metric}.png").read_bytes().startswith(b"\x89PNG")


def test_later_systems_stand_beside_earlier_ones_only_on_the_same_goals(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = world / "results" / "premises-test.json"
    _run(monkeypatch, world, "--forest-goals", "0", "--part", "test")
    content = json.loads(stored.read_text())
    assert "forest" not in content["systems"]
    content["systems"] = {"bm25": content["systems"]["bm25"], "earlier": content["systems"]["static"]}
    stored.write_text(json.dumps(content))
    _run(monkeypatch, world, "--part", "test", "--add")
    again = json.loads(stored.read_text())["systems"]
    assert again["earlier"] == again["static"]
    assert {"bm25", "symbolic", "static"} <= set(again)
    with pytest.raises(SystemExit, match="other goals"):
        _run(monkeypatch, world, "--part", "test", "--add", "--sample", "5")
