"""Cards of models: what they say, and that no formatter would write them otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.encoder.folder import EncoderDescription, read_description
from sidecar.encoder.load import BUILT_IN
from training.markdown import WIDTH, items, paragraph, shown, table
from training.premises.card import model_card

RECORD: dict[str, Any] = {
    "settings": {
        "preset": "small",
        "batch": 256,
        "mask_known": True,
        "temperature": 0.05,
        "layers": None,
        "naive": "",
        "question_share": 0.25,
    },
    "trained_on": {"pairs": 490_454, "states": 135_113, "questions": {"pairs": 12_000, "left_out": 17}},
    "source": {"format": "pairs", "split": "module"},
    "result": {"steps": 200, "seconds": 2_000.0},
    "machine": "x86_64 CPU, 1 threads",
}
METRICS = [{"step": step, "recall@1": step / 1000, "recall@32": step / 300} for step in (0, 100, 200)]


def description() -> EncoderDescription:
    return read_description(BUILT_IN / "small")


def test_a_card_says_what_the_model_is_made_of() -> None:
    card = model_card(RECORD, description(), METRICS)
    assert "490,454 (state, premise) pairs of 135,113 states" in card
    assert "12,000 questions" in " ".join(card.split())
    assert "| Known positives masked | yes |" in card
    assert "| Layers kept (none: all) | none |" in card
    assert "| Naive data | none |" in card
    assert [line for line in card.splitlines() if line.startswith(("| 0 |", "| 200 |", "| 100 |"))] == [
        "| 0 | 0.000 | 0.000 |",
        "| 200 | 0.200 | 0.667 |",
    ]
    assert "The run was not probed." in model_card(RECORD, description(), [])


@pytest.mark.parametrize("metrics", [METRICS, METRICS[:1], []])
def test_a_formatter_has_nothing_to_change(tmp_path: Path, metrics: list[dict[str, float]]) -> None:
    card = tmp_path / "README.md"
    card.write_text(model_card(RECORD, description(), metrics), encoding="utf-8")
    assert_formatted(card)


@pytest.mark.parametrize("name", ["small", "static"])
def test_the_cards_that_come_with_the_package_are_in_the_same_style(name: str) -> None:
    assert_formatted(BUILT_IN / name / "README.md")


def assert_formatted(card: Path) -> None:
    text = card.read_text(encoding="utf-8")
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert [line for line in text.splitlines() if len(line) > WIDTH and not line.startswith("|")] == []
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", "--diff", "--isolated", str(card)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_paragraphs_items_and_tables() -> None:
    assert paragraph("word " * 50) == [*(("word " * 24).strip(),) * 2, "word word", ""]
    assert items(["one", "word " * 30])[:3] == ["- one", "- " + ("word " * 23).strip(), "  " + ("word " * 7).strip()]
    assert table(("a", "b"), [("1", "x|y"), ("2", "")]) == ["| a | b |", "|---|---|", "| 1 | x\\|y |", "| 2 |  |", ""]
    assert [shown(value) for value in (True, False, None, "", 0, 0.5, "x")] == [
        "yes",
        "no",
        "none",
        "none",
        "0",
        "0.5",
        "x",
    ]
