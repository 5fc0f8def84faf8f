"""The answers of a batch: which documents take part, which are right, and what the document model makes of the queries.

In: numbers of queries. Out: `Answers` for the loss. Documents are those of an index; equal texts count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from sidecar.encoder.base import Encoder, FloatMatrix
from sidecar.index.index import Index
from training.tower.loss import Answers
from training.tower.queries import TowerQuery

IntArray = npt.NDArray[np.int64]


class Teacher:
    """The query side of the document model; what it said is kept for the next time.

    Args:
        encoder: The encoder that made the documents' vectors.
        queries: All queries, by number.
    """

    def __init__(self, encoder: Encoder, queries: Sequence[TowerQuery]) -> None:
        self._encoder = encoder
        self._queries = queries
        self._known: dict[int, npt.NDArray[np.float16]] = {}

    def __call__(self, numbers: Sequence[int]) -> FloatMatrix:
        """Unit vectors of queries, float32, shape (len(numbers), dimension)."""
        encoder = self._encoder
        for purpose in ("goal", "question"):
            missing = list(
                dict.fromkeys(n for n in numbers if n not in self._known and self._queries[n].purpose == purpose)
            )
            texts = [self._queries[n].spelled(encoder.max_tokens, encoder.count_tokens) for n in missing]
            vectors = encoder.encode(texts, "goal" if purpose == "goal" else "question") if texts else ()
            self._known.update(
                (number, vector.astype(np.float16)) for number, vector in zip(missing, vectors, strict=True)
            )
        return np.stack([self._known[number] for number in numbers]).astype(np.float32)


class AnswerTable:
    """Gives the answers of batches; see `training.tower.loss.AnswersOf`.

    Args:
        index: Its rows are the documents.
        queries: All queries, by number.
        teacher: Unit vectors of queries by the document model.
        sample: Documents that are drawn for a batch; None for all.
        seed: Decides the drawing, together with the place of the batch in the run.
        device: Where the loss is computed.
    """

    def __init__(
        self,
        index: Index,
        queries: Sequence[TowerQuery],
        teacher: Callable[[Sequence[int]], FloatMatrix],
        *,
        sample: int | None,
        seed: int,
        device: str,
    ) -> None:
        self._queries = queries
        self._teacher = teacher
        self._sample = sample
        self._seed = seed
        self._device = device
        # A query may find what its kind of request offers: goals find premises, questions find targets.
        self._masks = np.stack([index.premise, index.target])
        self._anybody = np.flatnonzero(self._masks.any(axis=0))
        _, group = np.unique(index.text_hashes, axis=0, return_inverse=True)
        self._group: IntArray = group.reshape(-1).astype(np.int64)
        self._by_group: IntArray = np.argsort(self._group, kind="stable")
        self._starts = np.searchsorted(self._group[self._by_group], np.arange(self._group.max(initial=0) + 2))

    def __call__(self, numbers: IntArray, place: int) -> Answers:
        """See `AnswersOf`."""
        asked = [self._queries[number] for number in numbers]
        right = [np.array(query.rows, dtype=np.int64) for query in asked]
        excluded = [
            np.setdiff1d(self._alike([*query.rows, query.own] if query.own >= 0 else query.rows), rows)
            for query, rows in zip(asked, right, strict=True)
        ]
        rows: IntArray | None = None
        weight: torch.Tensor | None = None
        masks = self._masks
        if self._sample is not None:
            certain = np.unique(np.concatenate(right))
            others = np.setdiff1d(self._anybody, certain, assume_unique=True)
            chance = np.random.default_rng((self._seed, place))
            drawn = chance.choice(others, min(self._sample, len(others)), replace=False)
            rows = np.sort(np.concatenate([certain, drawn]))
            stands_for = np.full(len(rows), max(len(others), 1) / max(len(drawn), 1), dtype=np.float32)
            stands_for[np.isin(rows, certain, assume_unique=True)] = 1.0
            weight = torch.from_numpy(stands_for).to(self._device)
            masks = masks[:, rows]
            right = [np.searchsorted(rows, each) for each in right]
            excluded = [np.flatnonzero(np.isin(rows, each)) for each in excluded]
        return Answers(
            documents=rows,
            weight=weight,
            positives=right,
            excluded=excluded,
            teacher=torch.from_numpy(self._teacher(numbers.tolist())).to(self._device),
            kind=np.array([int(query.purpose == "question") for query in asked], dtype=np.int64),
            masks=torch.from_numpy(masks).to(self._device),
        )

    def _alike(self, rows: Sequence[int]) -> IntArray:
        """Rows with the text of one of these."""
        starts, alike = self._starts, [np.zeros(0, dtype=np.int64)]
        for group in np.unique(self._group[list(rows)]).tolist():
            alike.append(self._by_group[starts[group] : starts[group + 1]])
        return np.concatenate(alike)
