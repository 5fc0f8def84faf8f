"""Every command that README.md shows works as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    command
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for command in re.findall(r"^lean-sidecar(?:[^\n\"]|\"[^\"]*\")*", block, re.MULTILINE)
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment of a user who has just installed the package; its server is stopped at the end."""
    folder = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEAN_SIDECAR_")}
    environment = {
        **kept,
        "LEAN_SIDECAR_DATA": str(folder / "data"),
        "LEAN_SIDECAR_CACHE": str(folder / "cache"),
        "LEAN_SIDECAR_RUNTIME": str(folder / "run"),
        "LEAN_SIDECAR_IDLE_SECONDS": "300",
        "COLUMNS": "200",
    }
    yield environment
    code = (
        "import asyncio; from sidecar.launch import stop_server; from sidecar.settings import Settings;"
        "asyncio.run(stop_server(Settings()))"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)


def _run(command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "sidecar.cli.main", *shlex.split(command)[1:]]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, cwd=ROOT)


def test_the_readme_shows_commands() -> None:
    assert any(command.startswith("lean-sidecar premises") for command in COMMANDS)
    assert "\nmake demo\nmake test\n" in README


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.endswith("serve")])
def test_a_command_of_the_readme(command: str, home: dict[str, str]) -> None:
    done = _run(command.replace("PATH/TO/SOURCE", "sidecar/corpus/example"), home)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if "--json" in command:
        assert json.loads(done.stdout)
    if "length of two lists appended" in command:
        assert "List.length_append" in done.stdout
    if "% n" in command:
        assert "Nat.add_mod" in done.stdout


def test_files_that_the_readme_names_are_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_every_variable_of_the_settings_is_documented_there() -> None:
    settings = (ROOT / "sidecar" / "settings.py").read_text(encoding="utf-8")
    docstring = settings.split("class Settings", 1)[1].split('"""')[1]
    for variable in set(re.findall(r'"(LEAN_SIDECAR_[A-Z_]+)"', settings)):
        assert f"`{variable}`" in docstring, variable
