"""8-bit codes beside float16 vectors: a fraction as much to read, and how wrong they can be at most.

In: a float16 matrix. Out: files (a code for each coordinate, the directions along which coordinates are taken, a scale
for each coordinate) and the figures from which follows how far the score of a row may lie above that of its codes.
With this bound `exact.py` looks at the codes first and proves that it missed nothing.

A vector v is described by its coordinates a = Bᵀv along the B directions in which the vectors are longest (principal
directions, without centring, as inner products know no centre) and by the length τ = ‖v − Ba‖ of what they leave out.
For a query q with b = Bᵀq and ρ = ‖q − Bb‖, q·v = b·a + (q − Bb)·(v − Ba) ≤ b·a + ρτ, by Cauchy and Schwarz: the inner
product of (b, ρ) and (a, τ) is never less than the score. Where half the directions hold nearly all of the length, half
the bytes are read. Where they do not, all directions are kept, and nothing is left out.

Of τ some m near the middle of all is taken, and ρm added to the bound, so that what is coded is small. (a, τ − m) is
rotated before it is coded, which changes no inner product: a few coordinates have much larger numbers than the others,
and a rotation deals them out evenly, as in QuaRot (Ashkboos et al. 2024, section 3). It is the Hadamard matrix
(Sylvester's construction) of the largest power of two that divides the number of coordinates, for each run of so many.

A number w of coordinate i has the code c = round(w / s_i), from −127 to 127, with s_i = max|w| / 127 over all rows:
symmetric uniform quantisation.

The codes of premises stand before those of all other rows: what looks for premises passes over no others.
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

FINE_STEPS: Final = 128
"""A query's second code counts steps of this fraction of the first one's."""

KEPT_SHARE: Final = 0.95
"""Directions are kept until they hold so much of the squared length of the vectors. More directions are more to read,
fewer leave more rows whose bound is too high to drop them: in an index of Mathlib by the built-in transformer 192 of
384 directions hold as much, and a search for 200 rows scores 1,000 of 400,000 exactly in the median."""

WIDTH_STEP: Final = 64
"""Where directions are left out, the number of coordinates is a multiple of this: processors multiply so many codes at
a time."""

SAMPLED_ROWS: Final = 1 << 16
"""Rows from which directions are found; any directions are right, these are good."""

BLOCK_ROWS: Final = 1 << 12
"""Rows that are coded together: memory for a few of their widened copies, and for those of the sample, is what coding
takes."""

LARGEST_SCORE: Final = 1e37
"""Where a score may come near to this, float32 may overflow and nothing is claimed."""

NOTHING_LEFT: Final = 1e-12
"""Share of a squared length below which float64 cannot tell what the directions leave out; as much is added."""

UNSURE: Final = 1e-7
"""Share of a length by which a description may differ from one machine to another: what is left out, where that is
nothing, is the root of what float64 makes of `NOTHING_LEFT`."""


@dataclass(frozen=True, slots=True)
class QueryCodes:
    """The codes of some queries. A query's first codes describe it coarsely, both together finely.

    Attributes:
        coarse: int8 from −127 to 127, shape (queries, width).
        fine: int8 from −64 to 63, shape (queries, width): steps of 1 / `FINE_STEPS` of those of `coarse`.
        factors: float64, shape (queries,): by this, the inner product of coarse codes with a row's is about the bound
            of the row's score.
        coarse_slack, slack: float64, shape (queries,): how far at most the score of a row, as FAISS computes it, lies
            above factor × inner product of codes, with the coarse codes alone and with both (coarse + fine /
            `FINE_STEPS`); infinite where nothing can be said.
    """

    coarse: npt.NDArray[np.int8]
    fine: npt.NDArray[np.int8]
    factors: npt.NDArray[np.float64]
    coarse_slack: npt.NDArray[np.float64]
    slack: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Frame:
    """How vectors are described before they are coded.

    Attributes:
        directions: float64, orthonormal columns, shape (dimension, directions).
        centre: The m of the module's description.
    """

    directions: npt.NDArray[np.float64]
    centre: float

    @property
    def whole(self) -> bool:
        """Whether the directions leave nothing out."""
        return bool(self.directions.shape[0] == self.directions.shape[1])

    @property
    def width(self) -> int:
        """Coordinates of a description: one a direction, and one for what they leave out."""
        directions: int = self.directions.shape[1]
        return directions + (0 if self.whole else 1)

    def rows(self, vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Descriptions (shape (rows, width)) of vectors (shape (rows, dimension)), computed in their type."""
        coordinates = vectors @ self.directions.astype(vectors.dtype, copy=False)
        if not self.whole:
            squares = _squares(vectors)
            left = np.maximum(squares - _squares(coordinates), 0) + NOTHING_LEFT * squares
            above = np.sqrt(left)[:, None] - vectors.dtype.type(self.centre)
            coordinates = np.concatenate([coordinates, above], axis=1)
        return rotated(coordinates)

    def queries(self, queries: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.float64]]:
        """Descriptions of queries, and what is to be added to their inner products with those of rows."""
        wide = queries.astype(np.float64)
        coordinates = wide @ self.directions
        if self.whole:
            return rotated(coordinates), np.zeros(len(queries))
        left = np.linalg.norm(wide - coordinates @ self.directions.T, axis=1)
        return rotated(np.concatenate([coordinates, left[:, None]], axis=1)), left * self.centre


