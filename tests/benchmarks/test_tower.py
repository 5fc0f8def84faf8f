"""The benchmark of towers: on a tiny world, a tower that is trained there beside its document model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import record as recording
from benchmarks import tower
from sidecar.corpus.source import open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from tests.training.made_up import write_encoder, write_library, write_pairs
from training.tower.data import TowerPlaces
from training.tower.run import TowerWatching, run
from training.tower.settings import TowerSettings


def test_both_sides_are_judged_on_the_same_goals_and_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_library(tmp_path / "declarations")
    write_pairs(tmp_path / "premises")
    write_encoder(tmp_path / "base")
    row = {"query": "graph sheaf", "gold": ["Lemmas.graph_order"], "kind": "short", "set": "made"}
    (tmp_path / "dev.jsonl").write_text(json.dumps(row) + "\n")
    build_index(open_corpus(tmp_path / "declarations"), tmp_path / "index", load_encoder("static"))
    settings = TowerSettings(base=str(tmp_path / "base"), layers=1, max_tokens=48, steps=1, question_share=0)
    places = TowerPlaces(tmp_path / "index", tmp_path / "premises", tmp_path / "fast", tmp_path / "cache")
    run(settings, places, watching=TowerWatching(goals=0))
    words = f"tower {tmp_path}/declarations --index {tmp_path}/index --tower {tmp_path}/fast/model --record"
    words += f" --data {tmp_path}/premises --queries {tmp_path}/dev.jsonl --goals 5 --timed 3 --output {tmp_path}/plots"
    monkeypatch.setattr(sys, "argv", words.split())
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    tower.main()
    lines = [json.loads(line) for line in (tmp_path / "results" / "tower.jsonl").read_text().splitlines()]
    found = {(line["set"], line["system"], line["metric"]): line for line in lines}
    for system in ("static", "fast", "fast − static"):
        assert found["premises/valid", system, "recall@32"]["n"] == 5
        assert found["queries/dev", system, "ndcg@10"]["n"] == 1
    assert found["one goal", "fast", "times faster than static"]["value"] > 0
    assert found["one goal", "fast", "p50_ms"]["low"] is None
    # Eight lemmas and their like are all that can be seen: the whole list holds every gold premise.
    assert found["premises/valid", "static", "recall@32"]["value"] == 1.0
    assert (tmp_path / "plots" / "tower.png").read_bytes().startswith(b"\x89PNG")
    assert "times faster than static" in capsys.readouterr().out
