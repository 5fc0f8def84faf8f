"""Exact inner-product search over a float16 matrix, on the CPU.

In: a float16 matrix and perhaps its 8-bit codes, in memory or in mapped files, float32 queries, perhaps a mask of rows.
Out: the best rows. FAISS decodes the numbers while it multiplies and reads them where they lie: nothing is copied.

A search takes as long as reading takes, so the codes are searched first, for some more rows than are wanted. These are
scored exactly. The row that came last among them says how good the codes of every other row are at most, hence, by the
bound of `codes.py`, how good these rows are: where that is not good enough for the answer, the answer is the one that
reading every vector gives. Where it might be, more rows are taken, and at last every vector is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sidecar.index.codes import VectorCodes

HalfMatrix = npt.NDArray[np.float16]
FloatArray = npt.NDArray[np.float32]
RowArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

GATHERED_ROWS = 2_048
"""At most this many visible rows are copied together and searched alone: looking at each bit of the mask takes as long
as that in a library of the size of Mathlib, however few are set."""

PART_ROWS = 1 << 15
"""Fewest rows of a part, a multiple of 8: each costs some microseconds of its own."""

PARTS_PER_THREAD: Final = 2
"""Some parts a thread keep all threads busy to the end wherever the visible rows lie; each finds as many rows as are
wanted of all, so there should not be many."""

CANDIDATES: Final = 2
MORE_CANDIDATES: Final = 128
"""`CANDIDATES`·k + `MORE_CANDIDATES` rows are taken by their codes at first. For goals and questions in an index of
Mathlib by the built-in transformer, the proof wanted 1.5·k to 1.7·k in the median and 1.8·k to 2.4·k for nineteen of
twenty (k = 1024 to 200). A scan that has to be repeated costs much more than the rows that are taken in vain."""

FURTHER_CANDIDATES: Final = 2
"""How many times as many rows are taken when the proof fails; after a second failure every vector is read."""

ROWS_PER_CANDIDATE: Final = 32
"""Where fewer rows than this are visible for each that is to be taken, reading every vector is as fast."""

Found = tuple[FloatArray, RowArray]


class ExactSearch:
    """Searches a matrix.

    FAISS gives a single query one thread, so the rows are dealt out to threads here. These sleep between searches: a
    sidecar lives beside a busy Lean, whose cores spinning threads would take.

    Args:
        matrix: float16, shape (rows, dimension), C-contiguous; kept alive by this object.
        threads: Threads that share a search.
        codes: The codes of the matrix, which make searches faster and change no answer.
    """

    def __init__(self, matrix: HalfMatrix, threads: int = 1, codes: VectorCodes | None = None) -> None:
        self._matrix = matrix
        rows = len(matrix)
        step = max(PART_ROWS, 8 * -(-rows // (8 * PARTS_PER_THREAD * threads))) if threads > 1 else max(rows, 1)
        pool = ThreadPoolExecutor(threads, "search") if rows > step else None
        self._vectors = _Scan(matrix, "QT_fp16", step, pool)
        self._codes = codes
        self._last_mask: tuple[BoolArray, BoolArray] | None = None
        self._coded = None if codes is None else _Scan(codes.codes, "QT_8bit_direct_signed", step, pool)

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> Found:
        """The k best visible rows of each query, best first, padded with −1; of equal scores the first rows."""
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        visible = len(self._matrix) if mask is None else int(np.count_nonzero(mask))
        if not visible or not len(queries):
            return scores, rows
        fitting = min(k, visible)
        if mask is not None and visible <= GATHERED_ROWS:
            chosen = np.flatnonzero(mask)
            found, places = _search(_view(self._matrix[chosen]), queries, visible)
            candidates = np.where(places < 0, -1, chosen[places])
            for query in range(len(queries)):
                _answer(found[query], candidates[query], scores[query, :fitting], rows[query, :fitting])
            return scores, rows
        pointing = queries.any(axis=1)
        if not pointing.all():  # texts without a token: all rows are equally good, and finding that out would take long
            scores[~pointing, :fitting] = 0
            rows[~pointing, :fitting] = np.arange(fitting) if mask is None else np.flatnonzero(mask)[:fitting]
        open_queries = np.flatnonzero(pointing)
        if self._codes is not None and len(open_queries):
            coded_mask = None if mask is None or visible == len(self._matrix) else self._in_order(mask, self._codes)
            for wanted in _candidate_counts(k, visible):
                open_queries = self._by_codes(
                    queries, open_queries, wanted, coded_mask, scores[:, :fitting], rows[:, :fitting]
                )
                if not len(open_queries):
                    return scores, rows
        self._by_vectors(queries, open_queries, visible, mask, scores[:, :fitting], rows[:, :fitting])
        return scores, rows

    def _in_order(self, mask: BoolArray, codes: VectorCodes) -> BoolArray:
        """A mask in the order of the codes; whoever asks mostly asks again under the same one."""
        last = self._last_mask
        if last is None or not np.array_equal(last[0], mask):
            last = self._last_mask = (mask.copy(), mask[codes.order])
        return last[1]

    def scores(self, query: FloatArray, rows: RowArray) -> FloatArray:
        """The inner product of one query with each of some rows (which may repeat), in their order."""
        if not len(rows):
            return np.zeros(0, dtype=np.float32)
        scores, places = _search(_view(self._matrix[rows]), query[None, :], len(rows))
        result = np.full(len(rows), -np.inf, dtype=np.float32)
        known = places[0] >= 0
        result[places[0][known]] = scores[0][known]
        return result

    def _by_codes(
        self,
        queries: FloatArray,
        asked: RowArray,
        wanted: int,
        mask: BoolArray | None,
        scores: FloatArray,
        rows: RowArray,
    ) -> RowArray:
        """Fill in the answers of those queries for which they can be proved; the mask is in the order of the codes.

        Returns:
            The other queries.
        """
        assert self._coded is not None and self._codes is not None
        chosen = self._codes.query_codes(queries[asked])
        products, places = self._coded.best(chosen.codes, wanted, mask)
        every_row = np.where(places < 0, -1, self._codes.order[places])
        every_score = products * chosen.factors[:, None]
        failed = []
        for place, query in enumerate(asked.tolist()):
            coded, candidates, slack = every_score[place], every_row[place], float(chosen.slack[place])
            if candidates.min() >= 0:
                found, good = self._rescored(queries[query], coded, candidates, scores.shape[1], slack)
                _answer(found, good, scores[query], rows[query])
                # A row that is equally good could come before one of the answer, so there must be none.
                if float(coded.min()) + slack < float(scores[query, -1]):
                    continue
            failed.append(query)
        return np.array(failed, dtype=np.int64)

    def _rescored(
        self, query: FloatArray, coded: npt.NDArray[np.float64], candidates: RowArray, k: int, slack: float
    ) -> Found:
        """Exact scores of all candidates (more than k) that may be among the k best, and these candidates."""
        order = np.argpartition(-coded, k - 1)
        first, others = np.sort(candidates[order[:k]]), order[k:]
        scores = self.scores(query, first)
        more = np.sort(candidates[others[coded[others] + slack >= scores.min()]])
        return np.concatenate([scores, self.scores(query, more)]), np.concatenate([first, more])

    def _by_vectors(
        self,
        queries: FloatArray,
        asked: RowArray,
        visible: int,
        mask: BoolArray | None,
        scores: FloatArray,
        rows: RowArray,
    ) -> None:
        """Fill in the answers of some queries."""
        # FAISS leaves open which of several equally good rows it drops, so one must be found that is worse.
        wanted = min(scores.shape[1] + 1, visible)
        while len(asked):
            every_score, every_row = self._vectors.best(queries[asked], wanted, mask)
            open_queries = []
            for query, found, candidates in zip(asked.tolist(), every_score, every_row, strict=True):
                _answer(found, candidates, scores[query], rows[query])
                if wanted < visible and candidates.min() >= 0 and found.min() >= scores[query, -1]:
                    open_queries.append(query)
            asked = np.array(open_queries, dtype=np.int64)
            wanted = min(FURTHER_CANDIDATES * wanted, visible)


def _candidate_counts(k: int, visible: int) -> Iterator[int]:
    """How many rows to take by their codes, one try after the other."""
    first = CANDIDATES * k + MORE_CANDIDATES
    for wanted in (first, FURTHER_CANDIDATES * first):
        if wanted * ROWS_PER_CANDIDATE <= visible:
            yield wanted


def _answer(found: FloatArray, candidates: RowArray, scores: FloatArray, rows: RowArray) -> None:
    """Write the best candidates into `scores` and `rows`: best first, equal scores in order of rows, −1 last."""
    found = np.where(candidates < 0, np.float32(-np.inf), found)
    order = np.lexsort((candidates, -found))[: len(scores)]
    scores[: len(order)], rows[: len(order)] = found[order], candidates[order]


class _Scan:
    """A matrix that FAISS decodes while it multiplies, dealt out in parts.

    Args:
        matrix: Shape (rows, dimension), C-contiguous.
        quantizer: FAISS' name for the kind of numbers in it.
        step: Rows of a part.
        pool: Threads that share a search; None for the caller's alone.
    """

    def __init__(self, matrix: npt.NDArray[Any], quantizer: str, step: int, pool: ThreadPoolExecutor | None) -> None:
        self._parts = [(start, _view(matrix[start : start + step], quantizer)) for start in range(0, len(matrix), step)]
        self._pool = pool

    def best(self, queries: FloatArray, wanted: int, mask: BoolArray | None) -> Found:
        """The best visible rows of each query, in any order and any of those that are equally good.

        Args:
            queries: float32, shape (queries, dimension).
            wanted: How many, no more than are visible.
            mask: Which rows are visible; None for all.

        Returns:
            Scores and rows, both of shape (queries, wanted); −1 in place of rows whose score is not a number.
        """
        search = partial(_search_part, queries=queries, wanted=wanted, mask=mask)
        found = (
            [search(part) for part in self._parts] if self._pool is None else list(self._pool.map(search, self._parts))
        )
        scores = np.concatenate([scores for scores, _ in found], axis=1)
        rows = np.concatenate([rows for _, rows in found], axis=1)
        if scores.shape[1] == wanted:
            return scores, rows
        chosen = np.argpartition(-scores, wanted - 1, axis=1)[:, :wanted]
        return np.take_along_axis(scores, chosen, axis=1), np.take_along_axis(rows, chosen, axis=1)


def _view(matrix: npt.NDArray[Any], quantizer: str = "QT_fp16") -> Any:
    """A FAISS index whose codes are the matrix itself.

    FAISS can read codes that it does not own (it does so for mapped index files), but its Python interface offers no
    constructor for it; the fields that say where such codes lie are public and are set here.
    """
    import faiss

    rows, dimension = matrix.shape
    kind = getattr(faiss.ScalarQuantizer, quantizer)
    index = faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
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


def _search_part(part: tuple[int, Any], queries: FloatArray, wanted: int, mask: BoolArray | None) -> Found:
    """The best rows of a part of the matrix, at most as many as are wanted, in any order."""
    import faiss

    start, view = part
    rows = int(view.ntotal)
    selector = None
    if mask is not None:
        own = mask[start : start + rows]
        visible = int(np.count_nonzero(own))
        if not visible:
            return np.zeros((len(queries), 0), dtype=np.float32), np.zeros((len(queries), 0), dtype=np.int64)
        if visible < rows:
            selector = faiss.IDSelectorBitmap(np.packbits(own, bitorder="little"))
            rows = visible
    scores, found = _search(view, queries, min(wanted, rows), selector)
    return scores, np.where(found < 0, -1, found + start)


def _search(view: Any, queries: FloatArray, wanted: int, selector: Any = None) -> Found:
    """What FAISS finds in a view."""
    import faiss

    # OpenMP counts threads by calling thread, so this touches no other caller.
    faiss.omp_set_num_threads(1)
    parameters = None if selector is None else faiss.SearchParameters(sel=selector)
    scores, rows = view.search(queries, wanted, params=parameters)
    return scores, rows


def padded(scores: FloatArray, rows: RowArray, k: int) -> Found:
    """Fill answers with fewer than k columns up to k: score −inf, row −1."""
    missing = k - rows.shape[1]
    if missing <= 0:
        return scores, rows
    return (
        np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf),
        np.pad(rows, ((0, 0), (0, missing)), constant_values=-1),
    )
