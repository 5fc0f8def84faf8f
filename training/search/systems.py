"""The systems that search is judged by: words alone, vectors alone, the search as it is served, with a rewriter.

In: an index, the names of rewriters. Out: systems, each of which answers many queries with names of declarations.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.search.rewriter import Rewriter
from sidecar.search.rewriters import OFF, VOCABULARY
from sidecar.text.query import query_text
from training.search.judges import make_endpoint
from training.search.retriever import Retriever

AT_ONCE: Final = 8
"""Searches that are under way at the same time, so that an endpoint that rewrites is kept busy."""

Answers = list[list[str]]
"""For each query names of declarations, best first."""


@dataclass(frozen=True, slots=True)
class System:
    """Something that answers queries.

    Attributes:
        name: Its name in tables.
        answer: Queries, and how many declarations each shall find → their answers.
        warnings: Codes of what a search warned of, with counts: a rewriter that failed leaves the query as typed.
    """

    name: str
    answer: Callable[[Sequence[str], int], Awaitable[Answers]]
    warnings: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which systems of an index.

    Attributes:
        folder: The index.
        label: What stands for its encoder in the names of systems; None for the encoder's own name.
        encoder: What encodes queries: None for the index's own encoder, or a query tower that was trained for it.
        words: BM25 over its words. It is the same for every index of a corpus, so one index is enough.
        alone: Its vectors alone.
        rewriters: The search as it is served, with each of these: `off`, `vocabulary`, or `MODEL@ADDRESS`.
        reranker: Folder or `hub:owner/model` of a cross-encoder: each of these searches with it, too; None for none.
        prompt: File with the instruction for a model that rewrites; None for the one that comes with the package.
        replies: Folder where rewrites are kept; None to keep none.
        threads: Of the encoder and the index; 0 for half the cores.
    """

    folder: Path
    label: str | None = None
    encoder: str | None = None
    words: bool = True
    alone: bool = True
    rewriters: tuple[str, ...] = (OFF, VOCABULARY)
    reranker: str | None = None
    prompt: Path | None = None
    replies: Path | None = None
    threads: int = 0

    @classmethod
    def read(cls, said: str) -> Wanted:
        """Read `[LABEL=]FOLDER[@ENCODER]`; a folder that is there may hold any sign."""
        label, mark, place = said.partition("=")
        if not mark or Path(said).is_dir():
            label, place = "", said
        folder, mark, encoder = place.rpartition("@")
        if not mark or Path(place).is_dir():
            folder, encoder = place, ""
        return cls(Path(folder), label or None, encoder or None)


@asynccontextmanager
async def open_systems(wanted: Wanted) -> AsyncIterator[tuple[Index, list[System]]]:
    """Open an index with its systems.

    They are `bm25`, the encoder's label alone, `fused LABEL`, `fused LABEL + REWRITER`, and these two `+ reranker`.

    Raises:
        SidecarError: What opening the index and its encoder raises; `bad_request` for a rewriter that is none.
    """
    rewriters = {name: make_search_rewriter(name, wanted.prompt, wanted.replies) for name in wanted.rewriters}
    with Index.open(wanted.folder, threads=wanted.threads) as index:
        name = wanted.encoder or index.manifest.vector_entry("search").encoder
        encoder = load_encoder(name, threads=wanted.threads)
        label = wanted.label or encoder.name
        systems = [System("bm25", words_alone(index))] if wanted.words else []
        if wanted.alone:
            systems.append(System(label, vectors_alone(index, encoder)))
        reranker = None
        if wanted.reranker is not None:
            from sidecar.search.cross_encoder import load_reranker

            reranker = load_reranker(wanted.reranker, threads=wanted.threads)
        batcher = MicroBatcher(encoder, waiting_limit=1_024)
        try:
            for name, rewriter in rewriters.items():
                full = f"fused {label}" + ("" if name == OFF else f" + {name}")
                engine = SearchEngine(index, batcher, rewriter, reranker=reranker)
                systems.append(served(engine, full))
                if reranker is not None:
                    systems.append(served(engine, f"{full} + reranker", rerank=True))
            yield index, systems
        finally:
            await batcher.close()
            if reranker is not None:
                reranker.close()


def make_search_rewriter(name: str, prompt: Path | None, replies: Path | None) -> Rewriter | None:
    """The rewriter of a name: `off`, `vocabulary`, or `MODEL@ADDRESS` (token as in `judges.TOKEN`)."""
    if name == OFF:
        return None
    if name == VOCABULARY:
        from sidecar.search.vocabulary import VocabularyRewriter

        return VocabularyRewriter()
    if "@" not in name:
        raise SidecarError(
            "bad_request", f"{name!r} is no rewriter", field="rewriter", hint="give off, vocabulary or MODEL@ADDRESS"
        )
    from sidecar.search.endpoint_rewriter import EndpointRewriter, read_instruction

    return EndpointRewriter(make_endpoint(name, replies), read_instruction(prompt))


def words_alone(index: Index) -> Callable[[Sequence[str], int], Awaitable[Answers]]:
    """BM25 over names, statements and docstrings."""

    async def answer(queries: Sequence[str], depth: int) -> Answers:
        answers = []
        with Progress("queries, bm25", len(queries)) as progress:
            for query in queries:
                rows, _ = index.lexical.search(query_text(query).split(), depth, index.target)
                answers.append(index.names(rows.tolist()))
                progress.advance()
        return answers

    return answer


def vectors_alone(index: Index, encoder: Encoder) -> Callable[[Sequence[str], int], Awaitable[Answers]]:
    """The nearest vectors."""

    async def answer(queries: Sequence[str], depth: int) -> Answers:
        found = Retriever(index, encoder, depth).find(queries)
        return [index.names([row for row in rows if row >= 0]) for rows in found.tolist()]

    return answer


def served(engine: SearchEngine, name: str, *, rerank: bool = False) -> System:
    """The search as a user gets it."""
    warnings: Counter[str] = Counter()

    async def answer(queries: Sequence[str], depth: int) -> Answers:
        places = asyncio.Semaphore(AT_ONCE)
        with Progress(f"queries, {name}", len(queries)) as progress:

            async def one(query: str) -> list[str]:
                async with places:
                    found = await engine.search(SearchRequest(query, depth, rerank=rerank))
                progress.advance()
                warnings.update(warning.code for warning in found.warnings)
                return [result.name for result in found.results]

            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(one(query)) for query in queries]
            except BaseExceptionGroup as errors:
                # The first one says it; the others were cancelled or say the same.
                raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    return System(name, answer, warnings)
