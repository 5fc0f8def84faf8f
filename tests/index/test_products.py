"""Products of codes are exact, or are not used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.index import products
from sidecar.index.products import CodeProducts, can_multiply


@pytest.fixture
def untried() -> Iterator[None]:
    products._products_are_right.cache_clear()
    yield
    products._products_are_right.cache_clear()


@settings(max_examples=40, deadline=None)
@given(
    width=st.sampled_from([2, 7, 16, 64, 100, 192, 1_000]),
    queries=st.integers(1, 17),
    rows=st.integers(0, 3_000),
    threads=st.sampled_from([1, 3]),
    largest=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_are_those_of_whole_numbers(
    width: int, queries: int, rows: int, threads: int, largest: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values = np.array([-127, 127]) if largest else np.arange(-127, 128)
    codes = random.choice(values, (3_000, width)).astype(np.int8)
    asked = random.choice(values, (queries, width)).astype(np.int8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "ROWS_TOGETHER", 700)
        found = CodeProducts(codes, threads).of(asked, rows)
    np.testing.assert_array_equal(found, asked.astype(np.int64) @ codes[:rows].T.astype(np.int64))


@pytest.mark.usefixtures("untried")
def test_a_processor_that_multiplies_wrongly_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    right = torch._int_mm
    assert can_multiply(64)
    products._products_are_right.cache_clear()
    # As where two products are added in 16 bits.
    monkeypatch.setattr(torch, "_int_mm", lambda codes, queries: right(codes, queries).clamp(max=32_767))
    assert not can_multiply(64)


def test_multiplying_leaves_other_threads_alone() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        multiplying = CodeProducts(np.ones((100, 64), dtype=np.int8), 8)
        multiplying.of(np.ones((1, 64), dtype=np.int8), 100)
        assert multiplying._pool.submit(torch.get_num_threads).result() == 1
        with ThreadPoolExecutor(1) as later:
            assert later.submit(torch.get_num_threads).result() == torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_torch_is_not_loaded_for_the_sake_of_products() -> None:
    code = "import sys, sidecar.index.products as p; print(p.can_multiply(64), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
