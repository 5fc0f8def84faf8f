from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.index.index import Index
from sidecar.index.strings import text_hash
from sidecar.select.ranking import rank
from sidecar.select.statement import StatementConstants, goal_constants, premise_constants
from sidecar.select.symbolic import Statements, SymbolicRanking

NOTHING = StatementConstants((), 0)


@pytest.fixture(scope="module")
def ranking(index: Index) -> SymbolicRanking:
    return SymbolicRanking(index.constants, index.premise)


def statements(*constants: StatementConstants) -> Statements:
    lengths = [len(one.names) for one in constants]
    return Statements(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([text_hash(name) for one in constants for name in one.names], dtype=np.uint64),
        np.array([place < one.leading for one in constants for place in range(len(one.names))], dtype=np.bool_),
    )


def of_row(index: Index, row: int) -> StatementConstants:
    table = index.constants
    return StatementConstants(tuple(table.names(table.of_rows[row])), int(table.conclusion_counts[row]))


def test_a_statement_finds_itself_first(index: Index, ranking: SymbolicRanking) -> None:
    for name in ("List.length_append", "Int.add_comm", "Nat.gcd_comm"):
        row = index.row(name)
        assert row is not None
        goal = ranking.goal(of_row(index, row), printed=False)
        best = rank(ranking.scores(goal, index.premise), index.premise, 20)
        same = {number for number in best.numbers.tolist() if of_row(index, number) == of_row(index, row)}
        assert row in same


def test_scores_lie_between_0_and_1_and_only_shared_constants_score(index: Index, ranking: SymbolicRanking) -> None:
    constants = StatementConstants(("List.reverse", "Eq"), 2)
    scores = ranking.scores(ranking.goal(constants, printed=False), index.premise)
    assert scores.shape == (index.size,)
    assert scores.min() >= 0 and scores.max() < 1
    assert scores.max() > 0
    reversing = index.row("List.reverse_append")
    unrelated = index.row("Nat.gcd_comm")
    assert reversing is not None and unrelated is not None
    assert scores[reversing] > scores[unrelated]


def test_rare_constants_weigh_more(index: Index, ranking: SymbolicRanking) -> None:
    scores = ranking.scores(ranking.goal(StatementConstants(("Nat.gcd", "Eq", "Nat"), 3), printed=False), index.premise)
    best = rank(scores, index.premise, 5).numbers
    assert all("Nat.gcd" in of_row(index, int(number)).names for number in best)


def test_nothing_to_go_by_scores_nothing(index: Index, ranking: SymbolicRanking) -> None:
    for constants in (NOTHING, StatementConstants(("no such constant",), 1)):
        assert not ranking.scores(ranking.goal(constants, printed=True), index.premise).any()


def test_rows_that_are_no_premises_score_nothing(index: Index, ranking: SymbolicRanking) -> None:
    scores = ranking.scores(ranking.goal(StatementConstants(("Nat", "Eq"), 2), printed=False), index.premise)
    assert not scores[~index.premise].any()


@given(data=st.data())
def test_a_premise_beside_the_index_scores_as_the_same_premise_in_it(
    data: st.DataObject, index: Index, ranking: SymbolicRanking
) -> None:
    rows = np.flatnonzero(index.premise).tolist()
    chosen = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=5))
    asked = data.draw(st.sampled_from(rows))
    block = ranking.weigh(statements(*(of_row(index, row) for row in chosen)))
    goal = ranking.goal(of_row(index, asked), [block], printed=False)
    # What is beside the index is not visible here, so that it does not spread relevance of its own.
    visible = np.concatenate([index.premise, np.zeros(len(chosen), dtype=np.bool_)])
    scores = ranking.scores(goal, visible, [block])
    np.testing.assert_allclose(scores[index.size :], scores[chosen], rtol=1e-4)


def test_a_constant_that_only_the_file_knows_finds_the_file_s_premises(index: Index, ranking: SymbolicRanking) -> None:
    blocks = [
        ranking.weigh(statements(StatementConstants(("Eq", "Nat"), 1), StatementConstants(("Mine.frob", "Eq"), 2))),
        ranking.weigh(statements(StatementConstants(("Mine.frob", "Nat"), 1))),
    ]
    goal = ranking.goal(StatementConstants(("Mine.frob", "Eq", "Nat"), 2), blocks, printed=False)
    scores = ranking.scores(goal, np.concatenate([index.premise, [True, True, True]]), blocks)
    own, first, second = scores[index.size :]
    assert min(first, second) > max(own, scores[: index.size].max())


def test_relevance_spreads_beyond_the_goal_s_own_constants(index: Index, ranking: SymbolicRanking) -> None:
    bridge = StatementConstants(("Mine.start", "Mine.end"), 2)
    far = StatementConstants(("Mine.end",), 1)
    block = ranking.weigh(statements(bridge, far))
    goal = ranking.goal(StatementConstants(("Mine.start",), 1), [block], printed=False)
    hidden = np.zeros(index.size + 2, dtype=np.bool_)
    assert ranking.scores(goal, hidden, [block])[-1] == 0
    seen = hidden.copy()
    seen[-2] = True
    assert ranking.scores(goal, seen, [block])[-1] > 0


def test_short_names_of_a_printed_goal_mean_constants_of_the_index(index: Index, ranking: SymbolicRanking) -> None:
    constants = goal_constants("n m : Nat\n⊢ n.gcd m = m.gcd n")
    best = rank(ranking.scores(ranking.goal(constants, printed=True), index.premise), index.premise, 10).numbers
    assert "Nat.gcd_comm" in index.names(best.tolist())


def test_constants_of_a_goal() -> None:
    constants = goal_constants("s : Finset ℕ\nh : 0 < s.card\n⊢ s.Nonempty ∧ ∑ x ∈ s, x = 3")
    target, rest = constants.names[: constants.leading], constants.names[constants.leading :]
    assert {"And", "Finset.sum", "Eq"} <= set(target)
    assert "LT.lt" in rest
    assert not {"s", "h", "x"} & set(constants.names)


def test_constants_that_the_client_names_are_split_by_the_text() -> None:
    named = goal_constants("h : LT.lt a b\n⊢ Eq a b", ["Eq", "LT.lt", "Nat"])
    assert named == StatementConstants(("Eq", "LT.lt", "Nat"), 1)
    assert goal_constants("⊢ x", ["Nat", "Int"]) == StatementConstants(("Nat", "Int"), 2)


def test_constants_of_a_premise() -> None:
    text = "/-- About `Foo`. -/\ntheorem Nat.foo (n : Nat) (h : LT.lt n 3) : Eq (Nat.gcd n n) n"
    assert premise_constants(text).names[: premise_constants(text).leading] == ("Eq", "Nat.gcd")
    assert "LT.lt" in premise_constants(text).names
    assert premise_constants(text, ["Nat", "Eq"]) == StatementConstants(("Eq", "Nat"), 1)
