"""What the server does with requests of every kind: a real process, asked over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar import wire
from sidecar.client import Client
from sidecar.errors import SidecarError
from sidecar.prove.provers import find_provers
from sidecar.server.schema import FIELDS, PURPOSES
from sidecar.settings import Limits
from tests.running import Server, code_of, eventually, gauge, running_server

LIMITS = Limits()
GOAL = "n m : Nat\n⊢ n + m = m + n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return server.client()


def post(client: Client, method: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """One request with this body: the status and the answer."""
    status, media_type, answer = client.exchange("POST", f"/v1/{method}", body)
    assert media_type == wire.CONTENT_TYPE
    return status, wire.decode(answer, LIMITS)


def raw(server: Server, request: bytes, read: bool = True, half_close: bool = False) -> bytes:
    """Send bytes to the server, close the sending side if told so, and read until it closes."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while read and (part := connection.recv(65_536)):
            answer += part
        return answer


def head(method: str, path: str, *headers: str, length: int | None = 0) -> bytes:
    """The head of a request that closes its connection."""
    lines = [f"{method} {path} HTTP/1.1", "connection: close", *headers]
    if not any(line.lower().startswith("host:") for line in headers):
        lines.append("host: 127.0.0.1")
    if length is not None:
        lines.append(f"content-length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def test_status_states_what_a_client_may_rely_on(client: Client) -> None:
    status = client.status()
    assert status["protocol"] == wire.PROTOCOL
    assert status["limits"]["k"] == LIMITS.k
    assert status["limits"]["body_bytes"] == LIMITS.body_bytes
    assert status["index"]["declarations"] > 0
    assert status["encoder"]["name"] == "static"
    assert status["provers"] == [prover.name for prover in find_provers()]
    assert status["queue"] == 0


def test_the_pages_for_operators(client: Client) -> None:
    status, media_type, body = client.exchange("GET", "/health")
    assert (status, media_type) == (200, "application/json")
    assert json.loads(body)["status"] == "ready"
    status, media_type, body = client.exchange("GET", "/metrics")
    assert (status, media_type) == (200, "text/plain")
    assert b'lean_sidecar_requests_total{method="status",status="200"}' in body
    assert gauge(client, "lean_sidecar_index_declarations") > 0


@pytest.mark.parametrize(
    ("verb", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/v2/status", 404, "not_found"),
        ("POST", "/health", 405, "bad_request"),
        ("DELETE", "/metrics", 405, "bad_request"),
    ],
)
def test_wrong_paths_answer_in_json(client: Client, verb: str, path: str, status: int, code: str) -> None:
    found, media_type, body = client.exchange(verb, path)
    assert (found, media_type) == (status, "application/json")
    error = json.loads(body)["error"]
    assert error["code"] == code
    assert error["hint"]


def test_wrong_methods_are_named_with_the_nearest_right_one(client: Client) -> None:
    status, answer = post(client, "premise", b"\x80")
    assert (status, answer["error"]["code"]) == (404, "not_found")
    assert "`premises`" in answer["error"]["hint"]


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_a_path_that_is_none_is_not_found_whatever_the_verb(client: Client, verb: str) -> None:
    for path in ("/v1/nope", "/v1/premises/", "/v1/", "/v1", "/nope", "/health/"):
        status, media_type, body = client.exchange(verb, path)
        assert status == 404, path
        in_versions = path.startswith("/v1/")
        assert media_type == (wire.CONTENT_TYPE if in_versions else "application/json")
        if verb != "HEAD":
            error = wire.decode(body, LIMITS)["error"] if in_versions else json.loads(body)["error"]
            assert (error["code"], bool(error["hint"])) == ("not_found", True)


@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_another_verb_than_a_method_takes_names_the_right_one(server: Server, client: Client, verb: str) -> None:
    answer = raw(server, head(verb, "/v1/premises"))
    assert answer.startswith(b"HTTP/1.1 405 ") and b"\r\nallow: post\r\n" in answer.lower()
    _, media_type, body = client.exchange(verb, "/v1/premises")
    assert media_type == wire.CONTENT_TYPE
    if verb != "HEAD":
        assert wire.decode(body, LIMITS)["error"]["hint"] == "use POST"


@pytest.mark.parametrize("method", ["/v1/%zz", "/v1/%2F", "/v1/..%2Fhealth", "/v1/a%00b", "/v1/%ff", "/v1/\u00e9"])
def test_strange_paths_are_not_found(server: Server, client: Client, method: str) -> None:
    answer = raw(server, head("POST", method, f"content-type: {wire.CONTENT_TYPE}", length=1) + b"\x80")
    assert answer.split()[1] in (b"400", b"404"), answer
    client.status()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 415),
        (("content-type: application/json",), 415),
        (("content-type: text/plain",), 415),
        ((f"content-type: {wire.CONTENT_TYPE}", "content-encoding: gzip"), 415),
        ((f"content-type: {wire.CONTENT_TYPE}; charset=utf-8",), 200),
    ],
)
def test_content_types(server: Server, headers: tuple[str, ...], status: int) -> None:
    answer = raw(server, head("POST", "/v1/status", *headers, length=1) + b"\x80")
    assert answer.split()[1] == str(status).encode()


