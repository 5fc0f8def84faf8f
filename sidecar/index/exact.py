"""Exact inner-product search over a float16 matrix, on the CPU.

In: a float16 matrix and perhaps its 8-bit codes, in memory or in mapped files, float32 queries, perhaps a mask of rows.
Out: the best rows. FAISS decodes the numbers while it multiplies and reads them where they lie: nothing is copied.

A search takes as long as reading takes, so the codes of all rows are multiplied first (`products.py`). Some of the rows
whose codes are best are scored exactly: the worst of the k best of these is a score that the answer needs at least.
Rows whose codes say, by the bound of `codes.py`, that they may reach it are scored exactly too, and no others can be
part of the answer, which is thus the one that reading every vector gives. Where too many may reach it, every vector is
read.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sidecar.encoder.threads import faiss_threads
from sidecar.index.codes import FINE_STEPS, QueryCodes, VectorCodes
from sidecar.index.products import CodeProducts, ProductArray, can_multiply

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

SAMPLED: Final = 16
"""Every so manieth row shows which codes are among the best: sorting all would take longer than multiplying them."""

FIRST_ROWS: Final = 1.5
FIRST_MORE: Final = 8
"""As many sampled rows as are in `FIRST_ROWS`·k of all, and `FIRST_MORE`, so that k rows are hardly ever missed."""

LARGEST_SHARE: Final = 1 / 16
"""Where more of the visible rows than this have to be scored one by one, reading every vector is as fast."""

SMALLEST_SHARE: Final = 1 / 8
"""Where fewer of the rows than this are visible, so is reading their vectors: all codes are multiplied."""

QUERIES_TOGETHER: Final = 8
"""Queries whose products are kept at a time: each takes 8 bytes a row."""

FURTHER_CANDIDATES: Final = 2
"""How many times as many rows are taken when one that is worse than the answer was not among them."""

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
        self._products = None if codes is None else CodeProducts(codes.codes, threads if rows > step else 1)

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
        if (
            self._codes is not None
            and FIRST_ROWS * fitting + FIRST_MORE * SAMPLED <= LARGEST_SHARE * visible
            and can_multiply(self._codes.frame.width)
            and len(open_queries)
        ):
            everything = mask is None or visible == len(self._matrix)
            coded_mask = None if everything or mask is None else self._in_order(mask, self._codes)
            if visible >= SMALLEST_SHARE * (len(self._matrix) if coded_mask is None else len(coded_mask)):
                open_queries = self._by_codes(
                    self._codes, queries, open_queries, coded_mask, scores[:, :fitting], rows[:, :fitting]
                )
        if len(open_queries):
            self._by_vectors(queries, open_queries, visible, mask, scores[:, :fitting], rows[:, :fitting])
        return scores, rows

    def _in_order(self, mask: BoolArray, codes: VectorCodes) -> BoolArray:
        """A mask in the order of the codes, as far as it shows any; whoever asks mostly asks again under the same."""
        last = self._last_mask
        if last is None or not np.array_equal(last[0], mask):
            own = mask.copy()
            ordered = own[codes.order]
            # Rows behind the last visible one need not be looked at; premises stand first.
            last = self._last_mask = (own, ordered[: len(ordered) - int(np.argmax(ordered[::-1]))])
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
        codes: VectorCodes,
        queries: FloatArray,
        asked: RowArray,
        mask: BoolArray | None,
        scores: FloatArray,
        rows: RowArray,
    ) -> RowArray:
        """Fill in the answers of those queries for which codes can tell; the mask is in the order of the codes.

        Returns:
            The other queries.
        """
        assert self._products is not None
        end = len(codes.order) if mask is None else len(mask)
        most = int(LARGEST_SHARE * (end if mask is None else int(np.count_nonzero(mask))))
        failed = []
        for start in range(0, len(asked), QUERIES_TOGETHER):
            together = asked[start : start + QUERIES_TOGETHER]
            coded = codes.query_codes(queries[together])
            products = self._products.of(np.concatenate([coded.coarse, coded.fine]), end)
            for place, query in enumerate(together.tolist()):
                both = products[place], products[len(together) + place]
                found = self._found(codes, coded, place, both, queries[query], mask, scores.shape[1], most)
                if found is None:
                    failed.append(query)
                else:
                    _answer(*found, scores[query], rows[query])
        return np.array(failed, dtype=np.int64)

    def _found(
        self,
        codes: VectorCodes,
        coded: QueryCodes,
        place: int,
        products: tuple[ProductArray, ProductArray],
        query: FloatArray,
        mask: BoolArray | None,
        k: int,
        most: int,
    ) -> Found | None:
        """Exact scores of all rows that may be among the k best, and these rows; None where they are more than most."""
        coarse, fine = products
        factor, slack = float(coded.factors[place]), float(coded.slack[place])
        first = _first(coarse, mask, k)
        if not np.isfinite(slack) or not factor or not k <= len(first) <= most:
            return None
        own_rows = np.sort(codes.order[first])
        own_scores = self.scores(query, own_rows)
        needed = float(np.partition(own_scores, len(own_scores) - k)[len(own_scores) - k])
        # int32 against float64 would widen all products; what lies beyond their range is the range's end.
        least = np.clip((needed - float(coded.coarse_slack[place])) / factor - 1, -(2.0**31), 2.0**31 - 1)
        reaching = coarse >= np.int32(np.floor(least))
        others = np.flatnonzero(reaching if mask is None else reaching & mask)
        if len(others) > most:
            return None
        exactly = coarse[others] + fine[others] / np.float64(FINE_STEPS)
        others = np.sort(codes.order[others[exactly * factor + slack >= needed]])
        others = others[~_contained(others, own_rows)]
        return np.concatenate([own_scores, self.scores(query, others)]), np.concatenate([own_rows, others])

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


def _first(products: ProductArray, mask: BoolArray | None, k: int) -> RowArray:
    """Places of some more than k visible rows whose products are the largest; seldom less."""
    sample = products[::SAMPLED] if mask is None else products[::SAMPLED][mask[::SAMPLED]]
    count = int(k * FIRST_ROWS / SAMPLED) + FIRST_MORE
    if count > len(sample):
        return np.zeros(0, dtype=np.int64)
    reaching = products >= np.partition(sample, len(sample) - count)[len(sample) - count]
    return np.flatnonzero(reaching if mask is None else reaching & mask)


def _contained(rows: RowArray, others: RowArray) -> BoolArray:
    """Which rows are among others; both in rising order."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    found: BoolArray = others[places] == rows
    return found


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

    parameters = None if selector is None else faiss.SearchParameters(sel=selector)
    with faiss_threads(1):
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
