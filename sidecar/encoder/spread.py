"""An encoder whose texts are encoded on many machines.

In: an encoder, a cluster. Out: an `Encoder` that gives the same vectors: each machine loads the encoder by its name and
is asked for its fingerprint before any of its vectors is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.tower import require_whole
from sidecar.errors import SidecarError
from sidecar.spread import Spread

TEXTS_A_PIECE: Final = 256
"""Texts that go to one machine together."""

TEXTS_AT_ONCE: Final = 16_384
"""Texts that callers should give at one time, so that every machine has pieces."""


class SpreadEncoder:
    """Encodes on a cluster. What it is called and how it counts is the encoder's own.

    Args:
        encoder: The encoder, loaded here; its name must load the same one on every machine.
        spread: The cluster.

    Raises:
        SidecarError: `bad_request` for a query tower: what is worth a cluster is declarations.
    """

    def __init__(self, encoder: Encoder, spread: Spread) -> None:
        require_whole(encoder)
        self._encoder = encoder
        self._spread = spread
        name = encoder.name
        self._load = str(Path(name).resolve()) if Path(name).is_dir() else name
        self.texts_at_once = TEXTS_AT_ONCE

    @property
    def name(self) -> str:
        """See `Encoder.name`."""
        return self._encoder.name

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return self._encoder.dimension

    @property
    def max_tokens(self) -> int:
        """See `Encoder.max_tokens`."""
        return self._encoder.max_tokens

    @property
    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        return self._encoder.fingerprint

    @property
    def backend(self) -> str:
        """See `Encoder.backend`."""
        return f"cluster, {self._encoder.backend} here"

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """See `Encoder.encode`.

        Raises:
            SidecarError: `conflict` when a machine has another encoder under the name.
        """
        shared = self._spread.share((self._load, self._encoder.fingerprint, purpose))
        pieces = ((list(texts[begin : begin + TEXTS_A_PIECE]),) for begin in range(0, len(texts), TEXTS_A_PIECE))
        found = list(self._spread.map(_encode, pieces, shared))
        return np.concatenate(found) if found else np.zeros((0, self.dimension), dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `Encoder.count_tokens`."""
        return self._encoder.count_tokens(texts)


_loaded: dict[str, Encoder] = {}
"""The encoder that this process has loaded; a worker encodes many pieces."""


def _encode(shared: tuple[str, str, Purpose], texts: list[str]) -> FloatMatrix:
    from sidecar.encoder.load import load_encoder

    name, fingerprint, purpose = shared
    if name not in _loaded:
        _loaded.clear()
        _loaded[name] = load_encoder(name)
    encoder = _loaded[name]
    if encoder.fingerprint != fingerprint:
        raise SidecarError(
            "conflict",
            f"{name} is encoder {encoder.fingerprint} on a machine of the cluster, not {fingerprint}",
            field="encoder",
            hint="put the same model and the same version of the package on every machine",
        )
    return encoder.encode(texts, purpose)
