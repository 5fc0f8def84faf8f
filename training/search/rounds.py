"""Generator against retriever, in rounds.

In: a corpus, queries for round 0, evaluation queries. Out: for each round a generator, its queries, a retriever with
its index, and figures; `figures.json` with those of all rounds side by side.

Round 0 trains the retriever on docstrings and given queries. Each further round trains a generator against the
retriever of the round before, lets it write about every declaration that no evaluation wants, keeps what the judge
finds consistent and the retriever did not answer, and trains the retriever anew on round 0 and all generated queries.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.source import Corpus
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.index.index import Index
from training.data.queries import SearchExample
from training.data.questions import Forbidden, allowed
from training.search import standin_run
from training.search.arms import Arm, Start
from training.search.figures import as_json, measure
from training.search.judge import Judge
from training.search.judges import make_judge
from training.search.pairs import round_pairs
from training.search.retrieval import MODEL, RetrievalSettings
from training.search.retrieval import train as train_retriever
from training.search.retriever import Retriever
from training.search.samples import SampleWriter
from training.search.scoring import Scorer
from training.search.sft import SftSettings
from training.search.stages import Stages, digest
from training.search.standin import Policy
from training.search.standin_run import StandinSettings
from training.search.writing import ModelWriter, QueryWriter, StandinWriter, targets, write_all

logger = logging.getLogger(__name__)

STANDIN: Final = "standin"
FIGURES: Final = "figures.json"


@dataclass(frozen=True, slots=True)
class RoundsSettings:
    """How the rounds go.

    Attributes:
        rounds: Rounds after round 0.
        generator: `standin`, or a causal language model: its folder, or `hub:owner/model`.
        judge: See `judges.make_judge`; `per_minute` is the most that an endpoint is asked.
        arm: What the reward looks at, and by what generated queries are kept.
        start: Where the generators of later rounds begin: with the one before, with the base model, with the model
            after supervised fine-tuning alone; or `frozen`: the first generator writes again.
        per: Queries that a generator writes about each declaration.
        declarations: Write about so many declarations, drawn at random; None for all.
        retrieval, standin, grpo, sft: Settings of the stages; `grpo` as keyword arguments of `GrpoSettings`.
        seed: Decides what is drawn.
    """

    rounds: int
    retrieval: RetrievalSettings
    generator: str = STANDIN
    judge: str = "words"
    per_minute: float = 0.0
    arm: Arm = Arm.BOTH
    start: Start = Start.PREVIOUS
    per: int = 1
    declarations: int | None = None
    standin: StandinSettings = field(default_factory=StandinSettings)
    grpo: dict[str, Any] = field(default_factory=dict)
    sft: SftSettings = field(default_factory=SftSettings)
    seed: int = 0


class Rounds:
    """One run.

    Args:
        corpus: The corpus.
        given: Queries with right answers, for round 0 and as real-style examples.
        evaluation: Queries to judge by; nothing of theirs is trained on.
        output: Folder of the run.
        settings: How.
    """

    def __init__(
        self,
        corpus: Corpus,
        given: Sequence[SearchExample],
        evaluation: Sequence[SearchExample],
        output: Path,
        settings: RoundsSettings,
    ) -> None:
        if settings.generator == STANDIN and settings.start is Start.SFT:
            raise SidecarError(
                "bad_request",
                "the stand-in generator has no supervised fine-tuning",
                field="start",
                hint="give a language model as --generator, or another --start",
            )
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise SidecarError(
                "bad_request",
                "rounds run in one process",
                hint="on several GPUs give `generator` and `retriever` under torchrun, one after the other",
            )
        self._corpus = corpus
        self._given = given
        self._evaluation = evaluation
        self._forbidden = Forbidden(evaluation)
        self._output = output
        self._settings = settings
        self._stages = Stages(output)
        self._data = {
            "corpus": corpus.fingerprint(),
            "given": _examples_hash(given),
            "evaluation": _examples_hash(evaluation),
        }

    def run(self) -> dict[str, Any]:
        """Do all rounds, as far as they are not done.

        Returns:
            Figures of each round.
        """
        figures: dict[str, Any] = {}
        queries: list[Path] = []
        generators: list[Path] = []
        index = self._retriever(0, queries, None)
        figures["round 0"] = self._figures(0, index)
        for number in range(1, self._settings.rounds + 1):
            generators.append(self._generator(number, index, generators))
            queries.append(self._queries(number, index, generators[-1]))
            index = self._retriever(number, queries, index)
            figures[f"round {number}"] = self._figures(number, index)
        (self._output / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        return figures

    def _retriever(self, number: int, queries: Sequence[Path], before: Path | None) -> Path:
        """Train the retriever of a round and build its index; returns the stage of the index."""
        settings = self._settings
        inputs = {
            **self._data,
            "settings": asdict(settings.retrieval),
            "queries": [digest(folder) for folder in queries],
            "arm": settings.arm if queries else None,
        }

        def train(folder: Path) -> None:
            # Statements and docstrings come from any index of the corpus; in round 0 there is none yet.
            with self._any_index(before) as index:
                found = round_pairs(index, self._given, [folder / "samples" for folder in queries], settings.arm)
                pairs, dropped = allowed(found, self._forbidden)
                logger.info("%d pairs; %d that an evaluation asks or wants were left out", len(pairs), dropped)
                train_retriever(settings.retrieval, pairs, index, folder)

        trained = self._stages.run(f"round-{number}/retriever", inputs, train)
        return self._stages.run(
            f"round-{number}/index",
            {"corpus": self._data["corpus"], "retriever": digest(trained)},
            lambda folder: _build(self._corpus, folder / "index", trained / MODEL),
        )

    @contextmanager
    def _any_index(self, before: Path | None) -> Iterator[Index]:
        if before is None:
            before = self._stages.run(
                "round-0/base-index",
                {"corpus": self._data["corpus"]},
                lambda folder: _build(self._corpus, folder / "index", "static"),
            )
        with Index.open(before / "index") as index:
            yield index

    def _generator(self, number: int, index: Path, earlier: Sequence[Path]) -> Path:
        settings = self._settings
        if number > 1 and settings.start is Start.FROZEN:
            return earlier[0]
        inputs = {
            **self._data,
            "index": digest(index),
            "generator": settings.generator,
            "judge": settings.judge,
            "arm": settings.arm,
            "start": settings.start,
            "settings": asdict(settings.standin) if settings.generator == STANDIN else settings.grpo,
            "declarations": settings.declarations,
            "seed": settings.seed,
            "before": digest(earlier[-1]) if earlier and settings.start is Start.PREVIOUS else None,
        }

        def train(folder: Path) -> None:
            with self._scorer(index, folder / "samples", judge_all=False) as (scorer, names):
                if settings.generator == STANDIN:
                    continues = bool(earlier) and settings.start is Start.PREVIOUS
                    start = Policy.read(earlier[-1] / standin_run.GENERATOR) if continues else None
                    standin_run.train(scorer, names, folder, settings.standin, start)
                    return
                from training.search import grpo

                grpo.train(
                    self._start_model(number, earlier),
                    scorer,
                    names,
                    self._real(),
                    folder,
                    grpo.GrpoSettings(**settings.grpo),
                )

        return self._stages.run(f"round-{number}/generator", inputs, train)

    def _start_model(self, number: int, earlier: Sequence[Path]) -> str:
        settings = self._settings
        if number == 1 or settings.start is Start.BASE:
            return settings.generator
        if settings.start is Start.PREVIOUS:
            return str(earlier[-1] / "model")
        from training.search import sft

        folder = self._stages.run(
            "sft",
            {**self._data, "generator": settings.generator, "settings": asdict(settings.sft)},
            self._fine_tune,
        )
        return str(folder / sft.MODEL)

    def _fine_tune(self, folder: Path) -> None:
        from training.search import sft

        with self._any_index(None) as index:
            sft.train(self._settings.generator, self._real(), index, folder, self._settings.sft)

    def _real(self) -> list[SearchExample]:
        """Given short queries that nothing of an evaluation is in."""
        return [
            example
            for example in self._given
            if example.style == "short" and not self._forbidden.forbids_example(example)
        ]

    def _queries(self, number: int, index: Path, generator: Path) -> Path:
        settings = self._settings
        # Each round draws anew, so that a frozen generator writes other queries the second time.
        seed = settings.seed + 1_000 * number

        def write(folder: Path) -> None:
            with self._scorer(index, folder / "samples", judge_all=True) as (scorer, names):
                writer: QueryWriter
                if settings.generator == STANDIN:
                    policy = Policy.read(generator / standin_run.GENERATOR)
                    writer = StandinWriter(policy, scorer.retriever, seed)
                else:
                    writer = ModelWriter(generator / "model", seed)
                write_all(writer, scorer, names, folder / "samples", per=settings.per)

        inputs = {
            "index": digest(index),
            "generator": digest(generator),
            "judge": settings.judge,
            "arm": settings.arm,
            "per": settings.per,
            "declarations": settings.declarations,
            "evaluation": self._data["evaluation"],
            "seed": seed,
        }
        return self._stages.run(f"round-{number}/queries", inputs, write)

    @contextmanager
    def _scorer(self, index: Path, samples: Path, *, judge_all: bool) -> Iterator[tuple[Scorer, list[str]]]:
        with Index.open(index / "index") as opened, SampleWriter(samples) as writer:
            retriever = Retriever(opened, load_encoder(opened.manifest.vector_entry("search").encoder))
            judge: Judge = make_judge(
                self._settings.judge, opened, self._output / "judge", per_minute=self._settings.per_minute
            )
            yield Scorer(retriever, judge, self._settings.arm, writer, judge_all=judge_all), self._names(opened)

    def _names(self, index: Index) -> list[str]:
        names = [name for name in targets(index) if name not in self._forbidden.names]
        wanted = self._settings.declarations
        if wanted is None or wanted >= len(names):
            return names
        chosen = random.Random(self._settings.seed).sample(range(len(names)), wanted)
        return [names[place] for place in sorted(chosen)]

    def _figures(self, number: int, index: Path) -> dict[str, Any]:
        def judge(folder: Path) -> None:
            with Index.open(index / "index") as opened:
                encoder = load_encoder(opened.manifest.vector_entry("search").encoder)
                figures = as_json(measure(opened, encoder, self._evaluation))
            (folder / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")

        folder = self._stages.run(
            f"round-{number}/figures", {"index": digest(index), "evaluation": self._data["evaluation"]}, judge
        )
        found: dict[str, Any] = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
        return found


def _build(corpus: Corpus, folder: Path, encoder: Path | str) -> None:
    build_index(corpus, folder, load_encoder(str(encoder)))


def _examples_hash(examples: Sequence[SearchExample]) -> str:
    rows = json.dumps([asdict(example) for example in examples], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(rows.encode()).hexdigest()
