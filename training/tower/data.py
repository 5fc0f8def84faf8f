"""What a tower's run learns from and is watched with.

In: settings, an index, the folder of examples, files of queries. Out: `TowerData`; everything that an evaluation asks
is taken out first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.text.query import query_text
from training.data.decontamination import Decontamination, Removed
from training.data.examples import PremiseExample
from training.data.queries import SearchExample, read_queries
from training.data.questions import Forbidden
from training.data.sources import ExampleSource
from training.tower.queries import TowerQuery, question_queries, run_order, state_queries
from training.tower.settings import TowerSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TowerPlaces:
    """Where a run's inputs lie and its outputs go.

    Attributes:
        index: The index whose documents the tower is for.
        data: Examples of premise selection.
        output: The run's folder.
        cache: Tokens that later runs use again.
        questions: Files of questions with right answers, trained on beside docstrings and statements.
        evaluation_queries: Files of queries that will be evaluated on, which are kept out of the questions.
    """

    index: Path
    data: Path
    output: Path
    cache: Path
    questions: tuple[Path, ...] = ()
    evaluation_queries: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class TowerData:
    """See the module.

    Attributes:
        source: Where the examples come from.
        examples: Those that goals were made of, after decontamination.
        queries: Goals, the same goals without hypotheses, questions: numbered as in `run_order`.
        states, questions: How many of them.
        order: Numbers of the queries of the whole run.
        evaluation: Every example that is or will be evaluated on, by part.
        removed: What decontamination took out.
    """

    source: ExampleSource
    examples: tuple[PremiseExample, ...]
    queries: tuple[TowerQuery, ...]
    states: int
    questions: int
    order: npt.NDArray[np.int64]
    evaluation: dict[str, list[PremiseExample]]
    removed: Removed

    @classmethod
    def load(cls, settings: TowerSettings, places: TowerPlaces, index: Index) -> TowerData:
        """Read, decontaminate, number, put in order.

        Raises:
            SidecarError: What the readers raise; `bad_request` when nothing can be trained on, or questions are to be
                learned and nothing says which are evaluated on.
        """
        manifest = index.manifest
        chosen = manifest.roles[settings.role]
        source = ExampleSource.open(places.data, settings.split)
        evaluation = {part: list(source.read(part)) for part in ("valid", "test")}
        filter_ = Decontamination(example for examples in evaluation.values() for example in examples)
        examples: list[PremiseExample] = []
        states: list[TowerQuery] = []
        if manifest.roles["premises"] == chosen:
            examples = list(filter_.filter(source.read("train")))
            logger.info("decontamination: %s", filter_.removed)
            if settings.states is not None:
                some = np.sort(np.random.default_rng(settings.seed).permutation(len(examples))[: settings.states])
                examples = [examples[int(number)] for number in some]
            states = state_queries(examples, index)
        asked = manifest.roles["search"] == chosen and settings.question_share > 0
        share = settings.question_share if states and asked else float(asked)
        if settings.steps is not None:
            wanted = settings.steps * settings.batch
        else:
            wanted = round(settings.passes * (len(states) or int(index.target.sum())) / max(1 - share, 0.01))
        questions = _questions(settings, places, index, evaluation, round(wanted * share) + 1) if asked else []
        if not states and not questions:
            raise SidecarError(
                "bad_request",
                f"no goal and no question of {places.data} has an answer in {places.index}",
                field="data",
                hint="give the index of the corpus that the examples were made from",
            )
        logger.info("%d goals, %d questions", len(states), len(questions))
        order = run_order(
            len(states),
            len(questions),
            max(wanted, 1),
            alone=settings.alone,
            share=share,
            seed=settings.seed,
        )
        queries = (*states, *(replace(query, alone=True) for query in states), *questions)
        return cls(source, tuple(examples), queries, len(states), len(questions), order, evaluation, filter_.removed)

    @property
    def pairs(self) -> int:
        """(goal, premise) pairs."""
        return sum(len(query.rows) for query in self.queries[: self.states])


def _questions(
    settings: TowerSettings,
    places: TowerPlaces,
    index: Index,
    evaluation: Mapping[str, Sequence[PremiseExample]],
    wanted: int,
) -> list[TowerQuery]:
    """Given questions, and of those that declarations make as many as the run asks, and no fewer than were given."""
    if not places.evaluation_queries:
        raise SidecarError(
            "bad_request",
            "questions are to be learned, and nothing says which are evaluated on",
            field="evaluation_queries",
            hint="give the file of the queries that the tower will be evaluated on, or --question-share 0",
        )
    hidden = frozenset(example.theorem for part in evaluation.values() for example in part)
    forbidden = Forbidden(_read(places.evaluation_queries))
    given = _given([one for one in _read(places.questions) if not forbidden.forbids_example(one)], index)
    return [*given, *question_queries(index, forbidden, hidden, max(wanted, len(given)), settings.seed)]


def _read(files: Sequence[Path]) -> list[SearchExample]:
    return [example for file in files for example in read_queries(file)]


def _given(examples: Sequence[SearchExample], index: Index) -> list[TowerQuery]:
    found = []
    for example in examples:
        rows = index.rows(example.gold)
        rows = rows[rows >= 0]
        rows = rows[index.target[rows]]
        text = query_text(example.query)
        if len(rows) and text:
            found.append(TowerQuery(text, "question", tuple(np.unique(rows).tolist())))
    return found
