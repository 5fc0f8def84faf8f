"""One index of the little library for all tests of this room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sidecar.corpus.source import open_corpus
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from tests.search.real_library import write_library


@pytest.fixture(scope="session")
def batcher() -> MicroBatcher:
    return MicroBatcher(load_encoder("static"))


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, batcher: MicroBatcher) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("search")
    build_index(open_corpus(write_library(folder / "corpus")), folder / "index", batcher.encoder)
    with Index.open(folder / "index") as opened:
        yield opened


@pytest.fixture(scope="session")
def engine(index: Index, batcher: MicroBatcher) -> SearchEngine:
    return SearchEngine(index, batcher)
