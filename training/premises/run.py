"""One training run, from data to a folder that the sidecar can load.

In: settings, and where everything lies. Out: in the output folder `run.json` (see `record.py`), `metrics.jsonl`,
`loss.png`, `recall.png`, `checkpoints/` to resume from, and `model/`, the encoder with its card, the record and the
pictures beside the weights.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sidecar.corpus.source import open_corpus
from sidecar.encoder.base import Purpose
from sidecar.encoder.phrases import count_phrases, phrases_text
from sidecar.errors import SidecarError
from sidecar.progress import Progress
from sidecar.text.clean import one_line
from sidecar.text.fingerprint import text_fingerprint
from sidecar.text.goal import goal_text
from training.data.decontamination import Decontamination, Removed
from training.data.examples import PremiseExample
from training.data.premise_library import PremiseLibrary
from training.data.queries import read_queries
from training.data.seen import write_targets
from training.data.sources import ExampleSource, naive
from training.data.token_rows import TokenRows
from training.premises import record as records
from training.premises.batches import Batches
from training.premises.card import model_card
from training.premises.finish import Shown, finish
from training.premises.mining import read_mined
from training.premises.models import TrainedModel, load_base
from training.premises.negatives import NegativeSampler
from training.premises.pairs import TrainingPairs
from training.premises.presets import base_folder, find_preset
from training.premises.probe import Probe, encode
from training.premises.questions import Questions, mixed_order
from training.premises.settings import RunSettings
from training.premises.trainer import all_ranks, newest_checkpoint, train

logger = logging.getLogger(__name__)

PROBED = (1, 4, 16, 32)
"""Depths of the probe."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run's inputs lie and its outputs go.

    Attributes:
        corpus: The corpus that the examples were made from.
        data: The examples.
        output: The run's folder.
        cache: Texts and tokens that later runs use again.
        hard_negatives: File of mined negatives, or None.
        questions: Files of questions with known answers, trained on beside docstrings.
        evaluation_queries: Files of queries that will be evaluated on, which are kept out of the questions.
    """

    corpus: Path
    data: Path
    output: Path
    cache: Path
    hard_negatives: Path | None = None
    questions: tuple[Path, ...] = ()
    evaluation_queries: tuple[Path, ...] = ()


_LEAST: Final = {"probe_goals": 0, "probe_premises": 0, "probe_every": 1, "log_every": 1, "save_every": 1}


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

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise SidecarError(
                    "bad_request", f"{getattr(self, name)} is too small", field=name, hint=f"give at least {least}"
                )


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a run learns from and is watched with.

    Attributes:
        source: Where the examples come from.
        premise_library: The premises.
        pairs: What is trained on.
        questions: Questions that are trained on beside them.
        evaluation: Every example that is or will be evaluated on, by part.
        removed: What decontamination took out.
    """

    source: ExampleSource
    premise_library: PremiseLibrary
    pairs: TrainingPairs
    questions: Questions
    evaluation: dict[str, list[PremiseExample]]
    removed: Removed

    @classmethod
    def load(cls, settings: RunSettings, places: Places) -> TrainingData:
        """Read, decontaminate, number.

        Raises:
            SidecarError: What the readers raise; `bad_request` when nothing can be trained on.
        """
        source = ExampleSource.open(places.data, settings.split)
        corpus = open_corpus(places.corpus)
        library = PremiseLibrary.open(corpus, places.cache, source_text=settings.naive)
        logger.info("%d premises", len(library))
        evaluation = {part: list(source.read(part)) for part in ("valid", "test")}
        filter_ = Decontamination(example for examples in evaluation.values() for example in examples)
        examples = list(filter_.filter(source.read("train")))
        logger.info("decontamination: %s", filter_.removed)
        if settings.naive:
            examples = [reduced for example in examples if (reduced := naive(example)) is not None]
        if settings.pairs is not None:
            chosen = np.sort(np.random.default_rng(settings.seed).permutation(len(examples))[: settings.pairs])
            examples = [examples[int(number)] for number in chosen]
        pairs = TrainingPairs.from_examples(examples, library)
        logger.info("%d states, %d pairs, %s", len(pairs.examples), len(pairs), pairs.left)
        questions = Questions.none()
        if settings.question_share:
            given, asked = (
                [example for file in files for example in read_queries(file)]
                for files in (places.questions, places.evaluation_queries)
            )
            questions = Questions.read(corpus, library, given, asked)
            logger.info("%d questions, %d left out for an evaluation", len(questions), questions.left_out)
        return cls(source, library, pairs, questions, evaluation, filter_.removed)


