"""The life of a server: how it starts, changes its index, refuses what is too much, and stops."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import BaseTestServer, TestServer

from sidecar import wire
from sidecar.corpus.source import open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.feedback import FeedbackLog
from sidecar.index.build import build_index
from sidecar.server.app import Application
from sidecar.server.run import Listen, serve
from sidecar.server.state import ServerState
from sidecar.settings import Limits, Settings
from tests.running import (
    PATIENCE_SECONDS,
    ROOT,
    code_of,
    environment,
    eventually,
    gauge,
    local_server,
    running_server,
    small_index,
)

GOAL = "n m : Nat\n⊢ n + m = m + n"


def write_corpus(folder: Path, names: list[str]) -> Path:
    """A corpus of one module with these theorems."""
    folder.mkdir(parents=True, exist_ok=True)
    module = {"row": "module", "format": 1, "module": "Tiny", "imports": [], "docstring": "", "source": None}
    rows: list[dict[str, object]] = [{**module, "package": None, "revision": None, "toolchain": "none"}]
    for line, name in enumerate(names, start=1):
        signature = f"theorem {name} (n : Nat) : Eq (HAdd.hAdd n {line}) (HAdd.hAdd {line} n)"
        rows.append(
            {
                "row": "declaration",
                "name": name,
                "kind": "theorem",
                "signature": signature,
                "display": signature,
                "docstring": "",
                "constants": ["Eq", "HAdd.hAdd", "Nat"],
                "conclusion_count": 2,
                "attributes": [],
                "line": line,
                "end_line": line,
                "parent": None,
                "has_equations": False,
            }
        )
    rows.append({"row": "end", "declarations": len(names), "examples": 0})
    (folder / "Tiny.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def tiny_index(folder: Path, names: list[str]) -> None:
    """An index of these theorems, in place of what is there."""
    corpus = open_corpus(write_corpus(folder.with_name(folder.name + "-corpus"), names))
    build_index(corpus, folder, load_encoder("static", threads=1))


@asynccontextmanager
async def application(
    folder: Path,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    feedback: bool = False,
    index: Path | None = None,
    load: bool = True,
) -> AsyncIterator[tuple[BaseTestServer, ServerState]]:
    """The real application in this process, with limits that a test can reach."""
    settings = Settings(
        data_folder=folder / "data",
        cache_folder=folder / "cache",
        runtime_folder=folder / "run",
        index=index or small_index(),
        threads=1,
        feedback=feedback,
        limits=limits or Limits(),
    )
    state = ServerState(settings, None, None)
    if load:
        await state.load()
    hosts = frozenset({"127.0.0.1"})
    async with TestServer(Application(state, hosts, token).routes(), handler_cancellation=True) as server:
        yield server, state
    await state.close()


async def ask(
    session: aiohttp.ClientSession, server: BaseTestServer, method: str, **params: object
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, answer and headers of one call."""
    headers = {"content-type": wire.CONTENT_TYPE}
    async with session.post(server.make_url(f"/v1/{method}"), data=wire.encode(params), headers=headers) as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return response.status, wire.decode(await response.read(), Limits()), headers


async def test_too_many_calls_are_refused_with_a_time_to_come_back(tmp_path: Path) -> None:
    limits = replace(Limits(), waiting=2)
    async with application(tmp_path, limits=limits) as (server, state), aiohttp.ClientSession() as session:
        texts = ["theorem a : b " * 100] * 1_500
        slow = [asyncio.create_task(ask(session, server, "embed", texts=texts, purpose="goal")) for _ in range(2)]
        while state.metrics.registry.get_sample_value("lean_sidecar_requests_in_flight") != 2:
            await asyncio.sleep(0.01)
        status, answer, headers = await ask(session, server, "premises", goal=GOAL)
        assert status == 503
        assert answer["error"]["code"] == "overloaded"
        assert int(headers["retry-after"]) >= 1
        assert [status for status, _, _ in await asyncio.gather(*slow)] == [200, 200]
        assert (await ask(session, server, "premises", goal=GOAL))[0] == 200
        assert state.metrics.registry.get_sample_value("lean_sidecar_requests_shed_total") == 1


