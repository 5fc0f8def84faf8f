"""Whole training runs of a tiny tower: resumed, refused, and what they leave behind and serve."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.corpus.source import open_corpus
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.folder import read_description
from sidecar.encoder.load import load_encoder
from sidecar.encoder.tower import TowerEncoder, documents_of
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.request import LocalPremise, PremiseRequest
from sidecar.select.selector import PremiseSelector
from tests.training.made_up import statement, write_encoder, write_library, write_pairs
from training.check import check
from training.premises.finish import MODEL
from training.premises.record import read_record
from training.premises.trainer import METRICS, newest_checkpoint, read_metrics
from training.tower.data import TowerPlaces
from training.tower.probe import DOCUMENT_MODEL, TOWER
from training.tower.run import TowerWatching, run
from training.tower.settings import TowerSettings

WATCHING = TowerWatching(goals=8, probe_every=4, log_every=1, save_every=4)
UNWATCHED = TowerWatching(goals=0, log_every=1, save_every=100)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library, pairs, encoders, queries, and indexes by two encoders."""
    folder = tmp_path_factory.mktemp("tower")
    write_library(folder / "declarations")
    write_pairs(folder / "premises")
    write_encoder(folder / "base")
    write_encoder(folder / "documents", seed=1)
    row = {"query": "graph sheaf", "gold": ["Lemmas.graph_order"], "kind": "short", "set": "made"}
    (folder / "dev.jsonl").write_text(json.dumps(row) + "\n")
    for name, encoder in (("static", "static"), ("documents", str(folder / "documents"))):
        build_index(open_corpus(folder / "declarations"), folder / f"{name}-index", load_encoder(encoder))
    return folder


def _places(world: Path, output: Path, index: str = "static") -> TowerPlaces:
    dev = world / "dev.jsonl"
    return TowerPlaces(world / f"{index}-index", world / "premises", output, world / "cache", evaluation_queries=(dev,))


def _settings(world: Path, **changes: Any) -> TowerSettings:
    settings = TowerSettings(
        base=str(world / "base"), layers=1, max_tokens=48, batch=12, steps=7, bfloat16=False, learning_rate=3e-4
    )
    return replace(settings, **changes)


def _losses(output: Path) -> dict[int, float]:
    return {int(row["step"]): row["loss"] for row in read_metrics(output / METRICS) if "loss" in row}


@pytest.fixture(scope="module")
def finished(world: Path) -> Path:
    """A run that nothing interrupted, for documents of another length than the base's own vectors."""
    output = world / "finished"
    run(_settings(world), _places(world, output), watching=WATCHING)
    return output


def test_a_run_leaves_a_tower_with_its_card_record_and_pictures(world: Path, finished: Path) -> None:
    tower = load_encoder(str(finished / MODEL))
    assert isinstance(tower, TowerEncoder)
    assert tower.dimension == documents_of(tower).dimension == load_encoder("static").dimension
    assert documents_of(tower).fingerprint == load_encoder("static").fingerprint != tower.fingerprint
    assert json.loads((finished / MODEL / "config.json").read_text())["num_hidden_layers"] == 1
    assert np.linalg.norm(tower.encode(["ring op a"], "goal")[0]) == pytest.approx(1.0, abs=1e-3)
    for picture in ("loss.png", "recall.png"):
        assert (finished / MODEL / picture).read_bytes().startswith(b"\x89PNG")
    card = (finished / MODEL / "README.md").read_text(encoding="utf-8")
    assert "Query tower for documents of `static`" in card
    assert "| Documents of a step (none: all) | none |" in card
    record = read_record(finished / MODEL)
    assert record is not None
    assert record["inputs"]["index"]["documents"] == load_encoder("static").fingerprint
    assert record["trained_on"]["states"] <= record["decontamination"]["removed"]["kept"]
    assert record["trained_on"]["questions"] > 0
    assert check(finished / MODEL, world / "premises") == []


def test_training_on_the_same_goals_makes_their_loss_fall(world: Path, tmp_path: Path) -> None:
    settings = _settings(world, batch=40, question_share=0.0, alone=0.0, warmup=0.0)
    record = run(settings, _places(world, tmp_path / "run"), watching=UNWATCHED)
    losses = list(_losses(tmp_path / "run").values())
    assert record["trained_on"]["states"] <= 40
    assert losses[-1] < min(losses[:2])


def test_the_probe_looks_at_the_tower_and_once_at_the_document_model(finished: Path) -> None:
    assert list(_losses(finished)) == [1, 2, 3, 4, 5, 6, 7]
    probes = [row for row in read_metrics(finished / METRICS) if TOWER in row]
    assert [row["step"] for row in probes] == [0, 4, 7]
    assert len({row[DOCUMENT_MODEL] for row in probes}) == 1


def test_a_resumed_run_has_the_losses_and_weights_of_one_that_was_not_interrupted(world: Path, finished: Path) -> None:
    output = world / "interrupted"
    shutil.copytree(finished, output)
    shutil.rmtree(output / MODEL)
    shutil.rmtree(output / "checkpoints" / "checkpoint-7")
    checkpoint = newest_checkpoint(output)
    assert checkpoint is not None
    assert checkpoint.name == "checkpoint-4"
    run(_settings(world), _places(world, output), watching=WATCHING, resume=True)
    assert _losses(output) == _losses(finished)
    one, other = (load_encoder(str(folder / MODEL)).fingerprint for folder in (output, finished))
    assert one == other


