"""Names to encoders.

In: a tier (`small`, `static`), a folder, or a model on the hub. Out: an `Encoder`. The network is used for names that
begin with `hub:` and no others, and for those only when the model is not on this machine yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sidecar.encoder.base import Encoder
from sidecar.encoder.folder import EncoderDescription, Tower, read_description
from sidecar.errors import SidecarError

TIERS = ("small", "static")
"""Encoders that come with this package, trained by `training/premises`; how is written beside their weights."""

DEFAULTS: Final[Mapping[str, str]] = {"premises": "static", "search": "small"}
"""What an index is made with unless its user says otherwise, by role: the table knows more of what proofs use, the
transformer more of what people mean (figures: benchmarks/README.md)."""

BUILT_IN = Path(__file__).parent / "models"
"""Where their folders are."""

HUB = "hub:"
"""What a name on the hub begins with, so that a folder's name that is misspelt is looked up nowhere."""


def load_encoder(name: str, *, threads: int = 0, device: str = "auto") -> Encoder:
    """Load an encoder.

    Args:
        name: `small` (a transformer), `static` (a table of token vectors), a folder (see `folder.py`; it may hold a
            query tower), or `hub:owner/model`.
        threads: Threads on a CPU; 0 for half the usable cores, at most 4.
        device: `auto`, `cpu`, `cuda` or `cuda:N`. `static` always runs on the CPU.

    Raises:
        SidecarError: `not_found` for a name or folder that is not there, `bad_request` for a folder that cannot be
            used or a device that is absent.
    """
    folder = encoder_folder(name)
    description = read_description(folder)
    encoder = _plain_encoder(name, folder, description, threads, device)
    return encoder if description.tower is None else _tower(encoder, folder, description.tower, threads, device)


def encoder_folder(name: str) -> Path:
    """The folder of an encoder; a hub model is fetched where it is not here yet.

    Args:
        name: See `load_encoder`.

    Raises:
        SidecarError: `not_found` when there is none.
    """
    return BUILT_IN / name if name in TIERS else _folder(name)


def _plain_encoder(name: str, folder: Path, description: EncoderDescription, threads: int, device: str) -> Encoder:
    if description.type == "static":
        from sidecar.encoder.static import StaticEncoder

        return StaticEncoder.from_folder(name, folder, description)
    from sidecar.encoder.transformer import load_transformer

    return load_transformer(name, folder, description, threads=threads, device=_device(device))


def _tower(queries: Encoder, folder: Path, tower: Tower, threads: int, device: str) -> Encoder:
    from sidecar.encoder.tower import DocumentEncoder, TowerEncoder

    name = tower.documents
    if name not in TIERS and not name.startswith(HUB):
        name = str((folder / name).resolve())

    def load() -> Encoder:
        try:
            return load_encoder(name, threads=threads, device=device)
        except SidecarError as error:
            if error.code != "not_found":
                raise
            raise SidecarError(
                "not_found",
                f"the query tower {queries.name} cannot encode declarations: {error.message}",
                field="encoder",
                hint=f"let `documents` in {folder / 'encoder.json'} name the encoder {tower.fingerprint}",
            ) from error

    return TowerEncoder(queries, DocumentEncoder(queries.name, name, tower.fingerprint, queries.dimension, load))


def _folder(name: str) -> Path:
    if name.startswith(HUB):
        return hub_folder(name.removeprefix(HUB))
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return folder
    raise SidecarError(
        "not_found",
        f"no encoder {name!r}",
        field="encoder",
        hint=f"give {', '.join(TIERS)}, a folder, or {HUB}owner/model for a model on the hub",
    )


def hub_folder(name: str) -> Path:
    """The folder of a model of the hub, fetched when it is not on this machine yet.

    Args:
        name: `owner/model`.

    Raises:
        SidecarError: `not_found` when the hub does not give it.
    """
    from huggingface_hub import snapshot_download

    # Weights in other formats and code are never fetched, so that nothing can run them.
    patterns = ["*.safetensors", "*.json", "*.txt", "*.model"]
    try:
        try:
            return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        except FileNotFoundError:
            return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:
        raise SidecarError(
            "not_found",
            f"the hub did not give {name!r}: {error}",
            field="encoder",
            hint=f"give {', '.join(TIERS)} or the folder of a model that is on this machine",
        ) from error


def _device(wish: str) -> str:
    import torch

    if wish == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wish == "cpu":
        return wish
    if re.fullmatch(r"cuda(:\d+)?", wish):
        number = int(wish.partition(":")[2] or 0)
        if number < torch.cuda.device_count():
            return wish
    raise SidecarError("bad_request", f"no device {wish!r} here", field="device", hint="give auto, cpu, cuda or cuda:N")
