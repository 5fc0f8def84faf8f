"""Exact inner-product search over a float16 matrix, on the CPU.

In: a float16 matrix that lies in memory or in a mapped file, float32 queries, perhaps a mask of rows. Out: the best
rows. FAISS decodes float16 while it multiplies and reads the matrix where it lies: nothing is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

HalfMatrix = npt.NDArray[np.float16]
FloatArray = npt.NDArray[np.float32]
RowArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

GATHERED_ROWS = 2_048
"""At most this many visible rows are copied together and searched alone. Looking at each bit of the mask costs about
1 ms at 300,000 rows, whatever the mask; copying this many rows costs less."""


class ExactSearch:
    """Searches a matrix.

    Args:
        matrix: float16, shape (rows, dimension), C-contiguous; kept alive by this object.
        threads: Threads for a batch of queries (one query always runs on one).
    """

    def __init__(self, matrix: HalfMatrix, threads: int = 1) -> None:
        self._matrix = matrix
        self._threads = threads
        self._view = _view(matrix)

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
        """The k best visible rows of each query, best first, padded with −1; equal scores in order of rows."""
        if mask is None:
            return _search(self._view, queries, k, self._threads)
        visible = int(np.count_nonzero(mask))
        if visible <= GATHERED_ROWS:
            rows = np.flatnonzero(mask)
            scores, places = _search(_view(self._matrix[rows]), queries, min(k, visible), self._threads)
            return padded(scores, rows[places] if visible else places, k)
        import faiss

        bits = np.packbits(mask, bitorder="little")
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        return _search(self._view, queries, k, self._threads, parameters)

    def scores(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """The inner product of one query with each of some rows (which may repeat), in their order."""
        if not len(rows):
            return np.zeros(0, dtype=np.float32)
        scores, places = _search(_view(self._matrix[rows]), query[None, :], len(rows), 1)
        result = np.empty(len(rows), dtype=np.float32)
        result[places[0]] = scores[0]
        return result


def padded(scores: FloatArray, rows: RowArray, k: int) -> tuple[FloatArray, RowArray]:
    """Fill answers with fewer than k columns up to k: row −1, score −inf."""
    missing = k - rows.shape[1]
    if missing <= 0:
        return scores, rows
    return (
        np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf),
        np.pad(rows, ((0, 0), (0, missing)), constant_values=-1),
    )


def _view(matrix: HalfMatrix) -> Any:
    """A FAISS index whose codes are the matrix itself.

    FAISS can read codes that it does not own (it does so for mapped index files), but its Python interface offers no
    constructor for it; the fields that say where such codes lie are public and are set here.
    """
    import faiss

    rows, dimension = matrix.shape
    index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    if not rows:
        return index
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(-1)
    codes = index.codes
    pointer = faiss.swig_ptr(raw)
    codes.is_owned = False
    codes.view_data, codes.view_size = pointer, raw.size
    codes.c_ptr, codes.c_size = pointer, raw.size
    index.ntotal = rows
    index.referenced_objects = [raw]  # FAISS itself keeps no reference to memory that it does not own
    return index


def _search(
    index: Any, queries: FloatArray, k: int, threads: int, parameters: Any = None
) -> tuple[FloatArray, RowArray]:
    import faiss

    fitting = min(k, int(index.ntotal))
    if not fitting or not len(queries):
        empty = np.zeros((len(queries), 0))
        return padded(empty.astype(np.float32), empty.astype(np.int64), k)
    # OpenMP counts threads by calling thread, so this does not touch other callers.
    faiss.omp_set_num_threads(threads)
    scores, rows = index.search(queries, fitting, params=parameters)
    scores[rows < 0] = -np.inf
    # FAISS leaves open in which order equal scores come; an answer should not depend on it.
    order = np.lexsort((rows, -scores), axis=1)
    return padded(np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1), k)
