"""The instruction of the query rewriter, optimised with GEPA (Agrawal et al. 2025, package `gepa`).

In: generated queries with their declarations, the fixed retriever, a model that rewrites and one that reflects. Out: a
file with the instruction that puts the declarations highest, for `LEAN_SIDECAR_REWRITER_PROMPT`.

A candidate instruction rewrites a minibatch; the retriever ranks what was meant; the reflecting model reads ranks and
what stood above, and writes the next instruction. Only generated queries are used: no evaluation set can be given.
The models' answers are kept on disk, so a run that was interrupted goes through the same steps again without asking.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

from sidecar.chat import ChatEndpoint
from sidecar.errors import SidecarError
from sidecar.progress import Progress
from sidecar.search.endpoint_rewriter import ANSWER_TOKENS, read_rewrite, rewrite_messages
from training.search.retriever import Retriever
from training.search.samples import Sample, read_samples

logger = logging.getLogger(__name__)

COMPONENT: Final = "instruction"
"""Name of the one text that GEPA changes."""

ABOVE: Final = 5
"""How many declarations that ranked above the wanted one are shown."""

SHOWN_CHARACTERS: Final = 300

PROMPT: Final = "prompt.txt"
RECORD: Final = "gepa.json"

Rewriting = Callable[[str, Sequence[str]], list[str]]
"""Rewrites queries by an instruction; an empty text where the model gave none."""

Reflection = Callable[[str], str]
"""Answers one prompt."""


@dataclass(frozen=True, slots=True)
class Task:
    """A generated query and the declaration that it should find."""

    query: str
    declaration: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What became of one task.

    Attributes:
        task: The task.
        rewritten: The rewritten query.
        typed, rank: Rank of the declaration for the query as it is, and for the rewritten one.
        above: What stood above, best first: name, statement, docstring, cut.
        wanted: The same of the declaration.
    """

    task: Task
    rewritten: str
    typed: int | None
    rank: int | None
    above: tuple[str, ...]
    wanted: str


@dataclass(frozen=True, slots=True)
class GepaSettings:
    """How much is tried.

    Attributes:
        training, validation: Queries that candidates are improved on, and judged on.
        minibatch: Queries that one reflection reads about.
        calls: Most rewrites that are ranked, over the whole run.
        seed: Decides which queries, and in what order.
    """

    training: int = 300
    validation: int = 300
    minibatch: int = 8
    calls: int = 6_000
    seed: int = 0


def score(rank: int | None) -> float:
    """What a rank is worth: 1 / log2(1 + rank), the discount of nDCG; 0 when the declaration was not found."""
    return 0.0 if rank is None else 1.0 / math.log2(1 + rank)


