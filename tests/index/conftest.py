"""One encoder, one library and one index of it for the tests that only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.corpus.source import Corpus, open_corpus
from sidecar.encoder.base import Encoder
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from tests.index.made_up import library, write_library


@pytest.fixture(scope="session")
def static() -> Encoder:
    return load_encoder("static")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return open_corpus(write_library(tmp_path_factory.mktemp("corpus") / "made", library()))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus, static: Encoder) -> Path:
    """An index that no test may change."""
    folder = tmp_path_factory.mktemp("index") / "made"
    build_index(corpus, folder, static)
    return folder