async def test_bodies_of_unsaid_length_count_too(tmp_path: Path) -> None:
    limits = replace(Limits(), body_bytes=1_000)
    headers = {"content-type": wire.CONTENT_TYPE}
    async with application(tmp_path, limits=limits) as (server, state), aiohttp.ClientSession() as session:
        go_on = asyncio.Event()

        async def body(last: bool) -> AsyncIterator[bytes]:
            yield b"x" * 990
            if not last:
                await go_on.wait()
            yield b"x" * 5

        async def send(last: bool = False) -> int:
            url = server.make_url("/v1/search")
            async with session.post(url, data=body(last), headers=headers) as response:
                return response.status

        waiting = [asyncio.create_task(send()) for _ in range(4)]
        while state.metrics.registry.get_sample_value("lean_sidecar_requests_in_flight") != 4:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert await send(last=True) == 503
        go_on.set()
        assert await asyncio.gather(*waiting) == [400] * 4
        assert await send(last=True) == 400


async def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    limits = replace(Limits(), body_bytes=1_000)
    async with application(tmp_path, limits=limits) as (server, _), aiohttp.ClientSession() as session:
        status, answer, _ = await ask(session, server, "search", query="x" * 2_000)
        assert (status, answer["error"]["code"]) == (413, "too_large")
        assert "1000 bytes" in answer["error"]["message"]
        assert (await ask(session, server, "search", query="x" * 900))[0] == 200


