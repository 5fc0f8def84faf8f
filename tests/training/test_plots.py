"""Pictures come out as pictures."""

from __future__ import annotations

from pathlib import Path

from training.evaluation.metrics import Interval
from training.evaluation.plots import Line, bars, lines


def test_bars_are_written_also_where_a_system_lacks_a_metric(tmp_path: Path) -> None:
    figures = {
        "bm25": {"recall@16": Interval(0.3, 0.28, 0.32, 100), "recall@32": Interval(0.35, 0.33, 0.37, 100)},
        "fused": {"recall@32": Interval(0.6, 0.57, 0.63, 100)},
    }
    path = tmp_path / "plots" / "premises.png"
    bars(path, "premises/valid", figures, ["recall@16", "recall@32"])
    assert path.read_bytes().startswith(b"\x89PNG")


def test_lines_are_written_with_and_without_bands(tmp_path: Path) -> None:
    shown = {"one": Line([1, 2, 4], [0.1, 0.2, 0.3], [0.0, 0.1, 0.2], [0.2, 0.3, 0.4]), "two": Line([1, 4], [0.2, 0.5])}
    path = tmp_path / "recall.png"
    lines(path, "recall@k", "k", "recall", shown, logarithmic=True)
    assert path.read_bytes().startswith(b"\x89PNG")
    lines(path, "nothing yet", "step", "loss", {})
