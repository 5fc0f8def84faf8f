"""The models as sentence-transformers trains them, and as the sidecar reads them back.

In: the folder of a base encoder. Out: a `SentenceTransformer` whose forward pass takes token numbers, and a folder in
the format of `sidecar/encoder/folder.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor, nn

from sidecar.encoder.folder import EncoderDescription, Pooling, read_description, write_description
from sidecar.encoder.phrases import FILE as PHRASES
from sidecar.encoder.phrases import Phrase, read_phrases
from sidecar.encoder.static import Table, in_bytes, write_static
from sidecar.encoder.tokens import TextTokenizer
from sidecar.encoder.transformer import pool
from sidecar.errors import SidecarError
from training.premises.initial import initial_table


class TokenTable(Module):
    """A weighted mean of token vectors, with vectors and weights to be learned."""

    def __init__(self, vectors: Tensor, weights: Tensor) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors)
        self.weights = nn.Parameter(weights)

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Add `sentence_embedding`, the weighted sum (its length is divided away by the cosine)."""
        mask = features["attention_mask"].bool()
        # Without the padding: what this costs grows with the tokens, and the longest text may be much longer than most.
        numbers = features["input_ids"][mask]
        lengths = mask.sum(dim=1)
        features["sentence_embedding"] = nn.functional.embedding_bag(
            numbers,
            self.vectors,
            lengths.cumsum(dim=0) - lengths,
            mode="sum",
            per_sample_weights=self.weights[numbers],
        )
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Refuse: `write_model` writes the folder."""
        raise NotImplementedError("write_model writes the folder")


class Backbone(Module):
    """A Hugging Face encoder with the pooling that the sidecar applies."""

    def __init__(self, model: nn.Module, pooling: Pooling) -> None:
        super().__init__()
        self.model = model
        self.pooling: Pooling = pooling

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Add `sentence_embedding`."""
        mask = features["attention_mask"]
        hidden = self.model(input_ids=features["input_ids"], attention_mask=mask).last_hidden_state
        features["sentence_embedding"] = pool(hidden, mask, self.pooling)
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Refuse: `write_model` writes the folder."""
        raise NotImplementedError("write_model writes the folder")


class TrainedModel:
    """A model under training, with all that its folder needs.

    Attributes:
        model: What sentence-transformers trains.
        description: How its folder is to be read.
        tokenizer: Its tokenizer, cutting at `description.max_tokens`.
        tokenizer_json: Text of the tokenizer's file.
        phrases: Pairs of words that have rows of their own in a token table, or None.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        description: EncoderDescription,
        tokenizer: TextTokenizer,
        tokenizer_json: str,
        phrases: Sequence[Phrase] | None = None,
    ) -> None:
        self.model = model
        self.description = description
        self.tokenizer = tokenizer if phrases is None else tokenizer.with_phrases(phrases)
        self.tokenizer_json = tokenizer_json
        self.phrases = phrases

    def learn_phrases(self, phrases: Sequence[Phrase]) -> None:
        """Give a token table rows for phrases, which say nothing until they have been trained.

        Raises:
            SidecarError: `bad_request` when the model is no token table, or has phrases.
        """
        module = self.model[0]
        if not isinstance(module, TokenTable) or self.phrases is not None:
            reason = "has phrases already" if isinstance(module, TokenTable) else "is no token table"
            raise SidecarError(
                "bad_request", f"the model {reason}", field="phrases", hint="give --phrases 0, or another preset"
            )
        # Tokens after those of the tokenizer are padding of the base's matrix, which no text has.
        tokens = self.tokenizer.vocabulary
        module.vectors = nn.Parameter(
            torch.cat([module.vectors.detach()[:tokens], torch.zeros(len(phrases), module.vectors.shape[1])])
        )
        module.weights = nn.Parameter(torch.cat([module.weights.detach()[:tokens], torch.ones(len(phrases))]))
        self.tokenizer = self.tokenizer.with_phrases(phrases)
        self.phrases = list(phrases)

    def write(self, folder: Path, *, half: bool = True) -> None:
        """Write the folder that `sidecar.encoder.load.load_encoder` opens.

        Args:
            folder: Made when it is not there.
            half: Write weights as float16, half the size; a table with phrases, whose rows are many, as bytes.
        """
        folder.mkdir(parents=True, exist_ok=True)
        module = self.model[0]
        if isinstance(module, TokenTable):
            vectors = module.vectors.detach().float().cpu().numpy()
            weights = module.weights.detach().float().cpu().numpy()
            table: Table = vectors
            if half and self.phrases is not None:
                table, weights = in_bytes(vectors, weights)
            elif half:
                table = vectors.astype(np.float16)
            write_static(folder, table, weights, self.tokenizer_json, self.description, self.phrases)
            return
        from safetensors.torch import save_file

        model = cast(Any, module).model
        number_format = torch.float16 if half else torch.float32
        state = {
            name: tensor.detach().to("cpu", number_format if tensor.is_floating_point() else tensor.dtype).contiguous()
            for name, tensor in model.state_dict().items()
        }
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        config = model.config.to_dict()
        config.pop("_name_or_path", None)  # where the base lay on this machine
        config["dtype"] = str(number_format).removeprefix("torch.")
        (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (folder / "tokenizer.json").write_text(self.tokenizer_json, encoding="utf-8")
        write_description(folder, self.description)


def load_base(
    folder: Path, *, static: bool, max_tokens: int, layers: int | None = None, dropout: float | None = None
) -> TrainedModel:
    """Load the encoder that training begins with.

    Args:
        folder: An encoder's folder (see `sidecar/encoder/folder.py`).
        static: Make a token table of its word vectors.
        max_tokens: Longer texts are cut.
        layers: Keep only so many layers, from the bottom; None for all.
        dropout: Probability of dropout, or None for the model's own.

    Raises:
        SidecarError: `bad_request` when the folder cannot be trained.
    """
    described = read_description(folder)
    if described.dense or described.dimension is not None:
        raise _untrainable(folder, "it has layers after its pooling")
    description = replace(described, max_tokens=max_tokens, weights="")
    if static and described.type == "transformer":
        description = EncoderDescription(type="static", special=False, max_tokens=max_tokens)
    tokenizer = TextTokenizer.from_folder(
        folder / described.weights, max_tokens, special=description.special, lower=description.lower
    )
    text = _tokenizer_json(folder / described.weights)
    file = folder / described.weights / PHRASES
    phrases = read_phrases(file) if described.type == "static" and file.is_file() else None
    module: Module
    if static:
        module = _table(folder, described)
    elif described.type == "static":
        raise _untrainable(folder, "it is a token table", "give --preset its folder")
    else:
        module = _backbone(folder / described.weights, description, layers, dropout)
    return TrainedModel(SentenceTransformer(modules=[module], device="cpu"), description, tokenizer, text, phrases)


def _untrainable(folder: Path, reason: str, hint: str = "give a Hugging Face encoder's folder") -> SidecarError:
    return SidecarError("bad_request", f"{folder} cannot be trained: {reason}", field="preset", hint=hint)


def _tokenizer_json(folder: Path) -> str:
    file = folder / "tokenizer.json"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    from transformers import AutoTokenizer

    text: str = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    ).backend_tokenizer.to_str()
    return text


