"""The query generator as a language model, trained with GRPO (Shao et al. 2024) on TRL.

In: a causal language model, declarations, a scorer, real-style queries. Out: `model/` (the generator), checkpoints,
`metrics.jsonl`, and every sampled query in `samples/`.

The loss is (1 − s) · GRPO + s · cross entropy on real-style queries; the share s falls in a straight line over the
first part of the run, so that the model first learns how people ask and then what the reward wants.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from sidecar.encoder.load import HUB, hub_folder
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.progress import Progress
from training.data.queries import SearchExample
from training.search.prompts import prompt_text, query_prompt, read_query
from training.search.reward import check_finite
from training.search.scoring import Scorer

logger = logging.getLogger(__name__)

MODEL: Final = "model"
METRICS: Final = "metrics.jsonl"
CHECKPOINTS: Final = "checkpoints"

_IGNORED: Final = -100
"""Label of tokens that the cross entropy leaves out."""


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """How the generator is trained. What the paper does not say is marked (ours).

    Attributes:
        steps: Optimiser steps.
        declarations: Declarations of a step, over all ranks (ours).
        group: Queries about each (ours).
        batch: Queries that go through the model at one time on one rank.
        learning_rate: Highest learning rate (ours).
        beta: Weight of the KL term to the model that training began with; 0 for none (ours).
        temperature: Of the sampling.
        completion_tokens: Longest answer; 64, since the reward is spent at 50.
        lora_rank: Rank of LoRA; 0 trains all weights.
        sft_start: Share of the cross entropy in the first step (ours).
        sft_until: Part of the run after which it is 0 (ours).
        sft_batch: Real-style queries of a forward pass.
        vllm: Sample with vLLM within the training process; needs a GPU. None does so where there is a GPU and vLLM is
            installed.
        seed: Decides order and samples.
        save_every, log_every: Steps between two checkpoints, lines of metrics.
    """

    steps: int = 500
    declarations: int = 32
    group: int = 8
    batch: int = 16
    learning_rate: float = 1e-5
    beta: float = 0.02
    temperature: float = 1.0
    completion_tokens: int = 64
    lora_rank: int = 32
    sft_start: float = 0.5
    sft_until: float = 0.6
    sft_batch: int = 8
    vllm: bool | None = None
    seed: int = 0
    save_every: int = 50
    log_every: int = 5


def use_vllm(wanted: bool | None) -> bool:
    """Whether to sample with vLLM.

    Raises:
        SidecarError: `bad_request` when it is wanted and cannot be.
    """
    possible = torch.cuda.is_available() and find_spec("vllm") is not None
    if wanted and not possible:
        lacks = "vLLM is not installed" if torch.cuda.is_available() else "there is no GPU"
        raise SidecarError("bad_request", f"cannot sample with vLLM: {lacks}", field="vllm", hint="leave --vllm away")
    return possible if wanted is None else wanted


def sft_share(step: int, settings: GrpoSettings) -> float:
    """Share of the cross entropy in the loss of a step, from 0."""
    end = settings.sft_until * settings.steps
    return settings.sft_start * max(0.0, 1.0 - step / end) if end else 0.0


def schedule_text(settings: GrpoSettings, examples: int) -> str:
    """The schedule of the mixed loss in words."""
    if not examples or not sft_share(0, settings):
        return f"{settings.steps} steps of GRPO alone"
    end = math.ceil(settings.sft_until * settings.steps)
    return (
        f"{settings.steps} steps; cross entropy on {examples} real-style queries has a share of"
        f" {settings.sft_start:.2f} in step 1, falling evenly to 0 after step {end}"
    )


def model_folder(model: str) -> Path:
    """Folder of a model: one on this machine, or `hub:owner/model`, fetched where it is not here yet.

    Raises:
        SidecarError: `not_found` when it is neither.
    """
    if model.startswith(HUB):
        return hub_folder(model.removeprefix(HUB))
    folder = Path(model).expanduser()
    if not (folder / "config.json").is_file():
        raise SidecarError("not_found", f"no model {model!r}", field="model", hint=f"give a folder or {HUB}owner/model")
    return folder


class QueryTrainer(GRPOTrainer):
    """GRPO with real-style queries mixed in.

    Args:
        examples: Token numbers of prompt and query, and how many of them are the prompt's.
        settings: The run's.
    """

    def __init__(
        self, *arguments: Any, examples: Sequence[tuple[list[int], int]], settings: GrpoSettings, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.examples = examples
        self._query_settings = settings

    def _send_telemetry(self) -> None:
        """Nothing is sent anywhere."""

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: the run writes its own record."""

    def compute_loss(
        self, model: nn.Module, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """The mixed loss of one forward pass.

        Raises:
            SidecarError: `internal` when it is no number.
        """
        loss: Tensor = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        share = sft_share(self.state.global_step, self._query_settings) if self.examples else 0.0
        self._metrics["train"]["sft/share"].append(share)
        if share > 0:
            supervised = self._supervised(model)
            self._metrics["train"]["sft/loss"].append(float(supervised.detach()))
            # GRPO's loss is already divided among the forward passes of a step.
            loss = (1 - share) * loss + share * supervised / self.current_gradient_accumulation_steps
        if not bool(torch.isfinite(loss.detach())):
            raise SidecarError(
                "internal",
                f"the loss of step {self.state.global_step + 1} is {float(loss.detach())}",
                hint="go on from the checkpoint before with a lower learning rate",
            )
        return loss

    def _supervised(self, model: nn.Module) -> Tensor:
        chance = np.random.default_rng((self._query_settings.seed, self._step, self.accelerator.process_index))
        chosen = [self.examples[int(i)] for i in chance.integers(0, len(self.examples), self._query_settings.sft_batch)]
        batch = supervised_batch(chosen, self.processing_class.pad_token_id)
        batch = {name: value.to(self.accelerator.device) for name, value in batch.items()}
        labels = batch.pop("labels")
        logits = model(**batch).logits
        return nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=_IGNORED
        )


