from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.corpus.example_questions import example_questions
from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.request import METHODS, LocalPremise, Method, PremiseRequest
from sidecar.select.selector import PremiseSelector
from tests.select.conftest import CACHE_BYTES, STATEMENT, Room, codes, names

GCD = "m n : Nat\n⊢ Eq (Nat.gcd m n) (Nat.gcd n m)"
IMPORTS = ("Init.Data.Nat.Gcd",)


def local(name: str, statement: str = "(n : Nat) : Eq (Mine.frob n) n", **fields: object) -> LocalPremise:
    return LocalPremise(name, f"theorem {name} {statement}", **fields)  # type: ignore[arg-type]


async def test_premises_that_close_the_example_goals_come_first(room: Room) -> None:
    goals, _ = example_questions()
    found = 0.0
    for goal in goals:
        answer = await room.ask(goal.goal, k=16, imports=goal.imports)
        found += len(set(names(answer)) & set(goal.premises)) / len(goal.premises)
    assert found / len(goals) > 0.9


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_ranks_everything_visible(room: Room, method: str) -> None:
    answer = await room.ask(GCD, k=4_096, imports=IMPORTS, method=method, premises=(local("Mine.a"), local("Mine.b")))
    visible, _ = room.index.visible(IMPORTS)
    expected = room.index.names(np.flatnonzero(visible & room.index.premise).tolist())
    assert sorted(names(answer)) == sorted([*expected, "Mine.a", "Mine.b"])
    assert answer.visible == len(expected) + 2
    scores = [premise.score for premise in answer.premises]
    assert scores == sorted(scores, reverse=True)
    if method != "fused":
        assert [premise.ranks for premise in answer.premises] == [
            {method: place} for place in range(1, len(scores) + 1)
        ]
    else:
        assert all("neural" in premise.ranks for premise in answer.premises)


@pytest.mark.parametrize(
    ("goal", "premise"),
    [
        ("x y : Nat\n⊢ x + y = y + x", "Nat.add_comm"),
        ("k l m : Nat\nh : k ≤ l\nh' : l ≤ m\n⊢ k ≤ m", "Nat.le_trans"),
        ("α : Type u\ninst✝ : Foo α\na✝ b✝ : α\n⊢ a✝ + b✝ = b✝ + a✝", "Nat.add_comm"),
    ],
)
async def test_what_states_the_goal_comes_first(room: Room, goal: str, premise: str) -> None:
    answer = await room.ask(goal, k=3)
    first = [found.name for found in answer.premises]
    assert premise in first
    assert answer.premises[first.index(premise)].ranks["formula"] <= 3


@pytest.mark.parametrize("method", METHODS)
async def test_fewer_are_the_head_of_more(room: Room, method: str) -> None:
    few = await room.ask(GCD, k=7, imports=IMPORTS, method=method)
    many = await room.ask(GCD, k=40, imports=IMPORTS, method=method)
    assert names(few) == names(many)[:7]


async def test_everything_is_visible_without_imports(room: Room) -> None:
    answer = await room.ask(GCD, k=4_096)
    assert answer.visible == len(answer.premises) == int(room.index.premise.sum())
    assert answer.warnings == ()
    assert answer.revision == room.index.revision


async def test_unknown_modules_are_named_and_counted(room: Room) -> None:
    unknown = [f"No.Such{number}" for number in range(13)]
    answer = await room.ask(GCD, imports=(*IMPORTS, *unknown))
    (warning,) = answer.warnings
    assert warning.code == "unknown_modules"
    assert "13 modules" in warning.message and "No.Such9" in warning.message and "3 more" in warning.message
    assert "No.Such10" not in warning.message
    assert answer.premises


async def test_modules_that_came_along_are_not_unknown(room: Room) -> None:
    premises = (local("Mine.a", module="My.Lemmas"),)
    answer = await room.ask(GCD, imports=(*IMPORTS, "My.Lemmas", "My.Self"), module="My.Self", premises=premises)
    assert answer.warnings == ()


@pytest.mark.parametrize("imports", [(), ("No.Such",)])
async def test_zero_visible_premises(room: Room, imports: tuple[str, ...]) -> None:
    for method in METHODS:
        answer = await room.ask(GCD, imports=imports, method=method)
        assert answer.premises == () and answer.visible == 0
        assert "nothing_visible" in codes(answer)


