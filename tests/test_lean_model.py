"""The Lean plugin's side of the protocol: its model against the golden files, its sources, and a real sidecar."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar import wire
from sidecar.select.content_hash import content_hash
from sidecar.server.schema import FIELDS
from sidecar.settings import Limits
from sidecar.text import goal as goal_text
from tests import lean_model
from tests.golden import write_bridge, write_msgpack
from tests.lean_model import BridgeProcess, Described, Pairs, PluginError, Registered, lean_keys
from tests.running import end_local_server, environment, eventually
from tests.wire.vectors import bytes_of

LIMITS = Limits()
FRAMES: dict[str, Any] = json.loads(write_bridge.FILE.read_text(encoding="utf-8"))
VECTORS: dict[str, Any] = json.loads(write_msgpack.FILE.read_text(encoding="utf-8"))

NAMES = ("Mine.double_eq", "Mine.«a.b»")

KNOWN = "Init.Data.Nat.Basic"
"""A module of the example library."""


def value_of(notation: dict[str, Any]) -> Any:
    """The value of a typed notation, maps as pairs so that their order counts."""
    ((kind, content),) = notation.items()
    if kind == "array":
        return [value_of(item) for item in content]
    if kind == "map":
        return Pairs((key["str"], value_of(item)) for key, item in content)
    if kind == "array_repeat":
        return [value_of(content[0])] * content[1]
    if kind == "map_numbered":
        return Pairs((str(number), None) for number in range(content))
    from tests.wire import vectors

    return vectors.value_of(notation)


def number_in_protocol(definition: str) -> int:
    """A number that `LeanHammerExt/Protocol.lean` defines."""
    source = (lean_model.SOURCES / "Protocol.lean").read_text(encoding="utf-8")
    found = re.search(rf"^def {definition} : Nat := (\d+)$", source, re.MULTILINE)
    assert found is not None, f"Protocol.lean has no number {definition}"
    return int(found[1])


def request(name: str) -> dict[str, Any]:
    """A row of the golden requests."""
    return next(row for row in FRAMES["requests"] if row["name"] == name)


# MessagePack


@pytest.mark.parametrize("vector", [v for v in VECTORS["values"] if v["shortest"]], ids=lambda v: v["name"])
def test_the_model_writes_the_golden_bytes(vector: dict[str, Any]) -> None:
    assert lean_model.encode(value_of(vector["value"])) == bytes_of(vector["bytes"])


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20),
    max_leaves=30,
)


@given(values)
def test_what_the_model_writes_the_sidecar_reads(value: Any) -> None:
    octets = lean_model.encode(value)
    assert wire.decode_value(octets, LIMITS) == value
    assert wire.encode(value) == octets


def test_both_sides_have_the_same_limits() -> None:
    assert LIMITS.depth == lean_model.DEPTH
    assert LIMITS.goal_bytes >= 4 * lean_model.GOAL_LIMIT
    assert LIMITS.text_bytes >= 4 * lean_model.PREMISE_LIMIT
    assert LIMITS.body_bytes + wire.FRAME_OVERHEAD <= lean_model.LARGEST_MESSAGE
    assert LIMITS.deadline_ms >= 1000 * number_in_protocol("longestTimeout")
    assert LIMITS.k >= number_in_protocol("mostResults")
    assert LIMITS.premises >= number_in_protocol("mostPremises")
    with pytest.raises(lean_model.Fault):
        lean_model.encode([[]], 1)


# Requests


DESCRIBED = Described(
    "Demo.double_eq",
    "/-- Twice a number. -/\ntheorem Demo.double_eq (n : Nat) : Eq (Demo.double n) (HAdd.hAdd n n)",
    ("Eq", "Demo.double", "HAdd.hAdd", "Nat"),
)
ELSEWHERE = Described(
    DESCRIBED.name,
    DESCRIBED.text,
    DESCRIBED.constants,
    "Demo.Basic",
    lean_model.content_hash(DESCRIBED.name, DESCRIBED.text),
)
IMPORTS = ("Init", "Demo.Basic")

REQUESTS: dict[str, lean_model.Params] = {
    "status": [],
    "environment, first": lean_model.environment_params(IMPORTS),
    "environment, with the hashes of a module that the index does not know": lean_model.environment_params(
        IMPORTS, [("Demo.Basic", [ELSEWHERE.hash])]
    ),
    "environment, with the texts that were missing": lean_model.environment_params(
        IMPORTS, [("Demo.Basic", [ELSEWHERE.hash])], [ELSEWHERE]
    ),
    "premises, with everything": lean_model.premises_params(
        write_bridge.GOAL,
        32,
        "ENVIRONMENT",
        premises=[Described("Demo.local", DESCRIBED.text, DESCRIBED.constants)],
        symbols=["Eq", "HAdd.hAdd", "Nat", "LT.lt"],
        theorem="Demo.goal",
        module="Demo.Main",
        namespace="Demo",
        exclude=["Demo.bad"],
    ),
    "premises, with the least": lean_model.premises_params("⊢ True", 1, "ENVIRONMENT", method="symbolic"),
    "search, with the least": lean_model.search_params("inv₀", 10),
    "search, with everything": lean_model.search_params(
        "addition of natural numbers is commutative", 5, ["Init"], ["theorem", "def"], ["Init"]
    ),
    "embed": lean_model.embed_params(["⊢ True", ""], "goal"),
    "prove": lean_model.prove_params(write_bridge.PROBLEM),
    "prove, with one prover": lean_model.prove_params(write_bridge.PROBLEM, ["e"]),
    "feedback": lean_model.feedback_params(write_bridge.GOAL, ["Nat.add_comm"], "simp [Nat.add_comm]"),
    "feedback, without a tactic": lean_model.feedback_params(write_bridge.GOAL, [], None),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_model_writes_the_golden_frames(name: str) -> None:
    row = request(name)
    deadline = dict(value_of(row["params"]))["deadline_ms"]
    frame = lean_model.request_frame(row["id"], row["method"], [*REQUESTS[name], ("deadline_ms", deadline)])
    assert frame.hex() == row["frame"]


def test_the_model_has_every_golden_request() -> None:
    assert {row["name"] for row in FRAMES["requests"]} == {*REQUESTS, "cancel"}
    row = request("cancel")
    assert lean_model.cancel_frame(row["id"]).hex() == row["frame"]


# Texts


@given(st.text(max_size=200), st.text(max_size=200))
def test_both_sides_hash_alike(name: str, text: str) -> None:
    if not any("\ud800" <= character <= "\udfff" for character in name + text):
        assert lean_model.content_hash(name, text) == content_hash(name, text)


lines = st.lists(st.text("a⊢ :ℕ", max_size=12), max_size=8).map("\n".join)


@given(lines, st.integers(1, 60))
def test_both_sides_cap_goals_alike(text: str, limit: int) -> None:
    assert lean_model.cap_goal(text, limit) == goal_text.cap_goal(text, limit)


def test_a_premise_that_is_too_long_loses_its_docstring_first() -> None:
    signature = "theorem a : b"
    assert lean_model.join_premise("Doc.", signature) == "/-- Doc. -/\ntheorem a : b"
    assert lean_model.join_premise("d" * lean_model.PREMISE_LIMIT, signature) == signature
    assert len(lean_model.join_premise("Doc.", "t" * 20_000)) == lean_model.PREMISE_LIMIT


# The Lean sources

WRITERS = {
    "EnvironmentRequest.params": "environment",
    "PremisesRequest.params": "premises",
    "SearchRequest.params": "search",
    "embedParams": "embed",
    "proveParams": "prove",
    "feedbackParams": "feedback",
}


@pytest.mark.parametrize("definition", WRITERS)
def test_the_lean_sources_write_the_fields_that_the_server_knows(definition: str) -> None:
    method = WRITERS[definition]
    keys = lean_keys(definition)
    inner = {"environment": {"module", "hashes"}}.get(method, set())
    assert set(keys) - inner <= set(FIELDS[method])
    golden = [list(dict(value_of(row["params"]))) for row in FRAMES["requests"] if row["method"] == method]
    written = {key for params in golden for key in params} - {"deadline_ms"}
    assert set(keys) - inner == written
    for params in golden:
        known = [key for key in params if key in keys]
        assert known == [key for key in keys if key in known]


READERS = {
    "Status.read": "status",
    "EnvironmentAnswer.read": "environment",
    "PremisesAnswer.read": "premises",
    "SearchAnswer.read": "search",
    "EmbedAnswer.read": "embed",
    "ProveAnswer.read": "prove",
}


@pytest.mark.parametrize("definition", READERS)
def test_the_lean_sources_read_fields_that_the_server_sends(definition: str) -> None:
    row = next(row for row in FRAMES["answers"] if row["name"] == READERS[definition])
    result = dict(value_of(row["result"]))
    sent = {*result, *dict(result.get("index", []))}
    assert set(lean_keys(definition)) <= sent
    assert lean_keys(definition)


def test_the_lean_sources_read_entries_that_the_server_sends() -> None:
    answers = {row["name"]: dict(value_of(row["result"])) for row in FRAMES["answers"] if "result" in row}
    samples = {
        "readRankedPremise": dict(answers["premises"]["premises"][0]),
        "readSearchResult": dict(answers["search"]["results"][0]),
        "readProverRun": dict(answers["prove"]["provers"][1]),
        "readNotice": dict(answers["premises"]["warnings"][0]),
    }
    for definition, sample in samples.items():
        keys = set(lean_keys(definition))
        assert keys and keys <= set(sample), definition
    assert set(lean_keys("DescribedPremise.toValue")) == {"name", "text", "constants", "module", "hash"}


def test_both_sides_have_the_same_protocol_number() -> None:
    assert number_in_protocol("version") == lean_model.VERSION == wire.PROTOCOL


# A real sidecar


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    folder: Path = tmp_path_factory.mktemp("lean-model")
    process = BridgeProcess(
        [sys.executable, "-m", "sidecar", "bridge"], environment(folder), lambda body: wire.decode(body, LIMITS)
    )
    yield process
    process.close()
    end_local_server(folder)


def theorem(name: str, statement: str, module: str = "") -> Described:
    return Described(
        name, lean_model.join_premise("", f"theorem {name} {statement}"), ("Eq", "Mine.double", "Nat"), module
    )


def test_known_imports_need_one_request(bridge: BridgeProcess) -> None:
    registered = lean_model.register(bridge, [KNOWN], [KNOWN], {})
    assert registered.steps == ("direct",)
    again = lean_model.register(bridge, [KNOWN], [KNOWN], {})
    assert again.environment == registered.environment


def test_unknown_modules_are_described_once(bridge: BridgeProcess) -> None:
    premises = {
        "Mine.Basic": [theorem("Mine.double_eq", "(n : Nat) : Eq (Mine.double n) (HAdd.hAdd n n)", "Mine.Basic")],
        "Mine.More": [theorem("Mine.«a.b»", "(n : Nat) : Eq (Mine.double n) (Mine.double n)", "Mine.More")],
    }
    everything = [KNOWN, "Mine.Basic", "Mine.Empty", "Mine.More"]
    registered = lean_model.register(bridge, ["Mine.More", "Mine.Empty"], everything, premises)
    assert registered.steps == ("direct", "everything", "hashes", "texts", "warm-up")
    assert set(registered.unknown_modules) == {"Mine.Basic", "Mine.Empty", "Mine.More"}
    assert registered.described == 2
    again = lean_model.register(bridge, ["Mine.More", "Mine.Empty"], everything, premises)
    assert again.steps == ("direct", "everything", "hashes", "warm-up")
    assert again.environment == registered.environment

    chosen = lean_model.select(bridge, registered, "n : Nat\n⊢ Eq (Mine.double n) (HAdd.hAdd n n)", 400)
    assert set(NAMES) <= set(chosen)
    assert len(chosen) == len(set(chosen))
    answer = bridge.ask("premises", lean_model.premises_params("⊢ True", 4, registered.environment), 30_000)
    assert "unknown_modules" not in {notice["code"] for notice in answer["warnings"]}


def test_premises_over_the_limit_are_left_out_from_the_first_module_on(bridge: BridgeProcess) -> None:
    premises = {name: [theorem(f"{name}.t{number}", ": True", name) for number in range(2)] for name in ("Far", "Near")}
    registered = lean_model.register(bridge, ["Near"], [KNOWN, "Far", "Near"], premises, limit=3)
    assert (registered.described, registered.omitted) == (2, 1)
    chosen = lean_model.select(bridge, registered, "⊢ True", 400)
    assert "Near.t0" in chosen
    assert "Far.t0" not in chosen


def test_premises_of_the_file_take_part(bridge: BridgeProcess) -> None:
    registered = lean_model.register(bridge, [KNOWN], [KNOWN], {})
    in_file = [theorem("Mine.double_eq", "(n : Nat) : Eq (Mine.double n) (HAdd.hAdd n n)")]
    chosen = lean_model.select(
        bridge,
        registered,
        "n : Nat\n⊢ Eq (Mine.double n) (HAdd.hAdd n n)",
        16,
        in_file=in_file,
        symbols=["Eq", "Mine.double", "HAdd.hAdd", "Nat"],
        namespace="Mine",
    )
    assert "Mine.double_eq" in chosen


def test_a_forgotten_environment_is_told_as_the_plugin_expects(bridge: BridgeProcess) -> None:
    nowhere = Registered("00" * 16, (), 0, 0, ())
    with pytest.raises(PluginError) as caught:
        lean_model.select(bridge, nowhere, "⊢ True", 4)
    # `isForgotten` in Select.lean registers again for exactly these.
    assert caught.value.kind == "refused"
    assert caught.value.field == "environment"
    assert caught.value.code in ("not_found", "conflict")


def test_errors_name_field_and_way_out(bridge: BridgeProcess) -> None:
    with pytest.raises(PluginError) as caught:
        bridge.ask("premises", [("goal", "⊢ True"), ("k", 0)], 30_000)
    assert (caught.value.kind, caught.value.code, caught.value.field) == ("refused", "bad_request", "k")


def test_many_requests_in_flight_get_their_own_answers(bridge: BridgeProcess) -> None:
    sent = [bridge.send("search", lean_model.search_params("addition", number)) for number in range(1, 17)]
    sizes = [len(future.result(120)["results"]) for _, future in sent]
    assert all(size <= number for number, size in enumerate(sizes, start=1))
    assert sizes == sorted(sizes)


def test_a_cancelled_request_is_still_answered(bridge: BridgeProcess) -> None:
    _, future = bridge.send("status", [])
    future.result(120)
    id, future = bridge.send("premises", lean_model.premises_params("⊢ True", 4, "00" * 16))
    bridge.cancel(id)
    # Either the cancellation or the answer was first; without an answer the reader would wait forever.
    error = future.exception(120)
    assert isinstance(error, PluginError)
    assert error.code in ("cancelled", "conflict")


LATE_READER = """
import struct, sys, time
from sidecar import wire
time.sleep(0.2)
seen = []
while True:
    header = sys.stdin.buffer.read(4)
    if not header:
        break
    message = wire.decode(sys.stdin.buffer.read(struct.unpack(">I", header)[0]), wire.Limits())
    seen.append(message["id"])
    if message["method"] == "cancel":
        answer = wire.encode({"id": message["id"], "result": {"times": seen.count(message["id"])}})
        sys.stdout.buffer.write(struct.pack(">I", len(answer)) + answer)
        sys.stdout.buffer.flush()
