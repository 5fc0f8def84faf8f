"""The vectors of an index and the search by them.

In: queries as unit vectors, perhaps a mask of visible rows. Out: the rows with the largest inner products. The engine
is chosen by where the vectors shall lie and by how many there are; all engines answer alike: FAISS over mapped files on
a CPU, torch on a GPU, inverted lists beyond a million rows on a CPU. Searching takes milliseconds and releases Python's
lock: call it from a worker thread, never from an event loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from sidecar.errors import SidecarError
from sidecar.index.codes import open_codes, scan_order
from sidecar.index.exact import BoolArray, ExactSearch, FloatArray, HalfMatrix, RowArray
from sidecar.index.files import open_matrix
from sidecar.index.manifest import VectorEntry


class Engine(Protocol):
    """What finds the best rows."""

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
        """See `VectorSet.search`."""


class VectorSet:
    """One vector a row of the index. Safe to use from several threads.

    Args:
        folder: Folder of the index.
        entry: Which vectors.
        premise: bool, shape (rows,): which rows are premises.
        device: `cpu` or a torch device; on a GPU the matrix is copied there.
        threads: Threads that share a search on a CPU.

    Attributes:
        encoder: Name that loads the encoder again.
        fingerprint: Fingerprint of the encoder.
        dimension: Length of a vector.
        matrix: The float16 vectors, shape (rows, dimension), mapped from the file, read-only.
        codes: Their 8-bit codes, if the index has them.
    """

    def __init__(
        self, folder: Path, entry: VectorEntry, premise: BoolArray, device: str = "cpu", threads: int = 1
    ) -> None:
        self.encoder = entry.encoder
        self.fingerprint = entry.fingerprint
        self.dimension = entry.dimension
        self.matrix: HalfMatrix = open_matrix(folder / entry.file, len(premise), entry.dimension)
        self.codes = None
        if entry.codes is not None:
            self.codes = open_codes(folder, entry.codes, scan_order(premise), entry.dimension)
        self._exact = ExactSearch(self.matrix, threads, self.codes)
        self._engine: Engine = self._exact
        if device != "cpu":
            self.search_on(device)
        elif entry.approximate is not None:
            from sidecar.index.approximate import ApproximateSearch

            self._engine = ApproximateSearch(self.matrix, folder / entry.approximate, threads)

    def search_on(self, device: str) -> None:
        """Search on a torch device from now on; the matrix is copied there.

        Raises:
            RuntimeError: What torch says when the device has no room; then all stays as it was.
        """
        from sidecar.index.graphics import TorchSearch

        self._engine = TorchSearch(self.matrix, device)

    def __len__(self) -> int:
        return len(self.matrix)

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None = None) -> tuple[FloatArray, RowArray]:
        """Find the rows nearest to each query.

        Args:
            queries: float32, shape (queries, dimension).
            k: Results a query, at least 1; may exceed the number of visible rows.
            mask: Which rows are visible (bool, shape (rows,)); None for all.

        Returns:
            Inner products (float32) and rows (int64), both of shape (queries, k), best first, equal scores in order of
            rows. Where fewer than k rows are visible the rest is −inf and −1.

        Raises:
            SidecarError: `bad_request` when a shape does not fit or k is less than 1.
        """
        if queries.ndim != 2 or queries.shape[1] != self.dimension:
            raise SidecarError(
                "bad_request",
                f"queries of shape {queries.shape} do not fit vectors of length {self.dimension}",
                field="queries",
                hint="encode them with the encoder that made the index",
            )
        if k < 1:
            raise SidecarError("bad_request", f"k is {k}", field="k", hint="ask for at least one result")
        if mask is not None and mask.shape != (len(self),):
            raise SidecarError(
                "bad_request", f"a mask of shape {mask.shape} does not fit {len(self)} rows", field="mask"
            )
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        return self._engine.search(queries, k, mask if mask is None else np.ascontiguousarray(mask, dtype=np.bool_))

    def scores(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """Inner products of one query (float32, shape (dimension,)) with some rows, in the order of the rows."""
        return self._exact.scores(np.ascontiguousarray(query, dtype=np.float32), np.asarray(rows, dtype=np.int64))
