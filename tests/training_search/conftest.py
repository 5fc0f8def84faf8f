"""A retriever over the example library's real declarations, shared by all tests of this room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sidecar.corpus.source import example_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from sidecar.index.index import Index
from training.search.retriever import Retriever


@pytest.fixture(scope="session")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retriever]:
    folder = tmp_path_factory.mktemp("search-training") / "index"
    encoder = load_encoder("static")
    build_index(example_corpus(), folder, encoder)
    with Index.open(folder) as index:
        yield Retriever(index, encoder)