"""
"""A bridge that reads late and answers a cancellation with how often it has read that number by then."""


def test_a_cancellation_never_comes_before_its_request(tmp_path: Path) -> None:
    process = BridgeProcess(
        [sys.executable, "-c", LATE_READER], environment(tmp_path), lambda body: wire.decode(body, LIMITS)
    )
    # The first request is larger than a pipe, so that the others wait behind it.
    sent = [process.send("search", [("query", "x" * size)]) for size in (300_000, *range(1, 20))]
    for id, _ in sent:
        process.cancel(id)
    assert [future.result(60) for _, future in sent] == [{"times": 2}] * len(sent)
    process.close()


def test_nobody_reads_while_nothing_is_due(bridge: BridgeProcess) -> None:
    readers = bridge.readers
    bridge.ask("status", [], 60_000)
    eventually(lambda: not bridge.reading, "the reader ends")
    assert bridge.readers == readers + 1
    assert not bridge.waiting


def test_a_deadline_that_passes_leaves_a_usable_bridge(bridge: BridgeProcess) -> None:
    began = time.monotonic()
    with pytest.raises(PluginError) as caught:
        bridge.ask("search", lean_model.search_params("a question", 10), 1)
    assert caught.value.kind == "deadline" or caught.value.code == "deadline"
    assert time.monotonic() - began < 60
    eventually(lambda: not bridge.waiting, "the cancelled request is answered")
    assert bridge.ask("status", [], 60_000)["protocol"] == wire.PROTOCOL


def test_the_bridge_ends_with_its_lean_process(tmp_path: Path) -> None:
    process = BridgeProcess(
        [sys.executable, "-m", "sidecar", "bridge"], environment(tmp_path), lambda body: wire.decode(body, LIMITS)
    )
    process.close()
    assert process.child.returncode == 0
