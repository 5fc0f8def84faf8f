"""Approximate search for matrices of more than a million rows: inverted lists over 8-bit codes (IVF, SQ8).

In: a float16 matrix and the file made from it by `build_lists`. Out: the best rows, found among the nearest lists and
then scored exactly. Where a mask leaves too little in those lists, the search is exact instead: approximate indexes
fail quietly under narrow filters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sidecar.encoder.threads import faiss_threads
from sidecar.index.exact import BoolArray, ExactSearch, FloatArray, HalfMatrix, RowArray, padded

APPROXIMATE_ROWS = 1_000_000
"""Matrices with more rows get inverted lists."""

TRAINING_ROWS_PER_LIST = 40
"""Rows that k-means sees for each list."""

PROBED_SHARE = 1 / 16
"""Share of the lists that a search looks into."""

CANDIDATES = 4
"""Rows that are scored exactly, as a multiple of k."""

NARROW_SHARE = 0.2
"""Masks that leave a smaller share of the rows are searched exactly."""

_BLOCK = 1 << 16


def list_count(rows: int) -> int:
    """Number of lists: 2·√rows, as k-means takes time with the square of it.

    Small matrices get one list for 39 rows, the fewest with which FAISS' k-means is content.
    """
    return max(1, min(int(2 * rows**0.5), rows // 39))


def build_lists(matrix: HalfMatrix, file: Path, threads: int) -> None:
    """Train and write the inverted lists of a matrix.

    Args:
        matrix: float16, shape (rows, dimension), unit or zero rows.
        file: Where to write.
        threads: Threads for the k-means and for filling the lists.
    """
    import faiss

    rows, dimension = matrix.shape
    lists = list_count(rows)
    chosen = np.sort(np.random.default_rng(0).choice(rows, min(rows, lists * TRAINING_ROWS_PER_LIST), replace=False))
    quantizer = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFScalarQuantizer(
        quantizer, dimension, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    with faiss_threads(threads):
        index.train(matrix[chosen].astype(np.float32))
        for start in range(0, rows, _BLOCK):
            index.add(matrix[start : start + _BLOCK].astype(np.float32))
    faiss.write_index(index, str(file))


class ApproximateSearch:
    """Searches the inverted lists of a matrix.

    Args:
        matrix: The matrix that the lists were made from.
        file: What `build_lists` wrote; mapped, not read.
        threads: Threads that share an exact search.
    """

    def __init__(self, matrix: HalfMatrix, file: Path, threads: int = 1) -> None:
        import faiss

        self._exact = ExactSearch(matrix, threads)
        self._rows = len(matrix)
        self._index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
        self._probes = max(1, round(self._index.nlist * PROBED_SHARE))

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
        """As `ExactSearch.search`, but a few of the best rows may be missed (measured in benchmarks/index.py)."""
        import faiss

        visible = self._rows if mask is None else int(np.count_nonzero(mask))
        wanted = k * CANDIDATES
        if visible < self._rows * NARROW_SHARE or visible * PROBED_SHARE < wanted or not len(queries):
            return self._exact.search(queries, k, mask)
        selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        parameters = faiss.SearchParametersIVF(nprobe=self._probes, sel=selector)
        with faiss_threads(1):
            _, candidates = self._index.search(queries, wanted, params=parameters)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        for place, found in enumerate(candidates):
            known = found[found >= 0]
            if len(known) < k:
                (scores[place],), (rows[place],) = self._exact.search(queries[place : place + 1], k, mask)
                continue
            exact = self._exact.scores(queries[place], known)
            order = np.lexsort((known, -exact))[:k]
            scores[place], rows[place] = exact[order], known[order]
        return padded(scores, rows, k)

    def scores(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """As `ExactSearch.scores`."""
        return self._exact.scores(query, rows)
