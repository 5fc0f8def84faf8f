"""Ranks, scores and the record of samples, on the example library's index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from sidecar.errors import SidecarError
from sidecar.text.query import query_text
from training.search.arms import Arm
from training.search.judge import Asked, Verdict
from training.search.retriever import Retriever
from training.search.reward import reward
from training.search.samples import Sample, SampleWriter, read_samples, sample_files
from training.search.scoring import Scorer


@dataclass
class Saying:
    """A judge that says what it was told to say, query by query."""

    yes: frozenset[str]
    refuses: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)
    name: str = "saying"

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        self.asked += [one.query for one in asked]
        return [
            Verdict(False, "no comment", "refused") if one.query in self.refuses else Verdict(one.query in self.yes, "")
            for one in asked
        ]


def test_ranks_are_places_among_the_nearest_targets(retriever: Retriever) -> None:
    index = retriever.index
    names = [name for row, name in enumerate(index.names(range(index.size))) if index.target[row]][:300:7]
    queries = [name.replace(".", " ") for name in names]
    ranks = retriever.ranks(queries, names)
    scores = (
        retriever.encoder.encode([query_text(query) for query in queries], "question")
        @ np.asarray(index.vectors("search").matrix, dtype=np.float32).T
    )
    scores[:, ~index.target] = -np.inf
    rows = index.rows(names)
    for place, (rank, row) in enumerate(zip(ranks, rows.tolist(), strict=True)):
        above = int((scores[place] > scores[place, row] + 1e-3).sum())
        ties = int((np.abs(scores[place] - scores[place, row]) <= 1e-3).sum())
        if rank is None:
            assert above + ties > retriever.depth
        else:
            assert above < rank <= above + ties
    assert sum(rank == 1 for rank in ranks) > len(ranks) / 3


def test_one_by_one_or_all_at_once(retriever: Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["append two lists", "", "addition commutes", "  ", "length"] * 3
    found = retriever.find(queries)
    monkeypatch.setattr("training.search.retriever.BATCH", 2)
    assert np.array_equal(retriever.find(queries), found)
    assert (found[1] == -1).all()


def test_what_the_index_does_not_hold_is_an_error(retriever: Retriever) -> None:
    with pytest.raises(SidecarError, match=r"No\.such"):
        retriever.ranks(["x"], ["No.such"])


def sample(query: str = "q", **changes: object) -> Sample:
    fields: dict[str, object] = {
        "step": 1,
        "declaration": "Nat.add_comm",
        "query": query,
        "tokens": 3,
        "rank": None,
        "consistent": None,
        "reason": "",
        "missing": "",
        "reward": 0.25,
    }
    return Sample(**{**fields, **changes})  # type: ignore[arg-type]


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        sample("1"),
        sample("ℕ → «b»\n", rank=7, consistent=True, reason="ja", missing="", choices="a b"),
        sample("", consistent=False, missing="refused", step=-1),
    ]
    with SampleWriter(tmp_path / "s") as writer:
        writer.add(rows[:2])
        writer.flush()
        writer.flush()
        writer.add(rows[2:])
    assert len(sample_files(tmp_path / "s")) == 2
    with SampleWriter(tmp_path / "s") as writer:
        writer.add([sample("4")])
    assert list(read_samples(tmp_path / "s")) == [*rows, sample("4")]


def test_what_was_sampled_before_an_error_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), SampleWriter(tmp_path) as writer:
        writer.add([sample()])
        raise KeyboardInterrupt
    assert list(read_samples(tmp_path)) == [sample()]


def test_folders_without_samples_and_broken_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="no generated queries"):
        list(read_samples(tmp_path))
    (tmp_path / "part-000001-000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SidecarError, match=r"part-000001-000\.parquet"):
        list(read_samples(tmp_path))


@pytest.mark.parametrize("arm", list(Arm))
def test_scores(retriever: Retriever, tmp_path: Path, arm: Arm) -> None:
    names = ["List.append_assoc", "Nat.add_comm", "Nat.add_comm", "Nat.add_comm", "Nat.add_comm"]
    queries = ["list append associative", "two numbers", "numbers", "a b", ""]
    tokens = [3, 2, 45, 2, 0]
    judge = Saying(yes=frozenset({"list append associative", "numbers", "a b"}), refuses=frozenset({"two numbers"}))
    with SampleWriter(tmp_path) as writer:
        scorer = Scorer(retriever, judge, arm, writer)
        samples = scorer.score(queries, names, tokens, step=4)
    assert list(read_samples(tmp_path)) == samples
    ranks = retriever.ranks(queries, names)
    assert [one.rank for one in samples] == ranks
    for one, rank, query, length in zip(samples, ranks, queries, tokens, strict=True):
        assert one.reward == reward(rank, query in judge.yes, length, arm)
        assert one.step == 4
    assert "" not in judge.asked
    if arm is Arm.DIFFICULTY:
        assert judge.asked == []
    if arm is Arm.CONSISTENCY:
        assert judge.asked == queries[:4]
        assert samples[1].missing == "refused"
        assert samples[1].reward == 0.0
        assert (scorer.counts.judged, scorer.counts.refused) == (4, 1)
    if arm is Arm.BOTH:
        # The first one is found at once: no verdict can make it worth anything.
        assert queries[0] not in judge.asked
        assert samples[0].consistent is None


def test_all_are_judged_where_that_is_wanted(retriever: Retriever, tmp_path: Path) -> None:
    judge = Saying(frozenset())
    with SampleWriter(tmp_path) as writer:
        scorer = Scorer(retriever, judge, Arm.BOTH, writer, judge_all=True)
        samples = scorer.score(["list append associative", ""], ["List.append_assoc"] * 2, [3, 0], step=-1)
    assert judge.asked == ["list append associative", ""]
    assert [one.consistent for one in samples] == [False, False]
