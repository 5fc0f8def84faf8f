"""Figures of an evaluation, against cases worked out by hand."""

from __future__ import annotations

import pytest

from training.data.examples import Positive, PremiseExample
from training.evaluation import outcomes
from training.evaluation.outcomes import Outcome


def _example(*premises: str, module: str = "Mathlib.Order.Basic") -> PremiseExample:
    return PremiseExample("t", module, 1, "⊢ x", "theorem t : x", tuple(Positive(name) for name in premises))


ONE = Outcome.of(_example("a", "b"), ["x", "a", "y", "b"])
TWO = Outcome.of(_example("c", "gone", module="Batteries.Data.List"), ["c"])


def test_recall_full_recall_and_reciprocal_rank() -> None:
    assert ONE.ranks.tolist() == [2, 4]
    assert TWO.ranks.tolist() == [1, 0]
    assert [outcomes.measure([ONE], f"recall@{k}").mean for k in (1, 2, 4)] == [0.0, 0.5, 1.0]
    assert [outcomes.measure([ONE], f"full-recall@{k}").mean for k in (2, 4)] == [0.0, 1.0]
    assert [outcomes.measure([TWO], name).mean for name in ("recall@1024", "full-recall@1024", "mrr")] == [
        0.5,
        0.0,
        1.0,
    ]
    assert outcomes.measure([Outcome.of(_example("a"), [])], "mrr").mean == 0.0
    assert outcomes.measure([ONE, TWO], "recall@2").mean == 0.5
    assert outcomes.measure([ONE, TWO], "mrr").mean == 0.75
    with pytest.raises(ValueError, match="no metric"):
        outcomes.measure([ONE], "recall@many")


def test_a_goal_without_gold_is_refused() -> None:
    with pytest.raises(ValueError, match="no gold"):
        Outcome.of(_example(), ["a"])


def test_breakdowns_count_goals_that_have_the_class() -> None:
    seen = outcomes.breakdown([ONE, TWO], outcomes.by_seen(frozenset({"a", "c"})), 2)
    assert {name: (interval.mean, interval.n) for name, interval in seen.items()} == {
        "seen in training": (1.0, 2),
        "never seen": (0.0, 2),
    }
    library = outcomes.breakdown([ONE, TWO], outcomes.by_library, 1)
    assert {name: interval.mean for name, interval in library.items()} == {"Batteries.Data": 0.5, "Mathlib.Order": 0.0}
    kinds = outcomes.breakdown([ONE, TWO], outcomes.by_kind({"a": "theorem", "b": "def", "c": "theorem"}), 4)
    assert set(kinds) == {"theorem", "def", "not in the corpus"}
    assert set(outcomes.breakdown([ONE], outcomes.by_number, 1)) == {"2"}
    assert set(outcomes.breakdown([ONE], outcomes.by_origin, 1)) == {"explicit"}


def test_tables_say_how_many_goals_and_how_sure() -> None:
    text = outcomes.table({"bm25": [ONE, TWO], "nothing": [Outcome.of(_example("a"), [])] * 2}, ["recall@4"])
    assert "n = 2 goals; 0 without gold left out." in text
    assert "| bm25 | 0.750 [0.500, 1.000] |" in text
    assert "| nothing | 0.000 [0.000, 0.000] |" in text
    assert "| 0.5" in outcomes.breakdown_table({"bm25": [ONE, TWO] * 10}, outcomes.by_library, 1, least=1)
    assert outcomes.compare([ONE], [TWO], "recall@1").mean == -0.5