@dataclass(frozen=True, slots=True)
class VectorCodes:
    """The codes of a matrix, opened.

    Attributes:
        codes: int8, shape (rows, width): mapped from the file.
        order: int64, shape (rows,): whose codes stand there.
        frame: What they are codes of.
        scales: float32, shape (width,).
        error, length, codes_length: See `CodesEntry`.
    """

    codes: npt.NDArray[np.int8]
    order: npt.NDArray[np.int64]
    frame: Frame
    scales: npt.NDArray[np.float32]
    error: float
    length: float
    codes_length: float

    def query_codes(self, queries: npt.NDArray[np.float32]) -> QueryCodes:
        """Code queries (float32, shape (queries, dimension)), so that whole numbers meet whole numbers.

        The score is at most x·y + ρm, with x the description of q and y that of v. With E the `error`, L the `length`
        and C the `codes_length`, s the scales, c the codes of v, and z those of p = x∘s in steps of r:
        x·y − r·(z·c) = x·(y − s∘c) + (p − r·z)·c, of which the first part is at most ‖x‖·E = ‖q‖·E and the second at
        most ‖p − r·z‖·C. Products of codes are exact. FAISS rounds the score: an inner product of n numbers, summed
        in whatever order, is off by at most γ_n·Σ|q_i·v_i| with γ_n = n·u / (1 − n·u) and u = 2⁻²⁴ (Higham, Accuracy
        and Stability of Numerical Algorithms, section 3.1), at most γ_n·‖q‖·L. Numbers that are too small for float32
        are taken for zero at worst, each off by at most 2⁻¹²⁶, and a component of the query by as much times one of
        the vector. The rounding is doubled, which costs next to nothing beside E and covers that of describing in
        float64.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            described, added = self.frame.queries(queries)
            folded = described * self.scales
            factors = np.abs(folded).max(axis=1, initial=0) / STEPS
            steps = factors / FINE_STEPS
            # Where a query has no length every code is 0, whatever the step.
            both = np.rint(folded / np.where(steps > 0, steps, 1)[:, None])
            lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
            count = queries.shape[1]
            gamma = count * 2.0**-24 / (1 - count * 2.0**-24)
            reach = lengths * self.length
            rounding = 2 * (gamma * reach + count * 2.0**-124 * (1 + self.length))
            sound = reach < LARGEST_SCORE
            both = np.where(sound[:, None], both, 0)
            coarse = np.floor((both + FINE_STEPS // 2) / FINE_STEPS)
            # ‖x‖ is ‖q‖ but for what `NOTHING_LEFT` and float64 change, some 1e-12 of it.
            base = lengths * self.error * (1 + 1e-9) + added + np.abs(added) * 1e-9 + rounding
            off = np.linalg.norm(folded - steps[:, None] * both, axis=1) * self.codes_length * (1 + 1e-9)
            coarse_off = np.linalg.norm(folded - factors[:, None] * coarse, axis=1) * self.codes_length * (1 + 1e-9)
        return QueryCodes(
            coarse.astype(np.int8),
            (both - FINE_STEPS * coarse).astype(np.int8),
            np.where(sound, factors, 0),
            np.where(sound, base + coarse_off, np.inf),
            np.where(sound, base + off, np.inf),
        )


def scan_order(first: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The order of codes: the rows that are asked for most, then the others, each in their own order."""
    return np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])


