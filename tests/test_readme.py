"""Every command that README.md shows works as it stands there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.running import ROOT, run_command

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    command
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for command in re.findall(r"^lean-sidecar(?:[^\n\"]|\"[^\"]*\")*", block, re.MULTILINE)
]


def test_the_readme_shows_commands() -> None:
    assert any(command.startswith("lean-sidecar premises") for command in COMMANDS)
    assert "\nmake demo\nmake test\n" in README


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.endswith("serve")])
def test_a_command_of_the_readme(command: str, user: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "proofs.jsonl").write_text('{"name": "Nat.add_comm", "premises": ["Nat.add_succ"]}', encoding="utf-8")
    for shown, real in (("SOURCE", "sidecar/corpus/example"), ("PROOFS.jsonl", str(tmp_path / "proofs.jsonl"))):
        command = command.replace(f"PATH/TO/{shown}", real)
    words = shlex.split(command)
    done = run_command(user, *words[1:])
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if "--proofs" in command:
        assert "theorems whose proofs an index uses" in done.stdout
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


def test_extras_are_installed_from_a_checkout() -> None:
    """The package is on no index, so its name with an extra installs nothing."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("training/*.md"), *ROOT.glob("benchmarks/*.md")]
    for file in (*texts, *ROOT.glob("sidecar/**/*.py"), *ROOT.glob("training/**/*.py")):
        assert "lean-hammer-sidecar[" not in file.read_text(encoding="utf-8"), file


def test_the_lean_version_of_the_readme_is_that_of_the_package() -> None:
    version = (ROOT / "lean-toolchain").read_text(encoding="utf-8").strip().rpartition(":")[2]
    assert set(re.findall(r"\bv4\.[0-9.]+[0-9]", README)) == {version}