async def test_a_server_that_is_starting_says_so(tmp_path: Path) -> None:
    async with application(tmp_path, load=False) as (server, state), aiohttp.ClientSession() as session:
        status, answer, headers = await ask(session, server, "premises", goal=GOAL)
        assert (status, headers["retry-after"]) == (503, "1")
        assert "starting" in answer["error"]["message"]
        async with session.get(server.make_url("/health")) as response:
            assert response.status == 503
            assert (await response.json())["status"] == "starting"
        await state.load()
        assert (await ask(session, server, "premises", goal=GOAL))[0] == 200


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        ("sesame", 200),
        ("Bearer sesame", 200),
        ("Basic sesame", 401),
        ("Bearer sesame ", 200),
        ("Bearer sesam\udce9", 401),
    ],
)
async def test_the_token_is_wanted(tmp_path: Path, authorization: str | None, status: int) -> None:
    async with application(tmp_path, token="sesame", load=False) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        lines = ["GET /metrics HTTP/1.1", "host: 127.0.0.1", "connection: close"]
        if authorization is not None:
            lines.append(f"authorization: {authorization}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "surrogateescape"))
        answer = await reader.read()
        writer.close()
        assert int(answer.split()[1]) == status
        if status == 401:
            assert b"www-authenticate: bearer" in answer.lower()
        # Whether it lives may be asked without.
        async with aiohttp.ClientSession() as session, session.get(server.make_url("/health")) as response:
            assert response.status == 503


def test_listening_to_the_network_wants_a_token(tmp_path: Path) -> None:
    settings = Settings(runtime_folder=tmp_path, token=None)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        error = code_of(lambda host=host: serve(settings, listen=Listen(host=host)))  # type: ignore[misc]
        assert (error.code, error.field) == ("forbidden", "host")
        assert "LEAN_SIDECAR_TOKEN" in (error.hint or "")


def test_a_host_that_is_none_is_named(tmp_path: Path) -> None:
    for token in (None, "secret"):
        settings = Settings(runtime_folder=tmp_path, token=token)
        error = code_of(lambda settings=settings: serve(settings, listen=Listen(host="nosuch.invalid")))  # type: ignore[misc]
        assert (error.code, error.field) == ("bad_request", "host")
        assert "nosuch.invalid" in error.message
    error = code_of(lambda: serve(settings, listen=Listen(host="192.0.2.1", port=0)))
    assert (error.code, error.field) == ("conflict", "host")


async def test_an_error_that_nobody_foresaw_is_in_the_log_with_its_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> bool:
        raise LookupError("nobody foresaw this")

    monkeypatch.setattr(FeedbackLog, "record", fail)
    async with application(tmp_path, feedback=True) as (server, _), aiohttp.ClientSession() as session:
        status, answer, headers = await ask(session, server, "feedback", goal=GOAL, premises=["Nat.add_comm"])
        assert (status, answer["error"]["code"]) == (500, "internal")
        id = headers["x-request-id"]
        assert id in answer["error"]["message"]
        assert f"request {id} failed" in caplog.text
        assert "index verify" in answer["error"]["hint"]
        assert "LookupError: nobody foresaw this" in caplog.text
        assert (await ask(session, server, "premises", goal=GOAL))[0] == 200


async def test_feedback_is_kept_when_it_is_wanted(tmp_path: Path) -> None:
    async with application(tmp_path, feedback=True) as (server, _), aiohttp.ClientSession() as session:
        for params in ({"goal": GOAL, "premises": ["Nat.add_comm"], "tactic": "simp"}, {"goal": "⊢ x"}):
            assert (await ask(session, server, "feedback", **params))[1] == {"stored": True}
    rows = [json.loads(line) for line in (tmp_path / "data" / "feedback.jsonl").read_text().splitlines()]
    assert [(row["goal"], row["premises"], row["tactic"]) for row in rows] == [
        (GOAL, ["Nat.add_comm"], "simp"),
        ("⊢ x", [], None),
    ]


def test_the_feedback_file_stays_small(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path, enabled=True, file_bytes=1_000)
    for number in range(100):
        assert log.record(f"⊢ {number}", ["a"], None)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["feedback.1.jsonl", "feedback.jsonl"]
    assert all(file.stat().st_size <= 1_000 for file in files)
    assert json.loads(log.file.read_text().splitlines()[-1])["goal"] == "⊢ 99"
    assert log.file.stat().st_mode & 0o077 == 0


def test_feedback_that_cannot_be_kept_says_why_and_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FeedbackLog(tmp_path, enabled=True)
    log.record("⊢ a", [], None)
    before = log.file.read_bytes()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, line: write(handle, line[:10]))
        assert "No space left" in code_of(lambda: log.record("⊢ b", [], None)).message
    assert log.file.read_bytes() == before
    (tmp_path / "file").touch()
    error = code_of(lambda: FeedbackLog(tmp_path / "file" / "data", enabled=True).record("⊢ c", [], None))
    assert "LEAN_SIDECAR_DATA" in (error.hint or "")


def test_feedback_is_off_by_default(tmp_path: Path) -> None:
    assert not Settings().feedback
    assert not FeedbackLog(tmp_path, Settings().feedback).record("⊢ x", [], None)
    assert list(tmp_path.iterdir()) == []


def test_sigterm_lets_requests_finish(tmp_path: Path) -> None:
    with running_server(tmp_path, "--grace-seconds", "100") as server:
        client, watcher = server.client(), server.client()
        answers: list[object] = []
        texts = [f"theorem a{i} : {i} = {i} " + "x " * 100 for i in range(6_000)]
        worker = threading.Thread(target=lambda: answers.append(client.embed(texts, "declaration").shape[0]))
        worker.start()
        eventually(lambda: gauge(watcher, "lean_sidecar_requests_in_flight") > 1, "the request is in work")
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: local_server(tmp_path) is None, "the server is not offered any more")
        worker.join()
        assert answers == [len(texts)]
        assert server.process.wait(PATIENCE_SECONDS) == 0
        assert "stopped" in server.log


