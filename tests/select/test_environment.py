from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.select.content_hash import content_hash
from sidecar.select.environment import (
    FILE,
    EnvironmentRequest,
    Environments,
    ModuleHashes,
    SentPremise,
)
from sidecar.select.request import LocalPremise
from tests.select.conftest import Room, codes, names

IMPORTS = ("Init.Data.Nat.Gcd", "My.Lemmas")


def sent(name: str, statement: str = ": Eq (Mine.frob 3) 3", constants: tuple[str, ...] | None = None) -> SentPremise:
    text = f"theorem {name} {statement}"
    return SentPremise(content_hash(name, text), name, text, constants)


def module(name: str, *premises: SentPremise) -> ModuleHashes:
    return ModuleHashes(name, tuple(premise.hash for premise in premises))


ONE, TWO = sent("Mine.one"), sent("Mine.two", constants=("Eq", "Mine.frob"))


def test_only_missing_texts_are_asked_for(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path)
    request = EnvironmentRequest(IMPORTS, (module("My.Lemmas", ONE, TWO),))
    first = environments.register(request, index)
    assert first.missing == (ONE.hash, TWO.hash)
    assert first.unknown_modules == () and first.revision == index.revision
    half = environments.register(EnvironmentRequest(request.imports, request.modules, (ONE,)), index)
    assert (half.environment, half.missing) == (first.environment, (TWO.hash,))
    assert environments.get(first.environment).missing == 1
    whole = environments.register(EnvironmentRequest(request.imports, request.modules, (TWO,)), index)
    assert (whole.environment, whole.missing) == (first.environment, ())
    other = environments.register(EnvironmentRequest((), (module("Elsewhere", TWO),)), index)
    assert other.missing == () and other.environment != first.environment
    environments.close()


def test_an_environment_survives_a_restart(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path)
    answer = environments.register(EnvironmentRequest(IMPORTS, (module("My.Lemmas", ONE, TWO),), (TWO, ONE)), index)
    environments.close()
    restarted = Environments(tmp_path)
    environment = restarted.get(answer.environment)
    assert environment.imports == tuple(sorted(IMPORTS)) and environment.modules == ("My.Lemmas",)
    assert environment.missing == 0
    assert environment.premises == (
        LocalPremise("Mine.one", ONE.text, None, "My.Lemmas"),
        LocalPremise("Mine.two", TWO.text, ("Eq", "Mine.frob"), "My.Lemmas"),
    )
    assert restarted.imports(answer.environment) == environment.imports
    restarted.close()


def test_the_id_depends_on_the_content_alone(tmp_path: Path, index: Index) -> None:
    here, there = Environments(tmp_path / "a"), Environments(tmp_path / "b")
    modules = (module("My.Lemmas", ONE),)
    ids = {
        here.register(EnvironmentRequest(IMPORTS, modules), index).environment,
        here.register(EnvironmentRequest((*reversed(IMPORTS), IMPORTS[0]), modules, (ONE,)), index).environment,
        there.register(EnvironmentRequest(IMPORTS, modules), index).environment,
    }
    assert len(ids) == 1
    assert here.register(EnvironmentRequest(IMPORTS[:1], modules), index).environment not in ids
    here.close()
    there.close()


def test_unknown_modules_are_those_that_nobody_describes(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path)
    request = EnvironmentRequest((*IMPORTS, "No.Such"), (module("My.Lemmas"),))
    assert environments.register(request, index).unknown_modules == ("No.Such",)
    environments.close()


def test_a_hash_that_does_not_fit_its_text_is_refused(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path)
    wrong = SentPremise(ONE.hash, ONE.name, ONE.text + " ")
    with pytest.raises(SidecarError) as raised:
        environments.register(EnvironmentRequest((), (module("M", ONE),), (TWO, wrong)), index)
    assert (raised.value.code, raised.value.field) == ("bad_request", "premises[1].hash")
    assert "Mine.one" in raised.value.message
    for digest in ("", "xyz", "0" * 15, "A" * 16, " " * 16):
        with pytest.raises(SidecarError) as raised:
            environments.register(EnvironmentRequest((), (ModuleHashes("M", (ONE.hash, digest)),)), index)
        assert raised.value.field == "modules[0].hashes[1]"
    environments.close()


@pytest.mark.parametrize("environment", ["", "0" * 32, "no such id", "' OR 1=1"])
def test_an_unknown_id_says_what_to_do(tmp_path: Path, environment: str) -> None:
    environments = Environments(tmp_path)
    with pytest.raises(SidecarError) as raised:
        environments.get(environment)
    assert (raised.value.code, raised.value.field) == ("conflict", "environment")
    assert raised.value.hint is not None and "register" in raised.value.hint
    environments.close()


