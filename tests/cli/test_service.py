"""The local server as a person meets it: which index answers, what a build tells it, how it is ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import (
    ROOT,
    end_local_server,
    environment,
    eventually,
    local_server,
    own_folders,
    run_command,
    running_server,
    small_index,
)

EXAMPLE = ROOT / "sidecar" / "corpus" / "example"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Folders of a user; the local server ends with them."""
    yield tmp_path
    end_local_server(tmp_path)


def test_an_index_that_the_running_server_does_not_serve_is_said_to_be_none_of_its(folder: Path) -> None:
    other = folder / "other"
    shutil.copytree(small_index(), other)
    first = run_command(environment(folder), "search", "prime", "-k", "1")
    assert first.returncode == 0 and "warning" not in first.stderr
    done = run_command(environment(folder, LEAN_SIDECAR_INDEX=str(other)), "search", "prime", "-k", "1")
    assert done.returncode == 0
    assert f"from the index {small_index()}, not from {other}" in done.stderr
    assert "lean-sidecar stop" in done.stderr
    link = folder / "link"
    link.symlink_to(small_index())
    again = run_command(environment(folder, LEAN_SIDECAR_INDEX=str(link)), "search", "prime", "-k", "1")
    assert again.returncode == 0 and "warning" not in again.stderr
    shared = str(folder / "run")
    (folder / "second").mkdir()
    with running_server(folder / "second", LEAN_SIDECAR_RUNTIME=shared, LEAN_SIDECAR_INDEX=str(other)) as second:
        eventually(lambda: f"from the index {small_index()}, not from {other}" in second.log, "the server warns")


def test_an_answer_of_the_example_library_says_so_until_an_index_is_built(folder: Path) -> None:
    user = own_folders(folder)
    example = folder / "cache" / "example-default"
    library = "an example library of "
    asked = run_command({**user, "LEAN_SIDECAR_INDEX": str(small_index())}, "search", "prime", "-k", "1")
    assert asked.returncode == 0 and library not in asked.stderr
    end_local_server(folder)
    for words in (["search", "prime"], ["premises", "⊢ True", "--json"]):
        done = run_command(user, *words, "-k", "1")
        assert done.returncode == 0, done.stderr
        assert library in done.stderr and "lean-sidecar index build" in done.stderr
    assert example.is_dir()
    built = run_command(user, "index", "build", str(EXAMPLE), "--encoder", "static")
    assert built.returncode == 0, built.stderr
    assert "the running server answers from this index now" in built.stderr
    served = json.loads(run_command(user, "status", "--json").stdout)["index"]
    assert Path(served["folder"]) == folder / "data" / "default" and not served["example"]
    elsewhere = run_command(user, "index", "build", str(EXAMPLE), "--encoder", "static", "--output", str(folder / "i"))
    assert elsewhere.returncode == 0 and "running server" not in elsewhere.stderr


def test_stopping_a_server_that_hangs_takes_no_longer_than_it_may(folder: Path) -> None:
    assert run_command(environment(folder), "search", "prime").returncode == 0
    pid = local_server(folder)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        done = run_command(environment(folder), "stop", "--timeout", "1")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 6
    assert "did not answer within 1 s" in done.stderr and f"kill -9 {pid}" in done.stderr


def test_a_server_for_the_network_says_where_it_listens(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "serve", "--host", "0.0.0.0", "--port", "0"],
        env=environment(folder, LEAN_SIDECAR_TOKEN="secret"),
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "listening" in line)
    finally:
        process.kill()
        process.communicate()
    assert re.search(r"listening on http://0\.0\.0\.0:([0-9]+), here as http://127\.0\.0\.1:\1 ", line)


@pytest.mark.skipif(os.geteuid() == 0, reason="to root no folder is read-only")
def test_a_folder_that_may_not_be_written_wants_no_room(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    try:
        done = run_command(
            own_folders(tmp_path), "index", "build", str(EXAMPLE), "--encoder", "static", "--output", str(closed / "i")
        )
    finally:
        closed.chmod(0o755)
    assert done.returncode == 3
    assert "Permission denied" in done.stderr and "choose another folder" in done.stderr
    assert "room" not in done.stderr


def test_a_path_that_leads_nowhere_wants_no_room(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    output = str(tmp_path / "file" / "i")
    done = run_command(own_folders(tmp_path), "index", "build", str(EXAMPLE), "--encoder", "static", "--output", output)
    assert done.returncode == 3
    assert "choose another folder" in done.stderr and "room" not in done.stderr
