from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.corpus.source import open_corpus
from sidecar.encoder.base import Encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index, update_index
from sidecar.index.index import Index
from sidecar.index.manifest import Manifest
from sidecar.index.verify import verify_index
from tests.index.made_up import CountingEncoder, declared, library, write_library


@pytest.fixture
def modules() -> dict[str, list[dict[str, Any]]]:
    return library(200)


@pytest.fixture
def folder(modules: dict[str, list[dict[str, Any]]], static: Encoder, tmp_path: Path) -> Path:
    build_index(open_corpus(write_library(tmp_path / "before", modules)), tmp_path / "i", static)
    return tmp_path / "i"


def test_only_what_changed_is_encoded(
    modules: dict[str, list[dict[str, Any]]], folder: Path, static: Encoder, tmp_path: Path
) -> None:
    before = Manifest.read(folder)
    basic = modules["Made.Basic"]
    removed = [basic.pop(2)["name"], basic.pop(7)["name"]]
    basic[0]["end_line"] = 99  # changes the content, not the text
    statement = "(z : Nat) : z = z + 0"
    basic[1]["signature"] = basic[1]["display"] = f"theorem {basic[1]['name']} {statement}"
    modules["Made.Order"].insert(3, declared("Made.brand_new", ": 2 = 2"))
    corpus = open_corpus(write_library(tmp_path / "after", modules))

    encoder = CountingEncoder(static)
    report = update_index(folder, corpus, encoder)
    size = before.counts["declarations"]
    assert (report.added, report.changed, report.removed) == (1, 2, 2)
    assert report.unchanged == size - 4
    assert len(encoder.texts) == report.encoded == 2
    assert report.manifest == Manifest.read(folder) and report.manifest.revision != before.revision
    assert report.as_wire()["encoded"] == 2

    assert verify_index(folder, static) == []
    with Index.open(folder) as index:
        assert index.rows(removed).tolist() == [-1, -1]
        build_index(corpus, tmp_path / "fresh", static)
        with Index.open(tmp_path / "fresh") as fresh:
            assert fresh.revision == index.revision
            assert list(fresh.all_declarations()) == list(index.all_declarations())
            np.testing.assert_allclose(
                fresh.vectors("premises").matrix.astype(np.float32),
                index.vectors("premises").matrix.astype(np.float32),
                atol=1e-3,
            )


def test_nothing_to_do(modules: dict[str, list[dict[str, Any]]], folder: Path, static: Encoder, tmp_path: Path) -> None:
    before = Manifest.read(folder)
    encoder = CountingEncoder(static)
    report = update_index(folder, open_corpus(tmp_path / "before"), encoder)
    assert encoder.texts == [] and report.unchanged == before.counts["declarations"]
    assert Manifest.read(folder) == before


def test_another_encoder_is_refused_and_the_index_stays(folder: Path, static: Encoder, tmp_path: Path) -> None:
    before = Manifest.read(folder)
    with pytest.raises(SidecarError, match="another model") as refused:
        update_index(folder, open_corpus(tmp_path / "before"), CountingEncoder(static, "other", "ffff"))
    assert refused.value.code == "conflict"
    assert Manifest.read(folder) == before


def test_options_of_the_build_are_kept(static: Encoder, tmp_path: Path) -> None:
    rows = [declared("i", ": Add Nat", kind="instance"), declared("a", ": True")]
    corpus = open_corpus(write_library(tmp_path / "c", {"Made.Basic": rows}))
    build_index(corpus, tmp_path / "i", static, instances=True, approximate_rows=1)
    rows.append(declared("b", ": True ∧ True"))
    write_library(tmp_path / "c", {"Made.Basic": rows})
    manifest = update_index(tmp_path / "i", open_corpus(tmp_path / "c"), static).manifest
    assert manifest.instances and manifest.counts["premises"] == 3
    assert manifest.vector_entry("premises").approximate is not None


def test_an_index_that_is_not_there_is_refused(static: Encoder, tmp_path: Path) -> None:
    corpus = open_corpus(write_library(tmp_path / "c", library(5)))
    with pytest.raises(SidecarError) as refused:
        update_index(tmp_path / "i", corpus, static)
    assert refused.value.code == "not_found" and "index build" in (refused.value.hint or "")
