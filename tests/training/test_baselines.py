"""The baselines: MePo against a case worked out by hand, the forest on goals whose premises follow from a symbol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidecar.index.constants import ConstantTable, write_constants
from sidecar.index.sparse import SparseRows
from training.evaluation.forest import SymbolForest
from training.evaluation.mepo import Mepo

# Row → constants. Frequencies over rows 0 … 5: a 4, b 2, c 2, d 1, e 1.
ROWS = [["a"], ["a", "b"], ["b", "c"], ["c", "d", "e"], ["a", "x", "y"], ["a"]]
NAMES = ["a", "b", "c", "d", "e", "x", "y"]


@pytest.fixture
def table(tmp_path: Path) -> ConstantTable:
    numbers = [[NAMES.index(name) for name in row] for row in ROWS]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in numbers])]).astype(np.int64)
    rows = SparseRows(offsets, np.array([number for row in numbers for number in row], dtype=np.int32))
    counts = np.ones(len(ROWS), dtype=np.int32)
    write_constants(tmp_path, NAMES, rows, counts, np.ones(len(ROWS), dtype=np.bool_))
    return ConstantTable(tmp_path)


def test_mepo_accepts_round_by_round(table: ConstantTable) -> None:
    theorem = np.ones(len(ROWS), dtype=np.bool_)
    theorem[5] = False
    mepo = Mepo(table, theorem)
    weights = mepo.weights(np.ones(len(ROWS), dtype=np.bool_))
    # Frequencies over theorems: a 3, b 2, c 2, d 1: 1 + 2 / (⌊log₂ f⌋ + 1).
    assert weights[:4].tolist() == [2.0, 2.0, 2.0, 3.0]
    visible = np.ones(len(ROWS), dtype=np.bool_)
    goal = mepo.constants(["a", "nothing"])
    # Round 1 (p 0.6): row 0 scores 2/2, row 1 scores 2/3, row 4 scores 2/4. Then b is relevant and p is 0.77: row 2
    # scores 2/3, too little.
    assert mepo.rank(goal, visible, weights, 10).tolist() == [0, 1]
    # With a mark that rises slowly rows 2, then 4 come: 2/3 against 0.6 + 0.4/100, 1/2 never.
    assert mepo.rank(goal, visible, weights, 10, convergence=100.0).tolist() == [0, 1, 2]
    assert mepo.rank(goal, visible, weights, 10, pass_mark=0.5, convergence=100.0).tolist()[:3] == [0, 1, 4]
    assert mepo.rank(goal, visible, weights, 1).tolist() == [0]


def test_mepo_gives_nothing_that_is_hidden_or_no_theorem(table: ConstantTable) -> None:
    mepo = Mepo(table, np.array([True] * 5 + [False]))
    weights = mepo.weights(np.ones(len(ROWS), dtype=np.bool_))
    visible = np.array([False, True, True, True, True, True])
    assert mepo.rank(mepo.constants(["a"]), visible, weights, 10).tolist() == [1]
    assert mepo.rank(mepo.constants([]), visible, weights, 10).tolist() == []


def test_the_forest_learns_which_symbol_asks_for_which_premise() -> None:
    generator = np.random.default_rng(0)
    symbols = generator.integers(0, 4, 120)
    goals = [np.unique(np.array([symbol, 4 + number % 7])) for number, symbol in enumerate(symbols)]
    premises = [np.array([10 + symbol]) for symbol in symbols]
    forest = SymbolForest(goals, premises, 12, trees=10)
    for symbol in range(4):
        numbers, votes = forest.votes(np.array([symbol, 5]))
        assert numbers[np.argmax(votes)] == 10 + symbol
        assert votes.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="0 goals"):
        SymbolForest([], [], 3)
