"""What `status` says of GPUs. The numbers of a real one are read where there is one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sidecar.server.graphics import gpus

GIBIBYTE = 1 << 30


def torch_with(utilization: Any) -> Any:
    """Stands for torch on a machine with two devices, of which this process uses the second."""
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_initialized=lambda: True,
            device_count=lambda: 2,
            memory_reserved=[0, GIBIBYTE].__getitem__,
            mem_get_info=lambda number: (30 * GIBIBYTE, 80 * GIBIBYTE),
            get_device_name=lambda number: f"device {number}",
            utilization=utilization,
        )
    )


def test_only_devices_that_are_used_are_told() -> None:
    assert gpus(torch_with(lambda number: 40 + number)) == [
        {
            "device": 1,
            "name": "device 1",
            "memory_used_bytes": 50 * GIBIBYTE,
            "memory_own_bytes": GIBIBYTE,
            "memory_total_bytes": 80 * GIBIBYTE,
            "busy_percent": 41,
        }
    ]


def test_without_nvml_the_rest_is_told() -> None:
    def missing(number: int) -> int:
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed")

    (found,) = gpus(torch_with(missing))
    assert found["busy_percent"] is None
    assert found["memory_total_bytes"] == 80 * GIBIBYTE


def test_on_a_cpu_there_is_none_and_cuda_is_left_alone() -> None:
    import torch

    assert gpus(None) == []
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        assert gpus(torch) == []
        assert not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


def test_a_module_that_is_being_loaded_in_another_thread_is_none_yet() -> None:
    assert gpus(SimpleNamespace()) == []
    assert gpus(SimpleNamespace(cuda=SimpleNamespace())) == []


def test_a_real_device() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device is here")
    held = torch.zeros(1 << 20, device="cuda")
    (found,) = gpus(torch)
    assert found["name"] == torch.cuda.get_device_name(0)
    assert held.nbytes <= int(str(found["memory_own_bytes"])) <= int(str(found["memory_used_bytes"]))
