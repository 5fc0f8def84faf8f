"""8-bit codes beside float16 vectors: half as much to read, and how wrong they can be at most.

In: a float16 matrix. Out: two files (a code for each component, a scale for each dimension) and the figures from
which follows how far the score of a row may lie above that of its codes. With this bound `exact.py` searches the codes
and proves that it missed nothing.

Vectors and queries are rotated first, which changes no inner product. Encoders have a few dimensions with much larger
numbers than the others, and where such a dimension of a query meets that of the vectors, all other dimensions of the
query would be coded coarsely; a rotation deals them out evenly, as in QuaRot (Ashkboos et al. 2024, section 3). It is
the Hadamard matrix (Sylvester's construction) of the largest power of two that divides the dimension, for each run of
so many dimensions.

A component w of dimension i of a rotated vector has the code c = round(w / s_i), from −127 to 127, with
s_i = max|w| / 127 over all rows: symmetric uniform quantisation. FAISS stores c + 128.

The codes of premises stand before those of all other rows: a scan for premises then passes over long runs of rows,
while in the order of the corpus, where either may follow either, it waits for the processor to guess wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.files import map_array, open_matrix, save_array
from sidecar.index.manifest import CodesEntry, damaged

STEPS: Final = 127
"""Largest code."""

ZERO: Final = 128
"""What FAISS stores for code 0."""

BLOCK_ROWS: Final = 1 << 12
"""Rows that are coded together: memory for a few of their widened copies is all that coding takes."""

LARGEST_SCORE: Final = 1e37
"""Where a score may come near to this, float32 may overflow and nothing is claimed."""


@dataclass(frozen=True, slots=True)
class QueryCodes:
    """The codes of some queries.

    Attributes:
        codes: Whole numbers from −127 to 127, float32, shape (queries, dimension).
        factors: float64, shape (queries,): by this, the inner product of two lists of codes is about that of the
            vectors.
        slack: float64, shape (queries,): how far at most the score of a row lies above its inner product of codes times
            the factor, all as FAISS computes it; infinite where nothing can be said.
    """

    codes: npt.NDArray[np.float32]
    factors: npt.NDArray[np.float64]
    slack: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VectorCodes:
    """The codes of a matrix, opened.

    Attributes:
        codes: uint8, shape (rows, dimension): code + `ZERO`, mapped from the file, read-only.
        order: int64, shape (rows,): whose codes stand there.
        scales: float32, shape (dimension,).
        error, length, codes_length: See `CodesEntry`.
    """

    codes: npt.NDArray[np.uint8]
    order: npt.NDArray[np.int64]
    scales: npt.NDArray[np.float32]
    error: float
    length: float
    codes_length: float

    def query_codes(self, queries: npt.NDArray[np.float32]) -> QueryCodes:
        """Code queries (float32, shape (queries, dimension)), so that whole numbers meet whole numbers.

        FAISS multiplies these codes as integers where the machine and the dimension allow (it cuts off what a query has
        behind the point then), else in float32. Both are exact for whole numbers while sums stay below 2²⁴.

        With E the `error`, L the `length` and C the `codes_length`, s the scales, q and v rotated, c the codes of v, b
        those of p = q∘s and r their scale: q·v − r·(b·c) = q·(v − s∘c) + (p − r·b)·c, of which the first part is at
        most ‖q‖·E and the second at most ‖p − r·b‖·C, by Cauchy and Schwarz. FAISS rounds: an inner product of n
        numbers, summed in whatever order, is off by at most γ_n·Σ|x_i·y_i| with γ_n = n·u / (1 − n·u) and u = 2⁻²⁴
        (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), at most γ_n·‖q‖·L for the vector and
        γ_n·r·‖b‖·C for the codes. Numbers that become too small for float32 are flushed to zero at worst, each off by
        at most 2⁻¹²⁶. The rounding is doubled, which costs next to nothing beside E and covers that of this sum and of
        rotating in float64.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            folded = rotated(queries.astype(np.float64)) * self.scales
            factors = np.abs(folded).max(axis=1, initial=0) / STEPS
            # Where a query has no length every code is 0, whatever the scale.
            codes = np.rint(folded / np.where(factors > 0, factors, 1)[:, None])
            lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
            off = np.linalg.norm(folded - factors[:, None] * codes, axis=1)
            reach = lengths * self.length + factors * np.linalg.norm(codes, axis=1) * self.codes_length
            count = queries.shape[1]
            gamma = count * 2.0**-24 / (1 - count * 2.0**-24)
            rounding = 2 * (gamma * reach + count * 2.0**-124)
            slack = (lengths * self.error + off * self.codes_length) * (1 + 1e-9) + rounding
        sound = reach < LARGEST_SCORE
        return QueryCodes(
            np.where(sound[:, None], codes, 0).astype(np.float32),
            np.where(sound, factors, 0),
            np.where(sound, slack, np.inf),
        )


