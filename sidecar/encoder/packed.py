"""A BERT-like model on a CPU with fewer and faster steps.

In: a model of transformers. Out: a function that gives its last hidden states, or None where it cannot be had.

For one goal the time goes into weights, not into arithmetic: oneDNN multiplies fastest by weights that lie in its own
blocked order, and brings them into that order at every product unless they are handed over packed. So they are packed
once; query, key and value are one product; the activation runs inside its product. Packing and the fused product are
operators of torch that carry no promise for the next version, so what is built from them is checked against the model
before it is used, and the model runs as it is where the check fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

Hidden = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""(token numbers int64, mask int64), both (texts, length) → last hidden states (texts, length, dimension)."""

LEAST_COSINE: Final = 0.999
"""What every token's vector must agree to with the model on the batch that checks it."""

_MODEL_TYPES: Final = frozenset({"bert", "roberta", "xlm-roberta"})
"""Models whose layers are those of BERT: attention, sum, norm, two products, sum, norm."""

_PACKED_ROWS: Final = 16
"""Rows of a product that the packed order is made for; other numbers of rows run hardly slower."""

_CHECKED: Final = (3, 21)
"""Texts and longest length of the batch that checks; the real ones have other shapes."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A linear map whose weights are packed."""

    weight: Any
    bias: Any

    def __call__(self, values: torch.Tensor, activation: str = "none") -> torch.Tensor:
        import torch

        # The algorithm "none" of "gelu" is the exact one, by the error function.
        algorithm = "none" if activation == "gelu" else ""
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            values, self.weight, self.bias, activation, [], algorithm
        )
        return product


@dataclass(frozen=True, slots=True)
class _Layer:
    projections: _Product
    attended: _Product
    attention_norm: Any
    widened: _Product
    narrowed: _Product
    norm: Any

    def __call__(self, values: torch.Tensor, shown: torch.Tensor | None, texts: int, heads: int) -> torch.Tensor:
        """Hidden states (texts · length, dimension) to the next ones."""
        import torch

        dimension = values.shape[1]
        parts = self.projections(values).view(texts, -1, 3, heads, dimension // heads).permute(2, 0, 3, 1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=shown)
        attended = self.attended(mixed.transpose(1, 2).reshape(-1, dimension))
        values = self.attention_norm(values + attended)
        widened = self.widened(values, "gelu")
        normed: torch.Tensor = self.norm(values + self.narrowed(widened))
        return normed


def packed_hidden(model: Any) -> Hidden | None:
    """The model's layers, packed, or None where they cannot be packed or do not agree with the model.

    Args:
        model: A model of transformers on the CPU, in evaluation mode.
    """
    import torch

    config = model.config
    if config.model_type not in _MODEL_TYPES or config.hidden_act != "gelu" or getattr(config, "is_decoder", False):
        return None
    try:
        with torch.inference_mode():
            packed = _pack(model)
            worst = _agreement(model, packed)
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        logger.info("the model runs as it is, because its weights cannot be packed here: %s", error)
        return None
    if not worst >= LEAST_COSINE:
        logger.warning("the model runs as it is, because packed it differs: cosine %.5f", worst)
        return None
    return packed


def _pack(model: Any) -> Hidden:
    import torch

    def product(*linears: Any) -> _Product:
        weight = torch.cat([linear.weight for linear in linears])
        bias = torch.cat([linear.bias for linear in linears])
        return _Product(torch.ops.mkldnn._reorder_linear_weight(weight, _PACKED_ROWS), bias)

    layers = [
        _Layer(
            product(layer.attention.self.query, layer.attention.self.key, layer.attention.self.value),
            product(layer.attention.output.dense),
            layer.attention.output.LayerNorm,
            product(layer.intermediate.dense),
            product(layer.output.dense),
            layer.output.LayerNorm,
        )
        for layer in model.encoder.layer
    ]
    heads = int(model.config.num_attention_heads)

    def hidden(numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        texts, length = numbers.shape
        shown = None if bool(mask.all()) else mask[:, None, None, :].bool()
        values = model.embeddings(input_ids=numbers).reshape(texts * length, -1)
        for layer in layers:
            values = layer(values, shown, texts, heads)
        states: torch.Tensor = values.view(texts, length, -1)
        return states

    return hidden


def _agreement(model: Any, packed: Hidden) -> float:
    """The least cosine between a token's vector by the model and packed, on a batch with padding."""
    import torch

    texts, length = _CHECKED
    chooser = torch.Generator().manual_seed(0)
    lowest = min(1_000, model.config.vocab_size // 2)
    numbers = torch.randint(lowest, model.config.vocab_size, (texts, length), generator=chooser)
    mask = (torch.arange(length) < torch.tensor([[length], [length // 2], [1]])).long()
    expected = model(input_ids=numbers, attention_mask=mask).last_hidden_state.float()
    cosines = torch.nn.functional.cosine_similarity(expected, packed(numbers, mask).float(), dim=-1)
    return float(cosines[mask.bool()].min())
