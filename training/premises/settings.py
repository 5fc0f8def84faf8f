"""Everything that decides a training run.

In: options. Out: `RunSettings`, written beside the weights and compared when a run is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.errors import SidecarError


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of one run; equal settings and equal data give equal losses.

    Attributes:
        preset: Name of the preset, or the encoder that is trained.
        split: Entry of `training.data.sources.SPLITS`.
        naive: Ablation: explicit premises of tactic proofs only, and source text in place of states.
        max_tokens: Longer texts are cut.
        layers: Layers kept, from the bottom; None for all.
        phrases: Pairs of words that stand in at least so many premises get vectors of their own in a token table; 0 for
            none.
        dropout: Probability of dropout; None for the model's own.
        batch: Pairs of a batch, over all ranks.
        negatives: Sampled negatives a pair.
        hard_negatives: Hash of the file of mined negatives, or "".
        hard_share: Part of the negatives that is drawn from the mined ones.
        mask_known: Take known positives out of the negatives.
        temperature: τ.
        learning_rate: Highest learning rate.
        warmup: Part of the steps in which the learning rate rises.
        passes: How often the run goes through all pairs.
        steps: Batches, in place of `passes`; None to go by `passes`.
        chunk: Texts that are embedded at one time.
        gradient_cache: Embed every text twice and keep one chunk's activations, instead of all of them.
        bfloat16: Multiply in bfloat16.
        question_share: Part of a batch that is questions, so that the encoder serves search as well; 0 for none.
        pairs: Use so many training states, drawn at random; None for all.
        seed: Decides order, negatives, dropout.
    """

    preset: str
    split: str = "module"
    naive: bool = False
    max_tokens: int = 128
    layers: int | None = None
    phrases: int = 0
    dropout: float | None = None
    batch: int = 256
    negatives: int = 3
    hard_negatives: str = ""
    hard_share: float = 0.5
    mask_known: bool = True
    temperature: float = 0.05
    learning_rate: float = 2e-4
    warmup: float = 0.03
    passes: float = 2.0
    steps: int | None = None
    chunk: int = 64
    gradient_cache: bool = True
    bfloat16: bool = True
    question_share: float = 0.0
    pairs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        least: dict[str, float] = {
            "max_tokens": 4,
            "layers": 1,
            "phrases": 0,
            "batch": 1,
            "negatives": 0,
            "passes": 0,
            "steps": 1,
            "chunk": 1,
            "pairs": 1,
            "learning_rate": 0,
            "seed": 0,
        }
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and not value >= bound:
                raise SidecarError("bad_request", f"{value} is too small", field=name, hint=f"give at least {bound}")
        for name, high in {"dropout": 0.99, "hard_share": 1, "warmup": 1, "question_share": 0.9}.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value <= high:
                raise SidecarError(
                    "bad_request", f"{value} is out of range", field=name, hint=f"give a number from 0 to {high}"
                )
