"""The current retriever: at which rank does it find what was meant?

In: an index and the encoder that made it. Out: for many queries at once the nearest declarations, and the ranks of the
wanted ones. Only the vectors count here, not the words and names that the served search adds: the vectors are what the
generated queries train.

The index's own search answers one query fast. Here hundreds come at once, so they are multiplied with all vectors, on a
GPU where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Declaration
from sidecar.encoder.base import Encoder, FloatMatrix
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.text.query import query_text
from training.search.reward import LOST_RANK

BATCH: Final = 512
"""Queries that are encoded and searched at one time."""

BLOCK: Final = 1 << 14
"""Vectors that they are multiplied with at one time."""

if TYPE_CHECKING:
    from torch import Tensor

RowArray = npt.NDArray[np.int64]


class Retriever:
    """Finds declarations by their vectors.

    Args:
        index: The open index.
        encoder: The encoder that made its vectors for search.
        depth: How many declarations a query finds; deeper ones have no rank.

    Raises:
        SidecarError: `conflict` when the encoder is not the index's.
    """

    def __init__(self, index: Index, encoder: Encoder, depth: int = LOST_RANK) -> None:
        index.require_encoder(encoder, "search")
        self.index = index
        self.encoder = encoder
        self.depth = depth
        self._matrix = index.vectors("search").matrix
        self._on_device: Tensor | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides a rank."""
        return f"{self.index.revision} {self.encoder.fingerprint}"

    def find(self, queries: Sequence[str]) -> RowArray:
        """The nearest rows of each query that are search targets.

        Returns:
            int64, shape (queries, depth), best first, −1 where there are no more. A query without any word finds
            nothing.
        """
        found = np.full((len(queries), self.depth), -1, dtype=np.int64)
        for start in range(0, len(queries), BATCH):
            texts = [query_text(query) for query in queries[start : start + BATCH]]
            vectors = self.encoder.encode(texts, "question")
            meant = np.flatnonzero(vectors.any(axis=1))
            if len(meant):
                found[start + meant] = self._nearest(vectors[meant])
        return found

    def _nearest(self, vectors: FloatMatrix) -> RowArray:
        """The nearest search targets of each vector, best first, of equally near ones the first row, −1 at the end."""
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        queries = torch.from_numpy(vectors).to(device)
        scores = torch.full((len(vectors), self.depth), -torch.inf, device=device)
        rows = torch.full((len(vectors), self.depth), -1, dtype=torch.int64, device=device)
        for start in range(0, len(self._matrix), BLOCK):
            block, barred = self._block(start, device)
            near = (queries @ block.T).masked_fill_(barred, -torch.inf)
            best, places = near.topk(min(self.depth, len(block)), dim=1)
            scores = torch.cat([scores, best], dim=1)
            rows = torch.cat([rows, torch.where(best > -torch.inf, places + start, -1)], dim=1)
            # Rows of one score in their order, so that an answer does not depend on how many came at once.
            order = rows.argsort(dim=1, stable=True)
            order = order.gather(1, scores.gather(1, order).argsort(dim=1, descending=True, stable=True))
            scores, rows = scores.gather(1, order)[:, : self.depth], rows.gather(1, order)[:, : self.depth]
        return rows.cpu().numpy()

    def _block(self, start: int, device: str) -> tuple[Tensor, Tensor]:
        """Some vectors as float32, and which of them are no search targets."""
        import torch

        place = slice(start, start + BLOCK)
        barred = torch.from_numpy(~self.index.target[place]).to(device)
        if device == "cpu":
            return torch.from_numpy(self._matrix[place].astype(np.float32)), barred
        if self._on_device is None:
            self._on_device = torch.from_numpy(np.array(self._matrix)).to(device)
        return self._on_device[place].float(), barred

    def ranks(self, queries: Sequence[str], wanted: Sequence[str]) -> list[int | None]:
        """1-based ranks of wanted declarations, None where one is not among the first `depth`.

        Args:
            queries: The queries.
            wanted: The name of the declaration that each is about.

        Raises:
            SidecarError: `not_found` for a name that the index does not hold as a search target: its rank would always
                be None, and nothing could be learned from it.
        """
        return self.places(self.find(queries), self.rows(wanted))

    def rows(self, names: Sequence[str]) -> RowArray:
        """Rows of names; see `ranks` for the error."""
        rows = self.index.rows(list(names))
        for name, row in zip(names, rows.tolist(), strict=True):
            if row < 0 or not self.index.target[row]:
                raise SidecarError(
                    "not_found",
                    f"{name} is no search target of {self.index.folder}",
                    field="declarations",
                    hint="draw declarations from the index's own targets",
                )
        return rows

    def places(self, found: RowArray, rows: RowArray) -> list[int | None]:
        """Ranks of rows among what was found for each query."""
        same = found == rows[:, None]
        return [int(line.argmax()) + 1 if line.any() else None for line in same]

    def declarations(self, names: Sequence[str]) -> list[Declaration]:
        """The declarations of names."""
        return self.index.declarations(self.rows(names).tolist())

    def tokens(self, queries: Sequence[str]) -> list[int]:
        """Lengths in tokens of the encoder, for generators that have no tokenizer of their own."""
        return self.encoder.count_tokens([query_text(query) for query in queries])
