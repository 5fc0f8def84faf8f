"""What methods answer is what `sidecar/server/schema.py` says that they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sidecar import wire
from sidecar.client import ANSWER_LIMITS, Client
from sidecar.server.schema import ANSWERS, ERROR, FIELDS
from tests.running import running_server

TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "nil": (type(None),),
    "list": (list,),
    "map": (dict,),
    "bytes": (bytes,),
}
REQUESTS: dict[str, list[dict[str, Any]]] = {
    "status": [{}],
    "reload": [{}],
    "premises": [
        {
            "goal": "a b : Nat\n⊢ a + b = b + a\n\n⊢ True",
            "k": 450,
            "premises": [{"name": "here", "text": "theorem here (a : Nat) : a + 0 = a"}, {"name": "x", "text": ""}],
        }
    ],
    "search": [{"query": "addition commutes", "modules": ["Init", "No.Such"]}, {"query": "Nat.add_comm"}],
    "environment": [{"imports": ["Init", "No.Such"], "modules": [{"module": "M", "hashes": ["0" * 16]}]}],
    "embed": [{"texts": ["⊢ True"], "purpose": "goal"}],
    "prove": [{"problem": "fof(a, axiom, p). fof(b, conjecture, p).", "deadline_ms": 20_000}],
    "feedback": [{"goal": "⊢ True", "premises": []}],
}
NOT_HERE = ("status gpus[]", "prove provers[]")
"""What an answer lacks where there is no GPU and no prover."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running_server(tmp_path_factory.mktemp("answers")) as server:
        yield server.client()


def fields(value: object, known: Mapping[str, str], path: str = "") -> Iterator[tuple[str, object]]:
    """Paths and values, down to the paths that are known."""
    if path in known:
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from fields(inner, known, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, known, f"{path}[]")
    else:
        yield path, value


def check(found: list[tuple[str, object]], known: Mapping[str, str]) -> set[str]:
    for path, value in found:
        assert path in known, path
        allowed = known[path].partition(":")[0].replace(", or left out", "").replace(" or ", ", ").split(", ")
        types = {type_ for word in allowed for type_ in TYPES[word]}
        assert type(value) in types, (path, value, known[path])
    return {path for path, _ in found}


def test_every_method_is_described() -> None:
    assert set(ANSWERS) == set(FIELDS) == set(REQUESTS)


@pytest.mark.parametrize("method", REQUESTS)
def test_an_answer_has_the_fields_that_are_described(client: Client, method: str) -> None:
    known = ANSWERS[method]
    seen: set[str] = set()
    for params in REQUESTS[method]:
        seen |= check(list(fields(client.call(method, params), known)), known)
    missing = {f"{method} {path}" for path in set(known) - seen}
    assert all(path.startswith(NOT_HERE) for path in missing), missing


def test_an_error_has_the_fields_that_are_described(client: Client) -> None:
    for method, params in (("premises", {"gaol": "⊢ True"}), ("premises", {}), ("nothing", {})):
        status, _, body = client.exchange("POST", f"/v1/{method}", wire.encode_unchecked(params))
        assert status in (400, 404)
        seen = check(list(fields(wire.decode(body, ANSWER_LIMITS), ERROR)), ERROR)
        assert {"error.code", "error.message"} <= seen