GOAL_KEY = b"\x81\xa4goal"

HOSTILE = [
    ("an empty body", b"", "byte 0", None),
    ("JSON", b'{"goal": "x"}', "byte 1", None),
    ("a key that is an int", b"\x81\x01\xa1x", "byte 1", None),
    ("a key that is bin", b"\x81\xc4\x04goal\xa1x", "byte 1", None),
    ("bin instead of str", GOAL_KEY + b"\xc4\x01x", "binary data", "goal"),
    ("the same key twice", b"\x82\xa4goal\xa1x\xa4goal\xa1y", "twice", None),
    ("10,000 nested arrays", GOAL_KEY + b"\x91" * 10_000, "deep", "goal" + "[0]" * 15),
    ("a text of 4 GiB", GOAL_KEY + b"\xdb\xff\xff\xff\xff", "4294967295", "goal"),
    ("an array of 4 Gi items", GOAL_KEY + b"\xdd\xff\xff\xff\xff", "4294967295", "goal"),
    ("a cut body", b"\x82\xa4goal\xa1x\xa1", "byte 8", None),
    ("two objects", b"\x81\xa4goal\xa1x\x80", "byte 8", None),
    ("invalid UTF-8", GOAL_KEY + b"\xa1\xff", "UTF-8", "goal"),
    ("a lone surrogate", GOAL_KEY + b"\xa3\xed\xa0\x80", "UTF-8", "goal"),
    ("an array", b"\x90", "must be a map", None),
    ("a number", b"\x05", "must be a map", None),
    ("an extension", GOAL_KEY + b"\xd4\x01\x00", "extension", "goal"),
    ("ten million empty arrays", GOAL_KEY + b"\xdd\x00\x98\x96\x80" + b"\x90" * 10_000_000, "items", "goal"),
]


@pytest.mark.parametrize(("body", "words", "field"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_body_that_is_no_request_is_refused_and_the_next_one_is_served(
    client: Client, body: bytes, words: str, field: str | None
) -> None:
    status, answer = post(client, "premises", body)
    assert (status, answer["error"]["code"]) == (400, "bad_request")
    assert words in answer["error"]["message"]
    assert answer["error"].get("field") == field
    assert client.premises(GOAL, 3)["premises"]


def test_hostile_bodies_leave_the_memory_as_it_was(client: Client) -> None:
    name = "lean_sidecar_process_resident_memory_bytes"
    for _ in range(2):
        for _, body, _, _ in HOSTILE:
            post(client, "premises", body)
    before = gauge(client, name)
    for _ in range(5):
        for _, body, _, _ in HOSTILE:
            post(client, "premises", body)
    assert gauge(client, name) < before + 30_000_000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=80), method=st.sampled_from(["premises", "search", "environment", "embed"]))
