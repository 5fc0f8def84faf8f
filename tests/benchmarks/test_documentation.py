"""Commands that the README of the benchmarks shows exist, with the options that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from tests.running import ROOT

README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(
    {
        line
        for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
        if line.startswith("python -m benchmarks.")
    }
)


def test_the_readme_shows_commands() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_the_options_that_are_shown(command: str) -> None:
    words = shlex.split(command)[2:]
    asked = [words[0], words[1], "--help"] if words[0] == "benchmarks.side_by_side" else [words[0], "--help"]
    help_ = subprocess.run(
        [sys.executable, "-m", *asked], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240
    )
    assert help_.returncode == 0, help_.stderr
    for option in (word.partition("=")[0] for word in words if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_.stdout), option
