"""Which texts run together, and padded to which length.

In: the number of tokens of each text. Out: batches of texts that share one padded length. The padded length of a text
depends on that text alone, so padding never depends on what happens to run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEP = 8
"""Padded lengths up to `FINE` are multiples of this: more padding costs time, fewer equal lengths cost batches."""

FINE = 64
"""Beyond this length the step is a quarter of the next lower power of two: at most a fifth of a text is padding."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts that run together.

    Attributes:
        length: Padded length of each, in tokens.
        rows: Positions of the texts.
    """

    length: int
    rows: tuple[int, ...]


def padded_length(tokens: int, limit: int) -> int:
    """The padded length of a text of `tokens` tokens, at most `limit`."""
    step = STEP if tokens <= FINE else max(STEP, (1 << ((tokens - 1).bit_length() - 1)) // 4)
    return min(limit, -(-max(tokens, 1) // step) * step)


def plan(tokens: Sequence[int], limit: int, *, tokens_per_batch: int, texts_per_batch: int) -> list[Batch]:
    """Group texts into batches, shortest first; texts of one length keep their order.

    Args:
        tokens: Tokens of each text; 0 leaves the text out.
        limit: Most tokens of a text.
        tokens_per_batch: Most padded tokens of a batch; a batch holds at least one text.
        texts_per_batch: Most texts of a batch.
    """
    groups: dict[int, list[int]] = {}
    for row, count in enumerate(tokens):
        if count:
            groups.setdefault(padded_length(count, limit), []).append(row)
    batches: list[Batch] = []
    for length in sorted(groups):
        rows = groups[length]
        size = max(1, min(texts_per_batch, tokens_per_batch // length))
        batches += [Batch(length, tuple(rows[at : at + size])) for at in range(0, len(rows), size)]
    return batches