class RewriteAdapter:
    """What `gepa` asks for (`gepa.GEPAAdapter`).

    Args:
        retriever: The fixed retriever.
        rewriting: Rewrites by an instruction.
        done: Told how many queries were ranked.
    """

    propose_new_texts = None

    def __init__(
        self, retriever: Retriever, rewriting: Rewriting, done: Callable[[int], None] = lambda _: None
    ) -> None:
        self._retriever = retriever
        self._rewriting = rewriting
        self._done = done

    def evaluate(self, batch: list[Task], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Rewrite a batch and rank what was meant; an empty rewrite scores 0."""
        from gepa.core.adapter import EvaluationBatch

        rewritten = self._rewriting(candidate[COMPONENT], [task.query for task in batch])
        wanted = self._retriever.rows([task.declaration for task in batch])
        found = self._retriever.find(rewritten)
        ranks = self._retriever.places(found, wanted)
        traces: list[Trace] | None = None
        if capture_traces:
            typed = self._retriever.ranks([task.query for task in batch], [task.declaration for task in batch])
            traces = []
            for task, text, before, rank, rows, row in zip(
                batch, rewritten, typed, ranks, found.tolist(), wanted.tolist(), strict=True
            ):
                first = [place for place in rows[: ABOVE if rank is None else min(ABOVE, rank - 1)] if place >= 0]
                traces.append(Trace(task, text, before, rank, tuple(map(self._shown, first)), self._shown(row)))
        self._done(len(batch))
        return EvaluationBatch(outputs=rewritten, scores=[score(rank) for rank in ranks], trajectories=traces)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """What the reflecting model reads about a minibatch."""
        return {COMPONENT: [_feedback(trace) for trace in eval_batch.trajectories]}

    def _shown(self, row: int) -> str:
        declaration = self._retriever.index.declaration(row)
        text = f"{declaration.name}: {declaration.shown}"
        if declaration.docstring:
            text += f" -- {' '.join(declaration.docstring.split())}"
        return text[:SHOWN_CHARACTERS]


def _feedback(trace: Trace) -> dict[str, Any]:
    at = "was not among the declarations found" if trace.rank is None else f"came out at rank {trace.rank}"
    before = "was not found" if trace.typed is None else f"was at rank {trace.typed}"
    lines = [f"The wanted declaration {at}; for the question as typed it {before}.", f"Wanted: {trace.wanted}"]
    if trace.above:
        lines += ["Above it stood:", *(f"{place}. {text}" for place, text in enumerate(trace.above, start=1))]
    return {
        "Inputs": {"question": trace.task.query},
        "Generated Outputs": trace.rewritten or "(nothing)",
        "Feedback": "\n".join(lines),
    }


def draw_tasks(folder: Path, retriever: Retriever, settings: GepaSettings) -> tuple[list[Task], list[Task]]:
    """Tasks for training and validation: consistent generated queries, one a declaration, none in both.

    Raises:
        SidecarError: When there are too few.
    """
    by_declaration: dict[str, Sample] = {}
    for sample in read_samples(folder):
        row = retriever.index.row(sample.declaration) if sample.consistent else None
        if row is not None and retriever.index.target[row]:
            kept = by_declaration.setdefault(sample.declaration, sample)
            if sample.reward > kept.reward:
                by_declaration[sample.declaration] = sample
    tasks = [Task(sample.query, name) for name, sample in sorted(by_declaration.items())]
    random.Random(settings.seed).shuffle(tasks)
    wanted = settings.training + settings.validation
    if len(tasks) < wanted:
        raise SidecarError(
            "bad_request",
            f"{folder} holds consistent queries about {len(tasks)} declarations, {wanted} are wanted",
            field="samples",
            hint="generate more queries, or ask for fewer tasks",
        )
    return tasks[: settings.training], tasks[settings.training : wanted]


def endpoint_rewriting(chat: ChatEndpoint) -> Rewriting:
    """Rewriting by a model behind an endpoint."""

    def rewrite(instruction: str, queries: Sequence[str]) -> list[str]:
        async def ask(query: str) -> str:
            reply = await chat.ask(rewrite_messages(instruction, query), max_tokens=ANSWER_TOKENS)
            return "" if reply.refused else read_rewrite(reply.text)

        async def all_of_them() -> list[str]:
            try:
                return await asyncio.gather(*map(ask, queries))
            finally:
                await chat.close()

        return asyncio.run(all_of_them())

    return rewrite


def endpoint_reflection(chat: ChatEndpoint, max_tokens: int = 4_096) -> Reflection:
    """Reflection by a model behind an endpoint."""

    def reflect(prompt: str) -> str:
        async def ask() -> str:
            try:
                return (await chat.ask([{"role": "user", "content": prompt}], max_tokens=max_tokens)).text
            finally:
                await chat.close()

        return asyncio.run(ask())

    return reflect


class _Log:
    """Takes what `gepa` says of itself."""

    def log(self, message: str) -> None:
        logger.debug("%s", message)


def optimise(
    samples: Path,
    retriever: Retriever,
    rewriting: Rewriting,
    reflection: Reflection,
    seed_instruction: str,
    output: Path,
    settings: GepaSettings,
) -> dict[str, Any]:
    """Optimise the instruction, and write it with the record of the run.

    Returns:
        The record: settings, scores of every candidate on the validation queries, the chosen one.
    """
    from gepa.api import optimize

    training, validation = draw_tasks(samples, retriever, settings)
    typed = retriever.ranks([task.query for task in validation], [task.declaration for task in validation])
    with Progress("rewrites", settings.calls) as progress:
        result: Any = optimize(
            seed_candidate={COMPONENT: seed_instruction},
            trainset=training,
            valset=validation,
            adapter=cast(Any, RewriteAdapter(retriever, rewriting, progress.advance)),
            reflection_lm=lambda prompt: reflection(prompt if isinstance(prompt, str) else json.dumps(prompt)),
            reflection_minibatch_size=settings.minibatch,
            max_metric_calls=settings.calls,
            seed=settings.seed,
            logger=_Log(),
            raise_on_exception=True,
        )
    scores = [float(value) for value in result.val_aggregate_scores]
    best = int(result.best_idx)
    record: dict[str, Any] = {
        "settings": asdict(settings),
        "retriever": retriever.fingerprint,
        "typed": sum(map(score, typed)) / len(typed),
        "seed": scores[0],
        "best": scores[best],
        "scores": scores,
        "candidates": [candidate[COMPONENT] for candidate in result.candidates],
    }
    output.mkdir(parents=True, exist_ok=True)
    (output / PROMPT).write_text(result.candidates[best][COMPONENT].strip() + "\n", encoding="utf-8")
    (output / RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    logger.info(
        "%d candidates; on %d queries: typed %.3f, first instruction %.3f, best %.3f",
        len(scores),
        len(validation),
        record["typed"],
        record["seed"],
        record["best"],
    )
    return record