def _table(folder: Path, described: EncoderDescription) -> TokenTable:
    from safetensors.torch import load_file

    if described.type == "static":
        tensors = load_file(folder / described.weights / "model.safetensors")
        vectors = tensors.get("embedding", tensors.get("embedding.weight"))
        if vectors is None:
            raise _untrainable(folder, "its weights have no matrix `embedding`")
        weights = tensors.get("weight", torch.ones(len(vectors)))
        return TokenTable(vectors.float(), weights.float())
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder / described.weights, local_files_only=True, trust_remote_code=False)
    words = model.get_input_embeddings().weight.detach().float().numpy()
    table, weights_array = initial_table(words)
    return TokenTable(torch.from_numpy(table), torch.from_numpy(weights_array))


def _backbone(folder: Path, description: EncoderDescription, layers: int | None, dropout: float | None) -> Backbone:
    from transformers import AutoConfig, AutoModel

    settings: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(folder, **settings)
    if dropout is not None:
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
            if hasattr(config, name):
                setattr(config, name, dropout)
    if layers is not None:
        field = next((name for name in ("num_hidden_layers", "n_layers") if hasattr(config, name)), None)
        if field is None or not 1 <= layers <= getattr(config, field):
            most = getattr(config, field) if field else "an unknown number of"
            raise SidecarError(
                "bad_request", f"{layers} layers of a model that has {most}", field="layers", hint="give fewer layers"
            )
        setattr(config, field, layers)
    # Plain attention: on a CPU the fused one's gradient takes most of a step.
    attention = "sdpa" if torch.cuda.is_available() else "eager"
    model = AutoModel.from_pretrained(
        folder, config=config, dtype=torch.float32, use_safetensors=True, attn_implementation=attention, **settings
    )
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    longest = getattr(config, "max_position_embeddings", None)
    if isinstance(longest, int) and description.max_tokens > longest:
        raise SidecarError(
            "bad_request",
            f"{description.max_tokens} tokens, but the model has {longest} positions",
            field="max_tokens",
            hint=f"give at most {longest}",
        )
    return Backbone(model, description.pooling)
