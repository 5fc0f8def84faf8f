"""The tower under training: the first layers of an encoder and a linear map, and the folder that it becomes.

In: a base encoder's folder, the documents' encoder. Out: a `TrainedTower`, whose folder the sidecar loads.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor, nn

from sidecar.encoder.base import FloatMatrix
from sidecar.encoder.folder import Dense, EncoderDescription, Tower, read_description
from sidecar.encoder.load import encoder_folder
from sidecar.encoder.tokens import TextTokenizer
from training.premises.models import TrainedModel, load_base
from training.tower.settings import TowerSettings

MAP_FILE: Final = "map.safetensors"

RIDGE: Final = 0.03
"""Penalty of the map's first weights, as part of the mean variance of what they are fitted to: directions in which the
first layers hardly differ are not blown up."""


class LinearMap(Module):
    """Pooled vectors to vectors of another length; without a constant, since only directions count."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Replace `sentence_embedding`."""
        features["sentence_embedding"] = nn.functional.linear(features["sentence_embedding"], self.weight)
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Refuse: `TrainedTower.write` writes the folder."""
        raise NotImplementedError("TrainedTower.write writes the folder")


class TrainedTower(TrainedModel):
    """A tower under training."""

    def write(self, folder: Path, *, half: bool = True) -> None:
        """See `TrainedModel.write`; the map always keeps all digits."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        weight = self.model[1].weight.detach().float().cpu().contiguous()
        # Before the description, which is checked against the files that it names.
        save_file({"linear.weight": weight}, folder / MAP_FILE)
        description = self.description
        tower = description.tower
        if tower is not None and Path(tower.documents).is_absolute():
            beside = os.path.relpath(tower.documents, folder.resolve())
            self.description = replace(description, tower=replace(tower, documents=beside))
        try:
            super().write(folder, half=half)
        finally:
            self.description = description


def begin(settings: TowerSettings, tower: Tower, dimension: int) -> TrainedTower:
    """The untrained tower.

    Args:
        settings: Base, layers, prompts.
        tower: The documents' encoder; a folder's path is absolute.
        dimension: Length of the documents' vectors.

    Raises:
        SidecarError: What `load_base` raises.
    """
    folder = encoder_folder(settings.base)
    described = read_description(folder)
    base = load_base(
        folder,
        static=False,
        max_tokens=settings.max_tokens or described.max_tokens,
        layers=settings.layers,
        dropout=settings.dropout,
    )
    description = _described(base.description, settings, tower)
    width = int(base.model[0].model.config.hidden_size)
    model = SentenceTransformer(modules=[base.model[0], LinearMap(torch.eye(dimension, width))], device="cpu")
    tokenizer = TextTokenizer.from_folder(
        folder / described.weights, description.max_tokens, special=description.special, lower=description.lower
    )
    return TrainedTower(model, description, tokenizer, base.tokenizer_json)


def _described(base: EncoderDescription, settings: TowerSettings, tower: Tower) -> EncoderDescription:
    prompts = dict(base.prompts)
    if settings.goal_prompt is not None:
        prompts["goal"] = settings.goal_prompt
    if settings.question_prompt is not None:
        prompts["question"] = settings.question_prompt
    prompts.pop("declaration", None)
    return replace(
        base,
        prompts={purpose: text for purpose, text in prompts.items() if text},
        dense=(Dense(MAP_FILE),),
        tower=tower,
    )


def fitted_map(found: FloatMatrix, wanted: FloatMatrix) -> FloatMatrix:
    """The linear map that comes nearest to taking some vectors to others (ridge regression).

    Args:
        found: Shape (queries, width).
        wanted: Shape (queries, dimension).

    Returns:
        Shape (dimension, width).
    """
    inner = found.T.astype(np.float64) @ found + RIDGE * len(found) / found.shape[1] * np.eye(found.shape[1])
    return np.linalg.solve(inner, found.T.astype(np.float64) @ wanted).T.astype(np.float32)