def test_a_checkpoint_can_be_served_as_it_is(finished: Path) -> None:
    tower = load_encoder(str(finished / "checkpoints" / "checkpoint-4" / "model"))
    assert isinstance(tower, TowerEncoder)


def test_another_run_is_refused_by_what_differs(world: Path, finished: Path) -> None:
    nowhere = replace(_places(world, finished), index=world / "nowhere", data=world / "nowhere")
    with pytest.raises(SidecarError, match="holds a run already"):  # before anything is read
        run(_settings(world), nowhere, watching=UNWATCHED)
    with pytest.raises(SidecarError) as caught:
        run(_settings(world, batch=6), _places(world, finished, "documents"), watching=UNWATCHED, resume=True)
    assert "settings.batch is 12 there and 6 here" in str(caught.value)
    assert "inputs.index.documents" in str(caught.value)


def test_drawn_documents_give_the_same_run_again(world: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        run(_settings(world, documents=5, steps=2), _places(world, tmp_path / name), watching=UNWATCHED)
        found.append(_losses(tmp_path / name))
    assert found[0] == found[1]
    run(_settings(world, steps=2), _places(world, tmp_path / "all"), watching=UNWATCHED)
    assert _losses(tmp_path / "all") != found[0]


def test_questions_want_to_know_what_is_evaluated(world: Path, tmp_path: Path) -> None:
    places = replace(_places(world, tmp_path / "run"), evaluation_queries=())
    with pytest.raises(SidecarError) as caught:
        run(_settings(world), places, watching=UNWATCHED)
    assert caught.value.field == "evaluation_queries"
    record = run(_settings(world, question_share=0.0, steps=1), places, watching=UNWATCHED)
    assert record["trained_on"]["questions"] == 0


def test_a_tower_opens_its_index_and_no_other(world: Path, finished: Path) -> None:
    tower = load_encoder(str(finished / MODEL))
    with Index.open(world / "static-index") as index:
        index.require_encoder(tower)
    with Index.open(world / "documents-index") as index, pytest.raises(SidecarError) as caught:
        index.require_encoder(tower)
    assert caught.value.code == "conflict"
    assert "was trained for documents of 'static'" in str(caught.value)
    assert "python -m training tower" in str(caught.value.hint)


async def test_a_tower_answers_goals_and_questions_beside_premises_that_the_index_does_not_know(
    world: Path, finished: Path, tmp_path: Path
) -> None:
    tower = load_encoder(str(finished / MODEL))
    batcher = MicroBatcher(tower)
    embeddings = PremiseEmbeddings(tmp_path, documents_of(tower).fingerprint, 1 << 20)
    local = LocalPremise("Mine.lemma", "theorem Mine.lemma (a : Nat) : Ring.op a Order.zero = a", None, None)
    try:
        with Index.open(world / "static-index") as index:
            selector = PremiseSelector(index, batcher, embeddings)
            request = PremiseRequest(goal=f"a : Nat\n⊢ {statement(3)}", k=30, premises=(local,), method="neural")
            answer = await selector.select(request)
            assert "Mine.lemma" in [premise.name for premise in answer.premises]
            assert len(answer.premises) > 20
            features = await embeddings.features([local], batcher)
            text = "mine lemma ring op a order zero eq a"
            expected = load_encoder("static").encode([text], "declaration")[0]
            assert features.vectors is not None
            assert float(features.vectors[0].astype(np.float32) @ expected) > 0.8
            results = (await SearchEngine(index, batcher).search(SearchRequest("ring lattice"))).results
            assert "Lemmas.ring_lattice" in [result.name for result in results]
    finally:
        await batcher.close()
        embeddings.close()


def test_a_tower_for_a_folder_finds_it_when_both_are_moved(world: Path, tmp_path: Path) -> None:
    record = run(_settings(world, steps=1), _places(world, world / "beside", "documents"), watching=UNWATCHED)
    assert record["inputs"]["index"]["encoder"] == "documents"
    tower = read_description(world / "beside" / MODEL).tower
    assert tower is not None
    assert tower.documents == "../../documents"
    shutil.copytree(world / "beside", tmp_path / "beside")
    moved = load_encoder(str(tmp_path / "beside" / MODEL))
    # Goals do without the documents' encoder, declarations do not.
    assert moved.encode(["ring"], "goal").any()
    with pytest.raises(SidecarError, match="cannot encode declarations") as caught:
        moved.encode(["ring"], "declaration")
    assert caught.value.code == "not_found"
    shutil.copytree(world / "documents", tmp_path / "documents")
    wanted = load_encoder(str(world / "documents")).encode(["ring"], "declaration")
    assert np.allclose(moved.encode(["ring"], "declaration"), wanted, atol=1e-6)
    shutil.rmtree(tmp_path / "documents")
    shutil.copytree(world / "base", tmp_path / "documents")
    with pytest.raises(SidecarError, match="was trained for documents of encoder"):
        load_encoder(str(tmp_path / "beside" / MODEL)).encode(["ring"], "declaration")


def test_no_index_is_built_with_a_tower(world: Path, finished: Path, tmp_path: Path) -> None:
    tower = load_encoder(str(finished / MODEL))
    with pytest.raises(SidecarError, match="is a query tower") as caught:
        build_index(open_corpus(world / "declarations"), tmp_path / "index", tower)
    assert "--encoder static" in str(caught.value.hint)
