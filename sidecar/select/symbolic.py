"""Symbolic ranking: premises that share rare constants with the goal.

In: the constants of the goal, which rows are visible, the statements of premises that the index does not know. Out: a
relevance between 0 and 1 for every premise.

The method follows MePo (J. Meng and L. C. Paulson, Lightweight relevance filtering for machine-generated resolution
problems, Journal of Applied Logic 7, 2009), as Sledgehammer and Lean's core library use it: a premise is as relevant as
the weight of its constants that are relevant already, against the weight of those that are not; rare constants weigh
more; premises that pass a mark make their other constants relevant too, round by round. Differences, each chosen
because it raised recall@32 on Mathlib theorems and their cited premises:

- A constant weighs log((n + 1) / (f + 1)), f being how many of the n premises hold it, instead of 1 + 2 / log(f + 1).
- Constants of the goal that a premise does not hold count against it too (Tversky's index, Psychological Review 84,
  1977), so that statements with a single common constant do not all come first.
- Conclusions are told from hypotheses, on both sides.
- The mark is relative to the premise that shares most, and constants that became relevant in a round count by the
  share of the accepted premises that hold them, so that every premise gets a score and the ranking is total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.index.constants import ConstantTable
from sidecar.index.strings import text_hash
from sidecar.select.statement import StatementConstants

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.uint64]

SHARED: Final = ((1.25, 0.45), (0.40, 0.80))
"""Weight of a shared constant by its place in the goal (target, hypothesis) and in the premise (conclusion, binder)."""

MISSED_IN_GOAL: Final = (0.80, 0.96)
"""Weight of a constant of the goal (target, hypothesis) that the premise does not hold."""

MISSED_IN_PREMISE: Final = (0.80, 0.64)
"""Weight of a constant of the premise (conclusion, binder) that is not relevant."""

MOST_CONSTANTS: Final = 512
"""Constants of a goal that count: the target's, then those of the last hypotheses. Bounds the time of a huge goal."""

ROUNDS: Final = 1
"""How often relevance spreads."""

ACCEPTED: Final = 5
"""Most premises that spread relevance in one round."""

PASS_MARK: Final = 0.5
"""Least shared weight of a premise that spreads relevance, as a share of the largest one."""

SPREAD: Final = (0.05, 0.20)
"""Weight of a constant that became relevant by spreading, in a premise's conclusion and binders."""

EXCUSED: Final = (0.20, 0.10)
"""How much of `MISSED_IN_PREMISE` such a constant is spared."""

DECAY: Final = 0.5
"""Factor from round to round for what newly became relevant."""

LEAST_SHARE: Final = 0.1
"""Constants in a smaller share of the accepted premises do not become relevant."""

SMOOTHING: Final = 1.0
"""Added to the denominator; keeps scores of statements with hardly any weight low."""

