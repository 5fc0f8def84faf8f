"""Masked contrastive loss with gradient caching.

In: embeddings of B states and of their (1 + n)·B premises, and for every state which premises count as its positives.
Out: the InfoNCE loss of "Premise Selection for a Lean Hammer" (Zhu et al. 2025, section 4): for state i with
premise i+ the loss is −log of exp(cos(s_i, p_i+)/τ) over the same sum for all premises of the batch, without those
that are known positives of s_i.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.util import all_gather, all_gather_with_grad, get_rank
from torch import Tensor, nn

PADDING = -1
"""Fills rows of premise numbers that have fewer known positives than the longest row of a batch."""


def pack_labels(columns: Tensor, known: list[list[int]]) -> Tensor:
    """Pack what the loss must know about a batch into one tensor, as trainers pass labels.

    Args:
        columns: (B, 1 + n) text numbers of the premises of each row, the positive first. Equal texts have equal
            numbers, so that a duplicate of a positive is masked like the positive itself.
        known: For each of the B states the text numbers that are never its negatives (its positives, itself).

    Returns:
        (B, 1 + n + P) int64, P the longest list of `known`, padded with `PADDING`.
    """
    width = max((len(row) for row in known), default=0)
    padded = torch.full((len(known), width), PADDING, dtype=torch.int64)
    for index, row in enumerate(known):
        padded[index, : len(row)] = torch.tensor(row, dtype=torch.int64)
    return torch.cat([columns.to(torch.int64), padded], dim=1)


class MaskedContrastiveLoss(CachedLossMixin, nn.Module):
    """InfoNCE over a batch with every known positive of a state taken out of its negatives.

    Args:
        model: A sentence-transformers model.
        temperature: τ; the paper uses 0.05.
        mini_batch_size: Texts whose activations are alive at one time; the loss does not depend on it.
        gather_across_devices: Use the premises of all ranks as negatives.
        mask_known: Take known positives out (off only for the ablation).
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        temperature: float = 0.05,
        mini_batch_size: int = 32,
        gather_across_devices: bool = False,
        mask_known: bool = True,
    ) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        self.model = model
        self.temperature = temperature
        self.mini_batch_size = mini_batch_size
        self.gather_across_devices = gather_across_devices
        self.mask_known = mask_known

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """Embed all columns mini-batch by mini-batch and compute the loss of the whole batch."""
        loss: Tensor = CachedLossMixin.forward_cached(self, sentence_features, labels)
        return loss

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """Loss of one batch.

        Args:
            reps: For each column (states, positives, negatives 1 … n) its embeddings in pieces of shape (≤ mini, d).
            labels: What `pack_labels` gave, (B, 1 + n + P).
            with_backward: Send gradients back to `reps` at once and return a detached value.

        Raises:
            ValueError: When labels are missing, do not fit, or an embedding is not finite (names the row).
        """
        states = torch.cat(reps[0])
        premise_columns = [torch.cat(column) for column in reps[1:]]
        rows, width = len(states), len(premise_columns)
        if labels is None or labels.ndim != 2 or labels.shape[0] != rows or labels.shape[1] < width:
            shape = None if labels is None else tuple(labels.shape)
            raise ValueError(f"labels of shape {shape} do not fit {rows} states with {width} premises each")
        for name, column in [("state", states), *((f"premise column {i}", c) for i, c in enumerate(premise_columns))]:
            finite = torch.isfinite(column).all(dim=1)
            if not bool(finite.all()):
                raise ValueError(f"{name}: the embedding of row {int((~finite).nonzero()[0])} is not finite")

        labels = labels.to(states.device)
        numbers, known = labels[:, :width], labels[:, width:]
        offset = 0
        if self.gather_across_devices:
            premise_columns = [all_gather_with_grad(column) for column in premise_columns]
            numbers = all_gather(numbers.contiguous())
            offset = get_rank() * rows
        # Column order is positives of all rows, then first negatives of all rows, and so on.
        documents = nn.functional.normalize(torch.cat(premise_columns), dim=1)
        document_numbers = numbers.T.reshape(-1)
        queries = nn.functional.normalize(states, dim=1)

        total = torch.zeros((), device=states.device, dtype=torch.float32)
        pieces: list[Tensor] = []
        for begin in range(0, rows, self.mini_batch_size):
            end = min(begin + self.mini_batch_size, rows)
            own = torch.arange(offset + begin, offset + end, device=states.device)
            scores = (queries[begin:end] @ documents.T).float() / self.temperature
            if self.mask_known:
                scores = scores.masked_fill(self._masked(known[begin:end], document_numbers, own), -torch.inf)
            piece = nn.functional.cross_entropy(scores, own, reduction="sum") / rows
            pieces.append(piece)
            total = total + piece.detach()
        if not with_backward:
            return torch.stack(pieces).sum()
        torch.autograd.backward(torch.stack(pieces).sum())
        return total

    @staticmethod
    def _masked(known: Tensor, document_numbers: Tensor, own: Tensor) -> Tensor:
        """(rows, documents) True where a document is a known positive of the row other than its own column."""
        masked = torch.zeros((len(known), len(document_numbers)), dtype=torch.bool, device=known.device)
        for position in range(known.shape[1]):
            masked |= known[:, position : position + 1] == document_numbers.unsqueeze(0)
        masked[torch.arange(len(known), device=known.device), own] = False
        return masked

    def get_config_dict(self) -> dict[str, Any]:
        """The settings that go into a run's record."""
        return {
            "temperature": self.temperature,
            "mini_batch_size": self.mini_batch_size,
            "gather_across_devices": self.gather_across_devices,
            "mask_known": self.mask_known,
        }