async def test_zero_visible_but_the_file_s_own(room: Room) -> None:
    answer = await room.ask(GCD, imports=(), premises=(local("Mine.a"),))
    assert names(answer) == ["Mine.a"]
    (premise,) = answer.premises
    assert (premise.origin, premise.kind, premise.module) == ("file", "theorem", None)


async def test_a_theorem_is_never_offered_to_prove_itself(room: Room) -> None:
    answer = await room.ask(GCD, k=4_096, theorem="Nat.gcd_comm", premises=(local("Nat.gcd_comm", STATEMENT),))
    offered = names(answer)
    assert "Nat.gcd_comm" not in offered
    # Its deprecated aliases are proved by it; a true twin is a fair answer.
    assert not {"Nat.gcd_comm_old", "Nat.gcd_comm_older"} & set(offered)
    assert "Nat.gcd_symm" in offered


async def test_a_known_statement_may_be_proved_by_its_theorem(room: Room) -> None:
    answer = await room.ask(GCD, k=8)
    assert "Nat.gcd_comm" in names(answer)


@pytest.mark.parametrize("method", METHODS)
async def test_deprecated_premises_rank_below_their_replacement(room: Room, method: str) -> None:
    offered = names(await room.ask(GCD, k=4_096, method=method, module="Aliases"))
    assert offered.index("Nat.gcd_comm") < offered.index("Nat.gcd_comm_old")
    assert offered.index("Nat.gcd_comm") < offered.index("Nat.gcd_comm_older")
    assert len(offered) == len(set(offered))
    few = names(await room.ask(GCD, k=1, method=method, module="Aliases"))
    assert not {"Nat.gcd_comm_old", "Nat.gcd_comm_older"} & set(few)


async def test_excluded_names_are_left_out(room: Room) -> None:
    premises = (local("Mine.a"), local("Mine.b"))
    answer = await room.ask(GCD, k=4_096, exclude=("Nat.gcd_comm", "Mine.a", "no such name"), premises=premises)
    assert not {"Nat.gcd_comm", "Mine.a"} & set(names(answer))
    assert "Mine.b" in names(answer)


async def test_the_file_s_premise_takes_the_place_of_the_indexed_one(room: Room) -> None:
    premises = (local("Nat.gcd_comm", "(n : Nat) : Eq (Mine.frob n) n"),)
    answer = await room.ask(GCD, k=4_096, imports=IMPORTS, premises=premises)
    (premise,) = [premise for premise in answer.premises if premise.name == "Nat.gcd_comm"]
    assert premise.origin == "file"
    assert answer.visible == (await room.ask(GCD, imports=IMPORTS)).visible


async def test_duplicate_premises(room: Room) -> None:
    same = (local("Mine.a"), local("Mine.b"), local("Mine.a"))
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", imports=(), premises=same)
    assert sorted(names(answer)) == ["Mine.a", "Mine.b"] and answer.warnings == ()
    # One name, two texts: the last one is what the file says now.
    newer = (*same, local("Mine.a", ": Eq (Mine.frob 3) 3"))
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", imports=(), premises=newer, method="symbolic")
    assert names(answer)[0] == "Mine.a"
    (warning,) = answer.warnings
    assert warning.code == "duplicate_premises" and "Mine.a" in warning.message


async def test_one_text_under_two_names_is_two_premises(room: Room) -> None:
    premises = tuple(LocalPremise(name, "theorem x : Eq (Mine.frob 3) 3") for name in ("Mine.a", "Mine.b"))
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", imports=(), premises=premises)
    assert sorted(names(answer)) == ["Mine.a", "Mine.b"]


@pytest.mark.parametrize("text", ["", "  \n", "\u200b\ufeff"])
async def test_premises_without_text_are_refused_and_named(room: Room, text: str) -> None:
    premises = (LocalPremise("Mine.empty", text), LocalPremise("", "theorem x : True"), local("Mine.a"))
    answer = await room.ask(GCD, imports=(), premises=premises)
    assert names(answer) == ["Mine.a"]
    (warning,) = answer.warnings
    assert warning.code == "premises_refused"
    assert "Mine.empty" in warning.message and "number 1" in warning.message


