"""The transformer tiers: a Hugging Face model, pooled.

In: texts. Out: unit vectors. On a CPU the model runs in bfloat16 where the processor multiplies bfloat16 in hardware
and in float32 elsewhere, with packed weights where they can be packed; on a GPU in bfloat16, replaying CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidecar.encoder.base import FloatMatrix, Purpose
from sidecar.encoder.buckets import plan
from sidecar.encoder.folder import EncoderDescription, Pooling, fingerprint, folder_hash, weight_files
from sidecar.encoder.graphs import BATCH_SIZES, CudaGraphRecorder, Forward, GraphedForward
from sidecar.encoder.hardware import has_fast_bfloat16
from sidecar.encoder.packed import Hidden, packed_hidden
from sidecar.encoder.threads import model_threads, torch_threads
from sidecar.encoder.vectors import unit_rows
from sidecar.errors import SidecarError

if TYPE_CHECKING:
    import torch

    from sidecar.encoder.tokens import TextTokenizer

TOKENS_PER_BATCH_CPU = 1_024
"""Padded tokens of one forward pass on a CPU: larger batches are hardly faster there, and fall out of the caches."""

TOKENS_PER_BATCH_GPU = 32_768
"""Padded tokens of one forward pass on a GPU; bounds its memory."""


@dataclass(frozen=True, slots=True)
class Batching:
    """How many texts run in one forward pass.

    Attributes:
        tokens: Most padded tokens.
        texts: Most texts.
        queries: Most goals or questions. One on a CPU: the last bits of a product depend on the number of its rows, and
            what a person asks for should not depend on what else runs at that moment.
    """

    tokens: int
    texts: int
    queries: int


CPU_BATCHING = Batching(tokens=TOKENS_PER_BATCH_CPU, texts=TOKENS_PER_BATCH_CPU, queries=1)
GPU_BATCHING = Batching(tokens=TOKENS_PER_BATCH_GPU, texts=BATCH_SIZES[-1], queries=BATCH_SIZES[-1])


class TransformerEncoder:
    """An `Encoder` over a Hugging Face model.

    Args:
        name: What loads it again.
        tokenizer: The model's tokenizer.
        forward: The model with its pooling.
        dimension: Length of the vectors that `forward` gives.
        description: Prompts and limits.
        batching: How many texts run together.
        device: Where `forward` runs.
        threads: Threads of a CPU that it takes; 0 on a GPU.
        backend: Device and number format, for people.
        source_hash: Gives the hash of weights, tokenizer and description.
    """

    def __init__(
        self,
        name: str,
        tokenizer: TextTokenizer,
        forward: Forward,
        dimension: int,
        description: EncoderDescription,
        batching: Batching,
        *,
        device: str,
        threads: int,
        backend: str,
        source_hash: Callable[[], str],
    ) -> None:
        self._name = name
        self._tokenizer = tokenizer
        self._forward = forward
        self._dimension = dimension
        self._description = description
        self._max_tokens = tokenizer.room_behind(description.prompts.values())
        self._batching = batching
        self._device = device
        self._threads = threads
        self._backend = backend
        self._source_hash = source_hash

    @property
    def name(self) -> str:
        """See `Encoder.name`."""
        return self._name

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """See `Encoder.max_tokens`."""
        return self._max_tokens

    @property
    def backend(self) -> str:
        """See `Encoder.backend`."""
        return self._backend

    @cached_property
    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        return fingerprint(self._source_hash())

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """See `Encoder.encode`."""
        import torch

        rows = self._tokenizer.rows_behind(texts, self._description.prompts_of(texts, purpose))
        batches = plan(
            [len(row) for row in rows],
            self._description.max_tokens,
            tokens_per_batch=self._batching.tokens,
            texts_per_batch=self._batching.texts if purpose == "declaration" else self._batching.queries,
        )
        vectors = np.zeros((len(rows), self._dimension), dtype=np.float32)
        with torch_threads(self._threads), torch.inference_mode():
            for batch in batches:
                numbers, mask = _tensors([rows[row] for row in batch.rows], batch.length)
                pooled = self._forward(numbers.to(self._device), mask.to(self._device))
                vectors[list(batch.rows)] = pooled.float().cpu().numpy()
        return unit_rows(vectors)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `Encoder.count_tokens`."""
        return self._tokenizer.count(texts)


