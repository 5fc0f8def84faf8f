"""Trains the search retriever.

In: pairs of queries and declarations, a base encoder. Out: in the output folder `model/` (an encoder that the sidecar
loads), `metrics.jsonl`, `targets.txt.gz` (the declarations of the pairs), and checkpoints to resume from.
"""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor

from sidecar.encoder.folder import LONG_WORDS, PromptName
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.text.declaration import declaration_text
from training.data.questions import Pair
from training.data.seen import write_targets
from training.data.token_rows import TokenRows
from training.premises.models import Backbone, TrainedModel, load_base
from training.premises.presets import base_folder, find_preset
from training.premises.trainer import (
    METRICS,
    PremiseTrainer,
    Recorder,
    all_ranks,
    divided,
    fit,
    newest_checkpoint,
    trainer_arguments,
)
from training.search.retrieval_loss import MarginContrastiveLoss

logger = logging.getLogger(__name__)

MODEL: Final = "model"

Kind = Literal["docstring", "restatement", "question"]
"""What a query is: taken from a docstring; a question, by its length as `sidecar.encoder.folder` tells them apart."""

INSTRUCTIONS: Final[Mapping[Kind, str]] = {
    "docstring": "Instruct: Given the documentation of a Lean declaration, retrieve the declaration\nQuery: ",
    "restatement": "Instruct: Given a mathematical statement in words, retrieve the Lean declaration of it\nQuery: ",
    "question": "Instruct: Given a short question about mathematics, retrieve the Lean declaration meant\nQuery: ",
}
"""What is put before queries, by their kind, where the checkpoint was trained with prompts."""


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How a retriever is trained; None takes the preset's own.

    Attributes:
        preset: `static`, `small`, …, an encoder's folder, or `hub:owner/model`.
        max_tokens, batch, learning_rate: As in `training.premises.presets`.
        passes: How often a run goes through all pairs.
        steps: Batches, in place of `passes`.
        margin: See `MarginContrastiveLoss`.
        temperature: τ.
        dimensions: Lengths of vectors that shall also be good (Matryoshka).
        served_dimension: Length of the vectors that the trained encoder gives; None for the model's own.
        lora_rank: Rank of LoRA for a transformer; 0 trains all weights.
        prompts: What is put before queries of each kind; a kind without one has that of questions. None stands for
            `INSTRUCTIONS` where the checkpoint has a prompt for questions, else for none. The trained encoder puts the
            same before what people ask.
        seed: Decides order and dropout.
    """

    preset: str
    max_tokens: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    passes: float = 1.0
    steps: int | None = None
    margin: float | None = 0.1
    temperature: float = 0.05
    dimensions: tuple[int, ...] = ()
    served_dimension: int | None = None
    lora_rank: int = 0
    prompts: Mapping[Kind, str] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Batches:
    """Makes pairs into tensors; what `torch.utils.data` calls a collate function."""

    queries: TokenRows
    documents: TokenRows
    document_of: np.ndarray[Any, np.dtype[np.int64]]
    number_of: np.ndarray[Any, np.dtype[np.int64]]
    valid_label_columns: tuple[str, ...] = ()

    def __call__(self, items: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        chosen = np.array([item["pair"] for item in items])
        batch: dict[str, Any] = {"number": torch.from_numpy(self.number_of[chosen])}
        for name, tokens, wanted in (
            ("query", self.queries, chosen),
            ("document", self.documents, self.document_of[chosen]),
        ):
            matrix, mask = tokens.padded(wanted)
            batch[f"{name}_input_ids"] = torch.from_numpy(matrix)
            batch[f"{name}_attention_mask"] = torch.from_numpy(mask)
        return batch


class RetrievalTrainer(PremiseTrainer):
    """Goes through the pairs in the given order."""

    def collect_features(self, inputs: dict[str, Any]) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """What `_Batches` made, as columns and labels."""
        features = [
            {name: inputs[f"{column}_{name}"] for name in ("input_ids", "attention_mask")}
            for column in ("query", "document")
        ]
        return features, {"number": inputs["number"]}


def train(
    settings: RetrievalSettings, pairs: Sequence[Pair], index: Index, output: Path, base: Path | None = None
) -> Path:
    """Train a retriever; goes on from the newest checkpoint in `output`.

    Args:
        settings: How.
        pairs: What to learn from.
        index: Holds the declarations of the pairs.
        output: Folder of the run.
        base: Folder to begin with, in place of the preset's own.

    Returns:
        Folder of the trained encoder.
    """

    if not pairs:
        raise SidecarError("bad_request", "there are no pairs to train on", field="pairs")
    if settings.served_dimension not in (None, *settings.dimensions):
        raise SidecarError(
            "bad_request",
            f"{settings.served_dimension} dimensions are to be served, but {settings.dimensions} are trained",
            field="served_dimension",
            hint="give it among the shorter dimensions, too",
        )
    preset = find_preset(settings.preset)
    trained = load_base(
        base or base_folder(preset), static=preset.static, max_tokens=settings.max_tokens or preset.max_tokens
    )
    prompts = _prompted(trained, settings)
    adapted = _with_lora(trained, settings)
    ranks = all_ranks().num_processes
    batch = settings.batch or preset.batch
    order = divided(_order(len(pairs), batch, settings), batch)
    steps = -(-len(order) // batch)
    arguments = trainer_arguments(
        output,
        batch=batch,
        steps=steps,
        learning_rate=settings.learning_rate or preset.learning_rate,
        warmup=0.03,
        bfloat16=not preset.static and torch.cuda.is_available(),
        seed=settings.seed,
        log_every=10,
        save_every=max(20, steps // 10),
        workers=0,
    )
    output.mkdir(parents=True, exist_ok=True)
    if all_ranks().is_main_process:
        write_targets(output, (pair.name for pair in pairs))
    trainer = RetrievalTrainer(
        model=trained.model,
        args=arguments,
        train_dataset=Dataset.from_dict({"pair": order}),
        loss=MarginContrastiveLoss(
            trained.model,
            margin=settings.margin,
            temperature=settings.temperature,
            mini_batch_size=preset.chunk,
            cached=not preset.static,
            dimensions=settings.dimensions,
            gather_across_devices=ranks > 1,
        ),
        data_collator=_batches(trained, prompts, pairs, index),
        callbacks=[Recorder(output / METRICS, batch, steps, None, steps)],
    )
    # With LoRA a checkpoint is no encoder of its own; what is trained is merged at the end.
    fit(trainer, (lambda _: None) if adapted else trained.write, newest_checkpoint(output))
    if all_ranks().is_main_process:
        (_merged(trained) if adapted else trained).write(output / MODEL)
    return output / MODEL


def read_prompts(said: Sequence[str] | None) -> dict[Kind, str] | None:
    """Prompts given as `KIND=TEXT`; None where none is given.

    Raises:
        SidecarError: `bad_request` for a kind that there is not.
    """
    if not said:
        return None
    prompts: dict[Kind, str] = {}
    for one in said:
        kind, mark, text = one.partition("=")
        if not mark or kind not in INSTRUCTIONS:
            raise SidecarError(
                "bad_request",
                f"{one!r} is no prompt",
                field="prompt",
                hint=f"give KIND=TEXT, KIND being one of {', '.join(INSTRUCTIONS)}",
            )
        prompts[cast(Kind, kind)] = text
    return prompts


def kind_of(pair: Pair) -> Kind:
    """What the query of a pair is."""
    if pair.bare:
        return "docstring"
    return "restatement" if len(pair.query.split()) > LONG_WORDS else "question"


def _prompted(trained: TrainedModel, settings: RetrievalSettings) -> dict[Kind, str]:
    """The prompt of each kind; those of questions, and the served dimension, go into the encoder's description."""
    described = trained.description
    wanted = settings.prompts
    if wanted is None:
        wanted = INSTRUCTIONS if described.prompt("question") else {}
    prompts: dict[Kind, str] = {kind: wanted.get(kind, wanted.get("question", "")) for kind in INSTRUCTIONS}
    kept: dict[PromptName, str] = {**described.prompts, "question": prompts["question"]}
    kept["restatement"] = prompts["restatement"]
    if kept["restatement"] == kept["question"]:
        del kept["restatement"]
    if not kept["question"]:
        del kept["question"]
    trained.tokenizer.room_behind(prompts.values())  # says so now when they leave no room for a text
    trained.description = replace(described, prompts=kept, dimension=settings.served_dimension)
    return prompts


