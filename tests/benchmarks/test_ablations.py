"""The comparison of training runs, on runs over a made-up library."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import ablations
from tests.training.made_up import write_encoder, write_library, write_pairs
from training.premises.run import Places, Watching, run
from training.premises.settings import RunSettings


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library, its pairs, and three short runs that differ in one option each."""
    folder = tmp_path_factory.mktemp("ablations")
    write_library(folder / "declarations")
    write_pairs(folder / "premises")
    write_encoder(folder / "encoder")
    settings = RunSettings(
        preset=str(folder / "encoder"), max_tokens=48, batch=12, steps=3, chunk=12, bfloat16=False, learning_rate=1e-3
    )
    changes: dict[str, dict[str, Any]] = {"all": {}, "few": {"pairs": 15}, "no-negatives": {"negatives": 0}}
    for name, changed in changes.items():
        places = Places(folder / "declarations", folder / "premises", folder / name, folder / "cache")
        run(replace(settings, **changed), places, watching=Watching(probe_goals=0, save_every=100))
    return folder


def _run(monkeypatch: pytest.MonkeyPatch, world: Path, *runs: str) -> None:
    places = [word for name in ("data", "corpus", "cache", "output") for word in (f"--{name}", str(world / name))]
    places[1], places[3] = str(world / "premises"), str(world / "declarations")
    monkeypatch.setattr(sys, "argv", ["ablations", *(str(world / name) for name in runs), *places])
    ablations.main()


def test_runs_are_named_by_what_they_have_otherwise_and_compared_goal_by_goal(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(monkeypatch, world, "all", "few", "no-negatives")
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| /")]
    first = str(world / "encoder")
    assert [row[0].removeprefix("| ") for row in rows] == [first, f"{first}, pairs 15", f"{first}, negatives 0"]
    assert [row[1] for row in rows] == ["24", "15", "24"]
    # Of the validation goals, each has two gold premises among about thirty, so 32 deep nearly all are found.
    assert all(0.5 < float(row[4].split()[0]) <= 1 for row in rows)
    assert rows[0][-1].strip(" |") == "" and all(row[-1].strip().startswith(("+", "-")) for row in rows[1:])
    for picture in ("ablations.png", "learning-curve.png"):
        assert (world / "output" / picture).read_bytes().startswith(b"\x89PNG")
    assert "pairs 15" in (world / "output" / "ablations.md").read_text(encoding="utf-8")


def test_a_run_that_did_not_end_is_refused(world: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record = json.loads((world / "all" / "run.json").read_text(encoding="utf-8"))
    del record["result"]
    (world / "begun").mkdir()
    (world / "begun" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(SystemExit, match="no finished run"):
        _run(monkeypatch, world, "all", "begun")