def load_transformer(
    name: str, folder: Path, description: EncoderDescription, *, threads: int, device: str
) -> TransformerEncoder:
    """Load a transformer folder (see `folder.py`).

    Args:
        name: What loads it again.
        folder: The folder.
        description: What `read_description` said about it.
        threads: Threads on a CPU; 0 for the default.
        device: `cpu`, `cuda`, `cuda:1`, …

    Raises:
        SidecarError: `bad_request` when the weights cannot be read.
    """
    import torch

    from sidecar.encoder.tokens import TextTokenizer

    weight_files(folder, description)
    tokenizer = TextTokenizer.from_folder(
        folder / description.weights, description.max_tokens, special=description.special, lower=description.lower
    )
    on_cpu = device == "cpu"
    number_format = torch.bfloat16
    if on_cpu and not (has_fast_bfloat16() and torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        number_format = torch.float32
    model = _load_model(folder / description.weights, number_format).to(device)
    hidden = (packed_hidden(model) if on_cpu else None) or plain_hidden(model)
    forward, dimension = _with_pooling(hidden, int(model.config.hidden_size), folder, description, device)
    count = model_threads(threads) if on_cpu else 0
    short = "bf16" if number_format == torch.bfloat16 else "fp32"
    encoder = TransformerEncoder(
        name,
        tokenizer,
        forward if on_cpu else GraphedForward(forward, CudaGraphRecorder()),
        dimension,
        description,
        CPU_BATCHING if on_cpu else GPU_BATCHING,
        device=device,
        threads=count,
        backend=f"cpu {short}, {count} thread{'s' if count > 1 else ''}" if on_cpu else f"{device} {short}",
        source_hash=lambda: folder_hash(folder, description),
    )
    try:
        # Says now, not at the first request, that a model cannot run, and pays for what a first run sets up.
        encoder.encode(["a"], "declaration")
    except Exception as error:
        raise _unusable(folder, error) from error
    return encoder


def _unusable(folder: Path, reason: object) -> SidecarError:
    return SidecarError(
        "bad_request",
        f"the model in {folder} cannot be used: {reason}",
        field="encoder",
        hint="the folder must hold config.json and *.safetensors of one encoder or decoder that transformers knows",
    )


def _load_model(folder: Path, number_format: torch.dtype) -> Any:
    import transformers
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    # Its report of weights that are missing is read below; printed, it would stand between the lines of our log.
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        model, report = transformers.AutoModel.from_pretrained(
            folder,
            dtype=number_format,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except Exception as error:
        raise _unusable(folder, error) from error
    finally:
        transformers_logging.set_verbosity(verbosity)
    # Missing weights are filled with random numbers, and only a pooler may go unused here.
    if missing := sorted(name for name in report["missing_keys"] if not name.startswith("pooler.")):
        raise _unusable(folder, f"its weights lack {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}")
    if model.config.is_encoder_decoder:
        raise _unusable(folder, "it is an encoder with a decoder")
    model.config.use_cache = False
    return model.eval().requires_grad_(False)


def plain_hidden(model: Any) -> Hidden:
    """The model as transformers runs it."""

    def hidden(numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = model(input_ids=numbers, attention_mask=mask).last_hidden_state
        return states

    return hidden


def _with_pooling(
    hidden: Hidden, dimension: int, folder: Path, description: EncoderDescription, device: str
) -> tuple[Forward, int]:
    import torch
    from safetensors.torch import load_file

    maps: list[tuple[torch.Tensor, torch.Tensor | None, bool]] = []
    for dense in description.dense:
        tensors = load_file(folder / dense.file)
        weight, bias = tensors["linear.weight"].float(), tensors.get("linear.bias")
        maps.append((weight.to(device), None if bias is None else bias.float().to(device), dense.activation == "tanh"))
        dimension = weight.shape[0]
    kept = min(description.dimension or dimension, dimension)

    def forward(numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        vectors = pool(hidden(numbers, mask), mask, description.pooling)
        for weight, bias, tanh in maps:
            vectors = torch.nn.functional.linear(vectors, weight, bias)
            vectors = vectors.tanh() if tanh else vectors
        return vectors[:, :kept]

    return forward, kept


def pool(hidden: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """One vector a text from its token vectors.

    Args:
        hidden: Token vectors, (texts, length, dimension), padded on the right.
        mask: 1 for tokens, 0 for padding, (texts, length).
        pooling: How.

    Returns:
        float32, (texts, dimension).
    """
    import torch

    if pooling == "cls":
        return hidden[:, 0].float()
    if pooling == "last":
        last = mask.sum(dim=1) - 1
        return hidden[torch.arange(len(hidden), device=hidden.device), last].float()
    shown = mask.unsqueeze(-1).bool()
    if pooling == "max":
        return hidden.float().masked_fill(~shown, float("-inf")).amax(dim=1)
    return (hidden.float() * shown).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def _tensors(rows: Sequence[Sequence[int]], length: int) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    numbers = np.zeros((len(rows), length), dtype=np.int64)
    mask = np.zeros_like(numbers)
    for at, row in enumerate(rows):
        numbers[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return torch.from_numpy(numbers), torch.from_numpy(mask)