def test_requests_that_take_longer_than_the_grace_are_ended(tmp_path: Path) -> None:
    with running_server(tmp_path, "--grace-seconds", "0.2") as server:
        client, watcher = server.client(), server.client()
        problem = "cnf(a, axiom, m(m(X,Y),Z) = m(X,m(Y,Z))). cnf(b, axiom, m(m(m(X,X),m(X,X)),X) = e).\n"
        problem += "cnf(g, negated_conjecture, m(a,m(b,m(c,d))) != m(d,m(c,m(b,a))))."
        ended: list[str] = []
        worker = threading.Thread(target=lambda: ended.append(code_of(lambda: client.prove(problem, 600_000)).code))
        worker.start()
        eventually(lambda: gauge(watcher, "lean_sidecar_requests_in_flight") > 1, "the request is in work")
        assert server.stop() == 0
        worker.join()
        assert ended == ["unreachable"]


def test_a_new_index_takes_over_without_a_dropped_request(tmp_path: Path) -> None:
    index = tmp_path / "index"
    tiny_index(index, ["Tiny.first", "Tiny.both"])
    with running_server(tmp_path, LEAN_SIDECAR_INDEX=str(index)) as server:
        client = server.client()
        stop = threading.Event()
        faults: list[object] = []
        seen: set[str] = set()
        complete = [{f"Tiny.{word}", "Tiny.both"} for word in ("first", "second", "third", "fourth")]

        def work() -> None:
            mine = server.client()
            while not stop.is_set():
                try:
                    answer = mine.premises(GOAL, 2)
                    seen.add(answer["revision"])
                    if {premise["name"] for premise in answer["premises"]} not in complete:
                        faults.append(answer)
                except SidecarError as error:
                    faults.append(error)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for count, (word, how) in enumerate([("second", "reload"), ("third", "SIGHUP"), ("fourth", "watch")], start=2):
            tiny_index(index, [f"Tiny.{word}", "Tiny.both"])
            if how == "reload":
                client.reload()
            elif how == "SIGHUP":
                server.process.send_signal(signal.SIGHUP)
            eventually(lambda count=count: len(seen) == count, f"the new index is served after {how}")  # type: ignore[misc]
        stop.set()
        for worker in workers:
            worker.join()
        assert faults == []
        assert client.reload() == {"changed": False, "revision": client.status()["revision"]}
        assert gauge(client, "lean_sidecar_index_reloads_total") == 3


async def test_an_index_that_cannot_be_loaded_does_not_replace_one_that_can(tmp_path: Path) -> None:
    index = tmp_path / "index"
    tiny_index(index, ["Tiny.good"])
    async with application(tmp_path, index=index) as (server, _), aiohttp.ClientSession() as session:
        manifest = (index / "manifest.json").read_text()
        (index / "manifest.json").write_text(manifest.replace("static", "statix"))
        status, answer, _ = await ask(session, server, "reload")
        assert (status, answer["error"]["code"]) == (409, "conflict")
        _, answer, _ = await ask(session, server, "premises", goal=GOAL)
        assert [premise["name"] for premise in answer["premises"]] == ["Tiny.good"]
        (index / "manifest.json").write_text(manifest)
        assert (await ask(session, server, "reload"))[1]["changed"] is False


