"""sentence-transformers' trainer, fed with batches of token numbers.

In: a model, the order of the pairs, batches. Out: a trained model, checkpoints, a line of metrics every few steps.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import DefaultBatchSampler
from torch import Tensor
from torch.utils.data import BatchSampler, SequentialSampler
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from sidecar.encoder.threads import torch_threads, training_threads
from sidecar.errors import SidecarError
from sidecar.progress import Progress
from training.premises.batches import Batches
from training.premises.loss import MaskedContrastiveLoss
from training.premises.models import TrainedModel
from training.premises.settings import RunSettings

CHECKPOINTS = "checkpoints"
METRICS = "metrics.jsonl"


class PremiseTrainer(SentenceTransformerTrainer):
    """Goes through the pairs in the given order; negatives, masks and lengths come from the collate function.

    Attributes:
        write_model: Writes an encoder's folder; each checkpoint holds one, `model`, so that it can be used as it is.
    """

    write_model: Callable[[Path], None]

    def collect_features(self, inputs: dict[str, Any]) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """What `Batches` made, as columns and labels."""
        features = [
            {name: inputs[f"{column}_{name}"] for name in ("input_ids", "attention_mask")}
            for column in ("state", "premise")
        ]
        return features, {name: inputs[name] for name in ("own", "number", "known")}

    def get_batch_sampler(self, dataset: Dataset, batch_size: int, drop_last: bool, **_: Any) -> BatchSampler:
        """The order is in the data set already."""
        sampler: BatchSampler = DefaultBatchSampler(
            SequentialSampler(dataset), batch_size=batch_size, drop_last=drop_last
        )
        return sampler

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """None: the run writes its own card."""

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        from safetensors.torch import save_file

        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        state = self.model.state_dict() if state_dict is None else state_dict
        save_file({name: tensor.contiguous() for name, tensor in state.items()}, folder / "weights.safetensors")
        self.write_model(folder / "model")

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        from safetensors.torch import load_file

        self.model.load_state_dict(load_file(Path(resume_from_checkpoint) / "weights.safetensors"))


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What training took.

    Attributes:
        steps: Batches.
        pairs: Pairs that they held.
        seconds: Duration, probes included.
    """

    steps: int
    pairs: int
    seconds: float


class Recorder(TrainerCallback):
    """Writes metrics, shows progress, probes.

    Args:
        file: JSON lines: `step`, `loss`, `learning_rate`, `gradient_norm`, `seconds`; and what a probe gives.
        pairs_a_step: For the progress line.
        total: Steps of the run.
        probe: Gives metrics of the model as it is, or None.
        probe_every: Steps between two probes.
    """

    def __init__(
        self,
        file: Path,
        pairs_a_step: int,
        total: int,
        probe: Callable[[], dict[str, float]] | None,
        probe_every: int,
    ) -> None:
        self._file = file
        self._pairs = pairs_a_step
        self._total = total
        self._probe = probe
        self._every = probe_every
        self._began = time.monotonic()
        self._earlier = 0.0
        self._looked: set[int] = set()
        self._progress: Progress | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Drop lines that lie after the checkpoint, and probe the untrained model."""
        if not state.is_world_process_zero:
            return
        rows = [row for row in read_metrics(self._file) if row["step"] <= state.global_step]
        self._earlier = max((row["seconds"] for row in rows), default=0.0)
        self._looked = {int(row["step"]) for row in rows if "loss" not in row}
        self._file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self._progress = Progress("pairs", self._total * self._pairs, state.global_step * self._pairs)
        self._progress.__enter__()
        self._began = time.monotonic()
        if not rows:
            self._look(0)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Advance."""
        if self._progress is not None:
            self._progress.advance(self._pairs)
            if state.global_step % self._every == 0 and state.global_step < self._total:
                self._look(state.global_step)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Keep what the trainer says about its last steps."""
        if state.is_world_process_zero and logs and "loss" in logs:
            self._write(
                state.global_step,
                {
                    "loss": logs["loss"],
                    "learning_rate": logs["learning_rate"],
                    "gradient_norm": float(logs.get("grad_norm", math.nan)),
                },
            )

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Probe the trained model."""
        if self._progress is not None:
            self._look(state.global_step)
            self._progress.__exit__(None, None, None)

    @property
    def seconds(self) -> float:
        """How long the run has taken, what went before a resumption included."""
        return round(self._earlier + time.monotonic() - self._began, 2)

    def _look(self, step: int) -> None:
        if self._probe is not None and step not in self._looked:
            self._looked.add(step)
            self._write(step, self._probe())

    def _write(self, step: int, values: dict[str, float]) -> None:
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"step": step, "seconds": self.seconds, **values}) + "\n")


def read_metrics(file: Path) -> list[dict[str, float]]:
    """The rows of a run's metrics; none when there is no file. A last line that was cut off is left out."""
    if not file.is_file():
        return []
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            rows.append(json.loads(line))
    return rows


