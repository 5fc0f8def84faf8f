"""The MCP server as an agent's host sees it: the SDK's own client, a real process, a real sidecar behind it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

from sidecar.client import LocalClient
from sidecar.settings import Settings
from tests.running import (
    ROOT,
    alive,
    code_of,
    end_local_server,
    environment,
    eventually,
    local_server,
    small_index,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the sidecar of this module lives; the first call starts it."""
    folder = tmp_path_factory.mktemp("mcp")
    yield folder
    end_local_server(folder)


def readme_command() -> list[str]:
    """What the README tells hosts to start."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```json\n(.*?)```", readme, re.DOTALL) if "mcpServers" in block)
    server = json.loads(block)["mcpServers"]["lean"]
    return [server["command"], *server["args"]]


@contextlib.asynccontextmanager
async def agent(folder: Path, **changes: str | None) -> AsyncIterator[Client]:
    program, *arguments = readme_command()
    command = str(Path(sysconfig.get_path("scripts")) / program)
    parameters = StdioServerParameters(command=command, args=arguments, env=environment(folder, **changes), cwd=folder)
    with (folder / "mcp.err").open("a") as errors:
        async with Client(stdio_client(parameters, errors)) as client:
            yield client


def content(result: CallToolResult) -> Any:
    """What a tool answered; the text for the model says the same."""
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == result.structured_content
    return result.structured_content


def error(result: CallToolResult) -> str:
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_an_agent_searches_and_selects_premises(folder: Path) -> None:
    async with agent(folder) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["premises", "search"]
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert all("description" in field for field in tool.input_schema["properties"].values())
        words = {"query": "length of two lists appended", "k": 3, "modules": ["Init.Data.List"], "kinds": ["theorem"]}
        found = content(await client.call_tool("search", words))
        assert found["declarations"][0]["name"] == "List.length_append"
        assert found["declarations"][0]["deprecated"] is False
        assert len(found["declarations"]) == 3
        goal = {"goal": "a b c : Nat\n⊢ a + b + c = a + (b + c)", "k": 8, "imports": ["Init.Data.Nat.Basic", "No.Such"]}
        selected = content(await client.call_tool("premises", goal))
        assert "Nat.add_assoc" in [premise["name"] for premise in selected["premises"]]
        assert "No.Such" in selected["warnings"][0]
        kept = content(await client.call_tool("premises", {**goal, "theorem": "Nat.add_assoc"}))
        assert "Nat.add_assoc" not in [premise["name"] for premise in kept["premises"]]


async def test_errors_tell_the_agent_what_to_mend(folder: Path) -> None:
    async with agent(folder) as client:
        wrong = error(await client.call_tool("search", {"query": "x", "kinds": ["lemmma"]}))
        assert "kinds[0]: 'lemmma' is no kind" in wrong
        assert "theorem" in wrong
        assert "Field required" in error(await client.call_tool("premises", {"k": 3}))
        for k in (0, "many", 1 << 40):
            assert "k" in error(await client.call_tool("search", {"query": "x", "k": k}))
        for tool, argument in (("search", "limit"), ("premises", "query")):
            unknown = error(await client.call_tool(tool, {"query": "x", "goal": "⊢ True", argument: "x"}))
            assert argument in unknown and "not permitted" in unknown
        schemas = [tool.input_schema for tool in (await client.list_tools()).tools]
        assert all(schema["additionalProperties"] is False for schema in schemas)
        assert content(await client.call_tool("search", {"query": "Nat.add_comm", "k": 1}))["declarations"]


async def test_a_server_that_stopped_is_started_again(folder: Path) -> None:
    async with agent(folder) as client:
        assert content(await client.call_tool("search", {"query": "gcd", "k": 1}))
        pid = local_server(folder)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not alive(pid), "the server is gone")
        assert content(await client.call_tool("search", {"query": "gcd", "k": 1}))
        assert local_server(folder) != pid


async def test_a_server_that_cannot_be_reached_is_named(folder: Path) -> None:
    async with agent(folder, LEAN_SIDECAR_URL="http://127.0.0.1:9") as client:
        assert "http://127.0.0.1:9 does not answer" in error(await client.call_tool("search", {"query": "gcd"}))


async def test_answers_of_the_example_library_say_so(tmp_path: Path) -> None:
    example = tmp_path / "cache" / "example-default"
    shutil.copytree(small_index(), example)
    try:
        async with agent(tmp_path, LEAN_SIDECAR_INDEX=str(example)) as client:
            for _ in range(2):
                found = content(await client.call_tool("search", {"query": "Nat.add_comm", "k": 1}))
                assert found["declarations"][0]["name"] == "Nat.add_comm"
                assert "nothing was indexed yet" in found["warnings"][0]
                assert "`lean-sidecar index build CORPUS`" in found["warnings"][0]
            selected = content(await client.call_tool("premises", {"goal": "⊢ True", "k": 1}))
            assert "example library" in selected["warnings"][0]
        assert "nothing was indexed" in (tmp_path / "run" / "server.log").read_text()
    finally:
        end_local_server(tmp_path)


async def test_answers_of_the_users_own_index_say_nothing_of_examples(folder: Path) -> None:
    async with agent(folder) as client:
        found = content(await client.call_tool("search", {"query": "Nat.add_comm", "k": 1}))
        assert found["warnings"] == []


def test_a_call_waits_for_a_starting_server_as_long_as_it_may_and_says_what_it_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(
        data_folder=tmp_path / "data",
        cache_folder=tmp_path / "cache",
        runtime_folder=tmp_path / "run",
        index=small_index(),
        threads=1,
    )
    try:
        with LocalClient(settings, start_seconds=0.2) as client:
            caught = code_of(lambda: client.search("Nat.add_comm"))
            assert (caught.code, caught.retry_after) == ("overloaded", 30.0)
            assert "not ready after 0.2 s: starting the server" in caught.message
            # It was not given up, only not waited for.
            eventually(lambda: local_server(tmp_path) is not None, "the server listens")
        with LocalClient(settings) as client:
            assert client.search("Nat.add_comm", 1)["results"][0]["name"] == "Nat.add_comm"
    finally:
        end_local_server(tmp_path)


@pytest.mark.parametrize("missing", ["mcp", "mcp.server.mcpserver"])
def test_without_the_extra_the_way_out_is_named(missing: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['lean-sidecar', 'mcp']\n"
        "from sidecar.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("error: the package mcp, version 2, is needed")
    assert "pip install 'mcp>=2,<3'" in done.stderr