def _batches(trained: TrainedModel, prompts: Mapping[Kind, str], pairs: Sequence[Pair], index: Index) -> _Batches:
    """Token numbers of all queries, and of each declaration with and without its docstring as the pairs want it."""
    tokenizer, description = trained.tokenizer, trained.description
    queries = TokenRows.from_rows(
        tokenizer.rows_behind([pair.query for pair in pairs], [prompts.get(kind_of(pair), "") for pair in pairs])
    )
    rows = index.rows([pair.name for pair in pairs])
    if (rows < 0).any():
        missing = pairs[int((rows < 0).argmax())].name
        raise SidecarError("not_found", f"{missing} is not in {index.folder}", field="pairs")
    shown: dict[tuple[int, bool], int] = {}
    document_of = np.array(
        [shown.setdefault((row, pair.bare), len(shown)) for row, pair in zip(rows.tolist(), pairs, strict=True)]
    )
    declarations = index.declarations([row for row, _ in shown])
    texts = [
        declaration_text(replace(declaration, docstring="") if bare else declaration)
        for declaration, (_, bare) in zip(declarations, shown, strict=True)
    ]
    documents = TokenRows.from_rows(tokenizer.rows(texts, description.prompt("declaration")))
    return _Batches(queries, documents, document_of, rows.astype(np.int64))


def _order(pairs: int, batch: int, settings: RetrievalSettings) -> np.ndarray[Any, np.dtype[np.int64]]:
    wanted = settings.steps * batch if settings.steps else math.ceil(settings.passes * pairs)
    chance = np.random.default_rng(settings.seed)
    return np.concatenate([chance.permutation(pairs) for _ in range(-(-wanted // pairs))])[:wanted]


def _with_lora(trained: TrainedModel, settings: RetrievalSettings) -> bool:
    module = trained.model[0]
    if not settings.lora_rank or not isinstance(module, Backbone):
        return False
    from peft import LoraConfig, get_peft_model

    adapter = LoraConfig(r=settings.lora_rank, lora_alpha=2 * settings.lora_rank, target_modules="all-linear")
    module.model = get_peft_model(cast(Any, module.model), adapter)
    return True


def _merged(trained: TrainedModel) -> TrainedModel:
    module = cast(Backbone, trained.model[0])
    plain = Backbone(copy.deepcopy(cast(Any, module.model)).merge_and_unload(), module.pooling)
    return TrainedModel(
        SentenceTransformer(modules=[plain], device="cpu"),
        trained.description,
        trained.tokenizer,
        trained.tokenizer_json,
    )
