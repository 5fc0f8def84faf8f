"""Nothing that an evaluation asks goes through."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.proofs import ProofLists
from sidecar.corpus.records import Proof
from sidecar.errors import SidecarError
from sidecar.text.goal import parse_goal
from training.check import overlaps
from training.data.decontamination import Decontamination, plain_target
from training.data.examples import Positive, PremiseExample
from training.data.proofs import write_proofs
from training.data.sources import ExampleSource

ASKED = PremiseExample(
    "asked", "M", 1, "x y : Nat\nh : x < y\n⊢ x ≤ y", "theorem asked", (Positive("Nat.le_of_lt"), Positive("b"))
)


def _kept(*examples: PremiseExample) -> tuple[list[PremiseExample], Decontamination]:
    filter_ = Decontamination([ASKED])
    return list(filter_.filter(examples)), filter_


@pytest.mark.parametrize(
    "state",
    [
        ASKED.state,
        "x y :  Nat\r\nh : x < y\n\n⊢ x ≤ y",
        "h : x < y\nx y : Nat\n⊢ x ≤ y",
    ],
)
def test_the_same_state_is_dropped_however_it_is_laid_out(state: str) -> None:
    kept, filter_ = _kept(replace(ASKED, theorem="other", state=state, positives=(Positive("c"),)))
    assert kept == []
    assert filter_.removed.same_state == 1


def test_a_pair_of_the_same_target_and_a_gold_premise_is_dropped_and_the_others_stay() -> None:
    other = replace(ASKED, theorem="other", state="⊢ x ≤ y", positives=(Positive("b"), Positive("c")))
    kept, filter_ = _kept(other)
    assert [example.gold for example in kept] == [("c",)]
    assert (filter_.removed.gold_pairs, filter_.removed.kept_pairs) == (1, 1)
    assert filter_.leaking(other) == {"b"}
    kept, filter_ = _kept(replace(other, positives=(Positive("b"),)))
    assert kept == []
    assert filter_.removed.emptied == 1


def test_a_list_of_proofs_for_an_index_holds_nothing_that_is_asked(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()

    def row(name: str, state: str, *premises: str) -> dict[str, object]:
        return {"name": name, "module": name, "line": 1, "state": state, "statement": f"theorem {name} : {state}"} | {
            "premises": list(premises),
            "tactics": True,
        }

    train = [row("other", ASKED.state, "c"), row("near", "⊢ x ≤ y", "b", "c"), row("far", "⊢ True", "d", "e")]
    for part, rows in (("train", train), ("valid", [row("asked", ASKED.state, *ASKED.gold)]), ("test", [])):
        lines = "".join(json.dumps(each) + "\n" for each in rows).encode()
        (data / f"pairs-{part}-000.jsonl.gz").write_bytes(gzip.compress(lines))
    file = tmp_path / "out" / "proofs.jsonl.gz"
    removed = write_proofs(ExampleSource.open(data, "module"), file)
    assert list(ProofLists(file).proofs()) == [Proof("near", ("c",)), Proof("far", ("d", "e"))]
    assert (removed.kept, removed.kept_pairs, removed.same_state) == (2, 3, 1)
    first = file.read_bytes()
    write_proofs(ExampleSource.open(data, "module"), file)
    assert file.read_bytes() == first and [each.name for each in file.parent.iterdir()] == [file.name]
    (tmp_path / "folder.jsonl.gz").mkdir()
    for place in ("plain.jsonl", "folder.jsonl.gz"):
        with pytest.raises(SidecarError, match=place) as refused:
            write_proofs(ExampleSource.open(data, "module"), tmp_path / place)
        assert refused.value.field == "output"


def test_other_states_go_through_untouched() -> None:
    other = replace(ASKED, theorem="other", state="⊢ y ≤ x")
    kept, filter_ = _kept(other)
    assert kept == [other]
    assert not filter_.contaminated(other)
    assert filter_.contaminated(ASKED)


_TARGETS = st.sampled_from(["a = b", "b = a", "a ≤ b"])
_HYPOTHESES = st.lists(st.sampled_from(["h : p", "g : q", "n : Nat"]), unique=True)
_EXAMPLES = st.builds(
    lambda number, target, hypotheses, gold: PremiseExample(
        f"t{number}", "M", 1, "\n".join([*hypotheses, f"⊢ {target}"]), "", tuple(Positive(name) for name in gold)
    ),
    st.integers(0, 10**6),
    _TARGETS,
    _HYPOTHESES,
    st.lists(st.sampled_from("pqrs"), min_size=1, unique=True),
)


_PIECES = st.sampled_from(
    ["h : p", " ", "⊢", "a = b", "\n", "  ", "case x", "\u2028", "⊢ₛ", "x\r\n", "⊢ a\u2028case x"]
)


@given(st.lists(_PIECES, max_size=9))
def test_a_plain_target_is_the_target(pieces: list[str]) -> None:
    state = "".join(pieces)
    plain = plain_target(state)
    assert plain is None or plain == parse_goal(state).target


def test_most_states_are_plain() -> None:
    assert plain_target("x : Nat\nh : x < y\n⊢  x ≤  y") == "x ≤ y"
    assert plain_target("⊢ a\n\n⊢ b") is None
    assert plain_target("⊢ a ∧\n  b") is None


@given(st.lists(_EXAMPLES, max_size=6), st.lists(_EXAMPLES, max_size=6))
def test_a_plainer_comparison_finds_nothing_in_what_is_left(
    trained: list[PremiseExample], evaluated: list[PremiseExample]
) -> None:
    names = {example.theorem for example in evaluated}
    trained = [example for example in trained if example.theorem not in names]
    filter_ = Decontamination(evaluated)
    kept = list(filter_.filter(trained))
    assert list(overlaps(kept, evaluated)) == []
    removed = filter_.removed
    assert removed.kept + removed.same_state + removed.emptied == len(trained)
