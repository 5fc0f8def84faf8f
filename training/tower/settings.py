"""Everything that decides a tower's training.

In: options. Out: `TowerSettings`, written beside the weights and compared when a run is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.errors import SidecarError


@dataclass(frozen=True, slots=True)
class TowerSettings:
    """Settings of one run; equal settings and equal data give equal losses.

    Attributes:
        base: Encoder whose first layers the tower begins with.
        layers: How many of them.
        role: Which vectors of the index: `premises` or `search`; where they are the same, goals and questions are
            learned, else goals or questions.
        split: Entry of `training.data.sources.SPLITS`.
        goal_prompt, question_prompt: Text put before goals (with or without hypotheses: the target comes first in
            both, so one is the beginning of the other) and before questions; None for the base's own.
        max_tokens: Longer texts are cut; None for the base's own limit.
        dropout: Probability of dropout; None for the base's own.
        batch: Queries of a batch, over all ranks.
        documents: Documents of a step, drawn at random beside the batch's positives; None for every one.
        temperature: τ of the tower's softmax.
        teacher_temperature: τ of the softmax of the document model's own query side.
        distillation: Weight of the divergence from that side.
        alone: Part of the goals that are shown without their hypotheses.
        question_share: Part of the queries that are questions and Lean expressions.
        learning_rate: Highest learning rate.
        warmup: Part of the steps in which it rises.
        passes: How often the run goes through all states.
        steps: Batches, in place of `passes`; None to go by `passes`.
        states: Use so many training states, drawn at random; None for all.
        bfloat16: Multiply in bfloat16.
        seed: Decides order, documents, dropout.
    """

    base: str
    layers: int = 2
    role: str = "premises"
    split: str = "module"
    goal_prompt: str | None = None
    question_prompt: str | None = None
    max_tokens: int | None = None
    dropout: float | None = 0.0
    batch: int = 64
    documents: int | None = None
    temperature: float = 0.05
    teacher_temperature: float = 0.05
    distillation: float = 1.0
    alone: float = 0.25
    question_share: float = 0.25
    learning_rate: float = 3e-4
    warmup: float = 0.03
    passes: float = 1.0
    steps: int | None = None
    states: int | None = None
    bfloat16: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        least: dict[str, float] = {
            "layers": 1,
            "max_tokens": 4,
            "batch": 1,
            "documents": 1,
            "temperature": 1e-3,
            "teacher_temperature": 1e-3,
            "distillation": 0,
            "learning_rate": 0,
            "passes": 0,
            "steps": 1,
            "states": 1,
            "seed": 0,
        }
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and not value >= bound:
                raise SidecarError("bad_request", f"{value} is too small", field=name, hint=f"give at least {bound}")
        for name, high in (("dropout", 0.99), ("alone", 1), ("question_share", 1), ("warmup", 1)):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= high:
                raise SidecarError(
                    "bad_request", f"{value} is out of range", field=name, hint=f"give a number from 0 to {high}"
                )
        if self.role not in ("premises", "search"):
            raise SidecarError("bad_request", f"no role {self.role!r}", field="role", hint="give premises or search")
