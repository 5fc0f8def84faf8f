"""One training run, from data to a folder that the sidecar can load.

In: settings and the folders of corpus and pairs. Out: in the output folder `run.json` (settings, data hashes, counts),
`metrics.jsonl`, `model/` (the encoder) and checkpoints to resume from.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.corpus.source import open_corpus
from sidecar.progress import Progress
from sidecar.text.fingerprint import text_fingerprint
from sidecar.text.goal import goal_text
from training.data.decontamination import Decontamination
from training.data.examples import PremiseExample
from training.data.library import PremiseLibrary
from training.data.premise_pairs import read_pairs
from training.data.token_rows import TokenRows
from training.premises.batches import Batches
from training.premises.models import TrainedModel, load_base
from training.premises.negatives import NegativeSampler
from training.premises.pairs import TrainingPairs, order
from training.premises.presets import base_folder, find_preset
from training.premises.probe import Probe, encode
from training.premises.settings import RunSettings
from training.premises.trainer import train

logger = logging.getLogger(__name__)

RECORD = "run.json"
MODEL = "model"


@dataclass(frozen=True, slots=True)
class Watching:
    """How a run is watched; changes nothing about its result.

    Attributes:
        probe_goals, probe_premises: Size of the probe's sample; no goals, no probe.
        probe_every, log_every, save_every: Steps between two of each.
    """

    probe_goals: int = 300
    probe_premises: int = 8_000
    probe_every: int = 100
    log_every: int = 10
    save_every: int = 100


def state_tokens(trained: TrainedModel, states: Sequence[str], cache: Path) -> TokenRows:
    """Token numbers of goals, spelled within the model's budget as when serving."""
    budget = trained.tokenizer.room_behind([trained.description.prompt("goal")])

    def make() -> list[list[int]]:
        texts = []
        with Progress("states", len(states)) as progress:
            for state in states:
                texts.append(goal_text(state, budget, trained.tokenizer.count).text)
                progress.advance()
        return trained.tokenizer.rows(texts, trained.description.prompt("goal"))

    return TokenRows.cached(cache, ["goal", *_decides_tokens(trained), *states], make)


def premise_tokens(trained: TrainedModel, library: PremiseLibrary, cache: Path) -> TokenRows:
    """Token numbers of a library's texts."""
    prompt = trained.description.prompt("declaration")
    parts = ["declaration", *_decides_tokens(trained), library.fingerprint]
    return TokenRows.cached(cache, parts, lambda: trained.tokenizer.rows(library.texts, prompt))


def _decides_tokens(trained: TrainedModel) -> list[str]:
    description = trained.description
    tokenizer = hashlib.sha256(trained.tokenizer_json.encode()).hexdigest()
    shape = [description.max_tokens, description.special, description.lower, dict(description.prompts)]
    return [text_fingerprint(), tokenizer, json.dumps(shape, sort_keys=True)]


def run(
    settings: RunSettings,
    corpus_folder: Path,
    data: Path,
    output: Path,
    cache: Path,
    *,
    watching: Watching,
    resume: bool = False,
) -> dict[str, Any]:
    """Train and write everything.

    Returns:
        The run's record.
    """
    preset = find_preset(settings.preset)
    trained = load_base(
        base_folder(preset),
        static=preset.static,
        max_tokens=settings.max_tokens,
        layers=settings.layers,
        dropout=settings.dropout,
    )
    corpus = open_corpus(corpus_folder)
    library = PremiseLibrary.open(corpus, cache)
    logger.info("%d premises", len(library))
    valid = list(read_pairs(data, "valid"))
    filter_ = Decontamination([*valid, *read_pairs(data, "test")])
    examples = list(filter_.filter(read_pairs(data, "train")))
    logger.info("decontamination: %s", filter_.removed)
    if settings.pairs is not None:
        chosen = np.sort(np.random.default_rng(settings.seed).permutation(len(examples))[: settings.pairs])
        examples = [examples[int(number)] for number in chosen]
    pairs = TrainingPairs.from_examples(examples, library)
    logger.info("%d states, %d pairs, %s", len(pairs.examples), len(pairs), pairs.left)
    states = state_tokens(trained, [example.state for example in pairs.examples], cache)
    premises = premise_tokens(trained, library, cache)
    logger.info("mean tokens: %.1f a state, %.1f a premise", states.lengths.mean(), premises.lengths.mean())
    passes = settings.passes if settings.steps is None else settings.steps * settings.batch / len(pairs)
    batches = Batches(
        pairs, library, states, premises, NegativeSampler(pairs, library, settings.negatives), settings.seed
    )
    record: dict[str, Any] = {"settings": asdict(settings)}
    output.mkdir(parents=True, exist_ok=True)
    (output / RECORD).write_text(json.dumps(record, indent=2) + "\n")
    train(
        trained,
        settings,
        order(len(pairs), settings.batch, passes, settings.seed),
        batches,
        output,
        probe=_probe(trained, settings, valid, library, premises, cache, watching),
        probe_every=watching.probe_every,
        log_every=watching.log_every,
        save_every=watching.save_every,
        resume=resume,
    )
    trained.write(output / MODEL)
    return record


def _probe(
    trained: TrainedModel,
    settings: RunSettings,
    valid: Sequence[PremiseExample],
    library: PremiseLibrary,
    premises: TokenRows,
    cache: Path,
    watching: Watching,
) -> Callable[[], dict[str, float]] | None:
    if not watching.probe_goals:
        return None
    probe = Probe(
        [example for example in valid if not example.generated], library, watching.probe_goals, watching.probe_premises
    )
    goals = state_tokens(trained, [example.state for example in probe.examples], cache)

    def look() -> dict[str, float]:
        vectors = [
            encode(trained.model, tokens, rows, bfloat16=settings.bfloat16)
            for tokens, rows in ((goals, np.arange(len(goals))), (premises, probe.rows))
        ]
        found = probe.recall(vectors[0], vectors[1], (1, 4, 16, 32))
        logger.info("probe: %s", ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
        return found

    return look