def test_no_bytes_make_the_server_fail(client: Client, body: bytes, method: str) -> None:
    status, _ = post(client, method, body)
    assert status in (200, 400)


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=9)
ANYTHING = st.recursive(
    SCALARS | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_of_any_field_makes_the_server_fail(client: Client, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(["premises", "search", "environment", "embed", "feedback", "prove"]))
    good = {
        "goal": GOAL,
        "query": "x",
        "imports": [],
        "texts": ["x"],
        "purpose": "goal",
        "premises": [],
        "problem": "x",
    }
    params: dict[str, Any] = {name: good[name] for name in FIELDS[method] if name in good}
    params[data.draw(st.sampled_from([*FIELDS[method], "deadline_ms"]))] = data.draw(ANYTHING)
    status, answer = post(client, method, wire.encode(params))
    assert status in (200, 400, 409, 504), answer
    if status == 400:
        assert answer["error"].get("field"), answer


@pytest.mark.parametrize("k", [0, -1, 2**31, 1.5, 5.0, "5", True, False, [], LIMITS.k + 1])
@pytest.mark.parametrize("method", ["premises", "search"])
def test_a_k_that_is_no_number_of_results_is_refused(client: Client, method: str, k: object) -> None:
    params = {"goal": GOAL, "k": k} if method == "premises" else {"query": "x", "k": k}
    error = code_of(lambda: client.call(method, params))
    assert (error.code, error.field) == ("bad_request", "k")
    assert f"from 1 to {LIMITS.k}" in error.message
    assert "limit `k`" in (error.hint or "")


def test_a_k_left_out_or_nil_is_the_default(client: Client) -> None:
    left_out = client.call("premises", {"goal": GOAL})["premises"]
    assert left_out == client.call("premises", {"goal": GOAL, "k": None})["premises"]
    assert len(left_out) == 32
    assert len(client.call("search", {"query": "addition", "k": None})["results"]) == 10
    assert len(client.call("premises", {"goal": GOAL, "k": LIMITS.k})["premises"]) > 32


@pytest.mark.parametrize(
    ("method", "params", "field", "hint"),
    [
        ("premises", {"gaol": "x"}, "gaol", "`goal`"),
        ("premises", {"goal": "x", "premises": [{"nam": "a", "text": "b"}]}, "premises[0].nam", "`name`"),
        ("search", {"query": "x", "limit": 5}, "limit", "known fields: query"),
        ("status", {"verbose": True}, "verbose", "deadline_ms"),
        ("environment", {"imports": [], "modules": [{"name": "A"}]}, "modules[0].name", "module"),
    ],
)
def test_unknown_fields_are_named(
    client: Client, method: str, params: dict[str, object], field: str, hint: str
) -> None:
    error = code_of(lambda: client.call(method, params))
    assert (error.code, error.field, error.message) == ("bad_request", field, "unknown field")
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("method", "params", "field", "words"),
    [
        ("premises", {}, "goal", "missing"),
        ("premises", {"goal": None}, "goal", "missing"),
        ("premises", {"goal": 5}, "goal", "got 5"),
        ("premises", {"goal": "x" * (LIMITS.goal_bytes + 1)}, "goal", "limit `goal_bytes`"),
        ("premises", {"goal": "ℕ" * (LIMITS.goal_bytes // 3 + 1)}, "goal", "limit `goal_bytes`"),
        ("premises", {"goal": "x", "imports": "Init"}, "imports", "an array"),
        ("premises", {"goal": "x", "imports": ["Init", 5]}, "imports[1]", "text"),
        ("premises", {"goal": "x", "imports": ["A"] * (LIMITS.imports + 1)}, "imports", "limit `imports`"),
        ("premises", {"goal": "x", "imports": [""]}, "imports[0]", "is empty"),
        ("premises", {"goal": "x", "exclude": ["A", " "]}, "exclude[1]", "is empty"),
        ("search", {"query": "x", "modules": [""]}, "modules[0]", "is empty"),
        ("environment", {"imports": ["A", ""]}, "imports[1]", "is empty"),
        ("premises", {"goal": "x", "premises": {}}, "premises", "an array"),
        ("premises", {"goal": "x", "premises": ["a"]}, "premises[0]", "a map"),
        ("premises", {"goal": "x", "premises": [{"name": "a"}]}, "premises[0].text", "missing"),
        ("premises", {"goal": "x", "premises": [{"name": "", "text": "b"}]}, "premises[0].name", "empty"),
        (
            "premises",
            {"goal": "x", "premises": [{"name": "a", "text": "b" * (LIMITS.text_bytes + 1)}]},
            "premises[0].text",
            "limit `text_bytes`",
        ),
        (
            "premises",
            {"goal": "x", "premises": [{"name": "a", "text": "b"}] * (LIMITS.premises + 1)},
            "premises",
            "limit `premises`",
        ),
        ("premises", {"goal": "x", "theorem": "t" * (LIMITS.name_bytes + 1)}, "theorem", "limit `name_bytes`"),
        ("premises", {"goal": "x", "method": "best"}, "method", "one of fused, neural"),
        ("premises", {"goal": "x", "deadline_ms": 0}, "deadline_ms", "from 1 to"),
        ("premises", {"goal": "x", "deadline_ms": LIMITS.deadline_ms + 1}, "deadline_ms", "from 1 to"),
        ("search", {"query": b"x"}, "query", "binary data"),
        ("search", {"query": "x", "kinds": ["thm"]}, "kinds[0]", "no kind"),
        ("search", {"query": "x", "rewrite": 1}, "rewrite", "true or false"),
        ("search", {"query": "x", "imports": [], "environment": "e"}, "environment", "either"),
        ("embed", {"purpose": "goal"}, "texts", "missing"),
        ("embed", {"texts": ["x"]}, "purpose", "got nothing"),
        ("embed", {"texts": ["x"], "purpose": "premise"}, "purpose", "one of goal, question, declaration"),
        ("embed", {"texts": ["x"] * (LIMITS.texts + 1), "purpose": "goal"}, "texts", "limit `texts`"),
        ("environment", {}, "imports", "missing"),
        ("environment", {"imports": [], "modules": [{"module": "A", "hashes": ["xyz"]}]}, "modules[0].hashes[0]", "16"),
        (
            "environment",
            {"imports": [], "premises": [{"hash": "0" * 16, "name": "a", "text": "b"}]},
            "premises[0].hash",
            "hash",
        ),
        ("prove", {"problem": "no formula"}, "problem", "no TPTP formula"),
        ("prove", {"problem": "include('/etc/passwd').", "deadline_ms": 500}, "problem", "includes a file"),
        ("prove", {"problem": "fof(a, axiom, p).", "provers": ["magic"]}, "provers[0]", "'magic'"),
        ("feedback", {"goal": "x", "premises": [1]}, "premises[0]", "text"),
    ],
)
def test_every_field_is_checked(client: Client, method: str, params: dict[str, object], field: str, words: str) -> None:
    error = code_of(lambda: client.call(method, params))
    assert (error.code, error.field) == ("bad_request", field)
    assert words in error.message


@pytest.mark.parametrize("size", [1_048_577, 8_000_000])
def test_bodies_beyond_the_usual_limit_are_accepted(client: Client, size: int) -> None:
    body: dict[str, object] = {"goal": GOAL, "k": 3, "method": "symbolic", "namespace": ""}
    body["exclude"] = [f"{number}" + "y" * 4_000 for number in range(size // 4_010)]
    short = size - len(wire.encode(body))
    body["exclude"] = [*body["exclude"], *(["z" * 1_000] * (short // 1_003 + 1))]  # type: ignore[misc]
    assert len(wire.encode(body)) >= size
    assert client.call("premises", body)["premises"]


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_body_above_the_limit_is_refused_in_our_format(server: Server, client: Client, chunked: bool) -> None:
    size = LIMITS.body_bytes + 1
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        kind = "transfer-encoding: chunked" if chunked else f"content-length: {size}"
        connection.sendall(head("POST", "/v1/premises", f"content-type: {wire.CONTENT_TYPE}", kind, length=None))

        def send() -> None:
            left = size
            with contextlib.suppress(OSError):
                while left:
                    part = b"x" * min(left, 1 << 20)
                    left -= len(part)
                    connection.sendall(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                connection.sendall(b"0\r\n\r\n" if chunked else b"")

        sender = threading.Thread(target=send)
        sender.start()
        answer = b""
        while part := connection.recv(65_536):
            answer += part
        sender.join()
    assert answer.split()[1] == b"413"
    error: Any = wire.decode(answer.split(b"\r\n\r\n", 1)[1], LIMITS)["error"]
    assert error["code"] == "too_large"
    assert str(LIMITS.body_bytes) in error["message"]
    client.status()


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:1", True),
        ("localhost", True),
        ("LOCALHOST:8723", True),
        ("[::1]:8723", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example:127", False),
        ("", False),
        ("[::1", False),
        ("user@localhost.evil", False),
    ],
)
def test_only_our_own_names_are_answered(server: Server, host: str, allowed: bool) -> None:
    answer = raw(server, head("GET", "/health", f"host: {host}"))
    assert answer.split()[1] == (b"200" if allowed else b"403"), answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (("origin: https://evil.example",), 403),
        (("origin: null",), 403),
        (("origin: http://127.0.0.1",), 200),
        (("origin: http://127.0.0.1:5",), 403),
        (("sec-fetch-site: cross-site",), 403),
        (("sec-fetch-site: same-site",), 403),
        (("sec-fetch-site: same-origin",), 200),
        (("sec-fetch-site: none",), 200),
    ],
)
def test_pages_of_other_sites_cannot_post(server: Server, headers: tuple[str, ...], status: int) -> None:
    request = head("POST", "/v1/status", f"content-type: {wire.CONTENT_TYPE}", *headers, length=1) + b"\x80"
    assert raw(server, request).split()[1] == str(status).encode()


def test_every_answer_has_an_id_that_is_in_the_log(server: Server) -> None:
    for request in (head("GET", "/nowhere"), head("POST", "/v1/status", f"content-type: {wire.CONTENT_TYPE}")):
        answer = raw(server, request).lower()
        assert b"x-request-id: " in answer
    id = answer.split(b"x-request-id: ")[1].split(b"\r\n")[0].decode()
    eventually(lambda: f"[{id}]" in server.log, "the log names the request")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01secret\xff\r\n\r\n",
        b"GET /secret HTTP/9.9\r\n\r\n",
        b"POST /v1/secret HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
        head("GET", "/" + "secret" * 2_000),
        head("POST", "/v1/search", f"content-type: {wire.CONTENT_TYPE}", "content-encoding: gzip", length=6)
        + b"secret",
    ],
)
def test_what_is_not_http_does_not_fill_the_log(server: Server, sent: bytes) -> None:
    before = len(server.log)
    assert raw(server, sent).split(b" ", 2)[1] in (b"400", b"415")
    raw(server, head("POST", "/v1/status", f"content-type: {wire.CONTENT_TYPE}"))
    eventually(lambda: "/v1/status" in server.log[before:], "the next request is logged")
    assert len(server.log[before:].splitlines()) <= 3
    assert "secret" not in server.log[before:]


def test_half_a_surrogate_pair_is_refused_by_the_server_which_names_it(client: Client) -> None:
    half: list[tuple[str, dict[str, object], str]] = [
        ("search", {"query": "a\ud800"}, "query"),
        ("premises", {"goal": GOAL, "exclude": ["a", "\udcff"]}, "exclude[1]"),
        ("premises", {"goal": GOAL, "premises": [{"name": "\udfff", "text": "x"}]}, "premises[0].name"),
    ]
    for method, params, field in half:
        error = code_of(lambda method=method, params=params: client.call(method, params))
        assert (error.code, error.field) == ("bad_request", field)
    assert client.search("Nat.add_comm", 1)["results"]


def test_what_is_asked_is_not_in_the_log(server: Server, client: Client) -> None:
    client.premises("secret_hypothesis : Nat\n⊢ secret_goal")
    client.search("secret_question")
    code_of(lambda: client.call("premises", {"goal": "secret_goal", "method": "secret_method"}))
    code_of(lambda: client.call("prove", {"problem": "secret_problem", "deadline_ms": 500}))
    client.status()
    eventually(lambda: "bad_request method" in server.log, "the refused request is logged")
    assert "secret" not in server.log


@pytest.mark.parametrize(
    "query",
    [
        "(a + b) % n = ((a % n) + (b % n)) % n",
        "%2F",
        "%zz",
        "{}",
        "inv₀",
        "𝒰S",
        "map₂'",
        "quot.sound",
        "«quot.sound»",
        "Std.«term_...*»",
        "Lean.«term∃__,_»",
        "'; DROP TABLE declarations; --",
        '" OR 1',
        "NEAR(a b)",
        "a*",
        "\\frac{1}{2}",
        "x" * 60_000,
        "∀" * 20_000,
    ],
)
def test_any_text_is_a_query_and_a_goal(client: Client, query: str) -> None:
    assert isinstance(client.search(query)["results"], list)
    assert isinstance(client.premises(query, 5)["premises"], list)


@pytest.mark.parametrize("text", ["", " \n", "\u200b\ufeff"])
def test_a_text_without_a_visible_character(client: Client, text: str) -> None:
    error = code_of(lambda: client.search(text))
    assert (error.code, error.field) == ("bad_request", "query")
    answer = client.premises(text, 5)
    assert [warning["code"] for warning in answer["warnings"]] == ["empty_goal"]


@pytest.mark.parametrize("count", [0, 1, 19, 20, 64])
def test_any_number_of_queries_against_no_premises(client: Client, count: int) -> None:
    for number in range(count):
        answer = client.call("premises", {"goal": f"⊢ {number} = 0", "imports": [], "premises": []})
        assert answer["premises"] == []
        assert answer["visible"] == 0
    assert client.embed([f"⊢ {number} = 0" for number in range(count)], "goal").shape[0] == count


def test_vectors_of_texts_do_not_depend_on_their_company(client: Client) -> None:
    texts = ["", "\u200b", "x", "⊢ True", "theorem Nat.add_comm (n m : Nat) : n + m = m + n", "word " * 2_000]
    for purpose in PURPOSES:
        together = client.embed(texts, purpose)
        for text, vector in zip(texts, together, strict=True):
            alone = client.embed([text], purpose)[0]
            assert float(alone @ vector) >= 0.999 * float(alone @ alone)
            assert abs(float(vector @ vector)) < 1e-6 or abs(float(vector @ vector) - 1) < 1e-3


def test_deadlines_count_everything(client: Client) -> None:
    texts = [f"theorem a{i} : {i} = {i} " + "x " * 200 for i in range(8_000)]
    error = code_of(lambda: client.embed(texts, "declaration", deadline_ms=1))
    assert (error.code, error.field) == ("deadline", "deadline_ms")
    eventually(lambda: gauge(client, "lean_sidecar_queue_length") == 0, "the work was dropped")


def test_a_client_that_leaves_leaves_nothing_behind(server: Server, client: Client) -> None:
    texts = [f"theorem a{i} : {i} = {i} " + "x " * 200 for i in range(8_000)]
    embed = wire.encode({"texts": texts, "purpose": "declaration"})
    prove = wire.encode({"problem": "cnf(a, axiom, m(m(X,Y),Z) = m(X,m(Y,Z))). cnf(b, axiom, m(a,b) != m(b,a))."})
    premises = wire.encode({"goal": GOAL, "premises": [{"name": f"L.p{i}", "text": t} for i, t in enumerate(texts)]})
    kind = f"content-type: {wire.CONTENT_TYPE}"
    for method, body in (("embed", embed), ("prove", prove), ("premises", premises)):
        raw(server, head("POST", f"/v1/{method}", kind, length=len(body)) + body, read=False)
        # In the middle of the body, too.
        raw(server, head("POST", f"/v1/{method}", kind, length=len(body)) + body[: len(body) // 2], read=False)
    eventually(lambda: gauge(client, "lean_sidecar_requests_in_flight") == 1, "nothing is in work")
    eventually(lambda: gauge(client, "lean_sidecar_queue_length") == 0, "nothing waits for the model")
    assert client.premises(GOAL, 3)["premises"]


def calls_that_were_left(client: Client, method: str) -> float:
    _, _, body = client.exchange("GET", "/metrics")
    found = re.search(rf'requests_total{{method="{method}",status="499"}} (\S+)', body.decode())
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("keep", [True, False], ids=["keep-alive", "close"])
def test_a_client_that_closes_only_its_sending_side_is_answered(server: Server, keep: bool) -> None:
    kind = f"content-type: {wire.CONTENT_TYPE}"

    def ask(verb: str, path: str, body: bytes = b"") -> tuple[bytes, bytes]:
        said = head(verb, path, kind, length=len(body))
        if keep:
            said = said.replace(b"connection: close\r\n", b"")
        answer = raw(server, said + body, half_close=True)
        while answer.startswith(b"HTTP/1.1 100 "):  # as every client passes over it
            answer = answer.partition(b"\r\n\r\n")[2]
        lines, _, content = answer.partition(b"\r\n\r\n")
        return lines, content

    lines, content = ask("GET", "/health")
    assert lines.startswith(b"HTTP/1.1 200 ") and json.loads(content)["status"] == "ready"
    lines, content = ask("POST", "/v1/search", wire.encode({"query": "add_comm", "k": 1}))
    assert lines.startswith(b"HTTP/1.1 200 ") and len(wire.decode(content, LIMITS)["results"]) == 1
    texts = [f"theorem a{i} : {i} = {i} " + "x " * 200 for i in range(1_500)]
    lines, content = ask("POST", "/v1/embed", wire.encode({"texts": texts, "purpose": "declaration"}))
    assert lines.startswith(b"HTTP/1.1 200 ")
    assert len(wire.decode(content, LIMITS)["vectors"]) == 4 * 384 * len(texts)
    lines, _ = ask("POST", "/v1/nothing", b"\x80")
    assert lines.startswith(b"HTTP/1.1 404 ")
    assert raw(server, b"no HTTP at all\r\n\r\n", half_close=True).startswith(b"HTTP/1.")
    assert raw(server, b"", half_close=True) == b""


def test_half_a_body_and_no_more_is_no_call(server: Server, client: Client) -> None:
    body = wire.encode({"query": "add_comm"})
    said = head("POST", "/v1/search", f"content-type: {wire.CONTENT_TYPE}", length=len(body))
    before = calls_that_were_left(client, "search")
    assert raw(server, said + body[:-1], half_close=True) == b""
    eventually(lambda: calls_that_were_left(client, "search") > before, "the call is given up")


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_the_call_of_a_client_that_leaves_is_cancelled(server: Server, client: Client, version: bytes) -> None:
    texts = [f"theorem a{i} : {i} = {i} " + "y " * 200 for i in range(8_000)]
    body = wire.encode({"texts": texts, "purpose": "declaration"})
    said = head("POST", "/v1/embed", f"content-type: {wire.CONTENT_TYPE}", length=len(body))
    before = calls_that_were_left(client, "embed")
    raw(server, said.replace(b"HTTP/1.1", version) + body, read=False)
    eventually(lambda: calls_that_were_left(client, "embed") > before, "the call is cancelled")


def test_health_answers_while_thousands_of_texts_are_encoded(server: Server) -> None:
    texts = [f"theorem a{i} : {i} = {i} " + "x " * 100 for i in range(2_000)]
    client, other = server.client(), server.client()
    done = threading.Event()

    def work() -> None:
        client.embed(texts, "declaration")
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    answered = 0
    while not done.is_set():
        assert other.exchange("GET", "/health")[0] == 200
        answered += 1
    worker.join()
    assert answered > 5


def mixed(number: int) -> tuple[str, dict[str, object]]:
    """The requests of the load test: every method that asks the index, with and without texts of its own."""
    names = ("add", "mul", "sub", "zero", "succ", "list", "append", "length", "bool", "le")
    name = names[number % len(names)]
    local = [{"name": f"Load.p{i}", "text": f"theorem Load.p{i} : {name} {i} = {i}"} for i in range(number % 5)]
    goal = f"n m : Nat\nh : {name} n m = {number % 13}\n⊢ {name} n (m + {number % 7}) = {name} m n"
    kinds: list[tuple[str, dict[str, object]]] = [
        ("premises", {"goal": goal, "k": 1 + number % 40}),
        ("search", {"query": f"{name} of natural numbers", "k": 5}),
        ("premises", {"goal": goal, "k": 8, "premises": local, "method": ("neural", "symbolic")[number % 2]}),
        ("embed", {"texts": [goal] * (1 + number % 3), "purpose": "goal"}),
        ("search", {"query": f"Nat.{name}", "kinds": ["theorem"], "k": 3}),
    ]
    return kinds[number % len(kinds)]


def comparable(answer: dict[str, Any]) -> object:
    """An answer without what differs from run to run: timings, and the last digits of scores and vectors."""
    if "vectors" in answer:
        import numpy as np

        return np.frombuffer(answer["vectors"], "<f4").round(3).tolist()
    if "results" in answer:
        return [(result["name"], result["why"]) for result in answer["results"]]
    return [(premise["name"], premise["origin"]) for premise in answer["premises"]], answer["visible"]


def test_64_clients_get_what_one_gets(server: Server) -> None:
    requests = [mixed(number) for number in range(50)]
    alone = server.client()
    expected = [comparable(alone.call(*request)) for request in requests]
    faults: list[object] = []

    def work(first: int) -> None:
        client = server.client()
        for step in range(len(requests)):
            number = (first + step) % len(requests)
            try:
                found = comparable(client.call(*requests[number]))
            except SidecarError as error:
                found = error
            if found != expected[number]:
                faults.append((requests[number], found, expected[number]))

    workers = [threading.Thread(target=work, args=(first,)) for first in range(64)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert faults == []
    eventually(lambda: gauge(alone, "lean_sidecar_requests_in_flight") == 1, "nothing is in work")