class _Metrics(TrainerCallback):
    """Writes what the trainer says of its steps, and shows progress."""

    def __init__(self, file: Path, total: int) -> None:
        self._file = file
        self._total = total
        self._progress: Progress | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            self._progress = Progress("generator steps", self._total, state.global_step).__enter__()
            kept = []
            if self._file.is_file():
                lines = self._file.read_text(encoding="utf-8").splitlines(keepends=True)
                kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= state.global_step]
            self._file.write_text("".join(kept), encoding="utf-8")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._progress is not None:
            self._progress.advance()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if state.is_world_process_zero and logs and "reward" in logs:
            row = {"step": state.global_step, **{key: value for key, value in logs.items() if key != "step"}}
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            logger.info(
                "step %d: reward %.3f, equal groups %.0f %%, supervised share %.2f",
                state.global_step,
                logs["reward"],
                100 * logs.get("frac_reward_zero_std", math.nan),
                logs.get("sft/share", 0.0),
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._progress is not None:
            self._progress.__exit__(None, None, None)


def train(
    model: str,
    scorer: Scorer,
    names: Sequence[str],
    real: Sequence[SearchExample],
    output: Path,
    settings: GrpoSettings,
) -> Path:
    """Train a generator; goes on from the newest checkpoint in `output`.

    Args:
        model: Folder or `hub:owner/model` of the model that training begins with.
        scorer: Gives rewards.
        names: Declarations to draw from.
        real: Real-style queries with the declarations that answer them, for the cross entropy; may be empty.
        output: Folder of the run.
        settings: How.

    Returns:
        Folder of the trained model.
    """
    if not names:
        raise SidecarError("bad_request", "there are no declarations to write queries about", field="declarations")
    folder = model_folder(model)
    tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    on_gpu = torch.cuda.is_available()
    network = AutoModelForCausalLM.from_pretrained(
        str(folder), use_safetensors=True, dtype=torch.bfloat16 if on_gpu else torch.float32
    )
    vllm = use_vllm(settings.vllm)
    logger.info("queries are sampled with %s", "vLLM" if vllm else "transformers")
    ranks = _ranks()
    queries = settings.declarations * settings.group
    if queries % (settings.batch * ranks):
        raise SidecarError(
            "bad_request",
            f"{queries} queries of a step do not divide into batches of {settings.batch} on {ranks} ranks",
            field="batch",
            hint="declarations × group must be a multiple of batch × ranks",
        )
    arguments = GRPOConfig(
        output_dir=str(output / CHECKPOINTS),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=queries // (settings.batch * ranks),
        num_generations=settings.group,
        max_completion_length=settings.completion_tokens,
        temperature=settings.temperature,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=math.ceil(0.03 * settings.steps),
        beta=settings.beta,
        bf16=on_gpu,
        use_cpu=not on_gpu,
        gradient_checkpointing=on_gpu,
        use_vllm=vllm,
        vllm_mode="colocate",
        seed=settings.seed,
        logging_steps=settings.log_every,
        logging_first_step=True,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=2,
        disable_tqdm=True,
        report_to=[],
        chat_template_kwargs={"enable_thinking": False} if tokenizer.chat_template is not None else None,
    )
    trainer = QueryTrainer(
        model=network,
        reward_funcs=_reward(scorer, tokenizer),
        args=arguments,
        train_dataset=_prompts(scorer, names, tokenizer, settings),
        processing_class=tokenizer,
        peft_config=_lora(settings),
        callbacks=[_Metrics(output / METRICS, settings.steps)],
        examples=supervised_examples(scorer.retriever.index, real, tokenizer),
        settings=settings,
    )
    trainer.remove_callback(PrinterCallback)
    logger.info("%s", schedule_text(settings, len(trainer.examples)))
    output.mkdir(parents=True, exist_ok=True)
    newest = newest_checkpoint(output)
    trainer.train(resume_from_checkpoint=None if newest is None else str(newest))
    trained = trainer.accelerator.unwrap_model(trainer.model)
    if settings.lora_rank:
        trained = trained.merge_and_unload()
    if trainer.accelerator.is_main_process:
        trained.save_pretrained(output / MODEL)
        tokenizer.save_pretrained(output / MODEL)
    return output / MODEL


def newest_checkpoint(output: Path) -> Path | None:
    """The newest whole checkpoint of a run; the trainer writes its state last."""
    found = [
        folder for folder in (output / CHECKPOINTS).glob("checkpoint-*") if (folder / "trainer_state.json").is_file()
    ]
    return max(found, key=lambda folder: int(folder.name.removeprefix("checkpoint-")), default=None)


def _ranks() -> int:
    from accelerate import PartialState

    return int(PartialState().num_processes)


def _lora(settings: GrpoSettings) -> Any:
    if not settings.lora_rank:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=settings.lora_rank, lora_alpha=2 * settings.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def _prompts(scorer: Scorer, names: Sequence[str], tokenizer: Any, settings: GrpoSettings) -> Dataset:
    """Prompts about as many declarations as the run can use, drawn without repeats as long as there are enough."""
    chance = np.random.default_rng(settings.seed)
    wanted = settings.steps * settings.declarations
    chosen = [names[int(place)] for place in chance.permutation(len(names))[:wanted]]
    prompts = [query_prompt(declaration, tokenizer) for declaration in scorer.retriever.declarations(chosen)]
    return Dataset.from_dict({"prompt": prompts, "declaration": chosen})


def _reward(scorer: Scorer, tokenizer: Any) -> Any:
    """The reward function that TRL calls."""

    def query_reward(
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        declaration: Sequence[str],
        trainer_state: Any,
        **_: Any,
    ) -> list[float]:
        texts = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
        queries = [read_query(text) for text in texts]
        marks = {tokenizer.eos_token_id, tokenizer.pad_token_id}
        tokens = [
            sum(int(number) not in marks for number in numbers) if query else 0
            for query, numbers in zip(queries, completion_ids, strict=True)
        ]
        samples = scorer.score(queries, declaration, tokens, step=int(trainer_state.global_step) + 1)
        rewards = [sample.reward for sample in samples]
        # TRL takes what is no number for "this reward does not apply", and would go on.
        check_finite(np.array(rewards))
        scorer.writer.flush()
        return rewards

    return query_reward


def supervised_examples(index: Index, real: Sequence[SearchExample], tokenizer: Any) -> list[tuple[list[int], int]]:
    """Token numbers of prompt and query for each real-style query, and how many of them are the prompt's.

    Args:
        index: Holds the declarations; a query is about the first right answer that it holds, or left out.
        real: The queries.
        tokenizer: The generator's.
    """
    known = []
    for example in real:
        name = next((name for name in example.gold if index.row(name) is not None), None)
        if name is not None:
            known.append((example.query, name))
    rows = index.rows([name for _, name in known]).tolist() if known else []
    examples = []
    for (query, _), declaration in zip(known, index.declarations(rows), strict=True):
        prompt = prompt_text(query_prompt(declaration, tokenizer), tokenizer)
        before = tokenizer.encode(prompt, add_special_tokens=False)
        after = [*tokenizer.encode(query, add_special_tokens=False), tokenizer.eos_token_id]
        examples.append(([*before, *after], len(before)))
    return examples


def supervised_batch(examples: Sequence[tuple[list[int], int]], padding: int) -> dict[str, Tensor]:
    """Examples as tensors, padded on the right; what is the prompt's or padding has no label."""
    longest = max(len(numbers) for numbers, _ in examples)
    tokens = torch.full((len(examples), longest), padding, dtype=torch.long)
    labels = torch.full_like(tokens, _IGNORED)
    mask = torch.zeros_like(tokens)
    for row, (numbers, prompt) in enumerate(examples):
        filled = torch.tensor(numbers)
        tokens[row, : len(numbers)] = filled
        labels[row, prompt : len(numbers)] = filled[prompt:]
        mask[row, : len(numbers)] = 1
    return {"input_ids": tokens, "attention_mask": mask, "labels": labels}
