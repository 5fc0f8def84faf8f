"""The table of token vectors that training begins with."""

from __future__ import annotations

import numpy as np
import pytest

from training.premises.initial import ORDINARY, initial_table


def test_marks_and_unused_tokens_weigh_nothing() -> None:
    chooser = np.random.default_rng(3)
    table, weights = initial_table(chooser.standard_normal((4_000, 8)).astype(np.float32))
    assert table.shape == (4_000, 8)
    assert not weights[: ORDINARY + 1].any()
    assert (np.diff(weights[ORDINARY:]) > 0).all()


def test_the_first_table_does_not_depend_on_the_signs_of_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = np.random.default_rng(3)
    words = (chooser.standard_normal((4_000, 8)) * np.arange(1, 9)).astype(np.float32)
    before, _ = initial_table(words)
    original = np.linalg.eigh

    def flipped(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        variances, directions = original(matrix)
        return variances, directions * np.array([1, -1] * 4)

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    after, _ = initial_table(words)
    np.testing.assert_allclose(before, after, atol=1e-5)
