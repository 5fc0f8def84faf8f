"""The evaluation of search, on the example library."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import retrieval
from sidecar.corpus.source import EXAMPLE_FOLDER
from sidecar.errors import SidecarError
from tests.running import small_index
from tests.search.test_reranker import cross_encoder  # noqa: F401
from training.data.seen import read_targets, write_targets
from training.search.systems import Wanted

ROWS = [
    ("reverse of a reversed list", "List.reverse_reverse", "short", "mathlib_docs_undergrad"),
    ("Nat.add_comm", "Nat.add_comm", "short", "mathlib_docs_overview"),
    ("law of excluded middle", "Classical.em", "short", "mathlib_docs_100"),
    ("the greatest common divisor of two numbers, " * 8, "Nat.gcd", "long", "blueprints"),
    ("something that nobody declared", "No.such_declaration", "short", "blueprints"),
]
SYSTEMS = ["bm25", "static", "fused static", "fused static + vocabulary"]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    file = tmp_path / "dev.jsonl"
    keys = ("query", "gold", "kind", "set")
    rows = ({**dict(zip(keys, (query, [gold], kind, on), strict=True))} for query, gold, kind, on in ROWS)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def run(monkeypatch: pytest.MonkeyPatch, queries: Path, *options: str | Path) -> Path:
    output = queries.parent / "results"
    command = ["retrieval", "--queries", queries, "--output", output, "--threads", "1", *options]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    retrieval.main()
    return output


def section(text: str, title: str) -> str:
    return text.split(f"## {title} (n = ")[1].split("\n## ")[0]


def test_all_systems_measures_and_sets_in_one_run(
    queries: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = run(monkeypatch, queries, "--index", small_index())
    text = (output / "queries-dev.md").read_text(encoding="utf-8")
    assert text in capsys.readouterr().out
    assert "every target counts as unseen" in text
    all_ = section(text, "queries/dev")
    assert "| system | ndcg@1 | ndcg@5 | ndcg@10 | recall@10 | recall@50 | recall@100 | mrr |" in all_
    for system in SYSTEMS:
        assert f"\n| {system} | " in all_
    # Four of five can be found; what is not in the corpus counts as missed.
    fused = next(line for line in all_.splitlines() if line.startswith("| fused static |"))
    assert fused.count("| 0.800 [") == 3
    for title, count in (
        *(("queries/undergrad", 1), ("queries/undergrad+overview", 2), ("queries/blueprints", 2)),
        *(("queries/dev, short", 4), ("queries/dev, long", 1), ("queries/dev, unseen targets", 5)),
    ):
        assert section(text, title).startswith(f"{count})")
    assert "seen targets (n" not in text.replace("unseen targets", "")
    assert "## ndcg@10 against one another: queries/dev" in text
    ranks = json.loads((output / "queries-dev-ranks.json").read_text())["systems"]
    assert list(ranks) == SYSTEMS
    assert ranks["fused static"][1:3] == [1, 1]
    assert all(found[4] == 0 for found in ranks.values())
    for picture in ("queries-dev", "queries-undergrad-overview", "queries-dev-short", "queries-dev-long"):
        assert (output / f"{picture}.png").read_bytes().startswith(b"\x89PNG")


def test_targets_that_training_asked_for_are_seen(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_targets(queries.parent / "run" / "round-1" / "retriever", ["Nat.add_comm", "Classical.em", "Nat.add_comm"])
    assert read_targets([queries.parent / "run"]) == {"Nat.add_comm", "Classical.em"}
    output = run(
        monkeypatch,
        *(queries, "--index", small_index(), "--run", queries.parent / "run", "--rewriter", "off"),
    )
    text = (output / "queries-dev.md").read_text(encoding="utf-8")
    assert "No run said" not in text
    assert section(text, "queries/dev, seen targets").startswith("2)")
    assert "| fused static | 1.000" in section(text, "queries/dev, seen targets")
    assert section(text, "queries/dev, unseen targets").startswith("3)")
    with pytest.raises(SidecarError, match=r"holds no targets.txt.gz"):
        read_targets([EXAMPLE_FOLDER])


def test_later_systems_stand_beside_earlier_ones_only_on_the_same_queries(
    queries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, queries, "--index", small_index(), "--rewriter", "off")
    output = run(monkeypatch, queries, "--index", f"other={small_index()}@static", "--rewriter", "off", "--add")
    ranks = json.loads((output / "queries-dev-ranks.json").read_text())["systems"]
    assert list(ranks) == ["bm25", "static", "fused static", "other", "fused other"]
    assert ranks["other"] == ranks["static"]
    queries.write_text(queries.read_text().replace("excluded", "included"))
    with pytest.raises(SystemExit, match="other queries"):
        run(monkeypatch, queries, "--index", small_index(), "--add")


def test_a_reranker_is_judged_beside_the_search_without_it(
    queries: Path,
    monkeypatch: pytest.MonkeyPatch,
    cross_encoder: Path,  # noqa: F811
) -> None:
    output = run(monkeypatch, queries, "--index", small_index(), "--rewriter", "off", "--reranker", str(cross_encoder))
    ranks = json.loads((output / "queries-dev-ranks.json").read_text())["systems"]
    assert list(ranks) == ["bm25", "static", "fused static", "fused static + reranker"]
    # What a query names stays first, and a random model loses nothing that was found.
    assert ranks["fused static + reranker"][1] == 1
    assert [rank > 0 for rank in ranks["fused static + reranker"]] == [rank > 0 for rank in ranks["fused static"]]


def test_two_systems_of_one_name_are_refused(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="LABEL=FOLDER"):
        run(monkeypatch, queries, "--index", small_index(), "--index", small_index())


def test_a_rewriter_that_is_none_is_named(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SidecarError, match="off, vocabulary or MODEL@ADDRESS"):
        run(monkeypatch, queries, "--index", small_index(), "--rewriter", "gpt")


def test_figures_are_recorded(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.record.RESULTS", queries.parent)
    run(monkeypatch, queries, "--index", small_index(), "--rewriter", "off", "--record")
    lines = [json.loads(line) for line in (queries.parent / "retrieval.jsonl").read_text().splitlines()]
    found = {(line["set"], line["system"], line["metric"]): line["value"] for line in lines}
    assert found["queries/dev", "fused static", "recall@10"] == 0.8
    assert {system for _, system, _ in found} == {"bm25", "static", "fused static"}


@pytest.mark.parametrize(
    ("said", "label", "folder", "encoder"),
    [
        ("a/b", None, "a/b", None),
        ("x=a/b", "x", "a/b", None),
        ("x=a/b@tower", "x", "a/b", "tower"),
        ("a/b@hub:owner/model", None, "a/b", "hub:owner/model"),
        ("here=there@where", None, "here=there@where", None),
    ],
)
def test_how_an_index_is_named(
    said: str, label: str | None, folder: str, encoder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here=there@where").mkdir()
    wanted = Wanted.read(said)
    assert (wanted.label, wanted.folder, wanted.encoder) == (label, Path(folder), encoder)
