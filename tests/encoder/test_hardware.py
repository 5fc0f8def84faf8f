"""Which processors multiply bfloat16, and how many threads a model takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.encoder import threads
from sidecar.encoder.hardware import has_fast_bfloat16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_bf16 amx_tile\n", True),
        ("processor\t: 0\nflags\t\t: fpu amx_bf16\n", True),
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_vnni\n", False),
        ("processor\t: 0\nmodel name\t: avx512_bf16\n", False),
        ("processor\t: 0\nFeatures\t: fp asimd bf16 i8mm\n", False),
        ("", False),
    ],
)
def test_bfloat16_only_where_the_processor_lists_it(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert has_fast_bfloat16(tmp_path / "cpuinfo") is expected


def test_a_processor_that_cannot_be_asked_has_none(tmp_path: Path) -> None:
    assert has_fast_bfloat16(tmp_path / "absent") is False


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("x", 8), ("1 0", 8)]
)
def test_cores_are_bounded_by_the_containers_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cores: int
) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(threads, "_CGROUP_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert threads.usable_cores() == cores


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 1), (6, 3), (64, 4)])
def test_the_default_is_half_the_cores_and_at_most_four(
    monkeypatch: pytest.MonkeyPatch, cores: int, expected: int
) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: cores)
    assert threads.model_threads(0) == expected
    assert threads.model_threads(7) == 7


@pytest.mark.parametrize(("wish", "expected"), [("3", 3), ("", 6), ("0", 6), ("4,2", 6)])
def test_training_takes_every_core_or_what_torchrun_sets(
    wish: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert threads.training_threads() == expected


def test_a_number_of_threads_lasts_for_a_while_in_one_thread() -> None:
    import torch

    before = torch.get_num_threads()
    for use in (threads.torch_threads, threads.faiss_threads):
        with pytest.raises(KeyError), use(before + 2):
            assert use is threads.faiss_threads or torch.get_num_threads() == before + 2
            raise KeyError
        assert torch.get_num_threads() == before


def test_threads_sleep_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "TOKENIZERS_PARALLELISM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KMP_BLOCKTIME", "200")
    threads.use_quiet_threads()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["KMP_BLOCKTIME"] == "200"


def test_saying_so_loads_nothing_heavy() -> None:
    code = (
        "import sys; from sidecar.encoder.threads import use_quiet_threads; use_quiet_threads(); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'tokenizers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
