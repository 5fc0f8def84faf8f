"""Fixtures that several rooms share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import own_folders, run_command

# No test may reach a model hub: every model that the tests use comes in a package or is made on the spot.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside a developer's checkout; absent on a user's machine."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data" / "declarations").is_dir():
        pytest.skip(f"{folder} is not here: this test reads the real corpus")
    return folder


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a user who has just installed the package; the server that commands start ends with it."""
    environment = own_folders(tmp_path_factory.mktemp("user"))
    yield environment
    done = run_command(environment, "stop")
    assert done.returncode == 0, done.stderr