def scan_order(first: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The order of codes: the rows that are asked for most, then the others, each in their own order."""
    return np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])


def rotated(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Vectors (shape (rows, dimension)) as they are coded; lengths and inner products stay as they are."""
    rows, dimension = matrix.shape
    size = dimension & -dimension
    if size <= 1:
        return matrix
    turn = _hadamard(size).astype(matrix.dtype)
    turned: npt.NDArray[np.floating] = (matrix.reshape(rows, dimension // size, size) @ turn).reshape(rows, dimension)
    return turned


@lru_cache(maxsize=8)
def _hadamard(size: int) -> npt.NDArray[np.float64]:
    """Sylvester's Hadamard matrix over the root of its size, hence orthogonal (and symmetric)."""
    signs: npt.NDArray[np.float64] = np.ones((1, 1))
    while len(signs) < size:
        signs = np.block([[signs, signs], [signs, -signs]])
    return np.divide(signs, np.sqrt(size))


def write_codes(
    matrix: npt.NDArray[np.float16], order: npt.NDArray[np.int64], folder: Path, name: str
) -> CodesEntry | None:
    """Code a matrix, block by block.

    Args:
        matrix: float16, shape (rows, dimension).
        order: See `scan_order`.
        folder: Where to write.
        name: Stem of the two files.

    Returns:
        What the manifest says of the codes; None, and no file, when a component is not a finite number.
    """
    largest = np.zeros(matrix.shape[1], dtype=np.float32)
    for _, block in _blocks(matrix, order):
        largest = np.maximum(largest, np.abs(rotated(block)).max(axis=0))
    if not np.isfinite(largest).all():
        return None
    scales = largest / np.float32(STEPS)
    divisors = np.where(scales > 0, scales, np.float32(1))
    file, scales_file = f"{name}.codes", f"{name}.scales.npy"
    bounds = np.zeros(3)
    with (folder / file).open("wb") as written:
        for _, block in _blocks(matrix, order):
            turned = rotated(block.astype(np.float64))
            # The scale comes from float32, so the largest number may lie a little beyond the last step.
            codes = (np.clip(np.rint(turned / divisors), -STEPS, STEPS) + ZERO).astype(np.uint8)
            written.write(codes.tobytes())
            bounds = np.maximum(bounds, _distances(turned, codes, scales).max(axis=1))
    save_array(folder / scales_file, scales)
    # Rotations and sums of squares in float64 are right to about 1e-13; who adds in another order must not find more.
    return CodesEntry(file, scales_file, *(bounds * (1 + 1e-9)).tolist())


def open_codes(folder: Path, entry: CodesEntry, order: npt.NDArray[np.int64], dimension: int) -> VectorCodes:
    """Map what `write_codes` wrote with the same order.

    Raises:
        SidecarError: `conflict` when a file does not fit.
    """
    scales = map_array(folder / entry.scales_file)
    if scales.shape != (dimension,) or scales.dtype != np.float32:
        raise damaged(folder, f"{entry.scales_file} does not hold {dimension} scales")
    codes = open_matrix(folder / entry.file, len(order), dimension, np.uint8)
    return VectorCodes(codes, order, np.array(scales), entry.error, entry.length, entry.codes_length)


def uncovered_rows(matrix: npt.NDArray[np.float16], codes: VectorCodes) -> Iterator[int]:
    """Rows for which the bounds do not hold: their codes are not theirs."""
    bounds = np.array([codes.error, codes.length, codes.codes_length])
    for start, block in _blocks(matrix, codes.order):
        found = _distances(rotated(block.astype(np.float64)), codes.codes[start : start + len(block)], codes.scales)
        covered = (found <= bounds[:, None]).all(axis=0)
        yield from codes.order[start + np.flatnonzero(~covered)].tolist()


def _blocks(
    matrix: npt.NDArray[np.float16], order: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    for start in range(0, len(order), BLOCK_ROWS):
        yield start, matrix[order[start : start + BLOCK_ROWS]].astype(np.float32)


def _distances(
    turned: npt.NDArray[np.floating], codes: npt.NDArray[np.uint8], scales: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """How far each rotated vector lies from its codes, how long it is and how long its codes are; shape (3, rows)."""
    own = codes.astype(np.float64) - ZERO
    squares = [np.einsum("ij,ij->i", each, each) for each in (turned - own * scales, turned, own)]
    return np.sqrt(squares)
