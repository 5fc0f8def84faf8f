"""The model card: what a model is, what it was made from, and what it gave, as Markdown beside the weights.

In: a run's record, its description, its metrics. Out: the text of `README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.encoder.folder import EncoderDescription
from training.markdown import items, paragraph, shown, table

FILE: Final = "README.md"

_SAID: Final = (
    ("batch", "Pairs of a batch"),
    ("negatives", "Sampled negatives a pair"),
    ("mask_known", "Known positives masked"),
    ("temperature", "τ"),
    ("learning_rate", "Highest learning rate, cosine"),
    ("warmup", "Warm-up, part of the steps"),
    ("dropout", "Dropout (none: the model's own)"),
    ("layers", "Layers kept (none: all)"),
    ("phrases", "Phrases of so many premises have rows (0: none do)"),
    ("question_share", "Part of a batch that is questions"),
    ("naive", "Naive data"),
    ("hard_negatives", "Mined negatives"),
    ("pairs", "Training states (none: all)"),
    ("bfloat16", "bfloat16"),
    ("seed", "Seed"),
)


def model_card(
    record: Mapping[str, Any], description: EncoderDescription, metrics: Sequence[Mapping[str, float]]
) -> str:
    """The card.

    Args:
        record: See `record.py`, with its result.
        description: Of the encoder's folder.
        metrics: Rows of the run's metrics.
    """
    settings, trained, result = record["settings"], record["trained_on"], record["result"]
    kind = "token table" if description.type == "static" else "transformer"
    lines = [
        "---",
        "license: apache-2.0",
        "tags: [lean4, premise-selection, sentence-similarity]",
        "---",
        "",
        f"# Premise selector `{settings['preset']}`",
        "",
        *paragraph(
            f"A {kind} that gives Lean 4 proof states and premises vectors whose cosine says whether the premise helps."
            f" It reads at most {description.max_tokens} tokens of a text as `sidecar.text` spells it, and nothing"
            " else:"
        ),
        "```python",
        "from sidecar.encoder.load import load_encoder",
        "",
        'vectors = load_encoder("FOLDER").encode(texts, "goal")',
        "```",
        "",
        "## Training",
        "",
        *paragraph(
            f"{trained['pairs']:,} (state, premise) pairs of {trained['states']:,} states, {record['source']['format']}"
            f" divided by {record['source']['split']}; {result['steps']} steps, {result['seconds'] / 60:.0f} minutes on"
            f' {record["machine"]}. Masked contrastive loss of "Premise Selection for a Lean Hammer" (Zhu et al. 2025).'
        ),
        *table(("setting", "value"), ((label, shown(settings[name])) for name, label in _SAID if name in settings)),
        *_about_questions(trained.get("questions", {})),
        *paragraph(
            "Hashes of every input, versions and what decontamination removed stand in `run.json`; `loss.png` and"
            " `recall.png` show the run."
        ),
        "## Figures",
        "",
        *_figures([row for row in metrics if "recall@32" in row]),
        "## Limits",
        "",
        *items(
            (
                "The positives are premises that proofs cite; what automation uses beside them was seen as irrelevant.",
                "Mathlib's style and vocabulary; other libraries were not part of the training.",
                "Texts spelled otherwise than by `sidecar.text` give vectors that mean little.",
            )
        ),
    ]
    return "\n".join(lines)


def _figures(probes: Sequence[Mapping[str, float]]) -> list[str]:
    if not probes:
        return paragraph("The run was not probed.")
    names = [name for name in probes[0] if name.startswith("recall@")]
    chosen = [probes[0], probes[-1]] if len(probes) > 1 else probes
    return [
        *paragraph(
            "A sample of validation goals among a sample of premises, before and after training. These figures compare"
            " states of this run and nothing else; full evaluations stand in `benchmarks/`."
        ),
        *table(("step", *names), ((str(int(row["step"])), *(f"{row[name]:.3f}" for name in names)) for row in chosen)),
    ]


def _about_questions(questions: Mapping[str, Any]) -> list[str]:
    """What was asked beside goals; a record from before there were questions says nothing."""
    if not questions.get("pairs"):
        return []
    return paragraph(
        f"Beside goals it learned from {questions['pairs']:,} questions: docstrings, and what was given besides. Those"
        f" that an evaluation asks, or whose answers it wants, were left out ({questions['left_out']:,})."
    )
