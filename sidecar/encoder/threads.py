"""How many threads a model may use, and threads that sleep instead of spinning.

In: the environment, the machine's limits and a wish. Out: environment variables set before torch loads, and a number
of threads. A sidecar lives beside a busy Lean: OpenMP's default is to spin between two operations, and two spinning
threads on shared cores are slower than one that sleeps.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_QUIET = {
    "OMP_WAIT_POLICY": "PASSIVE",  # libgomp, which the CPU wheels of torch bring
    "KMP_BLOCKTIME": "0",  # Intel's and LLVM's OpenMP, which other builds bring
    "TOKENIZERS_PARALLELISM": "false",  # the tokenizer's own thread pool would take every core
}

SWITCH_SECONDS: Final = 0.0005
"""How long a Python thread may keep the lock that others wait for. A search leaves and takes it several times; by
default each time may take ten times as long."""

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def use_quiet_threads() -> None:
    """Make OpenMP threads sleep between operations, and Python's threads take turns more often.

    Must run before torch is imported, so every process entry point that serves or builds calls it first. A variable
    that the user set is left alone.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    sys.setswitchinterval(SWITCH_SECONDS)


def usable_cores() -> int:
    """Cores that this process may use: its affinity and its container's quota, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = _CGROUP_QUOTA.read_text(encoding="ascii").split()
        if quota != "max":
            cores = min(cores, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass
    return max(1, cores)


def model_threads(wish: int) -> int:
    """Threads for one model.

    Args:
        wish: A number of threads, or 0 for the default: half the usable cores, at most 4.
    """
    return wish if wish > 0 else max(1, min(4, usable_cores() // 2))


def training_threads() -> int:
    """Threads for a training run: those of OMP_NUM_THREADS, which torchrun sets for each rank, else every usable core.

    The order of float sums follows from this number, so a run that is resumed needs the same one again.
    """
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return int(wish) if wish.isdecimal() and int(wish) > 0 else usable_cores()


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Torch uses this many threads in the calling thread for a while, and then as many as before.

    OpenMP keeps the number for each calling thread, where training, another encoder or a search wants another one: what
    is not put back changes their speed, and the last digits of their sums.

    Args:
        number: Threads; 0 changes nothing.
    """
    import torch

    before = torch.get_num_threads()
    if number in (0, before):
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def faiss_threads(number: int) -> Iterator[None]:
    """The same for FAISS; where both came with one OpenMP, it is torch's number that is changed and put back."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
