"""Pieces of work on this machine and on a Ray cluster of two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import example_corpus
from sidecar.encoder.load import load_encoder
from sidecar.encoder.spread import SpreadEncoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.spread import Here, OnRay, spread_over
from tests.training.made_up import write_encoder, write_library, write_pairs


def _times(factor: int, number: int) -> int:
    return factor * number


def test_pieces_come_back_in_order() -> None:
    here = spread_over(None)
    assert list(here.map(_times, ((number,) for number in range(5)), here.share(3))) == [0, 3, 6, 9, 12]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Two nodes of one core each."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]'")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    yield nodes.address
    import ray

    ray.shutdown()
    nodes.shutdown()


@pytest.mark.ray
def test_mining_on_two_nodes_gives_what_one_machine_gives(cluster: str, tmp_path: Path) -> None:
    from training.premises import mining
    from training.premises.run import Places, TrainingData
    from training.premises.settings import RunSettings

    write_library(tmp_path / "declarations")
    write_pairs(tmp_path / "premises")
    write_encoder(tmp_path / "encoder")
    places = Places(tmp_path / "declarations", tmp_path / "premises", tmp_path, tmp_path / "cache")
    data = TrainingData.load(RunSettings(preset="small"), places)
    found = []
    for number, spread in enumerate((Here(), OnRay(cluster))):
        file = tmp_path / f"{number}.npz"
        mining.mine(str(tmp_path / "encoder"), data.pairs, data.premise_library, file, spread, depth=5)
        found.append(mining.read_mined(file, data.pairs, data.premise_library))
    for here, there in zip(*found, strict=True):
        assert np.array_equal(here, there)
    spread = OnRay(cluster)
    assert list(spread.map(_times, ((number,) for number in range(9)), spread.share(2))) == list(range(0, 18, 2))


@pytest.mark.ray
def test_an_index_built_on_two_nodes_is_that_of_one_machine(cluster: str, tmp_path: Path) -> None:
    encoder = load_encoder("static")
    build_index(example_corpus(), tmp_path / "here", encoder)
    build_index(example_corpus(), tmp_path / "there", SpreadEncoder(encoder, OnRay(cluster)))
    (here,) = (tmp_path / "here").rglob("vectors-*.f16")
    (there,) = (tmp_path / "there").rglob("vectors-*.f16")
    assert here.name == there.name
    assert here.read_bytes() == there.read_bytes()


def test_a_machine_with_another_model_is_refused() -> None:
    class Renamed:
        """The static encoder of another version."""

        name = "static"
        fingerprint = "another"
        dimension = 384

    with pytest.raises(SidecarError, match="not another"):
        SpreadEncoder(Renamed(), Here()).encode(["a"], "goal")  # type: ignore[arg-type]


def test_without_ray_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SidecarError, match="Ray is not installed"):
        spread_over("auto")