def test_the_longest_unused_are_dropped_when_there_are_too_many(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path, count_limit=3)
    ids = []
    for number in range(5):
        premise = sent(f"Mine.t{number}")
        request = EnvironmentRequest((f"M{number}",), (module("M", premise),), (premise,))
        ids.append(environments.register(request, index).environment)
    environments.close()
    restarted = Environments(tmp_path, count_limit=3)
    for environment in ids[:2]:
        with pytest.raises(SidecarError):
            restarted.get(environment)
    assert [restarted.get(environment).missing for environment in ids[2:]] == [0, 0, 0]
    # Texts that no environment lists any more are gone too.
    assert restarted.register(EnvironmentRequest((), (module("M", sent("Mine.t0")),)), index).missing
    restarted.close()


def test_the_file_is_bounded(tmp_path: Path, index: Index) -> None:
    limit = 400_000
    environments = Environments(tmp_path, byte_limit=limit)
    last = ""
    for number in range(8):
        premises = tuple(sent(f"Mine.t{number}x{place}", ": Eq 1 1" + " " * 1_000) for place in range(100))
        last = environments.register(EnvironmentRequest((), (module("M", *premises),), premises), index).environment
    assert environments.get(last).missing == 0
    environments.close()
    assert (tmp_path / FILE).stat().st_size < 2 * limit
    whole = Environments(tmp_path, byte_limit=limit)
    premises = tuple(sent(f"Mine.big{place}", ": Eq 1 1" + " " * 1_000) for place in range(600))
    with pytest.raises(SidecarError) as raised:
        whole.register(EnvironmentRequest((), (module("M", *premises),), premises), index)
    assert raised.value.code == "too_large"
    assert whole.get(last).missing == 0
    whole.close()


def test_a_damaged_file_costs_the_environments_and_nothing_more(tmp_path: Path, index: Index) -> None:
    environments = Environments(tmp_path)
    request = EnvironmentRequest(IMPORTS, (module("My.Lemmas", ONE),), (ONE,))
    environment = environments.register(request, index).environment
    environments.close()
    (tmp_path / FILE).write_bytes(b"broken")
    again = Environments(tmp_path)
    with pytest.raises(SidecarError):
        again.get(environment)
    assert again.register(request, index).environment == environment
    assert again.get(environment).missing == 0
    again.close()


async def test_a_request_may_name_its_environment(room: Room) -> None:
    request = EnvironmentRequest(IMPORTS, (module("My.Lemmas", ONE, TWO),), (ONE,))
    environment = room.environments.register(request, room.index).environment
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", k=4_096, environment=environment, module="My.Own")
    by_name = {premise.name: premise for premise in answer.premises}
    assert (by_name["Mine.one"].origin, by_name["Mine.one"].module) == ("environment", "My.Lemmas")
    assert "Nat.gcd_comm" in by_name and "Mine.two" not in by_name
    assert codes(answer) == ["environment_incomplete"]
    room.environments.register(EnvironmentRequest(request.imports, request.modules, (TWO,)), room.index)
    whole = await room.ask("⊢ Eq (Mine.frob 3) 3", environment=environment)
    assert {"Mine.one", "Mine.two"} <= set(names(whole)[:2]) and whole.warnings == ()


async def test_the_file_s_premise_takes_the_place_of_the_environment_s(room: Room) -> None:
    request = EnvironmentRequest((), (module("My.Lemmas", ONE, TWO),), (ONE, TWO))
    environment = room.environments.register(request, room.index).environment
    newer = LocalPremise("Mine.one", "theorem Mine.one : LT.lt 1 2")
    answer = await room.ask("⊢ Eq (Mine.frob 3) 3", environment=environment, premises=(newer,))
    assert sorted((premise.name, premise.origin) for premise in answer.premises) == [
        ("Mine.one", "file"),
        ("Mine.two", "environment"),
    ]
    assert answer.visible == 2
    without = await room.ask("⊢ Eq (Mine.frob 3) 3", environment=environment, theorem="Mine.two", exclude=("Mine.one",))
    assert names(without) == []


async def test_imports_of_the_request_add_to_the_environment_s(room: Room) -> None:
    environment = room.environments.register(EnvironmentRequest(("Init.Prelude",)), room.index).environment
    narrow = await room.ask("⊢ True", environment=environment)
    wide = await room.ask("⊢ True", environment=environment, imports=("Init.Data.Nat.Gcd",))
    assert wide.visible > narrow.visible
    assert wide.visible == (await room.ask("⊢ True", imports=("Init.Data.Nat.Gcd", "Init.Prelude"))).visible


async def test_an_unknown_environment_is_a_conflict(room: Room) -> None:
    with pytest.raises(SidecarError) as raised:
        await room.ask("⊢ True", environment="gone")
    assert raised.value.code == "conflict"
