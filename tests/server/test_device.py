"""Where a server searches vectors."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from sidecar.index import graphics
from sidecar.index.exact import HalfMatrix
from sidecar.server import state as module
from sidecar.server.state import ServerState, search_device
from sidecar.settings import Settings
from tests.running import small_index


def _state(tmp_path: Path) -> ServerState:
    return ServerState(Settings(cache_folder=tmp_path, index=small_index(), threads=1), None, None)


@pytest.mark.parametrize(("there_is_one", "expected"), [(True, "cuda"), (False, "cpu")])
def test_a_gpu_that_torch_sees_is_used(monkeypatch: pytest.MonkeyPatch, there_is_one: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there_is_one)
    assert search_device() == expected


def test_torch_is_not_loaded_only_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    assert search_device() == "cpu" and "torch" not in sys.modules


async def test_vectors_lie_on_the_device_and_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[str] = []

    class Seen(graphics.TorchSearch):
        def __init__(self, matrix: HalfMatrix, device: str) -> None:
            devices.append(device)
            super().__init__(matrix, device)

    monkeypatch.setattr(graphics, "TorchSearch", Seen)
    found = []
    for device in ("cpu", "cpu:0"):
        monkeypatch.setattr(module, "search_device", lambda device=device: device)
        state = _state(tmp_path)
        await state.load()
        async with state.use() as loaded:
            vectors = loaded.index.vectors("premises")
            found.append(vectors.search(np.array(vectors.matrix[:2], dtype=np.float32), 5))
        await state.close()
    assert devices == ["cpu:0"]
    np.testing.assert_allclose(found[0][0], found[1][0], atol=2e-6)


async def test_a_gpu_without_room_is_no_reason_not_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(matrix: HalfMatrix, device: str) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(graphics, "TorchSearch", full)
    monkeypatch.setattr(module, "search_device", lambda: "cuda")
    state = _state(tmp_path)
    with caplog.at_level(logging.WARNING):
        await state.load()
    assert "searched on the CPU" in caplog.text and "CUDA out of memory" in caplog.text
    async with state.use() as loaded:
        vectors = loaded.index.vectors("premises")
        assert vectors.search(np.array(vectors.matrix[:1], dtype=np.float32), 1)[1].tolist() == [[0]]
    await state.close()
