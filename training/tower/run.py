"""One training run of a query tower, from an index to a folder that the sidecar can load.

In: settings, and where everything lies. Out: in the output folder `run.json` (as in `training.premises.record`),
`metrics.jsonl`, `loss.png`, `recall.png`, `checkpoints/` to resume from, and `model/`, the tower with its card, the
record and the pictures beside the weights.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from datasets import Dataset
from torch import Tensor

from sidecar.encoder.base import Encoder
from sidecar.encoder.folder import Tower
from sidecar.encoder.load import HUB, TIERS, encoder_folder, load_encoder
from sidecar.encoder.tower import require_whole
from sidecar.index.index import Index
from sidecar.index.manifest import Role
from sidecar.progress import Progress
from sidecar.text.fingerprint import text_fingerprint
from training.data.token_rows import TokenRows
from training.premises import record as records
from training.premises.finish import Shown, finish
from training.premises.probe import encode
from training.premises.trainer import (
    METRICS,
    PremiseTrainer,
    Recorder,
    TrainingResult,
    all_ranks,
    divided,
    fit,
    newest_checkpoint,
    trainer_arguments,
)
from training.tower.answers import AnswerTable, Teacher
from training.tower.card import tower_card
from training.tower.data import TowerData, TowerPlaces
from training.tower.loss import FrozenSoftmaxLoss
from training.tower.model import TrainedTower, begin, fitted_map
from training.tower.probe import DOCUMENT_MODEL, SHARED, TOWER, TowerProbe
from training.tower.queries import TowerQuery
from training.tower.settings import TowerSettings

logger = logging.getLogger(__name__)

FITTED: Final = 2_048
"""Queries that the map's first weights are fitted to."""


@dataclass(frozen=True, slots=True)
class TowerWatching:
    """How a run is watched; changes nothing about its result.

    Attributes:
        goals: Validation goals of the probe; 0 for no probe.
        probe_every, log_every, save_every: Steps between two of each.
    """

    goals: int = 200
    probe_every: int = 100
    log_every: int = 10
    save_every: int = 100


