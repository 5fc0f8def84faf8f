"""Query towers: what they encode themselves, what they leave to the encoder of the documents, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sidecar.encoder.base import Encoder
from sidecar.encoder.folder import read_description, write_description
from sidecar.encoder.load import load_encoder
from sidecar.encoder.spread import SpreadEncoder
from sidecar.encoder.tower import TowerEncoder, documents_of
from sidecar.errors import SidecarError
from sidecar.spread import Here
from tests.encoder.towers import write_tower
from tests.training.made_up import write_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tower(tmp_path_factory.mktemp("towers") / "tower")


def test_declarations_are_left_to_the_encoder_of_the_documents(folder: Path, static: Encoder) -> None:
    tower = load_encoder(str(folder))
    assert isinstance(tower, TowerEncoder)
    texts = ["ring op a", "group zero"]
    assert np.array_equal(tower.encode(texts, "declaration"), static.encode(texts, "declaration"))
    goals = tower.encode(texts, "goal")
    assert goals.shape == (2, static.dimension)
    assert np.linalg.norm(goals, axis=1) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(goals, static.encode(texts, "goal"), atol=0.1)
    assert documents_of(tower).count_tokens(texts) == static.count_tokens(texts)
    assert documents_of(tower).max_tokens == static.max_tokens
    assert tower.max_tokens == 48


def test_a_tower_is_not_its_document_encoder_and_names_it(folder: Path, static: Encoder) -> None:
    tower = load_encoder(str(folder))
    assert documents_of(tower).fingerprint == static.fingerprint != tower.fingerprint
    assert documents_of(tower).name == "static"
    assert "query tower of static" in tower.backend
    assert documents_of(static) is static


def test_the_description_survives_and_what_has_no_tower_keeps_its_fingerprint(folder: Path, tmp_path: Path) -> None:
    description = read_description(folder)
    (tmp_path / "map.safetensors").write_bytes((folder / "map.safetensors").read_bytes())
    write_description(tmp_path, description)
    assert read_description(tmp_path) == description
    write_encoder(tmp_path / "plain")
    write_description(tmp_path / "plain", read_description(tmp_path / "plain"))
    assert "tower" not in json.loads((tmp_path / "plain" / "encoder.json").read_text())


@pytest.mark.parametrize(
    "tower", ["static", {}, {"documents": "static"}, {"documents": "", "fingerprint": "a"}, {"documents": 1}]
)
def test_a_faulty_description_is_named(folder: Path, tmp_path: Path, tower: object) -> None:
    body = json.loads((folder / "encoder.json").read_text())
    (tmp_path / "map.safetensors").write_bytes((folder / "map.safetensors").read_bytes())
    (tmp_path / "encoder.json").write_text(json.dumps(body | {"tower": tower}))
    with pytest.raises(SidecarError, match=r"tower is .* tower must be \{documents, fingerprint\}"):
        read_description(tmp_path)


def test_another_encoder_under_the_name_is_refused_when_declarations_come(tmp_path: Path) -> None:
    tower = load_encoder(str(write_tower(tmp_path / "tower", fingerprint="0" * 32)))
    assert tower.encode(["ring"], "goal").any()
    with pytest.raises(SidecarError) as caught:
        tower.encode(["ring"], "declaration")
    assert caught.value.code == "conflict"
    assert "was trained for documents of encoder 0000" in str(caught.value)


def test_a_cluster_encodes_declarations_and_so_no_tower(folder: Path) -> None:
    with pytest.raises(SidecarError, match="is a query tower"):
        SpreadEncoder(load_encoder(str(folder)), Here())
