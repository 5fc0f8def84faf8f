"""The encoder interface.

In: canonical texts. Out: unit vectors. Every tier (static, transformer on CPU, transformer on GPU) is one
implementation; the rooms above see only this protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Purpose = Literal["goal", "question", "declaration"]
"""What a text is: a proof state, a person's query, or a declaration of the corpus. Decides the prompt, if any."""

FloatMatrix = npt.NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into unit vectors.

    Implementations are safe to call from one thread at a time; `MicroBatcher` serialises concurrent callers.
    """

    @property
    def name(self) -> str:
        """Tier or folder name that loads this encoder again (`small`, `static`, a path, a hub name)."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Texts longer than this many tokens are cut at the end."""

    @property
    def fingerprint(self) -> str:
        """Hash of weights, tokenizer, pooling, prompts and text rules: equal fingerprints give comparable vectors."""

    @property
    def backend(self) -> str:
        """Device and number format that runs it, for people (`cpu bf16, 1 thread`)."""

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """Encode texts.

        Returns:
            Array of shape (len(texts), dimension), float32, rows of length 1 (a text without any token gives the
            zero row).
        """

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, special tokens included, before any cut."""