@dataclass(frozen=True, slots=True)
class _Batches:
    """Makes queries into tensors; what `torch.utils.data` calls a collate function.

    Attributes:
        tokens: Token numbers of the queries of the run.
        place_of: Number of a query → its row in `tokens`.
    """

    tokens: TokenRows
    place_of: Mapping[int, int]
    valid_label_columns: tuple[str, ...] = ()

    def __call__(self, items: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        numbers = np.array([item["query"] for item in items])
        matrix, mask = self.tokens.padded(np.array([self.place_of[number] for number in numbers.tolist()]))
        return {
            "query_input_ids": torch.from_numpy(matrix),
            "query_attention_mask": torch.from_numpy(mask),
            "number": torch.from_numpy(numbers),
            "place": torch.tensor([item["place"] for item in items]),
        }


class TowerTrainer(PremiseTrainer):
    """Goes through the queries in the given order."""

    def collect_features(self, inputs: dict[str, Any]) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """What `_Batches` made, as columns and labels."""
        features = [{name: inputs[f"query_{name}"] for name in ("input_ids", "attention_mask")}]
        return features, {name: inputs[name] for name in ("number", "place")}


def run(
    settings: TowerSettings, places: TowerPlaces, *, watching: TowerWatching, resume: bool = False
) -> dict[str, Any]:
    """Train and write everything. Under `torchrun` every rank calls this; the first one writes.

    Args:
        settings: How to train.
        places: Inputs and outputs.
        watching: Probes, metrics, checkpoints.
        resume: Go on from the newest checkpoint of the output folder, where there is one.

    Returns:
        The run's record.

    Raises:
        SidecarError: `conflict` when the output folder holds another run, or one that was not asked to be resumed, or
            the index's encoder is not the one that made it; and what reading data and models raises.
    """
    records.require_free(places.output, resume=resume)
    ranks = all_ranks()
    role: Role = "search" if settings.role == "search" else "premises"
    with Index.open(places.index) as index:
        entry = index.manifest.vector_entry(role)
        documents = load_encoder(entry.encoder)
        require_whole(documents)
        index.require_encoder(documents, role)
        trained = begin(settings, Tower(_absolute(entry.encoder), entry.fingerprint), entry.dimension)
        with ranks.main_process_first():  # the others find tokens in the cache
            data = TowerData.load(settings, places, index)
            order = divided(data.order, settings.batch)
            used = np.unique(order).tolist()
            tokens = _tokens(trained, [data.queries[number] for number in used], places.cache)
        place_of = {number: place for place, number in enumerate(used)}
        record = describe(settings, places, data, index, ranks.num_processes)
        records.require_fit(places.output, record)
        ranks.wait_for_everyone()
        if ranks.is_main_process:
            records.write_record(places.output, record)
        teacher = Teacher(documents, data.queries)
        checkpoint = newest_checkpoint(places.output) if resume else None
        if checkpoint is None:
            _fit_map(trained, teacher, tokens, place_of, order, settings)
        probe = _probe(trained, settings, data, index, role, documents, watching) if ranks.is_main_process else None
        result = _train(
            trained,
            settings,
            order,
            _Batches(tokens, place_of),
            AnswerTable(index, data.queries, teacher, sample=settings.documents, seed=settings.seed, device=_device()),
            _matrix(index, role),
            places.output,
            watching,
            probe,
            checkpoint,
        )
        record["result"] = asdict(result)
        if ranks.is_main_process:
            shown = Shown(
                "softmax and divergence",
                "Tower and document model on validation goals",
                "share",
                (TOWER, DOCUMENT_MODEL, SHARED),
            )
            finish(
                places.output,
                record,
                shown,
                trained.write,
                lambda metrics: tower_card(record, trained.description, metrics),
            )
    ranks.wait_for_everyone()
    return record


def describe(settings: TowerSettings, places: TowerPlaces, data: TowerData, index: Index, ranks: int) -> dict[str, Any]:
    """The record of a run before it begins; see `training.premises.record`."""
    base = encoder_folder(settings.base)
    entry = index.manifest.vector_entry("search" if settings.role == "search" else "premises")
    hashes: dict[str, dict[str, str]] = {
        "data": records.input_hashes(places.data, data.source.files()),
        "index": {"revision": index.revision, "documents": entry.fingerprint, "encoder": Path(entry.encoder).name},
        "base": records.input_hashes(base, [file for file in base.iterdir() if file.is_file()]),
    }
    for kind, files in (("questions", places.questions), ("evaluation_queries", places.evaluation_queries)):
        hashes[kind] = {file.name: records.file_hash(file) for file in files}
    return {
        "format": records.FORMAT,
        "settings": asdict(settings) | {"base": Path(settings.base).name},
        "source": {"format": data.source.format, "split": data.source.split},
        "inputs": hashes,
        "text_rules": text_fingerprint(),
        "decontamination": {
            "against": {
                part: {"examples": len(examples), "digest": records.examples_digest(examples)}
                for part, examples in data.evaluation.items()
            },
            "removed": asdict(data.removed),
        },
        "trained_on": {
            "states": data.states,
            "pairs": data.pairs,
            "questions": data.questions,
            "digest": records.examples_digest(data.examples),
        },
        "versions": records.versions(),
        "machine": records.machine(),
        "ranks": ranks,
    }


def _absolute(encoder: str) -> str:
    """The name of an encoder that does not depend on where one is."""
    return encoder if encoder in TIERS or encoder.startswith(HUB) else str(Path(encoder).expanduser().resolve())


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _matrix(index: Index, role: Role) -> Tensor:
    """The documents' vectors: in half precision, as the index has them, on a GPU; on a CPU half is slow."""
    matrix = torch.from_numpy(np.array(index.vectors(role).matrix))
    return matrix.to("cuda") if torch.cuda.is_available() else matrix.float()


def _tokens(trained: TrainedTower, queries: Sequence[TowerQuery], cache: Path) -> TokenRows:
    """Token numbers of queries, spelled within the tower's budget as when serving."""
    tokenizer, description = trained.tokenizer, trained.description
    budget = tokenizer.room_behind(description.prompts.values())

    def make() -> list[list[int]]:
        rows: list[list[int]] = []
        with Progress("queries", len(queries)) as progress:
            for query in queries:
                text = query.spelled(budget, tokenizer.count)
                rows += tokenizer.rows([text], description.prompt(query.purpose, text))
                progress.advance()
        return rows

    decides = json.dumps(
        [description.max_tokens, description.special, description.lower, dict(description.prompts)], sort_keys=True
    )
    parts = [text_fingerprint(), hashlib.sha256(trained.tokenizer_json.encode()).hexdigest(), decides]
    return TokenRows.cached(
        cache, [*parts, *(f"{query.purpose} {query.alone} {query.text}" for query in queries)], make
    )


def _fit_map(
    trained: TrainedTower,
    teacher: Teacher,
    tokens: TokenRows,
    place_of: Mapping[int, int],
    order: npt.NDArray[np.int64],
    settings: TowerSettings,
) -> None:
    """Begin with the map that comes nearest to what the document model makes of some queries."""
    numbers = list(dict.fromkeys(order.tolist()))[:FITTED]
    wanted = np.concatenate([teacher(numbers[start : start + 64]) for start in range(0, len(numbers), 64)])
    backbone = trained.model[0]
    found = encode(backbone, tokens, np.array([place_of[number] for number in numbers]), bfloat16=settings.bfloat16)
    with torch.no_grad():
        trained.model[1].weight.copy_(torch.from_numpy(fitted_map(found, wanted)))


def _probe(
    trained: TrainedTower,
    settings: TowerSettings,
    data: TowerData,
    index: Index,
    role: Role,
    documents: Encoder,
    watching: TowerWatching,
) -> Callable[[], dict[str, float]] | None:
    probe = TowerProbe(index, data.evaluation["valid"], watching.goals, role)
    if not watching.goals or not probe.queries or not data.states:
        return None
    tokenizer, description = trained.tokenizer, trained.description
    budget = tokenizer.room_behind(description.prompts.values())
    texts = [query.spelled(budget, tokenizer.count) for query in probe.queries]
    tokens = TokenRows.from_rows(tokenizer.rows(texts, description.prompt("goal")))
    of_model = Teacher(documents, probe.queries)

    def look() -> dict[str, float]:
        vectors = encode(trained.model, tokens, np.arange(len(texts)), bfloat16=settings.bfloat16)
        found = probe.look(vectors, lambda: of_model(range(len(texts))))
        logger.info("probe: %s", ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
        return found

    return look


def _train(
    trained: TrainedTower,
    settings: TowerSettings,
    order: npt.NDArray[np.int64],
    batches: _Batches,
    answers: AnswerTable,
    documents: Tensor,
    output: Path,
    watching: TowerWatching,
    probe: Callable[[], dict[str, float]] | None,
    checkpoint: Path | None,
) -> TrainingResult:
    steps = -(-len(order) // settings.batch)
    loss = FrozenSoftmaxLoss(
        trained.model,
        documents,
        answers,
        temperature=settings.temperature,
        teacher_temperature=settings.teacher_temperature,
        distillation=settings.distillation,
    )
    recorder = Recorder(output / METRICS, settings.batch, steps, probe, watching.probe_every)
    trainer = TowerTrainer(
        model=trained.model,
        args=trainer_arguments(
            output,
            batch=settings.batch,
            steps=steps,
            learning_rate=settings.learning_rate,
            warmup=settings.warmup,
            bfloat16=settings.bfloat16,
            seed=settings.seed,
            log_every=watching.log_every,
            save_every=watching.save_every,
            workers=0,
        ),
        train_dataset=Dataset.from_dict({"query": order, "place": np.arange(len(order))}),
        loss=loss,
        data_collator=batches,
        callbacks=[recorder],
    )
    fit(trainer, trained.write, checkpoint)
    return TrainingResult(steps, len(order), recorder.seconds)
