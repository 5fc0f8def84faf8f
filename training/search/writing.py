"""Lets a trained generator write about every declaration.

In: a generator, declarations, a scorer. Out: queries with rank, verdict and reward in a folder of samples; a run that
was interrupted goes on where it stopped. Three generators write: the stand-in, a language model on this machine, and
one behind an endpoint (`vllm serve` for hundreds of thousands of declarations).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from sidecar.chat import ChatEndpoint, Reply
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.text.query import query_text
from training.search.judges import make_endpoint
from training.search.prompts import prompt_text, query_messages, query_prompt, read_query
from training.search.retriever import Retriever
from training.search.scoring import Scorer
from training.search.sft import MODEL
from training.search.standin import Policy, Source, write_query
from training.search.standin_run import GENERATOR
from training.search.words import word_rarity

logger = logging.getLogger(__name__)

BATCH: Final = 1_024
"""Declarations that are written about between two checkpoints."""

COMPLETION_TOKENS: Final = 64


@dataclass(frozen=True, slots=True)
class Written:
    """One query: which declaration (its place among those asked about), the text, its length in tokens."""

    place: int
    query: str
    tokens: int


class QueryWriter(Protocol):
    """Writes queries."""

    def write(self, declarations: Sequence[Declaration], per: int) -> list[Written]:
        """Write `per` queries about each declaration."""


class StandinWriter:
    """Writes by choices.

    Args:
        policy: The trained choices.
        retriever: Counts tokens and knows how rare words are.
        seed: Decides what is drawn; the same declaration always gets the same queries.
    """

    def __init__(self, policy: Policy, retriever: Retriever, seed: int) -> None:
        self._policy = policy
        self._retriever = retriever
        self._rarity = word_rarity(retriever.index)
        self._seed = seed

    def write(self, declarations: Sequence[Declaration], per: int) -> list[Written]:
        """See `QueryWriter.write`."""
        places, queries = [], []
        for place, declaration in enumerate(declarations):
            source = Source.of(declaration)
            chance = random.Random(f"{self._seed} {declaration.name}")
            generator = np.random.default_rng(chance.getrandbits(64))
            for _ in range(per):
                places.append(place)
                queries.append(write_query(source, self._policy.draw(source.kind, generator), self._rarity, chance))
        return list(map(Written, places, queries, self._retriever.tokens(queries)))


class ModelWriter:
    """Writes with a causal language model on this machine.

    Args:
        folder: Folder of the model.
        seed: Decides what is sampled.
        batch: Declarations that are written about at one time.
    """

    def __init__(self, folder: Path, seed: int, batch: int = 32) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left")
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        model = AutoModelForCausalLM.from_pretrained(str(folder), use_safetensors=True, dtype="auto")
        self._model = model.to(self._device).eval()
        self._seed = seed
        self._batch = batch

    def write(self, declarations: Sequence[Declaration], per: int) -> list[Written]:
        """See `QueryWriter.write`."""
        import torch

        written: list[Written] = []
        marks = {self._tokenizer.eos_token_id, self._tokenizer.pad_token_id}
        for start in range(0, len(declarations), self._batch):
            part = declarations[start : start + self._batch]
            texts = [prompt_text(query_prompt(one, self._tokenizer), self._tokenizer) for one in part]
            inputs = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
            digest = hashlib.sha256("\n".join([str(self._seed), *(one.name for one in part)]).encode()).digest()
            with torch.inference_mode(), torch.random.fork_rng():
                # What is sampled depends on what is asked, not on when.
                torch.manual_seed(int.from_bytes(digest[:7], "big"))
                numbers = self._model.generate(
                    input_ids=inputs["input_ids"].to(self._device),
                    attention_mask=inputs["attention_mask"].to(self._device),
                    do_sample=True,
                    temperature=1.0,
                    top_k=0,
                    num_return_sequences=per,
                    max_new_tokens=COMPLETION_TOKENS,
                    pad_token_id=self._tokenizer.pad_token_id,
                )[:, inputs["input_ids"].shape[1] :]
            for row, answer in enumerate(numbers.tolist()):
                query = read_query(self._tokenizer.decode(answer, skip_special_tokens=True))
                length = sum(number not in marks for number in answer) if query else 0
                written.append(Written(start + row // per, query, length))
        return written


class EndpointWriter:
    """Writes with a model behind an endpoint, which need not be the one that was trained here.

    Args:
        chat: The endpoint.
        retriever: Counts tokens, since the endpoint's tokenizer is not here.
    """

    def __init__(self, chat: ChatEndpoint, retriever: Retriever) -> None:
        self._chat = chat
        self._retriever = retriever

    def write(self, declarations: Sequence[Declaration], per: int) -> list[Written]:
        """See `QueryWriter.write`. A refusal is an empty query."""

        async def ask(declaration: Declaration) -> Reply:
            return await self._chat.ask(query_messages(declaration), temperature=1.0, max_tokens=8 * COMPLETION_TOKENS)

        async def all_of_them() -> list[Reply]:
            try:
                return await asyncio.gather(*(ask(one) for one in declarations for _ in range(per)))
            finally:
                await self._chat.close()

        queries = ["" if reply.refused else read_query(reply.text) for reply in asyncio.run(all_of_them())]
        places = [place for place in range(len(declarations)) for _ in range(per)]
        return list(map(Written, places, queries, self._retriever.tokens(queries)))


def make_writer(generator: str, retriever: Retriever, seed: int) -> QueryWriter:
    """The generator of a name.

    Args:
        generator: Folder of a trained generator, or `MODEL@ADDRESS` of an endpoint (see `judges.make_endpoint`).
        retriever: See the writers.
        seed: See the writers.

    Raises:
        SidecarError: `not_found` when it is neither.
    """
    folder = Path(generator)
    if (folder / GENERATOR).is_file():
        return StandinWriter(Policy.read(folder / GENERATOR), retriever, seed)
    if (folder / MODEL / "config.json").is_file():
        return ModelWriter(folder / MODEL, seed)
    if "@" in generator:
        return EndpointWriter(make_endpoint(generator, None), retriever)
    raise SidecarError(
        "not_found",
        f"{generator!r} is no generator",
        field="generator",
        hint="give the folder that `python -m training search generator` wrote, or MODEL@ADDRESS",
    )


def targets(index: Index) -> list[str]:
    """Names of the declarations that are written about: search targets that are not deprecated, in corpus order, one
    for each text (declarations that a retriever cannot tell apart have no rank of their own).
    """
    rows = np.flatnonzero(index.target & ~index.deprecated).tolist()
    seen: set[str] = set()
    names = []
    for start in range(0, len(rows), 8_192):
        for declaration in index.declarations(rows[start : start + 8_192]):
            _, _, statement = declaration.signature.partition(declaration.name)
            key = hashlib.blake2b(f"{declaration.kind}{statement}{declaration.docstring}".encode(), digest_size=12)
            if declaration.kind != "theorem" or key.hexdigest() not in seen:
                seen.add(key.hexdigest())
                names.append(declaration.name)
    return names


def write_all(writer: QueryWriter, scorer: Scorer, names: Sequence[str], output: Path, *, per: int) -> None:
    """Write about declarations, score and record it all.

    Args:
        writer: Writes.
        scorer: Scores; its own writer must write to `output`.
        names: Declarations.
        output: Folder of the samples.
        per: Queries a declaration.
    """
    marker = output / "written.json"
    done, samples = _written(marker)
    if samples is not None:
        # A block that was flushed after the marker is written again; it must not count twice.
        scorer.writer.set_aside_after(samples)
    with Progress("declarations written about", len(names), done) as progress:
        for start in range(done, len(names), BATCH):
            part = names[start : start + BATCH]
            written = writer.write(scorer.retriever.declarations(part), per)
            scorer.score(
                [one.query for one in written],
                [part[one.place] for one in written],
                [one.tokens if query_text(one.query) else 0 for one in written],
                step=-1,
            )
            scorer.writer.flush()
            beside = marker.with_suffix(".writing")
            beside.write_text(json.dumps({"declarations": start + len(part), "samples": scorer.writer.number}) + "\n")
            beside.replace(marker)
            progress.advance(len(part))
    logger.info("%s", scorer.counts)


def _written(marker: Path) -> tuple[int, int | None]:
    """Declarations that are done, and the number of the newest file of samples that belongs to them; None where a
    marker of an earlier version does not say.
    """
    if not marker.is_file():
        return 0, 0
    try:
        body = json.loads(marker.read_text(encoding="utf-8"))
        return int(body["declarations"]), body.get("samples")
    except (ValueError, LookupError, TypeError) as error:
        raise SidecarError(
            "bad_request", f"{marker} cannot be read: {error}", field="output", hint="give another folder"
        ) from error
