"""A query tower made on the spot, with random weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sidecar.encoder.folder import Dense, Tower, read_description, write_description
from sidecar.encoder.load import load_encoder
from tests.training.made_up import write_encoder


def write_tower(folder: Path, documents: str = "static", fingerprint: str | None = None) -> Path:
    """Write a tower for the documents of an encoder.

    Args:
        folder: Made.
        documents: What loads the encoder.
        fingerprint: What the tower says of it; None for what is so.
    """
    import torch
    from safetensors.torch import save_file

    encoder = load_encoder(documents)
    write_encoder(folder)
    torch.manual_seed(0)
    save_file({"linear.weight": torch.randn(encoder.dimension, 32)}, folder / "map.safetensors")
    description = replace(
        read_description(folder),
        max_tokens=48,
        dense=(Dense("map.safetensors"),),
        tower=Tower(documents, fingerprint or encoder.fingerprint),
    )
    write_description(folder, description)
    return folder
