"""Masked contrastive loss with gradient caching.

In: embeddings of B states and of their P premises (positives and negatives of all states together), and for every state
which premises count as its positives. Out: the InfoNCE loss of "Premise Selection for a Lean Hammer" (Zhu et al. 2025,
section 4): for state i with premise i+ the loss is −log of exp(cos(s_i, p_i+)/τ) over the same sum for all premises of
the batch, without those that are known positives of s_i.

Negatives come from the batch, so the loss of one batch of 64 is not that of four batches of 16 whose gradients are
accumulated, which is lower and teaches less. Gradient caching gives the former for the memory of the latter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.util import all_gather, all_gather_with_grad, get_rank
from torch import Tensor, nn


class MaskedContrastiveLoss(CachedLossMixin, nn.Module):
    """InfoNCE over a batch with every known positive of a state taken out of its negatives.

    Args:
        model: A sentence-transformers model.
        temperature: τ; the paper uses 0.05.
        mini_batch_size: Texts that are embedded at one time; the loss does not depend on it.
        cached: Keep the activations of one mini-batch alone and embed every text twice (gradient caching, Gao et al.
            2021). Without it every text is embedded once, which is a quarter faster where memory has room for all.
        gather_across_devices: Use the premises of all ranks as negatives.
        mask_known: Take known positives out (off only for the ablation).
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        temperature: float = 0.05,
        mini_batch_size: int = 32,
        cached: bool = True,
        gather_across_devices: bool = False,
        mask_known: bool = True,
    ) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        if mini_batch_size < 1:
            raise ValueError(f"mini_batch_size is {mini_batch_size}; it must be at least 1")
        self.model = model
        self.temperature = temperature
        self.mini_batch_size = mini_batch_size
        self.uses_gradient_cache = cached
        self.gather_across_devices = gather_across_devices
        self.mask_known = mask_known

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Mapping[str, Tensor]) -> Tensor:
        """Embed states and premises mini-batch by mini-batch and compute the loss of the whole batch.

        Args:
            sentence_features: Token numbers and masks of the states, and of the premises.
            labels: See `calculate_loss`.
        """
        if self.uses_gradient_cache:
            cached: Tensor = CachedLossMixin.forward_cached(self, sentence_features, labels)
            return cached
        embeddings = [
            [
                vectors
                for vectors, _ in CachedLossMixin.embed_minibatch_iter(
                    self, features, with_grad=torch.is_grad_enabled(), copy_random_state=False
                )
            ]
            for features in sentence_features
        ]
        return self.calculate_loss(embeddings, labels)

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Mapping[str, Tensor] | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """Loss of one batch.

        Args:
            reps: Embeddings of the states, and of the premises, each in pieces of shape (≤ mini_batch_size, d).
            labels: Three int64 tensors: `own` (B,), the place of each state's positive among the premises; `number`
                (P,), a number for each premise, equal for premises that say the same; and `known` (B, K), the numbers
                that are never negatives of a state (filled up with negative ones).
            with_backward: Send gradients back to `reps` at once and return a detached value.

        Raises:
            ValueError: When labels are missing, do not fit, or an embedding is not finite (names the row).
        """
        states, premises = (torch.cat(column) for column in reps)
        rows = len(states)
        if labels is None:
            raise ValueError("the loss needs labels: own, number and known")
        own, number, known = (labels[name].to(states.device) for name in ("own", "number", "known"))
        if own.shape != (rows,) or number.shape != (len(premises),) or known.shape[:1] != (rows,):
            shapes = {name: tuple(value.shape) for name, value in labels.items()}
            raise ValueError(f"labels of shapes {shapes} do not fit {rows} states and {len(premises)} premises")
        for name, column in (("state", states), ("premise", premises)):
            finite = torch.isfinite(column).all(dim=1)
            if not bool(finite.all()):
                raise ValueError(f"{name}: the embedding of row {int((~finite).nonzero()[0])} is not finite")

        if self.gather_across_devices:
            own = own + get_rank() * len(premises)
            premises = all_gather_with_grad(premises)
            number = all_gather(number.contiguous())
        documents = nn.functional.normalize(premises.float(), dim=1)
        queries = nn.functional.normalize(states.float(), dim=1)

        total = torch.zeros((), device=states.device, dtype=torch.float32)
        pieces: list[Tensor] = []
        for begin in range(0, rows, _ROWS_AT_ONCE):
            piece_of = slice(begin, min(begin + _ROWS_AT_ONCE, rows))
            scores = (queries[piece_of] @ documents.T) / self.temperature
            if self.mask_known:
                scores = scores.masked_fill(_masked(known[piece_of], number, own[piece_of]), -torch.inf)
            piece = nn.functional.cross_entropy(scores, own[piece_of], reduction="sum") / rows
            pieces.append(piece)
            total = total + piece.detach()
        if not with_backward:
            return torch.stack(pieces).sum()
        torch.autograd.backward(torch.stack(pieces).sum())
        return total

    def get_config_dict(self) -> dict[str, Any]:
        """The settings that go into a run's record."""
        return {
            "temperature": self.temperature,
            "mini_batch_size": self.mini_batch_size,
            "cached": self.uses_gradient_cache,
            "gather_across_devices": self.gather_across_devices,
            "mask_known": self.mask_known,
        }


_ROWS_AT_ONCE = 256
"""States whose scores are masked at one time."""


def _masked(known: Tensor, number: Tensor, own: Tensor) -> Tensor:
    """(rows, premises) True where a premise is a known positive of the row other than its own place."""
    masked = torch.zeros((len(known), len(number)), dtype=torch.bool, device=known.device)
    for position in range(known.shape[1]):
        masked |= known[:, position : position + 1] == number.unsqueeze(0)
    masked[torch.arange(len(known), device=known.device), own] = False
    return masked