async def test_opaque_names_stay_apart(room: Room) -> None:
    strange = ["quot.sound", "«quot.sound»", "inv₀", "𝒰S", "map₂'", "Std.«term_...*»", "Inv₀", "map₂"]
    premises = tuple(local(name) for name in strange)
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", k=100, imports=(), premises=premises, theorem="quot.sound")
    assert sorted(names(answer)) == sorted(strange[1:])


async def test_local_premises_are_found_by_meaning_and_by_constants(room: Room) -> None:
    premises = tuple(local(f"Mine.other{number}", f": Eq (Mine.g{number} 0) 1") for number in range(50))
    premises = (local("Mine.frob_eq"), *premises)
    for method in ("symbolic", "fused"):
        answer = await room.ask("m : Nat\n⊢ Eq (Mine.frob m) m", premises=premises, method=method)
        assert names(answer)[0] == "Mine.frob_eq"
        assert answer.premises[0].origin == "file"


async def test_constants_that_the_client_sends_count(room: Room) -> None:
    silent = LocalPremise("Mine.silent", "theorem Mine.silent : Goal", ("Mine.frob", "Eq"))
    answer = await room.ask(
        "⊢ Mystery", imports=(), premises=(local("Mine.a", ": Goal"), silent), symbols=("Mine.frob",), method="symbolic"
    )
    assert names(answer)[0] == "Mine.silent"


async def test_two_goals_that_differ_only_after_600_tokens_of_hypotheses(room: Room) -> None:
    hypotheses = "".join(f"h{number} : LT.lt (Nat.succ x{number}) (HMul.hMul y z)\n" for number in range(200))
    first = await room.ask(f"{hypotheses}⊢ Eq (List.length (List.reverse l)) (List.length l)", method="neural")
    second = await room.ask(f"{hypotheses}⊢ Eq (Nat.gcd m n) (Nat.gcd n m)", method="neural")
    assert names(first) != names(second)


async def test_a_cut_goal_is_reported(index: Index, tmp_path: Path) -> None:
    encoder = load_encoder("static")
    short = _Short(encoder)
    batcher = MicroBatcher(short)
    embeddings = PremiseEmbeddings(tmp_path, encoder.fingerprint, CACHE_BYTES)
    selector = PremiseSelector(index, batcher, embeddings)
    constants = ("Nat.succ", "Int.natAbs", "List.length", "Finset.card", "Real.sqrt", "Nat.factorial")
    hypotheses = "".join(f"h{number} : LT.lt m ({name} k)\n" for number, name in enumerate(constants))
    goal = f"{hypotheses}⊢ Eq (Nat.gcd m n) (Nat.gcd n m)"
    premise = local("Mine.long", "(n : Nat) : " + " ∧ ".join(f"Eq (Mine.frob{number} n) n" for number in range(30)))
    answer = await selector.select(PremiseRequest(goal, premises=(premise,)))
    assert set(codes(answer)) == {"hypotheses_dropped", "premises_cut"}
    answer = await selector.select(
        PremiseRequest("⊢ " + "".join(f"Mine.frob{number} n + " for number in range(40)) + "0 = 0")
    )
    assert codes(answer) == ["target_cut"]
    embeddings.close()
    await batcher.close()


