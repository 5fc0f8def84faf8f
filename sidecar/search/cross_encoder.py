"""The reranker that a cross-encoder of sentence-transformers is.

In: a folder or a model on the hub. Out: a `Reranker`. A model that takes messages (a language model such as
Qwen3-Reranker) is told what is sought in the slot that its own template has for it; a classifier that was trained
without an instruction gets none, because words in front of the query that it has never seen cost it more than they
help.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from sidecar.encoder.load import HUB, hub_folder
from sidecar.encoder.threads import model_threads, torch_threads
from sidecar.errors import SidecarError

BATCH: Final = 8
"""Candidates of one pass; between two passes a search that nobody waits for ends."""

MAX_TOKENS: Final = 512
"""Longer pairs are cut."""

INSTRUCTION: Final = "Given a query about Lean 4 mathematics, find the declaration that states, defines or answers it"

QWEN3_TEMPLATE: Final = """\
{%- macro said(message) -%}
{{- message.content if message.content is string else message.content[0].text -}}
{%- endmacro -%}
{%- set told = namespace(system="Given a query, find what answers it", query="", document="") -%}
{%- for message in messages -%}
{%- if message.role == "system" %}{% set told.system = said(message) %}{% endif -%}
{%- if message.role == "query" %}{% set told.query = said(message) %}{% endif -%}
{%- if message.role == "document" %}{% set told.document = said(message) %}{% endif -%}
{%- endfor -%}
<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer \
can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ told.system }}
<Query>: {{ told.query }}
<Document>: {{ told.document }}<|im_end|>
<|im_start|>assistant
<think>

</think>{{ "\n\n" }}"""
"""The form of Qwen3-Reranker's model card, for its folders whose own template is that of the chat model."""


class CrossEncoderReranker:
    """See `Reranker`. Passes run one after another in a thread of their own.

    Args:
        name: What it is called.
        model: A `sentence_transformers.CrossEncoder`.
        threads: Threads of a CPU that it takes; 0 on a GPU.
    """

    def __init__(self, name: str, model: Any, threads: int) -> None:
        self._name = name
        self._model = model
        self._threads = threads
        told = model.default_prompt_name is not None
        self._prompt = INSTRUCTION if _takes_messages(model) and not told else None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reranker")

    @property
    def name(self) -> str:
        """See `Reranker.name`."""
        return self._name

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.scores`."""
        stop = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, self.score, query, texts, stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def score(self, query: str, texts: Sequence[str], stop: threading.Event) -> list[float]:
        """The same in this thread; ends early, with less, when `stop` is set."""
        # Texts of one length share a pass without padding.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = [0.0] * len(texts)
        for start in range(0, len(order), BATCH):
            if stop.is_set():
                return []
            places = order[start : start + BATCH]
            pairs = [(query, texts[place]) for place in places]
            with torch_threads(self._threads):
                scores = self._model.predict(pairs, prompt=self._prompt, batch_size=BATCH, show_progress_bar=False)
            for place, score in zip(places, scores.tolist(), strict=True):
                found[place] = float(score)
        return found

    def close(self) -> None:
        """End the thread; what runs in it is not waited for."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def load_reranker(name: str, *, threads: int = 0) -> CrossEncoderReranker:
    """Load a cross-encoder.

    Args:
        name: A folder, or `hub:owner/model`; only safetensors are read and no code of the folder is run.
        threads: Threads on a CPU; 0 for half the usable cores, at most 4.

    Raises:
        SidecarError: `not_found` when there is none; `bad_request` when it cannot be used as a reranker or
            sentence-transformers is not installed.
    """
    folder = hub_folder(name.removeprefix(HUB)) if name.startswith(HUB) else Path(name).expanduser()
    if not folder.is_dir():
        raise SidecarError(
            "not_found",
            f"no reranker {name!r}",
            field="reranker",
            hint=f"give the folder of a cross-encoder, or {HUB}owner/model for a model on the hub",
        )
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise SidecarError(
            "bad_request",
            f"a reranker needs sentence-transformers: {error}",
            field="reranker",
            hint="install the extra: `pip install '.[rerank]'` in a checkout",
        ) from error
    on_cpu = not torch.cuda.is_available()
    try:
        model = CrossEncoder(
            str(folder),
            device="cpu" if on_cpu else "cuda",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True, "dtype": torch.float32 if on_cpu else torch.bfloat16},
        )
        model.max_seq_length = min(MAX_TOKENS, model.max_seq_length or MAX_TOKENS)
        _with_native_slot(model)
        if model.num_labels != 1:
            raise ValueError(f"it tells {model.num_labels} classes apart, a reranker gives one score")
        reranker = CrossEncoderReranker(name, model, model_threads(threads) if on_cpu else 0)
        # Says now, not at the first search, that a model cannot run.
        reranker.score("a", ["b"], threading.Event())
    except Exception as error:
        raise SidecarError(
            "bad_request",
            f"{folder} cannot be used as a reranker: {error}",
            field="reranker",
            hint="give a cross-encoder with one label, or a reranking language model whose template takes a query"
            " and a document",
        ) from error
    return reranker


def _takes_messages(model: Any) -> bool:
    return "message" in model[0].modalities


def _with_native_slot(model: Any) -> None:
    """Give a Qwen3-Reranker the template of its model card where its own cannot carry a query and a document."""
    first = model[0]
    if not _takes_messages(model) or first.input_formatter.pair_roles_failure() is None:
        return
    if str(first.config.model_type).startswith("qwen3"):
        first.processor.chat_template = QWEN3_TEMPLATE
