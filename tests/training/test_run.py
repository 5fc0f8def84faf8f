"""Whole training runs of a tiny encoder: resumed, refused, over two ranks, and what they leave behind."""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.select.learned import FEATURES, LearnedFusion
from sidecar.spread import Here
from tests.training.made_up import write_encoder, write_library, write_pairs
from training.check import check, overlaps, shipped_records
from training.data.examples import Positive, PremiseExample
from training.data.sources import ExampleSource, sample
from training.premises import mining
from training.premises.finish import MODEL
from training.premises.record import examples_digest, read_record
from training.premises.run import Places, TrainingData, Watching, run
from training.premises.settings import RunSettings
from training.premises.trainer import METRICS, newest_checkpoint, read_metrics

WATCHING = Watching(probe_goals=8, probe_premises=0, probe_every=4, log_every=1, save_every=4)
UNWATCHED = Watching(probe_goals=0, log_every=1, save_every=100)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library, pairs and two encoders."""
    folder = tmp_path_factory.mktemp("training")
    write_library(folder / "declarations")
    write_pairs(folder / "premises")
    write_encoder(folder / "encoder")
    write_encoder(folder / "other", seed=1)
    write_encoder(folder / "wide", words=1_100)
    return folder


def _places(world: Path, output: Path, hard: Path | None = None) -> Places:
    return Places(world / "declarations", world / "premises", output, world / "cache", hard)


def _settings(world: Path, **changes: Any) -> RunSettings:
    settings = RunSettings(
        preset=str(world / "encoder"), max_tokens=48, batch=12, steps=7, chunk=5, bfloat16=False, learning_rate=1e-3
    )
    return replace(settings, **changes)


def _losses(output: Path) -> dict[int, float]:
    return {int(row["step"]): row["loss"] for row in read_metrics(output / METRICS) if "loss" in row}


@pytest.fixture(scope="module")
def finished(world: Path) -> Path:
    """A run that nothing interrupted."""
    output = world / "finished"
    run(_settings(world), _places(world, output), watching=WATCHING)
    return output


def test_a_run_leaves_an_encoder_with_its_card_record_and_pictures(world: Path, finished: Path) -> None:
    encoder = load_encoder(str(finished / MODEL))
    vectors = encoder.encode(["ring op a"], "goal")
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-3)
    for folder in (finished, finished / MODEL):
        assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / "recall.png").read_bytes().startswith(b"\x89PNG")
    card = (finished / MODEL / "README.md").read_text(encoding="utf-8")
    assert "| Pairs of a batch | 12 |" in card
    assert "7 steps" in card
    record = read_record(finished / MODEL)
    assert record is not None
    assert record["settings"]["learning_rate"] == 1e-3
    assert set(record["inputs"]["data"]) == {f"pairs-{part}-000.jsonl.gz" for part in ("train", "valid", "test")}
    assert {"model.safetensors", "tokenizer.json", "config.json"} <= set(record["inputs"]["base"])
    assert record["decontamination"]["against"]["valid"]["examples"] == 8
    assert record["trained_on"]["states"] == record["decontamination"]["removed"]["kept"]
    assert record["result"]["steps"] == 7
    assert "torch" in record["versions"]


def test_training_makes_the_loss_fall_and_the_probe_rise(finished: Path) -> None:
    losses = _losses(finished)
    assert list(losses) == [1, 2, 3, 4, 5, 6, 7]
    assert losses[7] < losses[1]
    probes = [row for row in read_metrics(finished / METRICS) if "recall@16" in row]
    assert [row["step"] for row in probes] == [0, 4, 7]


def test_a_resumed_run_has_the_losses_and_weights_of_one_that_was_not_interrupted(world: Path, finished: Path) -> None:
    output = world / "interrupted"
    shutil.copytree(finished, output)
    # An encoder's threads, which are fewer than those of training, must not become those of the resumed run.
    load_encoder(str(finished / MODEL), threads=1).encode(["ring"], "goal")
    # As if it had been stopped after the checkpoint at step 4, in the middle of a line of metrics.
    shutil.rmtree(output / MODEL)
    shutil.rmtree(output / "checkpoints" / "checkpoint-7")
    checkpoint = newest_checkpoint(output)
    assert checkpoint is not None
    assert checkpoint.name == "checkpoint-4"
    with (output / METRICS).open("a") as file:
        file.write('{"step": 7, "los')
    run(_settings(world), _places(world, output), watching=WATCHING, resume=True)
    assert _losses(output) == _losses(finished)
    one, other = (load_encoder(str(folder / MODEL)).fingerprint for folder in (output, finished))
    assert one == other


def test_a_run_is_not_overwritten_and_another_one_is_refused_by_what_differs(world: Path, finished: Path) -> None:
    nowhere = replace(_places(world, finished), corpus=world / "nowhere", data=world / "nowhere")
    with pytest.raises(SidecarError, match="holds a run already"):  # before anything is read
        run(_settings(world), nowhere, watching=UNWATCHED)
    other = _settings(world, preset=str(world / "other"), batch=6)
    with pytest.raises(SidecarError) as caught:
        run(other, _places(world, finished), watching=UNWATCHED, resume=True)
    message = str(caught.value)
    assert "settings.preset is" in message
    assert "settings.batch is 12 there and 6 here" in message
    assert "inputs.base.model.safetensors" in message


def test_a_finished_run_is_finished_and_its_record_completed(world: Path, finished: Path) -> None:
    output = world / "again"
    shutil.copytree(finished, output)
    shutil.rmtree(output / MODEL)
    whole = read_record(finished)
    assert whole is not None
    (output / "run.json").write_text(json.dumps({"settings": whole["settings"]}))
    record = run(_settings(world), _places(world, output), watching=WATCHING, resume=True)
    assert record["trained_on"] == whole["trained_on"]
    assert [row | {"seconds": 0} for row in read_metrics(output / METRICS)] == [
        row | {"seconds": 0} for row in read_metrics(finished / METRICS)
    ]
    assert load_encoder(str(output / MODEL)).fingerprint == load_encoder(str(finished / MODEL)).fingerprint


def test_the_check_finds_what_is_evaluated_among_what_was_trained_on(
    world: Path, finished: Path, tmp_path: Path
) -> None:
    data, corpus, cache = world / "premises", world / "declarations", world / "cache"
    assert check(finished / MODEL) == []
    assert check(finished / MODEL, data, corpus, cache) == []
    record = json.loads((finished / "run.json").read_text())

    def faults(**changes: Any) -> str:
        (tmp_path / "run.json").write_text(json.dumps(record | changes))
        return "; ".join(check(tmp_path, data, corpus, cache))

    removed = record["decontamination"]["removed"]
    against = {"valid": record["decontamination"]["against"]["valid"]}
    assert "the test part was taken out" in faults(decontamination={"against": against, "removed": removed})
    wrong = {"against": record["decontamination"]["against"], "removed": removed | {"gold_pairs": 0}}
    assert "gold_pairs is 0 in the record" in faults(decontamination=wrong)
    assert "more than the" in faults(trained_on=record["trained_on"] | {"pairs": 10_000})
    assert "are not those that were trained on" in faults(trained_on=record["trained_on"] | {"digest": "0"})
    assert "is not the file that the run read" in faults(inputs={"data": {"pairs-train-000.jsonl.gz": "0"}})
    assert "no inputs" in faults(inputs={})
    with pytest.raises(SidecarError, match="has no run"):
        check(world, data)
    chosen = sample(ExampleSource.open(data, "module").read("valid"), 3)
    for examples, fault in ((chosen, ""), (chosen[:2], "are not those of the validation part")):
        fitted = {"goals": 3, "digest": examples_digest(examples)}
        LearnedFusion((0.0,) * len(FEATURES), 0.0, "encoder", True, fitted).write(tmp_path / "fusion.json")
        assert fault in faults()
        assert bool(faults()) == bool(fault)


def test_overlaps_are_found_whatever_the_white_space() -> None:
    asked = PremiseExample("asked", "M", 1, "h : a\n⊢ b  c", "", (Positive("p"),))
    for trained in (
        replace(asked, theorem="copy", state="h :  a\n⊢ b c"),
        replace(asked, state="⊢ other"),
        replace(asked, theorem="twin", state="x : Nat\n⊢ b c"),
    ):
        assert len(list(overlaps([trained], [asked]))) >= 1
    harmless = replace(asked, theorem="other", state="x : Nat\n⊢ b c", positives=(Positive("q"),))
    assert list(overlaps([harmless], [asked])) == []


def test_no_shipped_model_was_trained_on_what_it_is_evaluated_on() -> None:
    assert {folder.name for folder in shipped_records()} == {"small", "static"}
    for folder in shipped_records():
        assert check(folder) == []


@pytest.mark.shared_data
def test_no_shipped_model_was_trained_on_the_real_evaluation_data(shared: Path) -> None:
    for folder in shipped_records():
        assert check(folder, shared / "data" / "premises") == []


@pytest.mark.parametrize("name", ["probe_every", "log_every", "save_every"])
def test_a_run_that_is_never_watched_is_refused(name: str) -> None:
    with pytest.raises(SidecarError, match="0 is too small") as caught:
        Watching(**{name: 0})
    assert caught.value.field == name


def test_a_run_on_other_data_is_refused(world: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(world / "premises", tmp_path / "premises")
    file = tmp_path / "premises" / "pairs-test-000.jsonl.gz"
    file.write_bytes((world / "premises" / "pairs-valid-000.jsonl.gz").read_bytes())
    places = Places(world / "declarations", tmp_path / "premises", finished, world / "cache")
    with pytest.raises(SidecarError, match=r"inputs\.data\.pairs-test-000\.jsonl\.gz is"):
        run(_settings(world), places, watching=UNWATCHED, resume=True)


def test_the_same_seed_gives_the_same_run_and_another_seed_another_one(world: Path, tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate((0, 0, 1)):
        output = tmp_path / str(number)
        run(_settings(world, steps=2, seed=seed), _places(world, output), watching=UNWATCHED)
        found.append(_losses(output))
    assert found[0] == found[1]
    assert found[0] != found[2]


@pytest.mark.parametrize(
    "changes",
    [
        {"negatives": 0},
        {"mask_known": False},
        {"naive": True},
        {"pairs": 10, "batch": 7, "steps": None, "passes": 1.0},
        {"layers": 1, "dropout": 0.0, "gradient_cache": False},
    ],
)
def test_ablations_and_small_last_batches_run(world: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    settings = _settings(world, **({"steps": 1} | changes))
    record = run(settings, _places(world, tmp_path / "run"), watching=UNWATCHED)
    losses = list(_losses(tmp_path / "run").values())
    assert all(np.isfinite(loss) for loss in losses)
    if settings.naive:
        assert 0 < record["trained_on"]["states"] < record["decontamination"]["removed"]["kept"]
    if settings.pairs:
        assert len(losses) == -(-record["trained_on"]["pairs"] // 7)


@pytest.mark.parametrize("phrases", [0, 2])
def test_the_token_table_trains(world: Path, tmp_path: Path, phrases: int) -> None:
    from training.premises import presets
    from training.premises.models import load_base

    table = replace(presets.PRESETS["static"], base=str(world / "wide"), max_tokens=32)
    presets.PRESETS["tiny-static"] = replace(table, name="tiny-static")
    try:
        settings = _settings(world, preset="tiny-static", gradient_cache=False, steps=3, learning_rate=2e-2)
        settings = replace(settings, phrases=phrases)
        run(settings, _places(world, tmp_path / "run"), watching=UNWATCHED)
    finally:
        del presets.PRESETS["tiny-static"]
    losses = _losses(tmp_path / "run")
    assert losses[3] < losses[1]
    encoder = load_encoder(str(tmp_path / "run" / MODEL))
    assert (tmp_path / "run" / MODEL / "phrases.txt").is_file() == bool(phrases)
    # A static folder is trained on as it is.
    assert presets.find_preset(str(tmp_path / "run" / MODEL)).static
    # What was written is what was trained, and can be trained on.
    weights = tmp_path / "run" / "checkpoints" / "checkpoint-3" / "model"
    again = load_base(weights, static=True, max_tokens=32)
    (numbers,) = again.tokenizer.rows(["ring op a ring op"])
    batch = {"input_ids": torch.tensor([numbers]), "attention_mask": torch.ones((1, len(numbers)), dtype=torch.int64)}
    found = torch.nn.functional.normalize(again.model(batch)["sentence_embedding"]).detach().numpy()
    assert np.vdot(found, encoder.encode(["ring op a ring op"], "goal")) > 0.999
    assert any(number >= again.tokenizer.vocabulary for number in numbers) == bool(phrases)


def test_phrases_are_for_token_tables(world: Path, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="the model is no token table") as caught:
        run(_settings(world, phrases=2), _places(world, tmp_path / "run"), watching=UNWATCHED)
    assert caught.value.field == "phrases"


def test_mined_negatives_are_visible_and_say_nothing_that_a_positive_says(world: Path, tmp_path: Path) -> None:
    places = _places(world, tmp_path / "run", tmp_path / "hard.npz")
    data = TrainingData.load(_settings(world), places)
    file = tmp_path / "hard.npz"
    written = mining.mine(str(world / "encoder"), data.pairs, data.premise_library, file, Here(), depth=10)
    mined = mining.read_mined(file, data.pairs, data.premise_library)
    assert written == sum(map(len, mined))
    assert len(mined) == len(data.pairs.examples)
    for state, rows in enumerate(mined):
        names = [data.premise_library.names[row] for row in rows]
        gold = data.pairs.examples[state].gold
        assert 0 < len(names) <= 10
        assert not set(names) & set(gold)
        assert "Hidden.lemma" not in names
        assert data.pairs.examples[state].theorem not in names
        if "Lemmas.ring_lattice" in gold:
            assert "Lemmas.twin" not in names
    record = run(_settings(world, steps=1, hard_share=1.0), places, watching=UNWATCHED)
    assert list(record["inputs"]["hard_negatives"]) == ["hard.npz"]


def test_mined_negatives_of_another_corpus_or_damaged_ones_are_refused(world: Path, tmp_path: Path) -> None:
    data = TrainingData.load(_settings(world), _places(world, tmp_path))
    file = tmp_path / "hard.npz"
    with pytest.raises(SidecarError, match="is not a file"):
        mining.read_mined(file, data.pairs, data.premise_library)
    file.write_bytes(b"PK\x03\x04 no")
    with pytest.raises(SidecarError, match="damaged"):
        mining.read_mined(file, data.pairs, data.premise_library)
    np.savez(file, library=np.zeros(1, np.uint8), states=np.zeros(0), offsets=np.zeros(1), rows=np.zeros(0))
    with pytest.raises(SidecarError, match="another corpus"):
        mining.read_mined(file, data.pairs, data.premise_library)


def _rank(rank: int, port: int, world: str, output: str) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    os.environ |= {"MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    settings = _settings(Path(world), negatives=0, dropout=0.0, steps=3)
    run(settings, _places(Path(world), Path(output)), watching=UNWATCHED)


def test_two_ranks_see_the_negatives_of_both(world: Path, tmp_path: Path) -> None:
    # As torchrun starts them. Without dropout and sampled negatives the order of pairs decides everything, so two
    # ranks of six pairs must do what one rank does with twelve; a rank that saw its own six alone would not.
    from torch import multiprocessing

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(_rank, args=(port, str(world), str(tmp_path / "two")), nprocs=2)
    settings = _settings(world, negatives=0, dropout=0.0, steps=3)
    run(settings, _places(world, tmp_path / "one"), watching=UNWATCHED)
    two, one = _losses(tmp_path / "two"), _losses(tmp_path / "one")
    assert list(two) == [1, 2, 3]
    assert list(two.values()) == pytest.approx(list(one.values()), rel=1e-4)
    run(replace(settings, batch=6), _places(world, tmp_path / "half"), watching=UNWATCHED)
    assert _losses(tmp_path / "half")[1] < one[1] - 0.2
    assert json.loads((tmp_path / "two" / "run.json").read_text())["ranks"] == 2
