"""What each part of the training is worth: runs that differ in one option, judged on the same goals.

Usage: `python -m benchmarks.ablations RUN [RUN …] --data FOLDER --corpus CORPUS --cache FOLDER [--part valid]
[--goals N] [--output FOLDER] [--record]`.

Each RUN is a folder that `python -m training premises` wrote; the first is the one that the others are compared with.
Every model ranks all premises that a goal can see by its vectors alone. A run on naive data is asked as it was trained,
with source text. Writes `ablations.md`, bars, and, where runs differ in `--pairs`, a learning curve. Rules of judging:
`training.evaluation.metrics`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.record import record
from sidecar.corpus.source import open_corpus
from training.data.examples import PremiseExample
from training.data.premise_library import PremiseLibrary
from training.data.sources import ExampleSource, sample
from training.evaluation.metrics import Interval, Judged, bootstrap, paired_difference, recall, reciprocal_rank
from training.evaluation.plots import Line, bars, lines
from training.premises.finish import MODEL
from training.premises.models import load_base
from training.premises.presets import find_preset
from training.premises.probe import Probe, encode
from training.premises.record import read_record
from training.premises.run import premise_tokens, state_tokens
from training.premises.settings import RunSettings

DEPTHS = (16, 32, 128)
TOLD = ("preset", "naive", "negatives", "mask_known", "hard_negatives", "question_share", "pairs", "layers")
"""Settings that name a run beside the first one."""


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--split", default="module")
    parser.add_argument("--goals", type=int, default=1_000)
    parser.add_argument("--output", type=Path, default=Path("ablations"))
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/ablations.jsonl")
    options = parser.parse_args()
    records = [_record(run) for run in options.runs]
    names = _names([entry["settings"] for entry in records])
    source = ExampleSource.open(options.data, options.split)
    examples = sample((one for one in source.read(options.part) if not one.generated), options.goals)
    judged = {
        name: _judge(run / MODEL, _settings(entry), examples, options.corpus, options.cache)
        for name, run, entry in zip(names, options.runs, records, strict=True)
    }
    figures = {name: _figures(outcomes) for name, outcomes in judged.items()}
    options.output.mkdir(parents=True, exist_ok=True)
    table = _table(figures, judged, records)
    (options.output / "ablations.md").write_text(table, encoding="utf-8")
    print(table)
    set_ = f"premises/{options.part}"
    bars(options.output / "ablations.png", f"{set_}: one option changed", figures, [f"recall@{k}" for k in DEPTHS])
    _learning_curve(options.output / "learning-curve.png", names, records, figures)
    if options.record:
        for name, values in figures.items():
            for metric, value in values.items():
                record("ablations", set_, name, metric, value.mean, value.n, value.low, value.high)


def _record(run: Path) -> dict[str, Any]:
    found = read_record(run)
    if found is None or "result" not in found:
        raise SystemExit(f"{run} holds no finished run; give folders that `python -m training premises` wrote")
    return found


def _settings(entry: Mapping[str, Any]) -> RunSettings:
    known = set(RunSettings.__dataclass_fields__)
    return RunSettings(**{name: value for name, value in entry["settings"].items() if name in known})


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first run by its preset, the others by what they have otherwise."""
    first = settings[0]
    names = [str(first["preset"])]
    for other in settings[1:]:
        changed = [f"{name} {_shown(other.get(name))}" for name in TOLD if other.get(name) != first.get(name)]
        name = f"{first['preset']}, {', '.join(changed) or 'the same'}"
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    return names


def _shown(value: object) -> str:
    return (
        "off" if value is False else "on" if value is True else f"{value:,}" if isinstance(value, int) else str(value)
    )


def _judge(
    model: Path, settings: RunSettings, examples: Sequence[PremiseExample], corpus: Path, cache: Path
) -> list[Judged]:
    static = find_preset(settings.preset).static
    trained = load_base(model, static=static, max_tokens=settings.max_tokens)
    library = PremiseLibrary.open(open_corpus(corpus), cache, source_text=settings.naive)
    probe = Probe(examples, library, len(examples), 0)
    goals = state_tokens(trained, [one.state for one in probe.examples], cache, source_text=settings.naive)
    premises = premise_tokens(trained, library, cache)
    vectors = [
        encode(trained.model, tokens, rows, bfloat16=settings.bfloat16)
        for tokens, rows in ((goals, probe.goal_rows), (premises, probe.rows))
    ]
    return probe.judge(vectors[0], vectors[1], max(DEPTHS))


def _figures(judged: Sequence[Judged]) -> dict[str, Interval]:
    figures = {f"recall@{k}": bootstrap([recall(one, k) for one in judged]) for k in DEPTHS}
    return figures | {"mrr": bootstrap([reciprocal_rank(one) for one in judged])}


def _table(
    figures: Mapping[str, Mapping[str, Interval]],
    judged: Mapping[str, Sequence[Judged]],
    records: Sequence[Mapping[str, Any]],
) -> str:
    """Figures, and how each run differs from the first one at 32, goal by goal."""
    metrics = list(next(iter(figures.values())))
    first = next(iter(judged.values()))
    rows = [
        "| run | states | steps | " + " | ".join(metrics) + " | recall@32 less the first |",
        "|---" * (len(metrics) + 4) + "|",
    ]
    for (name, values), entry in zip(figures.items(), records, strict=True):
        shown = " | ".join(f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in values.values())
        other = paired_difference([recall(one, 32) for one in judged[name]], [recall(one, 32) for one in first])
        difference = "" if judged[name] is first else f"{other.mean:+.3f} [{other.low:+.3f}, {other.high:+.3f}]"
        steps = entry["result"]["steps"]
        rows.append(f"| {name} | {entry['trained_on']['states']:,} | {steps} | {shown} | {difference} |")
    return "\n".join(rows) + "\n"


def _learning_curve(
    path: Path,
    names: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Mapping[str, Interval]],
) -> None:
    """Recall over the number of training states, for the runs that differ from the first in that alone."""

    def rest(entry: Mapping[str, Any]) -> dict[str, Any]:
        return asdict(_settings(entry)) | {"pairs": None}

    alike = [
        (entry["trained_on"]["states"], figures[name])
        for name, entry in zip(names, records, strict=True)
        if rest(entry) == rest(records[0])
    ]
    if len(alike) < 2:
        return
    alike.sort(key=lambda one: one[0])
    shown = {
        metric: Line(
            [states for states, _ in alike],
            [values[metric].mean for _, values in alike],
            [values[metric].low for _, values in alike],
            [values[metric].high for _, values in alike],
        )
        for metric in (f"recall@{k}" for k in DEPTHS)
    }
    lines(path, "Recall by amount of training data", "training states", "recall", shown, logarithmic=True)


if __name__ == "__main__":
    main()
