"""The contrastive loss of the search retriever.

In: embeddings of queries and of the declarations that answer them, and which declarations are the same. Out: InfoNCE
over the batch, in which a declaration is no negative of a query when it is the answer itself once more, or when its
cosine exceeds that of the answer by more than a margin: then it is probably an answer, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import torch
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.util import all_gather, all_gather_with_grad, get_rank
from torch import Tensor, nn

ROWS: Final = 256
"""Queries whose cosines are held at one time."""


class MarginContrastiveLoss(CachedLossMixin, nn.Module):
    """InfoNCE over in-batch negatives without those that look like answers.

    Args:
        model: A sentence-transformers model.
        margin: m; a candidate with cos > cos of the answer + m is dropped from the negatives. None drops none.
        temperature: τ.
        mini_batch_size: Texts that are embedded at one time; the loss does not depend on it.
        cached: Gradient caching (Gao et al. 2021).
        dimensions: Lengths to which vectors are cut for one more loss each (Matryoshka, Kusupati et al. 2022).
        gather_across_devices: Use the declarations of all ranks as negatives.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        margin: float | None = 0.1,
        temperature: float = 0.05,
        mini_batch_size: int = 32,
        cached: bool = True,
        dimensions: Sequence[int] = (),
        gather_across_devices: bool = False,
    ) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}; it must be above 0")
        self.model = model
        self.margin = margin
        self.temperature = temperature
        self.mini_batch_size = mini_batch_size
        self.uses_gradient_cache = cached
        self.dimensions = tuple(dimensions)
        self.gather_across_devices = gather_across_devices

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Mapping[str, Tensor]) -> Tensor:
        """Embed queries and declarations mini-batch by mini-batch and compute the loss of the whole batch."""
        if self.uses_gradient_cache:
            cached: Tensor = CachedLossMixin.forward_cached(self, sentence_features, labels)
            return cached
        embeddings = [[self.model(features)["sentence_embedding"]] for features in sentence_features]
        return self.calculate_loss(embeddings, labels)

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Mapping[str, Tensor] | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """Loss of one batch, the mean over its queries and over the dimensions.

        Args:
            reps: Embeddings of the queries, and of the declarations in the same order, in pieces.
            labels: `number` (B,): equal for declarations that are the same.
            with_backward: Send gradients back at once and return a detached value.
        """
        if labels is None:
            raise ValueError("the loss needs the labels `number`")
        queries, documents = (torch.cat(column) for column in reps)
        number = labels["number"].to(queries.device)
        own = torch.arange(len(queries), device=queries.device)
        owner = number
        if self.gather_across_devices:
            own = own + get_rank() * len(documents)
            documents = all_gather_with_grad(documents)
            number = all_gather(number.contiguous())
        same = owner.unsqueeze(1) == number.unsqueeze(0)
        same[torch.arange(len(queries)), own] = False
        lengths = (queries.shape[1], *self.dimensions)
        total = torch.zeros((), device=queries.device)
        pieces: list[Tensor] = []
        for length in lengths:
            texts = nn.functional.normalize(queries[:, :length].float(), dim=1)
            candidates = nn.functional.normalize(documents[:, :length].float(), dim=1)
            for begin in range(0, len(queries), ROWS):
                rows = slice(begin, begin + ROWS)
                cosines = texts[rows] @ candidates.T
                dropped = same[rows]
                if self.margin is not None:
                    answer = cosines.gather(1, own[rows].unsqueeze(1))
                    dropped = dropped | (cosines > answer + self.margin)
                    dropped[torch.arange(len(cosines)), own[rows]] = False
                scores = (cosines / self.temperature).masked_fill(dropped, -torch.inf)
                piece = nn.functional.cross_entropy(scores, own[rows], reduction="sum")
                piece = piece / (len(queries) * len(lengths))
                pieces.append(piece)
                total = total + piece.detach()
        loss = torch.stack(pieces).sum()
        if not with_backward:
            return loss
        torch.autograd.backward(loss)
        return total

    def get_config_dict(self) -> dict[str, Any]:
        """The settings that go into a run's record."""
        return {
            "margin": self.margin,
            "temperature": self.temperature,
            "mini_batch_size": self.mini_batch_size,
            "cached": self.uses_gradient_cache,
            "dimensions": list(self.dimensions),
            "gather_across_devices": self.gather_across_devices,
        }
