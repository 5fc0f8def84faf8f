"""Which GPUs this process works on, and how full and busy they are.

In: torch, where it is loaded. Out: a map for each CUDA device that holds memory of ours, for `status`. Memory is what
CUDA reports; how busy a device is only NVML knows, which torch asks where the extra `gpu` (nvidia-ml-py) is installed.
"""

from __future__ import annotations

from typing import Any


def gpus(torch: Any) -> list[dict[str, object]]:
    """The CUDA devices that this process uses; none on a CPU. May take milliseconds.

    Args:
        torch: The module, or None where nothing has loaded it.

    Returns:
        For each device its `device` number as torch counts, `name`, `memory_used_bytes` (of all processes),
        `memory_own_bytes` (held by this one), `memory_total_bytes`, and `busy_percent`, None where NVML does not tell.
    """
    # While a thread imports torch, which takes seconds, the module is there already and its parts are not.
    cuda: Any = getattr(torch, "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    if is_initialized is None or not is_initialized():
        return []
    own = {number: int(cuda.memory_reserved(number)) for number in range(cuda.device_count())}
    return [_gpu(cuda, number, held) for number, held in own.items() if held]


def _gpu(cuda: Any, number: int, own: int) -> dict[str, object]:
    free, total = cuda.mem_get_info(number)
    return {
        "device": number,
        "name": cuda.get_device_name(number),
        "memory_used_bytes": total - free,
        "memory_own_bytes": own,
        "memory_total_bytes": total,
        "busy_percent": _busy(cuda, number),
    }


def _busy(cuda: Any, number: int) -> int | None:
    try:
        return int(cuda.utilization(number))
    except Exception:
        # No nvidia-ml-py, no NVML, a part of a device (MIG): each has its own error, and none of them is a fault here.
        return None
