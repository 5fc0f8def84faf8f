"""A model's forward pass as recorded graphs, one for each shape.

In: token numbers of any batch. Out: the same vectors as the model gives, without launching its kernels one by one: for
a small model on a GPU the launches take longer than the work. A batch is padded to the next recorded number of texts;
its length is already one of few (`buckets.py`). A shape is recorded when it first occurs and checked against the model;
where recording fails, the model runs as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

Forward = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""(token numbers int64, mask int64), both (texts, length) → pooled vectors (texts, dimension)."""

Record = Callable[[Forward, "torch.Tensor", "torch.Tensor"], Forward]
"""(model, example numbers, example mask) → the model recorded for exactly that shape."""

BATCH_SIZES = (1, 4, 16, 64, 256)
"""Numbers of texts that are recorded."""

LONGEST = 512
"""Longer texts run as they are: their kernels take longer than their launches."""

LEAST_COSINE = 0.999
"""What a recorded shape must agree to with the model on its first real batch."""


class GraphedForward:
    """A forward pass that replays recordings.

    Args:
        forward: The model with its pooling.
        record: Records it for one shape.
    """

    def __init__(self, forward: Forward, record: Record) -> None:
        self._forward = forward
        self._record = record
        self._recorded: dict[tuple[int, int], Forward] = {}
        self._works = True

    @property
    def shapes(self) -> frozenset[tuple[int, int]]:
        """The shapes (texts, length) recorded so far; empty for good once recording has failed."""
        return frozenset(self._recorded)

    def __call__(self, numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Pooled vectors of a batch: see `Forward`."""
        texts, length = numbers.shape
        size = next((size for size in BATCH_SIZES if size >= texts), None)
        if size is None or length > LONGEST or not self._works:
            return self._forward(numbers, mask)
        padded, padded_mask = _with_rows(numbers, mask, size)
        replay = self._recorded.get((size, length))
        if replay is not None:
            return replay(padded, padded_mask)[:texts].clone()
        expected = self._forward(numbers, mask)
        try:
            # Recorded on other texts than it is checked on: whatever the model decided by looking at its input while
            # it was recorded shows up as a difference.
            replay = self._record(self._forward, padded.flip(1), _half(padded_mask))
            _check(replay(padded, padded_mask)[:texts], expected)
        except Exception as error:
            logger.warning("no recorded graphs, the model runs as it is: %s", error)
            self._works = False
            self._recorded.clear()
        else:
            self._recorded[size, length] = replay
        return expected


class CudaGraphRecorder:
    """Records forward passes as CUDA graphs on one device.

    A graph reads and writes fixed memory: each replay copies the batch in, and its result is good until the next
    replay. All graphs of a recorder share one pool of memory, which is safe because they never run at the same time
    and a result is copied out before the next one runs. The steps (warm-up on a side stream, then capture) are those of
    PyTorch's notes on CUDA graphs.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._stream: Any = None

    def __call__(self, forward: Forward, numbers: torch.Tensor, mask: torch.Tensor) -> Forward:
        """Record one shape: see `Record`."""
        import torch

        device = numbers.device
        if self._stream is None:
            self._stream = torch.cuda.Stream(device=device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()
        held_numbers, held_mask = numbers.clone(), mask.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device):
            self._stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._stream):
                for _ in range(3):
                    forward(held_numbers, held_mask)
            torch.cuda.current_stream().wait_stream(self._stream)
            # Other threads may use the GPU meanwhile (a search over the vectors): only this one's calls are recorded.
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
                held_vectors = forward(held_numbers, held_mask)

        def replay(numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            held_numbers.copy_(numbers)
            held_mask.copy_(mask)
            graph.replay()
            return held_vectors

        return replay


def _with_rows(numbers: torch.Tensor, mask: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Add rows up to `size`; each has one token, because attention over no token at all is not a number."""
    import torch

    missing = size - len(numbers)
    if not missing:
        return numbers, mask
    padding = torch.nn.functional.pad
    padded_mask = padding(mask, (0, 0, 0, missing))
    padded_mask[len(mask) :, 0] = 1
    return padding(numbers, (0, 0, 0, missing)), padded_mask


def _half(mask: torch.Tensor) -> torch.Tensor:
    """A mask that shows the first half of each row, at least one token."""
    half = mask.clone()
    half[:, : (mask.shape[1] + 1) // 2] = 1
    half[:, (mask.shape[1] + 1) // 2 :] = 0
    return half


def _check(vectors: torch.Tensor, expected: torch.Tensor) -> None:
    import torch

    cosine = torch.nn.functional.cosine_similarity(vectors.float(), expected.float(), dim=1).min()
    if not bool(cosine >= LEAST_COSINE):
        raise RuntimeError(f"the recorded graph differs from the model: cosine {float(cosine):.4f}")
