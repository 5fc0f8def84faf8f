"""A recorder of forward passes that behaves like CUDA graphs where there is no GPU."""

from __future__ import annotations

import torch

from sidecar.encoder.graphs import Forward


class Recorder:
    """Fixed memory for one shape, and one result that each replay overwrites."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.replays = 0

    def __call__(self, forward: Forward, numbers: torch.Tensor, mask: torch.Tensor) -> Forward:
        self.shapes.append((numbers.shape[0], numbers.shape[1]))
        held_numbers, held_mask = numbers.clone(), mask.clone()
        held = forward(held_numbers, held_mask)
        assert held.isfinite().all()

        def replay(numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            self.replays += 1
            held_numbers.copy_(numbers)
            held_mask.copy_(mask)
            held.copy_(forward(held_numbers, held_mask))
            return held

        return replay