class _Short:
    """The static encoder, made to read no more than 24 tokens."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    max_tokens = 24

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)


@pytest.mark.parametrize(
    "goal", ["", "⊢", "\u200b", "{}", "%2F", "%zz", "⊢ ?m", "(a + b) % n = ((a % n) + (b % n)) % n"]
)
async def test_any_text_is_a_goal(room: Room, goal: str) -> None:
    answer = await room.ask(goal, k=5, imports=IMPORTS)
    assert len(answer.premises) == 5
    assert all(np.isfinite(premise.score) for premise in answer.premises)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no goals", "nothing is left to prove"),
        ("No goals", "nothing is left"),
        ("Goals accomplished! 🎉", "nothing is left"),
        ("🎉 All goals completed!\n", "nothing is left"),
        ("error: no goals to be proved", "nothing is left"),
        ("0 goals", "the text holds none"),
        ("case inl", "the text holds none"),
        ("", "the text holds none"),
        ("a b : Nat\nh : a = b\n⊢ ", "nothing stands behind ⊢"),
    ],
)
async def test_a_text_without_a_goal_is_said_to_have_none(room: Room, text: str, reason: str, method: Method) -> None:
    (warning,) = (await room.ask(text, k=5, method=method)).warnings
    assert warning.code == "empty_goal"
    assert warning.message.startswith("there is no goal: ") and reason in warning.message


async def test_a_text_with_several_goals_is_said_to_have_them(room: Room) -> None:
    for method in METHODS:
        answer = await room.ask("case a\n⊢ True\n\ncase b\n⊢ False", k=5, method=method)
        assert "several_goals" in codes(answer)
        assert "several_goals" not in codes(await room.ask("case a\n⊢ True", k=5, method=method))


@pytest.mark.parametrize(
    "text", ["⊢ True", "True", "noGoals = 0", "case inl\n⊢ no goals", "h : goals accomplished\n⊢ a"]
)
async def test_a_goal_that_is_one_is_not_said_to_be_missing(room: Room, text: str) -> None:
    assert "empty_goal" not in codes(await room.ask(text, k=5))


async def test_an_encoder_of_the_same_width_but_other_weights_is_refused(
    index: Index, encoder: Encoder, tmp_path: Path
) -> None:
    batcher = MicroBatcher(_Other(encoder))
    with pytest.raises(SidecarError) as raised:
        PremiseSelector(index, batcher, PremiseEmbeddings(tmp_path, "other", CACHE_BYTES))
    assert raised.value.code == "conflict" and raised.value.hint


class _Other(_Short):
    fingerprint = "other"
    max_tokens = 256


async def test_k_below_1_is_refused(room: Room) -> None:
    with pytest.raises(SidecarError) as raised:
        await room.ask(GCD, k=0)
    assert (raised.value.code, raised.value.field) == ("bad_request", "k")


async def test_64_requests_at_once_equal_the_serial_run(room: Room) -> None:
    goals, _ = example_questions()
    requests = [
        PremiseRequest(goal.goal, 8, goal.imports, premises=(local("Mine.a"),), method=method)
        for goal in goals[:16]
        for method in METHODS
    ]
    serial = [names(await room.selector.select(request)) for request in requests]
    together = await asyncio.gather(*(room.selector.select(request) for request in requests))
    assert [names(answer) for answer in together] == serial


async def test_a_cancelled_request_leaves_nothing_behind(room: Room, batcher: MicroBatcher) -> None:
    premises = tuple(local(f"Mine.t{number}", f": Eq (Mine.f{number} 0) 1") for number in range(600))
    running = asyncio.create_task(room.ask(GCD, premises=premises))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for _ in range(200):
        if batcher.queue_length == 0:
            break
        await asyncio.sleep(0.01)
    assert batcher.queue_length == 0
    assert len((await room.ask(GCD, k=4_096, imports=(), premises=premises)).premises) == 600


async def test_the_wire_form(room: Room) -> None:
    answer = await room.ask(GCD, k=2, imports=(*IMPORTS, "No.Such"), premises=(local("Mine.a"),))
    wire = answer.as_wire()
    assert set(wire) == {"premises", "warnings", "revision", "visible", "timings"}
    assert set(answer.premises[0].as_wire()) == {"name", "score", "origin", "kind", "module", "ranks"}
    expected = {"embed", "normalise", "encode", "neural", "symbolic", "locality", "formula", "fuse", "other", "total"}
    assert set(answer.timings) == expected and all(value >= 0 for value in answer.timings.values())
    assert answer.warnings[0].as_wire()["code"] == "unknown_modules"


def test_the_request_s_wire_form_leaves_out_what_is_not_said() -> None:
    request = PremiseRequest("⊢ True", premises=(LocalPremise("a", "theorem a : True", (), "M"),), imports=())
    assert request.as_wire() == {
        "goal": "⊢ True",
        "k": 32,
        "method": "fused",
        "imports": [],
        "premises": [{"name": "a", "text": "theorem a : True", "constants": [], "module": "M"}],
    }