def describe(settings: RunSettings, places: Places, data: TrainingData, base: Path, ranks: int) -> dict[str, Any]:
    """The record of a run before it begins; see `record.py`."""
    hashes = {
        "data": records.input_hashes(places.data, data.source.files()),
        "corpus": {"every file": open_corpus(places.corpus).fingerprint()},
        "base": records.input_hashes(base, [file for file in base.iterdir() if file.is_file()]),
    }
    for kind, files in (("questions", places.questions), ("evaluation_queries", places.evaluation_queries)):
        if settings.question_share:
            hashes[kind] = {file.name: records.file_hash(file) for file in files}
    if places.hard_negatives is not None:
        hashes["hard_negatives"] = {places.hard_negatives.name: records.file_hash(places.hard_negatives)}
    return {
        "format": records.FORMAT,
        "settings": asdict(settings),
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
            "states": len(data.pairs.examples),
            "pairs": len(data.pairs),
            "digest": records.examples_digest(data.pairs.examples),
            "left": asdict(data.pairs.left),
            "questions": {
                "pairs": len(data.questions),
                "left_out": data.questions.left_out,
                "digest": data.questions.digest,
            },
        },
        "versions": records.versions(),
        "machine": records.machine(),
        "ranks": ranks,
    }


def state_tokens(trained: TrainedModel, states: Sequence[str], cache: Path, *, source_text: bool = False) -> TokenRows:
    """Token numbers of goals, spelled within the model's budget as when serving; or as they are, for an ablation."""
    budget = trained.tokenizer.room_behind([trained.description.prompt("goal")])

    def make() -> list[list[int]]:
        texts = []
        with Progress("states", len(states)) as progress:
            for state in states:
                texts.append(one_line(state) if source_text else goal_text(state, budget, trained.tokenizer.count).text)
                progress.advance()
        return trained.tokenizer.rows(texts, trained.description.prompt("goal"))

    kind = "source" if source_text else "goal"
    return TokenRows.cached(cache, [kind, *_decides_tokens(trained), *states], make)


def premise_tokens(trained: TrainedModel, library: PremiseLibrary, cache: Path) -> TokenRows:
    """Token numbers of a library's texts."""
    prompt = trained.description.prompt("declaration")
    parts = ["declaration", *_decides_tokens(trained), library.fingerprint]
    return TokenRows.cached(cache, parts, lambda: trained.tokenizer.rows(library.texts, prompt))


def question_tokens(trained: TrainedModel, questions: Questions, cache: Path) -> tuple[TokenRows, TokenRows]:
    """Token numbers of questions and of their answers."""
    return (
        _tokens_of(trained, "question", questions.queries, cache),
        _tokens_of(trained, "declaration", questions.answers, cache),
    )


def _tokens_of(trained: TrainedModel, purpose: Purpose, texts: Sequence[str], cache: Path) -> TokenRows:
    prompt = trained.description.prompt(purpose)
    parts = [purpose, "of questions", *_decides_tokens(trained), *texts]
    return TokenRows.cached(cache, parts, lambda: trained.tokenizer.rows(texts, prompt))


def _decides_tokens(trained: TrainedModel) -> list[str]:
    description = trained.description
    spelled = trained.tokenizer_json + phrases_text(trained.phrases or ())
    tokenizer = hashlib.sha256(spelled.encode()).hexdigest()
    shape = [description.max_tokens, description.special, description.lower, dict(description.prompts)]
    return [text_fingerprint(), tokenizer, json.dumps(shape, sort_keys=True)]