async def test_tables_that_cannot_be_read_are_a_damaged_index(tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(small_index(), index)
    table = index / "constants.text"
    table.write_bytes(b"\xff" * table.stat().st_size)
    with pytest.raises(SidecarError, match="is damaged") as refused:
        async with application(tmp_path, index=index):
            pass
    assert "index build" in (refused.value.hint or "")


async def test_another_encoder_is_refused(tmp_path: Path) -> None:
    state = ServerState(Settings(cache_folder=tmp_path, index=small_index(), threads=1), None, "small")
    with pytest.raises(SidecarError, match="cannot be searched with 'small'") as caught:
        await state.load()
    assert (caught.value.code, caught.value.field) == ("conflict", "encoder")
    await state.close()


GUARD = """
import sys
def hook(event, arguments):
    if event in ('socket.connect', 'socket.sendto', 'socket.getaddrinfo'):
        place = arguments[0] if event == 'socket.getaddrinfo' else arguments[1]
        host = place[0] if isinstance(place, tuple) else place
        if host not in ('127.0.0.1', '::1', 'localhost', None):
            sys.stderr.write(f'REACHES OUT: {event} {place!r}')
            raise OSError('there is no network')
sys.addaudithook(hook)
"""


def test_without_an_index_the_example_library_is_served_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    path = os.pathsep.join(filter(None, (str(tmp_path / "guard"), str(ROOT), os.environ.get("PYTHONPATH"))))
    options = ("--encoder", "static", "--log", "json")
    with running_server(tmp_path, *options, LEAN_SIDECAR_INDEX=None, PYTHONPATH=path) as server:
        client = server.client()
        assert client.status()["index"]["example"] is True
        assert "nothing was indexed yet: building the index of the example library" in server.log
        assert "answers come from the example library alone; `lean-sidecar index build CORPUS`" in server.log
        assert client.premises("⊢ secret", 3)["premises"]
        code_of(lambda: client.search("secret", 0))
        # An index that the user builds takes its place.
        tiny_index(tmp_path / "data" / "default", ["Tiny.mine"])
        assert client.reload()["changed"] is True
        assert client.status()["index"]["example"] is False
        assert server.stop() == 0
        assert "REACHES OUT" not in server.log
        rows = [json.loads(line) for line in server.log.splitlines()]
    built = (tmp_path / "cache" / "example-static" / "manifest.json").stat().st_mtime_ns
    shutil.rmtree(tmp_path / "data")
    with running_server(tmp_path, *options, LEAN_SIDECAR_INDEX=None, PYTHONPATH=path) as server:
        assert server.client().status()["index"]["example"] is True
    assert (tmp_path / "cache" / "example-static" / "manifest.json").stat().st_mtime_ns == built
    # The log can be read by programs, and says nothing of what was asked.
    requests = [(row["path"], row["status"], row["error"]) for row in rows if row.get("event") == "request"]
    assert requests[1:3] == [("/v1/premises", 200, None), ("/v1/search", 400, "bad_request k")]
    assert all({"time", "level", "logger"} <= row.keys() for row in rows)
    assert not any("secret" in json.dumps(row) for row in rows)


def test_a_missing_index_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with running_server(tmp_path, wait=False, LEAN_SIDECAR_INDEX=str(tmp_path / "none")) as server:
        assert server.process.wait(PATIENCE_SECONDS) == SidecarError("not_found", "").exit_status
        assert str(tmp_path / "none") in server.log
        assert "lean-sidecar index build" in server.log


def test_a_server_that_bridges_cannot_find_is_of_use_to_others_only(tmp_path: Path) -> None:
    nowhere = environment(tmp_path, LEAN_SIDECAR_RUNTIME="/proc")
    command = [sys.executable, "-m", "sidecar.server"]
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 6
    assert "the runtime folder /proc cannot be written" in done.stderr.splitlines()[-1]
    log = tmp_path / "serve.log"
    with log.open("wb") as errors:
        command = [sys.executable, "-m", "sidecar", "serve", "--port", "0"]
        server = subprocess.Popen(command, env=nowhere, stderr=errors)
    try:
        eventually(lambda: "ready after" in log.read_text(), "the server is ready")
        assert "bridges will not find this server" in log.read_text()
    finally:
        server.terminate()
    assert server.wait(PATIENCE_SECONDS) == 0


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = code_of(lambda: serve(Settings(runtime_folder=tmp_path, index=small_index()), listen=Listen(port=port)))
    assert (error.code, error.field) == ("conflict", "port")
    assert str(port) in error.message


def test_only_the_first_server_is_offered_to_bridges(tmp_path: Path) -> None:
    with running_server(tmp_path) as first:
        assert local_server(tmp_path) == first.process.pid
        (tmp_path / "second").mkdir()
        with running_server(tmp_path / "second", LEAN_SIDECAR_RUNTIME=str(tmp_path / "run")) as second:
            assert local_server(tmp_path) == first.process.pid
            assert second.client().status()["pid"] == second.process.pid
            assert second.stop() == 0
        assert local_server(tmp_path) == first.process.pid
