"""What is said of rounds: figures by system, set and round, and what changed since round 0."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import record, rounds
from sidecar.errors import SidecarError
from training.data.queries import SearchExample
from training.search.rounds import RANKS
from training.search.rounds_report import read_report

QUERIES = [
    *(SearchExample(f"short {number}", ("a",), "one", "short") for number in range(20)),
    *(SearchExample(f"long {number}", ("b",), "one", "long") for number in range(10)),
]
FIRST = [2] * 20 + [1] * 10
LATER = [1] * 20 + [0] * 10


@pytest.fixture
def run(tmp_path: Path) -> Path:
    ranks = {
        "round 0": {"retriever": FIRST, "search": FIRST},
        "both, round 1": {"retriever": LATER, "search": FIRST},
    }
    body = {"queries": [asdict(query) for query in QUERIES], "ranks": ranks}
    (tmp_path / RANKS).write_text(json.dumps(body))
    return tmp_path


def test_figures_and_changes(run: Path) -> None:
    found = read_report(run)
    assert found.figures["retriever"]["style: short"]["round 0"]["ndcg@10"].mean == pytest.approx(0.6309, abs=1e-4)
    assert found.figures["retriever"]["style: short"]["both, round 1"]["ndcg@1"].mean == 1.0
    changes = found.changes["retriever"]["both, round 1"]
    assert changes["style: short"].mean == pytest.approx(0.3691, abs=1e-4)
    assert changes["style: long"].mean == changes["style: long"].high == -1.0  # worse, and it is said
    assert found.changes["search"]["both, round 1"]["all"].mean == 0.0
    text = found.text()
    assert "### retriever, style: long (n = 10)" in text
    assert "| both, round 1 | -0.087 [" in text


def test_the_benchmark_prints_plots_and_records(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    monkeypatch.setattr("sys.argv", ["rounds", str(run), "--output", str(tmp_path / "plots"), "--record"])
    rounds.main()
    assert "change of ndcg@10 since round 0" in capsys.readouterr().out
    assert (tmp_path / "plots" / "rounds-retriever.png").is_file()
    assert "round 0" in (tmp_path / "plots" / "rounds.md").read_text()
    lines = [json.loads(line) for line in (tmp_path / "results" / "rounds.jsonl").read_text().splitlines()]
    assert {"retriever, both, round 1", "search, round 0"} <= {line["system"] for line in lines}
    worse = [line for line in lines if line["metric"] == "ndcg@10 − round 0" and line["set"] == "style: long"]
    assert [line["value"] for line in worse] == [-1.0, 0.0]


def test_a_folder_without_a_finished_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"no ranks\.json"):
        read_report(tmp_path)
