"""Pictures of evaluations.

In: figures with intervals. Out: PNG files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.evaluation.metrics import Interval


def bars(path: Path, title: str, figures: Mapping[str, Mapping[str, Interval]], metrics: Sequence[str]) -> None:
    """Grouped bars with 95 % intervals.

    Args:
        path: PNG file to write.
        title: Title of the picture.
        figures: System → metric → interval.
        metrics: Metrics to show, one group each, in order; a system without one leaves a gap.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(1.6 + 1.5 * len(metrics) + 0.25 * len(figures) * len(metrics), 4.2))
    width = 0.8 / max(len(figures), 1)
    for place, (system, values) in enumerate(figures.items()):
        shown = [(index, values[metric]) for index, metric in enumerate(metrics) if metric in values]
        positions = [index + (place - (len(figures) - 1) / 2) * width for index, _ in shown]
        means = [interval.mean for _, interval in shown]
        errors = [
            [max(interval.mean - interval.low, 0.0) for _, interval in shown],
            [max(interval.high - interval.mean, 0.0) for _, interval in shown],
        ]
        axes.bar(positions, means, width * 0.92, yerr=errors, capsize=2, label=system, error_kw={"linewidth": 0.8})
        for position, mean in zip(positions, means, strict=True):
            axes.annotate(f"{mean:.2f}", (position, mean), ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(metrics)), list(metrics))
    axes.set_ylim(0, 1)
    axes.set_title(title)
    axes.legend(fontsize=8, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture.

    Attributes:
        x, y: Its points.
        low, high: Bounds of a band around it, or empty.
    """

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def lines(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    shown: Mapping[str, Line],
    *,
    logarithmic: bool = False,
) -> None:
    """Lines over a common axis.

    Args:
        path: PNG file to write.
        title: Title of the picture.
        x_label, y_label: What the axes show.
        shown: Name → line, in order.
        logarithmic: Powers of two on the horizontal axis.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    for name, line in shown.items():
        (drawn,) = axes.plot(line.x, line.y, label=name, linewidth=1.4)
        if len(line.low):
            axes.fill_between(line.x, line.low, line.high, alpha=0.15, color=drawn.get_color(), linewidth=0)
    if logarithmic:
        axes.set_xscale("log", base=2)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title)
    if shown:
        axes.legend(fontsize=8)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
