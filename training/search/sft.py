"""Supervised fine-tuning of the generator alone: one of the control arms, and a start for GRPO.

In: a causal language model, real-style queries with their declarations. Out: `model/`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.errors import SidecarError
from sidecar.index.index import Index
from training.data.queries import SearchExample

logger = logging.getLogger(__name__)

MODEL: Final = "model"


@dataclass(frozen=True, slots=True)
class SftSettings:
    """How.

    Attributes:
        steps: Optimiser steps.
        batch: Queries of a step on one rank.
        learning_rate: Highest learning rate.
        seed: Decides the order.
    """

    steps: int = 500
    batch: int = 16
    learning_rate: float = 1e-5
    seed: int = 0


def train(model: str, real: Sequence[SearchExample], index: Index, output: Path, settings: SftSettings) -> Path:
    """Fine-tune a model on real-style queries.

    Args:
        model: Folder or `hub:owner/model`.
        real: Queries; the first right answer that the index holds is what each is about.
        index: Holds the declarations.
        output: Folder of the run.
        settings: How.

    Returns:
        Folder of the fine-tuned model.
    """
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

    from training.search.grpo import model_folder, supervised_batch, supervised_examples

    folder = model_folder(model)
    tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    examples = supervised_examples(index, real, tokenizer)
    if not examples:
        raise SidecarError("bad_request", "there are no real-style queries to learn from", field="given")
    on_gpu = torch.cuda.is_available()
    network = AutoModelForCausalLM.from_pretrained(
        str(folder), use_safetensors=True, dtype=torch.bfloat16 if on_gpu else torch.float32
    )

    def collate(items: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        return supervised_batch([examples[item["example"]] for item in items], tokenizer.pad_token_id)

    trainer = Trainer(
        model=network,
        args=TrainingArguments(
            output_dir=str(output / "checkpoints"),
            max_steps=settings.steps,
            per_device_train_batch_size=settings.batch,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="cosine",
            bf16=on_gpu,
            use_cpu=not on_gpu,
            seed=settings.seed,
            save_strategy="no",
            logging_steps=10,
            remove_unused_columns=False,
            disable_tqdm=True,
            report_to=[],
        ),
        train_dataset=Dataset.from_dict({"example": list(range(len(examples)))}),
        data_collator=collate,
    )
    result = trainer.train()
    logger.info("%d steps on %d queries, mean loss %.3f", settings.steps, len(examples), result.training_loss)
    if trainer.accelerator.is_main_process:
        trainer.accelerator.unwrap_model(trainer.model).save_pretrained(output / MODEL)
        tokenizer.save_pretrained(output / MODEL)
    return output / MODEL