def rotated(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Descriptions (shape (rows, width)) as they are coded; lengths and inner products stay as they are."""
    rows, width = matrix.shape
    size = width & -width
    if size <= 1:
        return matrix
    turn = _hadamard(size).astype(matrix.dtype, copy=False)
    turned: npt.NDArray[np.floating] = (matrix.reshape(rows, width // size, size) @ turn).reshape(rows, width)
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
        name: Stem of the files.

    Returns:
        What the manifest says of the codes; None, and no file, when a component is not a finite number.
    """
    frame = _frame(matrix)
    if frame is None:
        return None
    largest = np.zeros(frame.width, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in _blocks(matrix, order):
            largest = np.maximum(largest, np.abs(frame.rows(block)).max(axis=0))
    if not np.isfinite(largest).all():
        return None
    scales = largest / np.float32(STEPS)
    divisors = np.where(scales > 0, scales, np.float32(1))
    file, directions_file, scales_file = f"{name}.codes", f"{name}.directions.npy", f"{name}.scales.npy"
    bounds = np.zeros(3)
    with (folder / file).open("wb") as written:
        for _, block in _blocks(matrix, order):
            vectors = block.astype(np.float64)
            described = frame.rows(vectors)
            # The scale comes from float32, so the largest number may lie a little beyond the last step.
            codes = np.clip(np.rint(described / divisors), -STEPS, STEPS).astype(np.int8)
            written.write(codes.tobytes())
            bounds = np.maximum(bounds, _distances(vectors, described, codes, scales).max(axis=1))
    save_array(folder / directions_file, frame.directions.ravel())
    save_array(folder / scales_file, scales)
    # Who adds in another order must not find more.
    error, length, codes_length = (bounds * (1 + 1e-9)).tolist()
    error += UNSURE * length
    return CodesEntry(file, directions_file, scales_file, frame.centre, error, length, codes_length)


def open_codes(folder: Path, entry: CodesEntry, order: npt.NDArray[np.int64], dimension: int) -> VectorCodes:
    """Map what `write_codes` wrote with the same order.

    Raises:
        SidecarError: `conflict` when a file does not fit.
    """
    directions = map_array(folder / entry.directions_file)
    count, rest = divmod(directions.size, dimension)
    if directions.dtype != np.float64 or rest or not 0 < count <= dimension:
        raise damaged(folder, f"{entry.directions_file} does not hold directions of vectors of length {dimension}")
    frame = Frame(np.array(directions).reshape(dimension, count), entry.centre)
    scales = map_array(folder / entry.scales_file)
    if scales.shape != (frame.width,) or scales.dtype != np.float32:
        raise damaged(folder, f"{entry.scales_file} does not hold {frame.width} scales")
    codes = open_matrix(folder / entry.file, len(order), frame.width, np.int8, private=True)
    return VectorCodes(codes, order, frame, np.array(scales), entry.error, entry.length, entry.codes_length)


def uncovered_rows(matrix: npt.NDArray[np.float16], codes: VectorCodes) -> Iterator[int]:
    """Rows for which the bounds do not hold: their codes are not theirs."""
    bounds = np.array([codes.error, codes.length, codes.codes_length])
    for start, block in _blocks(matrix, codes.order):
        own = codes.codes[start : start + len(block)]
        vectors = block.astype(np.float64)
        found = _distances(vectors, codes.frame.rows(vectors), own, codes.scales)
        covered = (found <= bounds[:, None]).all(axis=0)
        yield from codes.order[start + np.flatnonzero(~covered)].tolist()


def _frame(matrix: npt.NDArray[np.float16]) -> Frame | None:
    """The directions in which the vectors are longest, as many as `KEPT_SHARE` asks for; None for no numbers."""
    dimension = matrix.shape[1]
    sample = matrix[:: max(1, -(-len(matrix) // SAMPLED_ROWS))].astype(np.float64)
    moments = sample.T @ sample
    if not np.isfinite(moments).all():
        return None
    shares, directions = np.linalg.eigh(moments)
    shares, directions = shares[::-1], directions[:, ::-1]
    for width in range(WIDTH_STEP, dimension, WIDTH_STEP):
        kept = width - 1  # one coordinate is for what they leave out
        if shares[:kept].sum() >= KEPT_SHARE * shares.sum() > 0:
            found = np.ascontiguousarray(directions[:, :kept])
            left = np.sqrt(np.maximum(_squares(sample) - _squares(sample @ found), 0))
            return Frame(found, float(left.min() + left.max()) / 2)
    return Frame(np.ascontiguousarray(directions), 0.0)


def _squares(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The squared length of each row."""
    squares: npt.NDArray[np.floating] = np.einsum("ij,ij->i", rows, rows)
    return squares


def _blocks(
    matrix: npt.NDArray[np.float16], order: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    for start in range(0, len(order), BLOCK_ROWS):
        yield start, matrix[order[start : start + BLOCK_ROWS]].astype(np.float32)


def _distances(
    vectors: npt.NDArray[np.float64],
    described: npt.NDArray[np.floating],
    codes: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
) -> npt.NDArray[np.float64]:
    """How far each description lies from its codes, how long its vector is and how long its codes are; (3, rows)."""
    own = codes.astype(np.float64)
    return np.sqrt([_squares(described - own * scales), _squares(vectors), _squares(own)])
