"""Packed layers: the model's own hidden states, or the model itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoModel, BertConfig, DistilBertConfig, PretrainedConfig, RobertaConfig, XLMRobertaConfig

from sidecar.encoder.packed import packed_hidden

SIZES: dict[str, Any] = {
    "vocab_size": 3_000,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 140,
}


def model_of(config: PretrainedConfig, number_format: torch.dtype = torch.float32) -> Any:
    torch.manual_seed(0)
    return AutoModel.from_config(config).to(number_format).eval().requires_grad_(False)


def batch(texts: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    chooser = torch.Generator().manual_seed(texts * length)
    shown = torch.randint(1, length + 1, (texts, 1), generator=chooser)
    shown[0] = length
    numbers = torch.randint(5, SIZES["vocab_size"], (texts, length), generator=chooser)
    mask = (torch.arange(length) < shown).long()
    return numbers * mask + (1 - mask), mask


@pytest.mark.parametrize("config", [BertConfig(**SIZES), RobertaConfig(**SIZES), XLMRobertaConfig(**SIZES)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 128), (7, 40), (64, 16)])
@pytest.mark.parametrize("number_format", [torch.float32, torch.bfloat16])
def test_the_same_hidden_states_at_any_batch_and_length(
    config: PretrainedConfig, shape: tuple[int, int], number_format: torch.dtype
) -> None:
    model = model_of(config, number_format)
    packed = packed_hidden(model)
    if packed is None:
        pytest.skip("this processor or this torch packs no weights")
    numbers, mask = batch(*shape)
    with torch.inference_mode():
        expected = model(input_ids=numbers, attention_mask=mask).last_hidden_state.float()
        given = packed(numbers, mask).float()
    assert given.shape == expected.shape
    tolerance = 1e-4 if number_format == torch.float32 else 0.1
    torch.testing.assert_close(given[mask.bool()], expected[mask.bool()], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(
    "config",
    [
        BertConfig(**SIZES, hidden_act="relu"),
        BertConfig(**SIZES, is_decoder=True),
        DistilBertConfig(vocab_size=100, dim=64, n_layers=1, n_heads=4, hidden_dim=96),
    ],
)
def test_other_models_run_as_they_are(config: PretrainedConfig) -> None:
    assert packed_hidden(model_of(config)) is None


def test_a_model_that_computes_something_else_runs_as_it_is() -> None:
    model = model_of(BertConfig(**SIZES))
    original = model.encoder.layer[1].forward
    model.encoder.layer[1].forward = lambda *given, **named: torch.sin(3 * original(*given, **named))
    assert packed_hidden(model) is None
