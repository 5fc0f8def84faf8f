"""What a finished run leaves beside its checkpoints: pictures, the record, and the encoder's folder with its card.

In: a run's folder with its metrics, its record, what writes the model and its card. Out: files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training.evaluation.plots import Line, lines
from training.premises import record as records
from training.premises.card import FILE
from training.premises.trainer import METRICS, read_metrics

MODEL: Final = "model"
PICTURES: Final = ("loss.png", "recall.png")


@dataclass(frozen=True, slots=True)
class Shown:
    """What the pictures show.

    Attributes:
        loss: What the loss is called.
        title: Title of the picture of the probes.
        measure: What its vertical axis shows.
        names: Metrics of a probe that are drawn, at least one.
    """

    loss: str
    title: str
    measure: str
    names: Sequence[str]


def finish(
    output: Path,
    record: dict[str, Any],
    shown: Shown,
    write_model: Callable[[Path], None],
    card: Callable[[Sequence[dict[str, float]]], str],
) -> None:
    """Write the model and everything that says what it is.

    Args:
        output: The run's folder.
        record: The run's record, with its result.
        shown: What the pictures show.
        write_model: Writes the encoder into a folder.
        card: Makes the card from the run's metrics.
    """
    metrics = read_metrics(output / METRICS)
    losses = [row for row in metrics if "loss" in row]
    loss = Line([row["step"] for row in losses], [row["loss"] for row in losses])
    lines(output / PICTURES[0], "Training loss", "step", shown.loss, {"loss": loss})
    probes = [row for row in metrics if shown.names[0] in row]
    steps = [row["step"] for row in probes]
    probed = {name: Line(steps, [row[name] for row in probes]) for name in shown.names if probes}
    lines(output / PICTURES[1], shown.title, "step", shown.measure, probed)
    records.write_record(output, record)
    folder = output / MODEL
    write_model(folder)
    (folder / FILE).write_text(card(metrics), encoding="utf-8")
    for name in (records.FILE, *PICTURES):
        shutil.copy(output / name, folder / name)
