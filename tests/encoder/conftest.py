"""Encoders that the room's tests share; loading one costs a second."""

from __future__ import annotations

import pytest

from sidecar.encoder.base import Encoder
from sidecar.encoder.load import load_encoder


@pytest.fixture(scope="session")
def small() -> Encoder:
    return load_encoder("small", threads=1, device="cpu")


@pytest.fixture(scope="session")
def static() -> Encoder:
    return load_encoder("static")
