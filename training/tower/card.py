"""The card of a query tower: what it is, what it was made from, and what it gave, as Markdown beside the weights.

In: a run's record, its description, its metrics. Out: the text of `README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.encoder.folder import EncoderDescription
from training.markdown import paragraph, shown, table
from training.tower.probe import DOCUMENT_MODEL, SHARED, TOWER

_SAID: Final = (
    ("base", "Base"),
    ("layers", "Layers of it"),
    ("batch", "Queries of a batch"),
    ("documents", "Documents of a step (none: all)"),
    ("temperature", "τ"),
    ("teacher_temperature", "τ of the document model"),
    ("distillation", "Weight of the divergence"),
    ("alone", "Goals without hypotheses, part of goals"),
    ("question_share", "Questions and expressions, part of queries"),
    ("learning_rate", "Highest learning rate, cosine"),
    ("warmup", "Warm-up, part of the steps"),
    ("states", "Training states (none: all)"),
    ("bfloat16", "bfloat16"),
    ("seed", "Seed"),
)


def tower_card(
    record: Mapping[str, Any], description: EncoderDescription, metrics: Sequence[Mapping[str, float]]
) -> str:
    """The card.

    Args:
        record: See `training.premises.record`, with its result.
        description: Of the tower's folder.
        metrics: Rows of the run's metrics.
    """
    settings, trained, result = record["settings"], record["trained_on"], record["result"]
    documents = record["inputs"]["index"]
    lines = [
        "---",
        "license: apache-2.0",
        "tags: [lean4, premise-selection, sentence-similarity]",
        "---",
        "",
        f"# Query tower for documents of `{documents['encoder']}`",
        "",
        *paragraph(
            "Encodes Lean 4 goals and questions, fast, into the space of the vectors that"
            f" `{documents['encoder']}` (fingerprint `{documents['documents']}`) made of declarations; an index of"
            f" other vectors is refused. It reads at most {description.max_tokens} tokens of a text as `sidecar.text`"
            " spells it."
        ),
        "```sh",
        "lean-sidecar serve --index INDEX --encoder FOLDER",
        "```",
        "",
        "## Training",
        "",
        *paragraph(
            f"{trained['pairs']:,} (goal, premise) pairs of {trained['states']:,} goals and {trained['questions']:,}"
            f" questions to draw from; {result['steps']} steps, {result['seconds'] / 60:.0f} minutes on"
            f" {record['machine']}. Softmax over the frozen documents, and divergence from the query side of their"
            " model."
        ),
        *table(("setting", "value"), ((label, shown(settings[name])) for name, label in _SAID)),
        *paragraph(
            "Hashes of every input, versions and what decontamination removed stand in `run.json`; `loss.png` and"
            " `recall.png` show the run."
        ),
        "## Figures",
        "",
        *_figures([row for row in metrics if TOWER in row]),
    ]
    return "\n".join(lines)


def _figures(probes: Sequence[Mapping[str, float]]) -> list[str]:
    if not probes:
        return paragraph("The run was not probed.")
    names = (TOWER, DOCUMENT_MODEL, SHARED)
    chosen = [probes[0], probes[-1]] if len(probes) > 1 else probes
    return [
        *paragraph(
            "A sample of validation goals, before and after training. These figures compare states of this run and"
            " nothing else; `python -m benchmarks.tower` judges."
        ),
        *table(("step", *names), ((str(int(row["step"])), *(f"{row[name]:.3f}" for name in names)) for row in chosen)),
    ]