_SHARED: Final = np.array(SHARED, dtype=np.float32)
_MISSED_IN_GOAL: Final = np.array(MISSED_IN_GOAL, dtype=np.float32)
_MISSED_IN_PREMISE: Final = np.array(MISSED_IN_PREMISE, dtype=np.float32)
_SPREAD: Final = np.array(SPREAD, dtype=np.float32)
_EXCUSED: Final = np.array(EXCUSED, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Statements:
    """Constants of several statements, in flat arrays.

    Attributes:
        starts: int64, shape (statements + 1,): statement i has entries `starts[i]:starts[i + 1]`.
        codes: uint64, `text_hash` of each constant.
        leading: bool, whether the constant belongs to the conclusion.
    """

    starts: IntArray
    codes: CodeArray
    leading: BoolArray

    def __len__(self) -> int:
        return len(self.starts) - 1


class WeighedStatements:
    """Statements of premises that the index does not know, weighed. Made by `SymbolicRanking.weigh`.

    Attributes:
        statements: See `Statements`.
        owners: int64, in step with the entries: which statement they belong to.
        parts: int64, in step with the entries: 0 for the conclusion, 1 for binders.
        mass: float32, shape (statements,): weight of all constants, as it counts against a premise.
        foreign: Codes of the constants that the index does not have, ascending.
        foreign_weights: Their weights.
    """

    def __init__(
        self, statements: Statements, weights: FloatArray, foreign: CodeArray, foreign_weights: FloatArray
    ) -> None:
        self.statements = statements
        self.owners: IntArray = np.repeat(np.arange(len(statements)), np.diff(statements.starts))
        self.parts: IntArray = np.where(statements.leading, 0, 1)
        missed = weights * _MISSED_IN_PREMISE[self.parts]
        self.mass = np.bincount(self.owners, weights=missed, minlength=len(statements)).astype(np.float32)
        self.foreign = foreign
        self.foreign_weights = foreign_weights

    def __len__(self) -> int:
        return len(self.statements)


@dataclass(frozen=True, slots=True)
class GoalWeights:
    """The constants of a goal that some statement holds, weighed. Made by `SymbolicRanking.goal`.

    Attributes:
        codes: uint64, shape (m,).
        numbers: int64, shape (m,): numbers in the index, −1 for constants that it does not have.
        weights: float32, shape (m,).
        parts: int64, shape (m,): 0 for the target, 1 for hypotheses.
    """

    codes: CodeArray
    numbers: IntArray
    weights: FloatArray
    parts: IntArray


class SymbolicRanking:
    """Scores premises by the constants that they share with a goal. Safe to use from several threads.

    Args:
        table: Constants of the index.
        premise: bool, shape (rows,): which rows are premises; the others score 0.
    """

    def __init__(self, table: ConstantTable, premise: BoolArray) -> None:
        self._table = table
        self._size = len(premise)
        self._premises = int(premise.sum())
        self._weights = self._weigh(np.asarray(table.document_frequencies))
        rows = np.repeat(np.arange(self._size, dtype=np.int32), np.diff(table.of_rows.offsets))
        parts = np.arange(len(rows)) - table.of_rows.offsets[rows] >= table.conclusion_counts[rows]
        keep = premise[rows]
        rows, parts, numbers = rows[keep], parts[keep].astype(np.int64), table.of_rows.values[keep].astype(np.int64)
        # Postings of constant c: its conclusions in list 2c, its binders in list 2c + 1.
        lists = 2 * numbers + parts
        self._postings = rows[np.argsort(lists, kind="stable")]
        self._starts = np.zeros(2 * len(table) + 1, dtype=np.int64)
        np.cumsum(np.bincount(lists, minlength=2 * len(table)), out=self._starts[1:])
        missed = self._weights[numbers] * _MISSED_IN_PREMISE[parts]
        self._mass = np.bincount(rows, weights=missed, minlength=self._size).astype(np.float32)
        self._codes = np.array([text_hash(name) for name in table.names(range(len(table)))], dtype=np.uint64)
        self._by_code = np.argsort(self._codes)

    def weigh(self, statements: Statements) -> WeighedStatements:
        """Prepare statements of unknown premises; a constant that the index does not have weighs by its own count."""
        numbers = self._numbers(statements.codes)
        weights = self._weights_of(numbers)
        foreign, places, counts = np.unique(statements.codes[numbers < 0], return_inverse=True, return_counts=True)
        foreign_weights = self._weigh(counts)
        weights[numbers < 0] = foreign_weights[places]
        return WeighedStatements(statements, weights, foreign, foreign_weights)

    def goal(
        self, constants: StatementConstants, blocks: Sequence[WeighedStatements] = (), *, printed: bool
    ) -> GoalWeights:
        """Weigh the constants of a goal; those that no statement holds are left out.

        Args:
            constants: See `goal_constants`.
            blocks: Premises beside the index.
            printed: Whether the constants were read from a text, where names may stand short: then a name that is no
                constant of the index may mean several others, among which its weight is divided.
        """
        found: dict[int, tuple[int, float, int]] = {}
        for place, name in enumerate(constants.names[:MOST_CONSTANTS]):
            part = int(place >= constants.leading)
            number = self._table.number(name)
            if number is None:
                code = text_hash(name)
                weight = float(_foreign_weights(np.array([code], dtype=np.uint64), blocks)[0])
                if weight:
                    found.setdefault(code, (-1, weight, part))
            readings = (number,) if number is not None else self._table.resolve(name) if printed else ()
            for reading in readings:
                weight = float(self._weights[reading]) / len(readings)
                found.setdefault(int(self._codes[reading]), (reading, weight, part))
        numbers, weights, parts = zip(*found.values(), strict=True) if found else ((), (), ())
        return GoalWeights(
            np.array(list(found), dtype=np.uint64),
            np.array(numbers, dtype=np.int64),
            np.array(weights, dtype=np.float32),
            np.array(parts, dtype=np.int64),
        )

    def scores(self, goal: GoalWeights, visible: BoolArray, blocks: Sequence[WeighedStatements] = ()) -> FloatArray:
        """Relevance of every premise.

        Args:
            goal: See `goal`.
            visible: bool, shape (rows + premises of the blocks,): which premises may spread relevance.
            blocks: Premises beside the index; they are numbered after its rows, block after block.

        Returns:
            float32, in step with `visible`, between 0 and 1; 0 for what shares no relevant constant. Rows that are not
            visible have scores too.
        """
        mass = np.concatenate([self._mass, *(block.mass for block in blocks)]) if blocks else self._mass
        shared = np.zeros(len(mass), dtype=np.float32)
        spared = np.zeros(len(mass), dtype=np.float32)
        weights = goal.weights[:, None]
        missed = _MISSED_IN_GOAL[goal.parts][:, None]
        burden = float((missed * weights).sum()) + SMOOTHING
        sums = (shared, spared)
        amounts = (weights * _SHARED[goal.parts], weights * (missed + _MISSED_IN_PREMISE))
        self._add(goal.codes, goal.numbers, amounts, blocks, sums)
        relevant = goal.codes
        for step in range(ROUNDS):
            codes, shares = self._accept(shared, visible, mass, spared, burden, blocks)
            new = ~np.isin(codes, relevant) & (shares >= LEAST_SHARE)
            codes, shares = codes[new], shares[new]
            if not len(codes):
                break
            relevant = np.concatenate([relevant, codes])
            numbers = self._numbers(codes)
            weights = (self._weights_among(codes, numbers, blocks) * shares * DECAY**step)[:, None]
            amounts = (weights * _SPREAD, weights * (_EXCUSED * _MISSED_IN_PREMISE))
            self._add(codes, numbers, amounts, blocks, sums)
        # Going through all premises in order costs less than picking out those that share something.
        return _relevance(shared, mass, spared, burden)

    def _accept(
        self,
        shared: FloatArray,
        visible: BoolArray,
        mass: FloatArray,
        spared: FloatArray,
        burden: float,
        blocks: Sequence[WeighedStatements],
    ) -> tuple[CodeArray, FloatArray]:
        """Constants of the premises that pass the mark, and the share of the accepted relevance that holds each."""
        seen = shared * visible
        rows = np.flatnonzero(seen >= max(PASS_MARK * float(seen.max(initial=0)), 1e-6))
        if not len(rows):
            return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.float32)
        scores = _relevance(shared[rows], mass[rows], spared[rows], burden)
        accepted = np.argpartition(-scores, min(ACCEPTED, len(scores) - 1))[:ACCEPTED]
        held = [self._constants_of(int(row), blocks) for row in rows[accepted]]
        codes, places = np.unique(np.concatenate(held), return_inverse=True)
        shares = np.bincount(places, weights=np.repeat(scores[accepted], [len(one) for one in held]))
        return codes, (shares / scores[accepted].sum()).astype(np.float32)

    def _constants_of(self, row: int, blocks: Sequence[WeighedStatements]) -> CodeArray:
        if row < self._size:
            return self._codes[self._table.of_rows[row]]
        row -= self._size
        for block in blocks:
            if row < len(block):
                starts = block.statements.starts
                return block.statements.codes[starts[row] : starts[row + 1]]
            row -= len(block)
        raise IndexError(row)

    def _add(
        self,
        codes: CodeArray,
        numbers: IntArray,
        amounts: tuple[FloatArray, FloatArray],
        blocks: Sequence[WeighedStatements],
        sums: tuple[FloatArray, FloatArray],
    ) -> None:
        """Add to both sums each constant's amounts (in conclusions, in binders) at the statements that hold it."""
        for place, number in enumerate(numbers.tolist()):
            if number >= 0:
                for part in (0, 1):
                    start, end = self._starts[2 * number + part : 2 * number + part + 2]
                    # `np.add.at` is several times faster with 64-bit row numbers, which are twice as long to read.
                    rows = self._postings[start:end].astype(np.int64)
                    for total, amount in zip(sums, amounts, strict=True):
                        np.add.at(total, rows, amount[place, part])
        order = np.argsort(codes)
        first = self._size
        for block in blocks:
            places = np.searchsorted(codes[order], block.statements.codes)
            places = order[np.minimum(places, len(codes) - 1)] if len(codes) else places[:0]
            hits = np.flatnonzero(codes[places] == block.statements.codes) if len(codes) else places
            for total, amount in zip(sums, amounts, strict=True):
                gained = np.bincount(
                    block.owners[hits], weights=amount[places[hits], block.parts[hits]], minlength=len(block)
                )
                total[first : first + len(block)] += gained.astype(np.float32)
            first += len(block)

    def _weigh(self, frequencies: npt.NDArray[np.integer]) -> FloatArray:
        weights = np.log((self._premises + 1) / (frequencies.astype(np.float64) + 1))
        return np.maximum(weights, 0).astype(np.float32)

    def _numbers(self, codes: CodeArray) -> IntArray:
        """Numbers in the index of constants given by code, −1 for those that it does not have."""
        if not len(self._codes):
            return np.full(len(codes), -1, dtype=np.int64)
        places = np.searchsorted(self._codes, codes, sorter=self._by_code)
        numbers = self._by_code[np.minimum(places, len(self._codes) - 1)]
        return np.where(self._codes[numbers] == codes, numbers, -1)

    def _weights_among(self, codes: CodeArray, numbers: IntArray, blocks: Sequence[WeighedStatements]) -> FloatArray:
        """Weights of constants of the index or of the blocks."""
        return np.where(numbers >= 0, self._weights_of(numbers), _foreign_weights(codes, blocks))

    def _weights_of(self, numbers: IntArray) -> FloatArray:
        return (
            np.where(numbers >= 0, self._weights[numbers], np.float32(0))
            if len(self._weights)
            else np.zeros(len(numbers), dtype=np.float32)
        )


def _relevance(shared: FloatArray, mass: FloatArray, spared: FloatArray, burden: float) -> FloatArray:
    """What some premises share against all that is in them and in the goal, all in step."""
    against = mass - spared
    against += np.float32(burden)
    # Sums in single precision can fall below zero by a rounding error.
    np.maximum(against, np.float32(1e-6), out=against)
    against += shared
    np.divide(shared, against, out=against)
    return against


def _foreign_weights(codes: CodeArray, blocks: Sequence[WeighedStatements]) -> FloatArray:
    """The largest weight of each constant in the blocks; 0 for what none of them holds, or the index does."""
    weights = np.zeros(len(codes), dtype=np.float32)
    for block in blocks:
        if len(block.foreign):
            places = np.minimum(np.searchsorted(block.foreign, codes), len(block.foreign) - 1)
            held = block.foreign[places] == codes
            weights = np.maximum(weights, np.where(held, block.foreign_weights[places], np.float32(0)))
    return weights
