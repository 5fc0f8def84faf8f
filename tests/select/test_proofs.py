"""Premises that the proofs of similar theorems use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.records import Proof
from sidecar.corpus.source import EXAMPLE_FOLDER, open_corpus
from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.index.proofs import ProofTable, write_proofs
from sidecar.index.strings import StringTable, write_strings
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.proofs import DAMPING, NEIGHBOURS, ProofScope, StandIns, rank_by_proofs
from sidecar.select.request import LocalPremise, PremiseAnswer, PremiseRequest
from sidecar.select.selector import PremiseSelector
from tests.select.conftest import CACHE_BYTES, names

GOAL = "a b c : Nat\n⊢ Eq (Nat.gcd (HMul.hMul a b) (HMul.hMul a c)) (HMul.hMul a (Nat.gcd b c))"
UNLIKE = "List.append_assoc"
"""Nothing that this goal would be thought to need."""

PROOFS = {
    "Nat.gcd_comm": [UNLIKE, "Nat.dvd_antisymm"],
    "Nat.gcd_assoc": [UNLIKE],
    "Nat.gcd_mul_lcm": [UNLIKE, "Bool.and_comm"],
    "List.length_append": ["Bool.or_comm"],
}


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Iterator[Index]:
    """The example library with proofs."""
    place = tmp_path_factory.mktemp("proofs")
    rows = [json.dumps({"name": name, "premises": premises}) for name, premises in PROOFS.items()]
    (place / "proofs.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    build_index(open_corpus(EXAMPLE_FOLDER, proofs=place / "proofs.jsonl"), place / "index", encoder)
    with Index.open(place / "index") as index:
        assert len(index.proofs) == len(PROOFS)
        yield index


async def _ask(
    index: Index, batcher: MicroBatcher, cache: Path, proofs: ProofScope = "all", **fields: object
) -> PremiseAnswer:
    embeddings = PremiseEmbeddings(cache, batcher.encoder.fingerprint, CACHE_BYTES)
    try:
        request = PremiseRequest(GOAL, **fields)  # type: ignore[arg-type]
        return await PremiseSelector(index, batcher, embeddings, proofs=proofs).select(request)
    finally:
        embeddings.close()


async def test_what_similar_theorems_needed_is_found_and_says_so(
    taught: Index, index: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    without = await _ask(index, batcher, tmp_path, k=32)
    assert UNLIKE not in names(without)
    assert all("proofs" not in premise.ranks for premise in without.premises)
    answer = await _ask(taught, batcher, tmp_path, k=32)
    (found,) = [premise for premise in answer.premises if premise.name == UNLIKE]
    assert found.ranks["proofs"] == 1
    assert "proofs" in answer.timings
    alone = await _ask(taught, batcher, tmp_path, k=32, method="symbolic")
    assert UNLIKE not in names(alone)


async def test_the_proof_of_the_goal_s_own_theorem_tells_nothing(
    taught: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    def told(answer: PremiseAnswer) -> set[str]:
        return {premise.name for premise in answer.premises if "proofs" in premise.ranks}

    # Nothing but the proof of this theorem uses `Bool.and_comm`.
    assert "Bool.and_comm" in told(await _ask(taught, batcher, tmp_path, k=4_096))
    own = told(await _ask(taught, batcher, tmp_path, k=4_096, theorem="Nat.gcd_mul_lcm"))
    assert "Bool.and_comm" not in own and UNLIKE in own


async def test_the_proof_of_what_is_excluded_and_of_its_aliases_tells_nothing(
    encoder: Encoder, index: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    def told(answer: PremiseAnswer) -> set[str]:
        return {premise.name for premise in answer.premises if "proofs" in premise.ranks}

    used = {"Nat.gcd_comm": "Bool.and_comm", "Nat.gcd_comm_older": "Bool.or_comm", "Nat.gcd_assoc": UNLIKE}
    proofs = tmp_path / "proofs.jsonl"
    rows = [json.dumps({"name": name, "premises": [premise]}) for name, premise in used.items()]
    proofs.write_text("".join(f"{row}\n" for row in rows))
    build_index(open_corpus(index.folder.parent / "corpus", proofs=proofs), tmp_path / "index", encoder)
    with Index.open(tmp_path / "index") as taught:
        assert told(await _ask(taught, batcher, tmp_path / "cache", k=4_096)) == set(used.values())
        for theorem, exclude, left in (
            (None, ("Nat.gcd_comm",), UNLIKE),
            ("Nat.gcd_comm", (), UNLIKE),
            ("Nat.gcd_assoc", ("Nat.gcd_comm_older", "No.such.name"), "Bool.and_comm"),
        ):
            answer = await _ask(taught, batcher, tmp_path / "cache", k=4_096, theorem=theorem, exclude=exclude)
            assert told(answer) == {left}


async def test_what_cannot_be_seen_or_is_excluded_is_not_answered(
    taught: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    seen = await _ask(taught, batcher, tmp_path, k=4_096, imports=("Init.Data.Nat.Gcd",))
    visible, _ = taught.visible(["Init.Data.Nat.Gcd"])
    rows = [taught.row(premise.name) for premise in seen.premises]
    assert all(row is not None and visible[row] for row in rows)
    excluded = await _ask(taught, batcher, tmp_path, k=4_096, exclude=(UNLIKE,))
    assert UNLIKE not in names(excluded)


async def test_a_vote_for_a_premise_of_the_file_counts_for_it(
    taught: Index, batcher: MicroBatcher, tmp_path: Path
) -> None:
    # Who edits a file of the library sends its theorems anew; they are what the proofs of other files used.
    mine = LocalPremise(UNLIKE, f"theorem {UNLIKE} (as bs cs : List α) : Eq (as ++ bs ++ cs) (as ++ (bs ++ cs))")
    other = LocalPremise("Mine.new", "theorem Mine.new : True")
    answer = await _ask(taught, batcher, tmp_path, k=32, premises=(other, mine))
    (found,) = [premise for premise in answer.premises if premise.name == UNLIKE]
    assert found.origin == "file" and found.ranks["proofs"] == 1


async def test_equal_votes_count_too(encoder: Encoder, index: Index, batcher: MicroBatcher, tmp_path: Path) -> None:
    proofs = tmp_path / "proofs.jsonl"
    proofs.write_text(json.dumps({"name": "Nat.gcd_comm", "premises": ["Bool.and_comm", UNLIKE]}) + "\n")
    build_index(open_corpus(EXAMPLE_FOLDER, proofs=proofs), tmp_path / "index", encoder)
    with Index.open(tmp_path / "index") as taught:
        answer = await _ask(taught, batcher, tmp_path / "cache", k=32)
    assert {premise.name for premise in answer.premises if "proofs" in premise.ranks} == {"Bool.and_comm", UNLIKE}


@given(blocks=st.lists(st.lists(st.integers(-1, 5), max_size=5), max_size=3))
def test_what_stands_for_a_row_is_the_last_premise_of_its_name(blocks: list[list[int]]) -> None:
    expected, number = {row: row for row in range(6)}, 6
    for block in blocks:
        # Within a block no name comes twice.
        for row in dict.fromkeys(block):
            expected[row] = number + block.index(row)
        number += len(block)
    found = StandIns.of([np.array(block, dtype=np.int64) for block in blocks], 6)
    rows = np.arange(6)
    assert found.numbers_of(rows).tolist() == [expected[row] for row in range(6)]


async def test_fewer_proofs_for_a_measurement(taught: Index, batcher: MicroBatcher, tmp_path: Path) -> None:
    # `Nat.gcd_mul_lcm` alone needs `Bool.and_comm`, and no import of this module leads to it.
    imports = ("Init.Data.Bool", "Init.Data.Nat.Basic")
    visible, _ = taught.visible(imports)
    assert visible[taught.row("Bool.and_comm")] and not visible[taught.row("Nat.gcd_mul_lcm")]
    ranks = {}
    for scope in get_args(ProofScope):
        answer = await _ask(taught, batcher, tmp_path, scope, k=4_096, imports=imports)
        ranks[scope] = {premise.name: premise.ranks.get("proofs") for premise in answer.premises}
    assert ranks["all"]["Bool.and_comm"] is not None
    assert ranks["visible"]["Bool.and_comm"] is None
    assert set(ranks["none"].values()) == {None}


_ROWS = 12


@st.composite
def _tables(draw: st.DrawFn) -> dict[int, list[int]]:
    rows = st.integers(0, _ROWS - 1)
    return draw(st.dictionaries(rows, st.lists(rows, min_size=1, max_size=4, unique=True), max_size=8))


@given(
    proofs=_tables(),
    relevance=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=_ROWS, max_size=_ROWS),
    allowed=st.lists(st.booleans(), min_size=_ROWS, max_size=_ROWS),
    silent=st.lists(st.integers(0, _ROWS - 1), max_size=3),
    limit=st.integers(1, 6),
)
def test_votes_are_counted_as_said(
    tmp_path_factory: pytest.TempPathFactory,
    proofs: dict[int, list[int]],
    relevance: list[float],
    allowed: list[bool],
    silent: list[int],
    limit: int,
) -> None:
    folder = tmp_path_factory.mktemp("table")
    write_strings(folder, "names", (str(row) for row in range(_ROWS)))
    given_proofs = [Proof(str(row), tuple(map(str, used))) for row, used in proofs.items()]
    write_proofs(folder, given_proofs, StringTable(folder, "names"), np.ones(_ROWS, dtype=np.bool_))
    found = rank_by_proofs(
        ProofTable(folder),
        np.array(relevance, dtype=np.float32),
        np.array(allowed),
        np.array(silent, dtype=np.int64),
        limit,
        beside=StandIns.of([], _ROWS),
    )

    kept = {row: [each for each in used if each != row] for row, used in proofs.items() if row not in silent}
    similar = sorted(
        (row for row, used in kept.items() if used and relevance[row]), key=lambda row: (-relevance[row], row)
    )
    votes: dict[int, float] = {}
    for place, row in enumerate(similar[:NEIGHBOURS], start=1):
        for premise in kept[row]:
            if allowed[premise]:
                votes[premise] = votes.get(premise, 0.0) + 1 / (DAMPING + place)
    if not votes:
        assert found is None
        return
    assert found is not None
    assert found.scores.tolist() == pytest.approx(sorted(votes.values(), reverse=True)[:limit], rel=1e-6)
    assert [votes[row] for row in found.numbers.tolist()] == pytest.approx(found.scores.tolist(), rel=1e-6)
