"""The tables of benchmarks/README.md are those of the recorded figures."""

from __future__ import annotations

import json

import pytest

from benchmarks import report


def test_the_readme_shows_what_was_recorded() -> None:
    text = (report.FOLDER / "README.md").read_text(encoding="utf-8")
    assert report.fill(text) == text, "run `python -m benchmarks.report`"


def test_every_recorded_line_has_all_fields() -> None:
    fields = {"bench", "set", "system", "metric", "value", "n", "low", "high", "machine", "commit"}
    for path in (report.FOLDER / "results").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            assert set(row) == fields
            assert row["bench"] == path.stem


def test_the_newest_figure_wins_and_gaps_stay_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"bench": "b", "set": "s", "n": 5, "low": None, "high": None, "machine": "m", "commit": "c"}
    lines = [
        {**base, "system": "x", "metric": "recall@32", "value": 0.1},
        {**base, "system": "y", "metric": "ndcg@1", "value": 0.25, "low": 0.2, "high": 0.3},
        {**base, "system": "x", "metric": "recall@32", "value": 0.5},
    ]
    monkeypatch.setattr(report, "read", lambda bench: lines)
    text = report.fill("before\n<!-- table b s -->\nold\n<!-- end -->\nafter\n")
    assert "| x | 5 | 0.500 |  |" in text
    assert "| y | 5 |  | 0.250 [0.200, 0.300] |" in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nafter\n")


def test_a_marker_without_a_set_takes_nothing_from_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "read", lambda bench: [])
    text = report.fill("<!-- table a -->\n<!-- end -->\nkept\n<!-- table b s -->\n<!-- end -->\n")
    assert text.count("not measured yet") == 2
    assert "kept" in text
