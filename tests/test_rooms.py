"""The table of rooms in CONTRIBUTING.md names every room there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.running import ROOT


def named(package: str) -> set[str]:
    """What the first column of the table names in a package: modules with `.py`, packages without."""
    found: set[str] = set()
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines():
        names = re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else []
        if names and names[0].startswith(f"{package}/"):
            found.update(name.removeprefix(f"{package}/") for name in names)
    return found


def rooms(folder: Path) -> set[str]:
    modules = {path.name for path in folder.glob("*.py") if path.name != "__init__.py"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("package", ["sidecar", "training"])
def test_every_room_is_in_the_table(package: str) -> None:
    assert named(package) == rooms(ROOT / package)