def run(settings: RunSettings, places: Places, *, watching: Watching, resume: bool = False) -> dict[str, Any]:
    """Train and write everything. Under `torchrun` every rank calls this; the first one writes.

    Args:
        settings: How to train.
        places: Inputs and outputs.
        watching: Probes, metrics, checkpoints.
        resume: Go on from the newest checkpoint of the output folder, where there is one.

    Returns:
        The run's record.

    Raises:
        SidecarError: `conflict` when the output folder holds another run, or one that was not asked to be resumed; and
            what reading data and models raises.
    """
    records.require_free(places.output, resume=resume)
    ranks = all_ranks()
    preset = find_preset(settings.preset)
    base = base_folder(preset)
    trained = load_base(
        base,
        static=preset.static,
        max_tokens=settings.max_tokens,
        layers=settings.layers,
        dropout=settings.dropout,
    )
    with ranks.main_process_first():  # the others find texts and tokens in the cache
        data = TrainingData.load(settings, places)
        pairs, library = data.pairs, data.premise_library
        if settings.phrases:
            trained.learn_phrases(count_phrases(library.texts, settings.phrases))
            logger.info("%d phrases", len(trained.phrases or ()))
        states = state_tokens(
            trained, [example.state for example in pairs.examples], places.cache, source_text=settings.naive
        )
        premises = premise_tokens(trained, library, places.cache)
        asked, answers = question_tokens(trained, data.questions, places.cache)
    logger.info("mean tokens: %.1f a state, %.1f a premise", states.lengths.mean(), premises.lengths.mean())
    record = describe(settings, places, data, base, ranks.num_processes)
    records.require_fit(places.output, record)
    ranks.wait_for_everyone()
    if ranks.is_main_process:
        records.write_record(places.output, record)
        if settings.question_share:
            write_targets(places.output, data.questions.names)
    hard = None
    if places.hard_negatives is not None:
        hard = read_mined(places.hard_negatives, pairs, library)
    sampler = NegativeSampler(pairs, library, settings.negatives, hard=hard, hard_share=settings.hard_share)
    share = settings.question_share
    passes = settings.passes
    if settings.steps is not None:
        passes = settings.steps * (settings.batch - round(settings.batch * share)) / len(pairs)
    probe = _probe(trained, settings, data, premises, places.cache, watching) if ranks.is_main_process else None
    result = train(
        trained,
        settings,
        mixed_order(len(pairs), len(data.questions), settings.batch, share, passes, settings.seed),
        Batches(
            pairs,
            library,
            data.questions,
            TokenRows.joined(states, asked),
            TokenRows.joined(premises, answers),
            sampler,
            settings.seed,
        ),
        places.output,
        probe=probe,
        probe_every=watching.probe_every,
        log_every=watching.log_every,
        save_every=watching.save_every,
        resume=newest_checkpoint(places.output) if resume else None,
    )
    record["result"] = asdict(result)
    if ranks.is_main_process:
        shown = Shown(
            "masked contrastive loss",
            "Recall on a sample of validation goals",
            "recall",
            [f"recall@{k}" for k in PROBED],
        )
        finish(
            places.output,
            record,
            shown,
            trained.write,
            lambda metrics: model_card(record, trained.description, metrics),
        )
    ranks.wait_for_everyone()
    return record


def _probe(
    trained: TrainedModel,
    settings: RunSettings,
    data: TrainingData,
    premises: TokenRows,
    cache: Path,
    watching: Watching,
) -> Callable[[], dict[str, float]] | None:
    valid = [example for example in data.evaluation["valid"] if not example.generated]
    if settings.naive:
        valid = [reduced for example in valid if (reduced := naive(example)) is not None]
    if not watching.probe_goals or not valid:
        return None
    probe = Probe(valid, data.premise_library, watching.probe_goals, watching.probe_premises)
    goals = state_tokens(trained, [example.state for example in probe.examples], cache, source_text=settings.naive)

    def look() -> dict[str, float]:
        vectors = [
            encode(trained.model, tokens, rows, bfloat16=settings.bfloat16)
            for tokens, rows in ((goals, np.arange(len(goals))), (premises, probe.rows))
        ]
        found = probe.recall(vectors[0], vectors[1], PROBED)
        logger.info("probe: %s", ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
        return found

    return look
