"""Recorded graphs: all but the recording itself, with a recorder that holds fixed memory as a CUDA graph does."""

from __future__ import annotations

import logging

import pytest
import torch

from sidecar.encoder.graphs import BATCH_SIZES, LONGEST, Forward, GraphedForward
from tests.encoder.recorder import Recorder


class Model:
    """Mean of a token's number and position over the shown tokens; NaN for a row that shows none."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []

    def __call__(self, numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        self.shapes.append((numbers.shape[0], numbers.shape[1]))
        at = torch.arange(numbers.shape[1])
        features = torch.stack([numbers.sin(), (numbers + at).cos(), (numbers * at).sin()], dim=-1)
        return (features * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def batch(texts: int, length: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    chooser = torch.Generator().manual_seed(seed)
    numbers = torch.randint(1, 1_000, (texts, length), generator=chooser)
    shown = torch.randint(1, length + 1, (texts, 1), generator=chooser)
    return numbers, (torch.arange(length) < shown).long()


def test_replays_give_what_the_model_gives_for_any_number_of_texts() -> None:
    model = Model()
    recorder = Recorder()
    graphed = GraphedForward(model, recorder)
    for seed, texts in enumerate([1, 2, 3, 4, 5, 16, 17, 63, 64, 3, 1, 200]):
        for length in (8, 24):
            numbers, mask = batch(texts, length, seed)
            torch.testing.assert_close(graphed(numbers, mask), Model()(numbers, mask))
    assert graphed.shapes == {(size, length) for size in BATCH_SIZES for length in (8, 24)}
    assert len(recorder.shapes) == len(graphed.shapes)
    assert recorder.replays > len(recorder.shapes)


def test_a_result_outlives_the_next_replay() -> None:
    model = Model()
    graphed = GraphedForward(model, Recorder())
    graphed(*batch(3, 8))
    first = graphed(*batch(3, 8, seed=1))
    kept = first.clone()
    graphed(*batch(3, 8, seed=2))
    assert torch.equal(first, kept)


def test_shapes_without_a_recording_run_as_they_are() -> None:
    model = Model()
    recorder = Recorder()
    graphed = GraphedForward(model, recorder)
    for texts, length in ((1, LONGEST + 1), (BATCH_SIZES[-1] + 1, 8)):
        numbers, mask = batch(texts, length)
        torch.testing.assert_close(graphed(numbers, mask), Model()(numbers, mask))
    assert recorder.shapes == []


def test_a_recording_that_fails_leaves_the_model_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    attempts = []

    def fails(forward: Forward, numbers: torch.Tensor, mask: torch.Tensor) -> Forward:
        attempts.append(numbers.shape)
        raise RuntimeError("operation not permitted when stream is capturing")

    model = Model()
    graphed = GraphedForward(model, fails)
    with caplog.at_level(logging.WARNING):
        for seed in range(4):
            numbers, mask = batch(3, 8 + 8 * seed, seed)
            torch.testing.assert_close(graphed(numbers, mask), Model()(numbers, mask))
    assert len(attempts) == 1
    assert [record.message for record in caplog.records if "capturing" in record.message]
    assert graphed.shapes == frozenset()


def test_a_recording_that_differs_from_the_model_is_thrown_away() -> None:
    def looks_at_its_input(forward: Forward, numbers: torch.Tensor, mask: torch.Tensor) -> Forward:
        # A model that decides by its input while it is recorded keeps that decision in every replay.
        remembered = mask.clone()
        return lambda numbers, mask: forward(numbers, remembered)

    model = Model()
    graphed = GraphedForward(model, looks_at_its_input)
    numbers, mask = batch(3, 24)
    torch.testing.assert_close(graphed(numbers, mask), Model()(numbers, mask))
    torch.testing.assert_close(graphed(numbers, mask), Model()(numbers, mask))
    assert graphed.shapes == frozenset()
