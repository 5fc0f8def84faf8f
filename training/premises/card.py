"""The model card: what a model is, what it was made from, and what it gave, as Markdown beside the weights.

In: a run's record, its description, its metrics. Out: the text of `README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.encoder.folder import EncoderDescription

FILE: Final = "README.md"

_SAID: Final = (
    ("batch", "Pairs of a batch"),
    ("negatives", "Sampled negatives a pair"),
    ("mask_known", "Known positives masked"),
    ("temperature", "τ"),
    ("learning_rate", "Highest learning rate, cosine"),
    ("warmup", "Warm-up, part of the steps"),
    ("dropout", "Dropout (None: the model's own)"),
    ("layers", "Layers kept (None: all)"),
    ("naive", "Naive data"),
    ("hard_negatives", "Mined negatives"),
    ("pairs", "Training states (None: all)"),
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
    probes = [row for row in metrics if "recall@32" in row]
    kind = "token table" if description.type == "static" else "transformer"
    lines = [
        "---",
        "license: apache-2.0",
        "tags: [lean4, premise-selection, sentence-similarity]",
        "---",
        f"# Premise selector `{settings['preset']}`",
        "",
        f"A {kind} that gives Lean 4 proof states and premises vectors whose cosine says whether the premise helps.",
        f"It reads at most {description.max_tokens} tokens of a text as `sidecar.text` spells it, and nothing else:",
        "",
        "```python",
        "from sidecar.encoder.load import load_encoder",
        'vectors = load_encoder("FOLDER").encode(texts, "goal")',
        "```",
        "",
        "## Training",
        "",
        f"{trained['pairs']:,} (state, premise) pairs of {trained['states']:,} states, {record['source']['format']}"
        f" divided by {record['source']['split']}; {result['steps']} steps, {result['seconds'] / 60:.0f} minutes on"
        f' {record["machine"]}. Masked contrastive loss of "Premise Selection for a Lean Hammer" (Zhu et al. 2025).',
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| {label} | {_shown(settings[name])} |" for name, label in _SAID),
        "",
        "Hashes of every input, versions and what decontamination removed stand in `run.json`;"
        " `loss.png` and `recall.png` show the run.",
        "",
        "## Figures",
        "",
    ]
    if probes:
        names = [name for name in probes[0] if name.startswith("recall@")]
        lines += [
            "A sample of validation goals among a sample of premises, before and after training. These figures compare"
            " states of this run and nothing else; full evaluations stand in `benchmarks/`.",
            "",
            "| step | " + " | ".join(names) + " |",
            "|---" * (len(names) + 1) + "|",
            *(
                f"| {int(row['step'])} | " + " | ".join(f"{row[name]:.3f}" for name in names) + " |"
                for row in ([probes[0], probes[-1]] if len(probes) > 1 else probes)
            ),
        ]
    else:
        lines.append("The run was not probed.")
    lines += [
        "",
        "## Limits",
        "",
        "- The positives are premises that proofs cite; what automation uses beside them was seen as irrelevant.",
        "- Mathlib's style and vocabulary; other libraries were not part of the training.",
        "- Texts spelled otherwise than by `sidecar.text` give vectors that mean little.",
        "",
    ]
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value == "" else str(value)
