"""The loss of a query tower: full softmax over frozen documents, and divergence from the document model's query side.

In: embeddings of queries, the vectors of documents, which documents are right for each query, and what the document
model's own query side makes of it. Out: for a query q with right documents P among the documents D that it may find

    mean over p in P of −log( e^{q·p/τ} / (e^{q·p/τ} + Σ_{d in D∖P} e^{q·d/τ}) )  +  w · KL( teacher ‖ tower )

with the two distributions of the divergence taken over D, the teacher's at its own temperature. Of a sample of
documents every one that was drawn stands for as many as were left out (its exponential counts N/n times), so that the
sums estimate those over all documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

SCORES: int = 1 << 23
"""Scores that are held at one time: bounds the memory of a step, and stays near the caches of a CPU."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """What one batch may find and should find.

    Attributes:
        documents: Rows of the documents that take part, ascending; None for every one.
        weight: How many documents each of them stands for, shape (documents,), or None for one each.
        positives: Query → places of its right documents among `documents`.
        excluded: Query → places of documents that it is not asked about.
        teacher: Unit vectors of the queries by the document model's query side, shape (B, dimension).
        kind: Query → number of its mask in `masks`.
        masks: bool, shape (kinds, documents): which documents a kind of query may find.
    """

    documents: IntArray | None
    weight: Tensor | None
    positives: list[IntArray]
    excluded: list[IntArray]
    teacher: Tensor
    kind: IntArray
    masks: Tensor


class AnswersOf(Protocol):
    """Gives the answers of a batch."""

    def __call__(self, numbers: IntArray, place: int) -> Answers:
        """Answers of queries, by their numbers; the place of the batch in the run decides what is drawn."""


def tower_loss(
    queries: Tensor,
    documents: Tensor,
    answers: Answers,
    *,
    temperature: float,
    teacher_temperature: float,
    distillation: float,
) -> Tensor:
    """The loss of some queries, its mean.

    Args:
        queries: Unit vectors, float32, shape (B, dimension).
        documents: The vectors of `answers.documents`, shape (documents, dimension).
        answers: See `Answers`.
        temperature, teacher_temperature, distillation: See `TowerSettings`.
    """
    allowed = answers.masks[torch.from_numpy(answers.kind).to(answers.masks.device)].clone()
    right = torch.zeros_like(allowed)
    for row, (positives, excluded) in enumerate(zip(answers.positives, answers.excluded, strict=True)):
        allowed[row, torch.from_numpy(excluded)] = False
        right[row, torch.from_numpy(positives)] = True
    allowed |= right
    weights = 0.0 if answers.weight is None else answers.weight.log()
    scores = (queries.to(documents.dtype) @ documents.T).float() / temperature + weights
    scores = scores.masked_fill(~allowed, -torch.inf)
    others = scores.masked_fill(right, -torch.inf).logsumexp(dim=1, keepdim=True)
    # An unreachable score would make the gradient not a number where it is multiplied by nothing.
    shown = scores.masked_fill(~right, 0.0)
    each = torch.logaddexp(others.expand_as(shown), shown) - shown
    counts = right.sum(dim=1).clamp(min=1)
    loss = ((each * right).sum(dim=1) / counts).mean()
    if distillation:
        wanted = (answers.teacher.to(documents.dtype) @ documents.T).float() / teacher_temperature + weights
        wanted = wanted.masked_fill(~allowed, -torch.inf).log_softmax(dim=1)
        found = scores.log_softmax(dim=1)
        apart = (wanted.exp() * (wanted.masked_fill(~allowed, 0.0) - found.masked_fill(~allowed, 0.0))).sum(dim=1)
        loss = loss + distillation * apart.mean()
    return loss


class FrozenSoftmaxLoss(nn.Module):
    """`tower_loss` of a batch, a few queries at one time: only the gradient of the embeddings is kept between.

    Args:
        model: A sentence-transformers model.
        documents: Vectors of all documents, shape (N, dimension); never trained.
        answers_of: Gives the answers of a batch.
        temperature, teacher_temperature, distillation: See `TowerSettings`.
    """

    documents: Tensor

    def __init__(
        self,
        model: nn.Module,
        documents: Tensor,
        answers_of: AnswersOf,
        *,
        temperature: float,
        teacher_temperature: float,
        distillation: float,
    ) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("documents", documents, persistent=False)
        self._answers_of = answers_of
        self._settings = {
            "temperature": temperature,
            "teacher_temperature": teacher_temperature,
            "distillation": distillation,
        }

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Mapping[str, Tensor]) -> Tensor:
        """Embed the queries and compute the loss of the batch.

        Args:
            sentence_features: Token numbers and masks of the queries.
            labels: `number` (B,): numbers of the queries; `place` (B,): place of each in the run.

        Raises:
            ValueError: When an embedding is not finite (names the row).
        """
        (features,) = sentence_features
        embeddings = self.model(features)["sentence_embedding"]
        finite = torch.isfinite(embeddings).all(dim=1)
        if not bool(finite.all()):
            raise ValueError(f"the embedding of query {int((~finite).nonzero()[0])} of the batch is not finite")
        answers = self._answers_of(labels["number"].cpu().numpy(), int(labels["place"].min()))
        # Scores are small differences of large sums: they stay in float32 where the model runs in bfloat16.
        with torch.autocast(embeddings.device.type, enabled=False):
            queries = nn.functional.normalize(embeddings.float(), dim=1)
            return self._in_pieces(queries, answers)

    def _in_pieces(self, queries: Tensor, answers: Answers) -> Tensor:
        documents = self.documents
        if answers.documents is not None:
            documents = documents[torch.from_numpy(answers.documents).to(documents.device)]
        at_once = max(1, math.floor(SCORES / len(documents)))
        gradient = torch.zeros_like(queries)
        total = torch.zeros((), device=queries.device)
        for begin in range(0, len(queries), at_once):
            rows = slice(begin, begin + at_once)
            piece = queries[rows].detach().requires_grad_(torch.is_grad_enabled())
            share = len(piece) / len(queries)
            loss = share * tower_loss(piece, documents, _rows(answers, rows), **self._settings)
            total += loss.detach()
            if loss.requires_grad:
                (gradient[rows],) = torch.autograd.grad(loss, piece)
        # The value of the loss, and the gradient that was collected.
        carried = (queries * gradient).sum()
        return total + carried - carried.detach()

    def get_config_dict(self) -> dict[str, float]:
        """The settings that go into a run's record."""
        return dict(self._settings)


def _rows(answers: Answers, rows: slice) -> Answers:
    return Answers(
        answers.documents,
        answers.weight,
        answers.positives[rows],
        answers.excluded[rows],
        answers.teacher[rows],
        answers.kind[rows],
        answers.masks,
    )
