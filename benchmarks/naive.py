"""The built-in `small` model as other tools would run it: sentence-transformers, float32, its own batching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.encoder.folder import read_description
from sidecar.encoder.load import BUILT_IN

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def naive_model() -> SentenceTransformer:
    """The model, on the CPU."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    folder = BUILT_IN / "small"
    description = read_description(folder)
    transformer = Transformer(str(folder), max_seq_length=description.max_tokens)
    pooling = Pooling(transformer.get_word_embedding_dimension(), description.pooling)
    return SentenceTransformer(modules=[transformer, pooling], device="cpu")
