"""Inner products of 8-bit codes, all of them and exact.

In: int8 codes of rows, in memory or in a mapped file, and int8 codes of queries. Out: int32 inner products of rows with
queries. On processors with instructions for it, torch multiplies whole numbers as fast as memory brings them.
"""

from __future__ import annotations

import platform
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

TRIED_ROWS: Final = 1 << 12
"""Rows of the products that are compared with numpy's."""

ROWS_TOGETHER: Final = 1 << 16
"""Rows that torch is given at a time; what it returns, by rows, is dealt out to the queries."""

PARTS_PER_THREAD: Final = 2
"""Some parts a thread keep all threads busy to the end."""

_PROCESSORS = ("x86_64", "amd64")

CodeArray = npt.NDArray[np.int8]
ProductArray = npt.NDArray[np.int32]


def load_products() -> None:
    """Load what multiplies, which takes a second: for processes that search often."""
    import torch  # noqa: F401


def can_multiply(width: int) -> bool:
    """Whether `CodeProducts` of this width is right, and fast, in this process.

    It is wanted for its speed alone, so where torch is not loaded (a command that searches once, with an encoder that
    does without) the answer is no: loading it takes a hundred searches.
    """
    return "torch" in sys.modules and platform.machine().lower() in _PROCESSORS and _products_are_right(width)


@cache
def _products_are_right(width: int) -> bool:
    """Whether torch's products of the largest codes are numpy's, tried once.

    Processors without instructions for four products at a time add two in 16 bits, where large ones overflow; and torch
    2.13 leaves the products of codes of width 1 unwritten.
    """
    import torch

    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False  # torch then multiplies one number after the other
    random = np.random.default_rng(0)
    largest = np.array([-127, 127, 126], dtype=np.int8)
    codes, queries = random.choice(largest, (TRIED_ROWS, width)), random.choice(largest, (2, width))
    codes[:2], queries[0] = [[127], [-127]], 127
    expected = queries.astype(np.int64) @ codes.T.astype(np.int64)
    return np.array_equal(CodeProducts(codes).of(queries, TRIED_ROWS), expected)


class CodeProducts:
    """Multiplies codes.

    Args:
        codes: int8, shape (rows, width), C-contiguous, kept alive by this object; never written to, though torch warns
            where the array says that it cannot be.
        threads: Threads that share a multiplication; they sleep between two.
    """

    def __init__(self, codes: CodeArray, threads: int = 1) -> None:
        self._codes = codes
        self._parts = PARTS_PER_THREAD * threads if threads > 1 else 1
        self._pool = ThreadPoolExecutor(threads, "products")
        _use_one_thread_each(self._pool, threads)

    def of(self, queries: CodeArray, rows: int) -> ProductArray:
        """Inner products (int32, shape (queries, rows)) of queries (shape (queries, width)) with the first rows."""
        import torch

        products = torch.empty((len(queries), rows), dtype=torch.int32)
        columns = torch.from_numpy(np.ascontiguousarray(queries.T))
        part = max(1, -(-rows // self._parts))

        def multiply(first: int) -> None:
            last = min(first + part, rows)
            for start in range(first, last, ROWS_TOGETHER):
                end = min(start + ROWS_TOGETHER, last)
                products[:, start:end] = torch._int_mm(torch.from_numpy(self._codes[start:end]), columns).T

        list(self._pool.map(multiply, range(0, rows, part)))
        result: ProductArray = products.numpy()
        return result


_ONE_AT_A_TIME: Final = threading.Lock()


def _use_one_thread_each(pool: ThreadPoolExecutor, threads: int) -> None:
    """Each thread of a pool works alone: torch would otherwise share each part among as many again.

    torch remembers the number for the thread that sets it, and for threads that use torch for the first time later;
    only these must not be changed. So all threads begin at once, here, and the number is put back when the last has set
    it: where a thread sets it when its first work comes, another that begins meanwhile takes it for everybody's.
    """
    import torch

    all_here = threading.Barrier(threads)

    def begin(_: int) -> None:
        all_here.wait()  # so that each thread of the pool comes here once
        torch.get_num_threads()  # by which it takes the number of all; else it would do so later
        torch.set_num_threads(1)

    with _ONE_AT_A_TIME:
        others = torch.get_num_threads()
        list(pool.map(begin, range(threads)))
        restoring = threading.Thread(target=torch.set_num_threads, args=(others,))
        restoring.start()
        restoring.join()