def train(
    trained: TrainedModel,
    settings: RunSettings,
    order: npt.NDArray[np.int64],
    batches: Batches,
    output: Path,
    *,
    probe: Callable[[], dict[str, float]] | None,
    probe_every: int,
    log_every: int,
    save_every: int,
    resume: Path | None,
) -> TrainingResult:
    """Train a model in place.

    Args:
        trained: The model.
        settings: How.
        order: Numbers of the pairs of the whole run, in order.
        batches: Makes batches of them.
        output: The run's folder.
        probe: Gives metrics of the model as it is.
        probe_every, log_every, save_every: Steps between two probes, lines of metrics, checkpoints.
        resume: Checkpoint to go on from.

    Raises:
        SidecarError: When the batch does not divide among the ranks.
    """
    ranks = all_ranks().num_processes
    order = divided(order, settings.batch)
    steps = -(-len(order) // settings.batch)
    arguments = trainer_arguments(
        output,
        batch=settings.batch,
        steps=steps,
        learning_rate=settings.learning_rate,
        warmup=settings.warmup,
        bfloat16=settings.bfloat16,
        seed=settings.seed,
        log_every=log_every,
        save_every=save_every,
        workers=4,
    )
    loss = MaskedContrastiveLoss(
        trained.model,
        temperature=settings.temperature,
        mini_batch_size=settings.chunk,
        cached=settings.gradient_cache,
        gather_across_devices=ranks > 1,
        mask_known=settings.mask_known,
    )
    recorder = Recorder(output / METRICS, settings.batch, steps, probe, probe_every)
    trainer = PremiseTrainer(
        model=trained.model,
        args=arguments,
        train_dataset=Dataset.from_dict({"pair": order, "place": np.arange(len(order))}),
        loss=loss,
        data_collator=batches,
        callbacks=[recorder],
    )
    fit(trainer, trained.write, resume)
    return TrainingResult(steps, len(order), recorder.seconds)


def fit(trainer: PremiseTrainer, write_model: Callable[[Path], None], checkpoint: Path | None) -> None:
    """Train what a trainer holds.

    Args:
        trainer: The trainer, its model, its batches.
        write_model: Writes the encoder that a checkpoint holds into a folder.
        checkpoint: Checkpoint to go on from, if there is one.
    """
    trainer.write_model = write_model
    trainer.remove_callback(PrinterCallback)
    with torch_threads(training_threads()):
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))


def divided(order: npt.NDArray[np.int64], batch: int) -> npt.NDArray[np.int64]:
    """The part of a run's order that every rank can take part in.

    Raises:
        SidecarError: `bad_request` when the batch does not divide among the ranks.
    """
    ranks = all_ranks().num_processes
    if batch % ranks:
        raise SidecarError("bad_request", f"a batch of {batch} does not divide among {ranks} ranks", field="batch")
    # Every rank must take part in every step, with equally many texts.
    return order if ranks == 1 else order[: len(order) // batch * batch]


def trainer_arguments(
    output: Path,
    *,
    batch: int,
    steps: int,
    learning_rate: float,
    warmup: float,
    bfloat16: bool,
    seed: int,
    log_every: int,
    save_every: int,
    workers: int,
) -> SentenceTransformerTrainingArguments:
    """What sentence-transformers' trainer is told of a run that goes once through an order of its own.

    Args:
        output: The run's folder.
        batch: Items of a batch, over all ranks.
        steps: Batches of the run.
        learning_rate: Highest learning rate; it falls along a cosine.
        warmup: Part of the steps in which it rises.
        bfloat16: Multiply in bfloat16.
        seed: Decides dropout.
        log_every, save_every: Steps between two lines of metrics, and two checkpoints.
        workers: Processes that make batches beside a GPU.
    """
    on_cpu = _on_cpu()
    return SentenceTransformerTrainingArguments(
        output_dir=str(output / CHECKPOINTS),
        per_device_train_batch_size=batch // all_ranks().num_processes,
        num_train_epochs=1,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=math.ceil(warmup * steps),
        max_grad_norm=1.0,
        weight_decay=0.0,
        optim="adamw_torch_fused",
        bf16=bfloat16,
        use_cpu=on_cpu,
        seed=seed,
        logging_steps=log_every,
        logging_first_step=True,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=save_every,
        save_total_limit=2,
        dataloader_pin_memory=not on_cpu,
        dataloader_num_workers=0 if on_cpu else workers,
        disable_tqdm=True,
        report_to=[],
        ddp_find_unused_parameters=False,
    )


def all_ranks() -> PartialState:
    """The processes of this run: one, or those that torchrun started, which meet here for the first time."""
    return PartialState(cpu=_on_cpu())


def _on_cpu() -> bool:
    return not torch.cuda.is_available()


def newest_checkpoint(output: Path) -> Path | None:
    """The newest whole checkpoint of a run, or None when it has none."""
    found = [
        folder
        for folder in (output / CHECKPOINTS).glob("checkpoint-*")
        # The trainer writes its state last.
        if (folder / "trainer_state.json").is_file() and folder.name.removeprefix("checkpoint-").isdigit()
    ]
    return max(found, key=lambda folder: int(folder.name.removeprefix("checkpoint-")), default=None)
