"""A quick look at how much a model has learned, cheap enough to repeat while it trains.

In: a model under training, evaluation examples, a library. Out: mean recall@k over a sample of goals and a sample of
premises. The figures only compare states of one run: with fewer premises to confuse, they are higher than those of
a full evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from training.data.examples import PremiseExample
from training.data.premise_library import PremiseLibrary
from training.data.token_rows import TokenRows
from training.evaluation.metrics import Judged, recall
from training.premises.pairs import TrainingPairs

if TYPE_CHECKING:
    from torch import nn

FloatMatrix = npt.NDArray[np.float32]

TOKENS_AT_ONCE = 8_192
"""Padded tokens of one forward pass."""


def encode(model: nn.Module, tokens: TokenRows, rows: npt.NDArray[np.int64], *, bfloat16: bool) -> FloatMatrix:
    """Unit vectors of some rows, in evaluation mode: shape (len(rows), dimension)."""
    import torch

    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    order = rows[np.argsort(tokens.lengths[rows], kind="stable")]
    places = np.argsort(tokens.lengths[rows], kind="stable")
    vectors: FloatMatrix | None = None
    begin = 0
    mixed = torch.autocast(device.type, torch.bfloat16) if bfloat16 else nullcontext()
    try:
        with torch.inference_mode(), mixed:
            while begin < len(order):
                end = begin + 1
                while end < len(order) and (end + 1 - begin) * tokens.lengths[order[end]] <= TOKENS_AT_ONCE:
                    end += 1
                matrix, mask = tokens.padded(order[begin:end])
                features = {
                    "input_ids": torch.from_numpy(matrix).to(device),
                    "attention_mask": torch.from_numpy(mask).to(device),
                }
                found = torch.nn.functional.normalize(model(features)["sentence_embedding"].float(), dim=1)
                if vectors is None:
                    vectors = np.zeros((len(rows), found.shape[1]), dtype=np.float32)
                vectors[places[begin:end]] = found.cpu().numpy()
                begin = end
    finally:
        model.train(was_training)
    return vectors if vectors is not None else np.zeros((0, 0), dtype=np.float32)


class Probe:
    """A fixed sample of goals and premises.

    Args:
        examples: Evaluation examples; only those with a visible premise are asked.
        library: All premises.
        goals: Most goals.
        premises: Most premises beside the goals' gold; 0 for all.
        seed: Decides the sample.
    """

    def __init__(
        self, examples: Sequence[PremiseExample], library: PremiseLibrary, goals: int, premises: int, seed: int = 0
    ) -> None:
        generator = np.random.default_rng(seed)
        chosen = generator.permutation(len(examples))[:goals]
        self.pairs = TrainingPairs.from_examples([examples[int(number)] for number in np.sort(chosen)], library)
        gold = np.unique(np.concatenate(self.pairs.positives))
        others = generator.permutation(len(library))[: premises or len(library)]
        self.rows: npt.NDArray[np.int64] = np.union1d(gold, others).astype(np.int64)
        self._library = library

    @property
    def examples(self) -> tuple[PremiseExample, ...]:
        """The goals that are asked."""
        return self.pairs.examples

    @property
    def goal_rows(self) -> npt.NDArray[np.int64]:
        """Numbers of all goals, to encode them."""
        return np.arange(len(self.examples))

    def judge(self, goals: FloatMatrix, premises: FloatMatrix, depth: int) -> list[Judged]:
        """Where the gold premises of each goal come out, among the sample's premises that it can see.

        Args:
            goals: Vectors of `examples`.
            premises: Vectors of `rows`.
            depth: Ranks beyond this are not looked at.
        """
        found = []
        pairs = self.pairs
        for number in range(len(goals)):
            allowed = self._library.visible(int(pairs.module[number]), int(pairs.line[number]))[self.rows]
            scores = np.where(allowed, premises @ goals[number], -np.inf)
            scores[self.rows == pairs.own[number]] = -np.inf
            likely = np.argpartition(-scores, min(depth, len(scores) - 1))[:depth] if depth else np.arange(0)
            best = self.rows[likely[np.lexsort((likely, -scores[likely]))]]
            gold = np.unique(pairs.positives[number])
            found.append(Judged(tuple((np.flatnonzero(np.isin(best, gold)) + 1).tolist()), len(gold)))
        return found

    def recall(self, goals: FloatMatrix, premises: FloatMatrix, ks: Sequence[int]) -> dict[str, float]:
        """Mean recall@k over the goals; see `judge`."""
        judged = self.judge(goals, premises, max(ks))
        return {f"recall@{k}": sum(recall(one, k) for one in judged) / max(len(judged), 1) for k in ks}
