"""Exact inner-product search over a float16 matrix, on the CPU.

In: a float16 matrix that lies in memory or in a mapped file, float32 queries, perhaps a mask of rows. Out: the best
rows. FAISS decodes float16 while it multiplies and reads the matrix where it lies: nothing is copied.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

HalfMatrix = npt.NDArray[np.float16]
FloatArray = npt.NDArray[np.float32]
RowArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

GATHERED_ROWS = 2_048
"""At most this many visible rows are copied together and searched alone: looking at each bit of the mask takes as long
as that in a library of the size of Mathlib, however few are set."""

PART_ROWS = 1 << 15
"""Rows that one thread searches at a time, a multiple of 8. Small parts keep all threads busy to the end wherever the
visible rows lie; each costs some microseconds of its own."""


class ExactSearch:
    """Searches a matrix.

    FAISS gives a single query one thread, so the rows are dealt out to threads here. These sleep between searches: a
    sidecar lives beside a busy Lean, whose cores spinning threads would take.

    Args:
        matrix: float16, shape (rows, dimension), C-contiguous; kept alive by this object.
        threads: Threads that share a search.
    """

    def __init__(self, matrix: HalfMatrix, threads: int = 1) -> None:
        self._matrix = matrix
        step = PART_ROWS if threads > 1 else max(len(matrix), 1)
        self._parts = [(start, _view(matrix[start : start + step])) for start in range(0, len(matrix), step)]
        self._pool = ThreadPoolExecutor(threads, "search") if len(self._parts) > 1 else None

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
        """The k best visible rows of each query, best first, padded with −1; equal scores in order of rows."""
        visible = len(self._matrix) if mask is None else int(np.count_nonzero(mask))
        if not visible or not len(queries):
            shape = (len(queries), k)
            return np.full(shape, -np.inf, dtype=np.float32), np.full(shape, -1, dtype=np.int64)
        if mask is not None and visible <= GATHERED_ROWS:
            rows = np.flatnonzero(mask)
            scores, places = _search((0, _view(self._matrix[rows])), queries, k, None)
            return _best(scores, rows[places], k)
        search = partial(_search, queries=queries, k=k, mask=mask)
        if self._pool is None:
            found = [search(part) for part in self._parts]
        else:
            found = list(self._pool.map(search, self._parts))
        return _best(
            np.concatenate([scores for scores, _ in found], 1), np.concatenate([rows for _, rows in found], 1), k
        )

    def scores(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """The inner product of one query with each of some rows (which may repeat), in their order."""
        if not len(rows):
            return np.zeros(0, dtype=np.float32)
        scores, places = _search((0, _view(self._matrix[rows])), query[None, :], len(rows), None)
        result = np.empty(len(rows), dtype=np.float32)
        result[places[0]] = scores[0]
        return result


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


def _search(part: tuple[int, Any], queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
    """The best rows of a part of the matrix, at most k, in any order; its first row is given, and its view."""
    import faiss

    start, view = part
    rows = int(view.ntotal)
    parameters = None
    if mask is not None:
        own = mask[start : start + rows]
        visible = int(np.count_nonzero(own))
        if not visible:
            return np.zeros((len(queries), 0), dtype=np.float32), np.zeros((len(queries), 0), dtype=np.int64)
        if visible < rows:
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(np.packbits(own, bitorder="little")))
            rows = visible
    # OpenMP counts threads by calling thread, so this touches no other caller.
    faiss.omp_set_num_threads(1)
    scores, found = view.search(queries, min(k, rows), params=parameters)
    return scores, found + start


def _best(scores: FloatArray, rows: RowArray, k: int) -> tuple[FloatArray, RowArray]:
    """The k best of each line, best first and equal scores in order of rows, which FAISS leaves open."""
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return padded(np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1), k)


def padded(scores: FloatArray, rows: RowArray, k: int) -> tuple[FloatArray, RowArray]:
    """Fill answers with fewer than k columns up to k: score −inf, row −1."""
    missing = k - rows.shape[1]
    if missing <= 0:
        return scores, rows
    return (
        np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf),
        np.pad(rows, ((0, 0), (0, missing)), constant_values=-1),
    )
