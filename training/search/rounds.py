"""Generator against retriever, in rounds.

In: a corpus, queries for round 0, evaluation queries. Out: for each round a generator, its queries, a retriever with
its index, and the ranks that it gives to right answers; `ranks.json` with those of all rounds, which
`benchmarks.rounds` makes tables and pictures of.

Round 0 trains the retriever on docstrings and given queries. Each further round trains a generator against the
retriever of the round before, lets it write about every declaration that no evaluation wants, keeps what the judge
finds consistent and the retriever did not answer, and trains the retriever anew on round 0 and all generated queries.

A run may follow several arms. Round 0 is one for all of them (`round-0/`), an arm has its own rounds after that
(`both/round-1/`, …), and its round 1 is one for all starts (`both-frozen/round-2/`).
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
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.source import Corpus
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.index.index import Index
from training.data.queries import SearchExample
from training.data.questions import Forbidden, Pair, allowed
from training.search import standin_run
from training.search.arms import Arm, Start
from training.search.figures import measure_ranks
from training.search.judge import Judge
from training.search.judges import make_judge
from training.search.pairs import first_pairs, kept_pairs
from training.search.reindex import canonical_texts, reindex
from training.search.retrieval import MODEL, RetrievalSettings
from training.search.retrieval import train as train_retriever
from training.search.retriever import Retriever
from training.search.samples import SampleWriter
from training.search.scoring import Scorer
from training.search.sft import SftSettings
from training.search.stages import Stages, digest
from training.search.standin import Policy
from training.search.standin_run import StandinSettings
from training.search.writing import make_writer, targets, write_all

logger = logging.getLogger(__name__)

STANDIN: Final = "standin"
RANKS: Final = "ranks.json"

RoundRanks = dict[str, dict[str, list[int]]]
"""Round (`round 0`; `both, round 1`; `both from base, round 2`) → system (`retriever`, `search`) → see
`training.search.figures.Ranks`."""


@dataclass(frozen=True, slots=True)
class RoundsSettings:
    """How the rounds go.

    Attributes:
        rounds: Rounds after round 0.
        generator: `standin`, or a causal language model: its folder, or `hub:owner/model`.
        judge: See `judges.make_judge`; `per_minute` is the most that an endpoint is asked.
        arms: What rewards look at, and by what generated queries are kept; each is followed through all rounds.
        start: Where the generators of later rounds begin: with the one before, with the base model, with the model
            after supervised fine-tuning alone; or `frozen`: the first generator writes again.
        per: Queries that a generator writes about each declaration.
        declarations: Write about so many declarations, drawn at random; None for all.
        search: Judge the search as it is served, too, beside the retriever's vectors.
        retrieval, standin, grpo, sft: Settings of the stages; `grpo` as keyword arguments of `GrpoSettings`.
        seed: Decides what is drawn.
    """

    rounds: int
    retrieval: RetrievalSettings
    generator: str = STANDIN
    judge: str = "words"
    per_minute: float = 0.0
    arms: tuple[Arm, ...] = (Arm.BOTH,)
    start: Start = Start.PREVIOUS
    per: int = 1
    declarations: int | None = None
    search: bool = True
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
        base: An index of the corpus, of any encoder, whose tables are used; None to build one.
    """

    def __init__(
        self,
        corpus: Corpus,
        given: Sequence[SearchExample],
        evaluation: Sequence[SearchExample],
        output: Path,
        settings: RoundsSettings,
        base: Path | None = None,
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
        self._given_base = base
        self._known_pairs: tuple[Pair, ...] | None = None
        self._settings = settings
        self._stages = Stages(output)
        self._data = {
            "corpus": corpus.fingerprint(),
            "given": _examples_hash(given),
            "evaluation": _examples_hash(evaluation),
        }

    def run(self) -> RoundRanks:
        """Do all rounds of all arms, as far as they are not done.

        Returns:
            See `RoundRanks`.
        """
        index = self._retriever("round-0", (), None)
        ranks = {"round 0": self._ranks("round-0", index)}
        for arm in self._settings.arms:
            self._follow(arm, index, ranks)
        body = {"queries": [asdict(example) for example in self._evaluation], "ranks": ranks}
        (self._output / RANKS).write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")
        return ranks

    def _follow(self, arm: Arm, index: Path, ranks: RoundRanks) -> None:
        """The rounds of one arm after round 0."""
        start = self._settings.start
        queries: list[Path] = []
        generators: list[Path] = []
        for number in range(1, self._settings.rounds + 1):
            label = arm.value if number == 1 or start is Start.PREVIOUS else f"{arm}-{start}"
            folder = f"{label}/round-{number}"
            if number == 1 or start is not Start.FROZEN:
                generators.append(self._generator(f"{folder}/generator", arm, index, generators))
            queries.append(self._queries(f"{folder}/queries", number, arm, index, generators[-1]))
            index = self._retriever(folder, queries, arm)
            ranks[f"{label.replace('-', ' from ')}, round {number}"] = self._ranks(folder, index)

    def _retriever(self, name: str, queries: Sequence[Path], arm: Arm | None) -> Path:
        """Train the retriever of a round and make its index; returns the stage of the index."""
        settings = self._settings
        inputs = {
            **self._data,
            "settings": asdict(settings.retrieval),
            "queries": [digest(folder) for folder in queries],
            "arm": arm,
        }

        def train(folder: Path) -> None:
            with Index.open(self._base) as index:
                pairs = list(self._first_pairs(index))
                if arm is not None:
                    found = kept_pairs([folder / "samples" for folder in queries], index, arm)
                    kept, dropped = allowed(found, self._forbidden)
                    logger.info("%d generated pairs; %d that an evaluation asks were left out", len(kept), dropped)
                    pairs += kept
                train_retriever(settings.retrieval, pairs, index, folder)

        def encode(folder: Path) -> None:
            reindex(self._base, folder / "index", load_encoder(str(trained / MODEL)), self._texts)

        trained = self._stages.run(f"{name}/retriever", inputs, train)
        return self._stages.run(f"{name}/index", {"corpus": self._data["corpus"], "retriever": digest(trained)}, encode)

    @cached_property
    def _base(self) -> Path:
        """An index of the corpus, from which statements, docstrings and all tables but the vectors come."""
        if self._given_base is not None:
            with Index.open(self._given_base) as index:
                if index.manifest.corpus_fingerprint != self._data["corpus"]:
                    raise SidecarError(
                        "conflict",
                        f"{self._given_base} is an index of another corpus",
                        field="base",
                        hint="leave --base away, or name an index of this corpus",
                    )
            return self._given_base
        stage = self._stages.run(
            "base-index",
            {"corpus": self._data["corpus"]},
            lambda folder: _build(self._corpus, folder / "index"),
        )
        return stage / "index"

    @cached_property
    def _texts(self) -> list[str]:
        """What encoders get of each row; the same for all indexes of the run."""
        with Index.open(self._base) as index:
            return canonical_texts(index)

    def _first_pairs(self, index: Index) -> tuple[Pair, ...]:
        """The pairs of round 0."""
        if self._known_pairs is None:
            pairs, dropped = allowed(first_pairs(index, self._given), self._forbidden)
            logger.info("round 0: %d pairs; %d that an evaluation asks or wants were left out", len(pairs), dropped)
            self._known_pairs = tuple(pairs)
        return self._known_pairs

    def _generator(self, name: str, arm: Arm, index: Path, earlier: Sequence[Path]) -> Path:
        settings = self._settings
        inputs = {
            **self._data,
            "index": digest(index),
            "generator": settings.generator,
            "judge": settings.judge,
            "arm": arm,
            "start": settings.start if earlier else None,
            "settings": asdict(settings.standin) if settings.generator == STANDIN else settings.grpo,
            "declarations": settings.declarations,
            "seed": settings.seed,
            "before": digest(earlier[-1]) if earlier and settings.start is Start.PREVIOUS else None,
        }

        def train(folder: Path) -> None:
            with self._scorer(arm, index, folder / "samples", judge_all=False) as (scorer, names):
                if settings.generator == STANDIN:
                    continues = bool(earlier) and settings.start is Start.PREVIOUS
                    start = Policy.read(earlier[-1] / standin_run.GENERATOR) if continues else None
                    standin_run.train(scorer, names, folder, settings.standin, start)
                    return
                from training.search import grpo

                grpo.train(
                    self._start_model(earlier),
                    scorer,
                    names,
                    self._real(),
                    folder,
                    grpo.GrpoSettings(**settings.grpo),
                )

        return self._stages.run(name, inputs, train)

    def _start_model(self, earlier: Sequence[Path]) -> str:
        settings = self._settings
        if not earlier or settings.start is Start.BASE:
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

        with Index.open(self._base) as index:
            sft.train(self._settings.generator, self._real(), index, folder, self._settings.sft)

    def _real(self) -> list[SearchExample]:
        """Given short queries that nothing of an evaluation is in."""
        return [
            example
            for example in self._given
            if example.style == "short" and not self._forbidden.forbids_example(example)
        ]

    def _queries(self, name: str, number: int, arm: Arm, index: Path, generator: Path) -> Path:
        settings = self._settings
        # Each round draws anew, so that a frozen generator writes other queries the second time.
        seed = settings.seed + 1_000 * number

        def write(folder: Path) -> None:
            with self._scorer(arm, index, folder / "samples", judge_all=True) as (scorer, names):
                writer = make_writer(str(generator), scorer.retriever, seed)
                write_all(writer, scorer, names, folder / "samples", per=settings.per)

        inputs = {
            "index": digest(index),
            "generator": digest(generator),
            "judge": settings.judge,
            "arm": arm,
            "per": settings.per,
            "declarations": settings.declarations,
            "evaluation": self._data["evaluation"],
            "seed": seed,
        }
        return self._stages.run(name, inputs, write)

    @contextmanager
    def _scorer(self, arm: Arm, index: Path, samples: Path, *, judge_all: bool) -> Iterator[tuple[Scorer, list[str]]]:
        with Index.open(index / "index") as opened, SampleWriter(samples) as writer:
            retriever = Retriever(opened, load_encoder(opened.manifest.vector_entry("search").encoder))
            judge: Judge = make_judge(
                self._settings.judge, opened, self._output / "judge", per_minute=self._settings.per_minute
            )
            yield Scorer(retriever, judge, arm, writer, judge_all=judge_all), self._names(opened)

    def _names(self, index: Index) -> list[str]:
        names = [name for name in targets(index) if name not in self._forbidden.names]
        wanted = self._settings.declarations
        if wanted is None or wanted >= len(names):
            return names
        chosen = random.Random(self._settings.seed).sample(range(len(names)), wanted)
        return [names[place] for place in sorted(chosen)]

    def _ranks(self, name: str, index: Path) -> dict[str, list[int]]:
        def judge(folder: Path) -> None:
            with Index.open(index / "index") as opened:
                encoder = load_encoder(opened.manifest.vector_entry("search").encoder)
                ranks = measure_ranks(opened, encoder, self._evaluation, search=self._settings.search)
            (folder / RANKS).write_text(json.dumps(ranks) + "\n", encoding="utf-8")

        inputs = {"index": digest(index), "evaluation": self._data["evaluation"], "search": self._settings.search}
        folder = self._stages.run(f"{name}/ranks", inputs, judge)
        found: dict[str, list[int]] = json.loads((folder / RANKS).read_text(encoding="utf-8"))
        return found


def _build(corpus: Corpus, folder: Path) -> None:
    build_index(corpus, folder, load_encoder("static"))


def _examples_hash(examples: Sequence[SearchExample]) -> str:
    rows = json.dumps([asdict(example) for example in examples], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(rows.encode()).hexdigest()
