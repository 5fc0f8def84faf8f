"""GRPO on TRL with a tiny random model: three real steps, the mixed loss, resuming, and what is written down."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from sidecar.errors import SidecarError
from training.data.queries import SearchExample
from training.search.arms import Arm
from training.search.grpo import (
    GrpoSettings,
    _reward,
    model_folder,
    newest_checkpoint,
    schedule_text,
    sft_share,
    train,
    use_vllm,
)
from training.search.judge import Asked, Verdict
from training.search.prompts import prompt_text, query_prompt, read_query
from training.search.retriever import Retriever
from training.search.reward import reward
from training.search.samples import SampleWriter, read_samples
from training.search.scoring import Scorer
from training.search.tiny import write_tiny_model

SETTINGS = GrpoSettings(
    steps=3,
    declarations=2,
    group=4,
    batch=4,
    learning_rate=1e-3,
    beta=0.0,
    completion_tokens=12,
    lora_rank=0,
    sft_start=0.6,
    sft_until=1.0,
    sft_batch=2,
    save_every=2,
    log_every=1,
)
REAL = [
    SearchExample("appending lists is associative", ("List.append_assoc",), "real", "short"),
    SearchExample("not in the index", ("No.such",), "real", "short"),
]


class Lengthy:
    """A judge that likes queries with an even number of characters, so that groups differ."""

    name = "lengthy"

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        return [Verdict(len(one.query) % 2 == 0, "even" if len(one.query) % 2 == 0 else "odd") for one in asked]


@pytest.fixture(scope="module")
def names(retriever: Retriever) -> list[str]:
    index = retriever.index
    return [name for row, name in enumerate(index.names(range(index.size))) if index.target[row]]


@pytest.fixture(scope="module")
def model(retriever: Retriever, names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny_model(folder, (declaration.shown for declaration in retriever.declarations(names[:200])))
    return folder


def run(retriever: Retriever, names: list[str], model: Path, output: Path, settings: GrpoSettings = SETTINGS) -> Path:
    with SampleWriter(output / "samples") as writer:
        return train(str(model), Scorer(retriever, Lengthy(), Arm.CONSISTENCY, writer), names, REAL, output, settings)


def test_three_steps(retriever: Retriever, names: list[str], model: Path, tmp_path: Path) -> None:
    trained = run(retriever, names, model, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert [row["sft/share"] for row in rows] == pytest.approx([0.6, 0.4, 0.2])
    # The one real query is repeated, so its loss falls.
    assert rows[-1]["sft/loss"] < rows[0]["sft/loss"]
    assert all(math.isfinite(row["loss"]) and 0 <= row["frac_reward_zero_std"] <= 1 for row in rows)

    samples = list(read_samples(tmp_path / "samples"))
    assert len(samples) == 3 * 2 * 4
    for sample in samples:
        assert sample.tokens <= 12
        assert sample.reward == reward(sample.rank, bool(sample.consistent), sample.tokens, Arm.CONSISTENCY)
    by_step = [[s.reward for s in samples if s.step == step] for step in (1, 2, 3)]
    assert [row["reward"] for row in rows] == pytest.approx([sum(part) / len(part) for part in by_step])

    from transformers import AutoModelForCausalLM

    before, after = (AutoModelForCausalLM.from_pretrained(folder).state_dict() for folder in (model, trained))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert newest_checkpoint(tmp_path) is not None

    # The same command again has nothing left to do, and keeps what was written.
    run(retriever, names, model, tmp_path)
    assert len(list(read_samples(tmp_path / "samples"))) == len(samples)


def test_lora_and_a_kl_term(retriever: Retriever, names: list[str], model: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    settings = replace(SETTINGS, steps=1, lora_rank=2, beta=0.05, sft_start=0.0)
    trained = run(retriever, names, model, tmp_path, settings)
    (row,) = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert "kl" in row
    assert "sft/loss" not in row
    # The adapter is merged: the folder is a plain model again.
    assert not (trained / "adapter_config.json").exists()
    assert model_folder(str(trained)) == trained


def test_the_share_falls_in_a_straight_line() -> None:
    settings = GrpoSettings(steps=100, sft_start=0.5, sft_until=0.5)
    assert [sft_share(step, settings) for step in (0, 25, 50, 99)] == [0.5, 0.25, 0.0, 0.0]
    assert sft_share(0, GrpoSettings(sft_until=0.0)) == 0.0


def test_a_reward_that_is_no_number_stops_the_run(retriever: Retriever, tmp_path: Path) -> None:
    class Broken(Scorer):
        def score(self, *arguments: object, **options: object) -> list[object]:  # type: ignore[override]
            return [SimpleNamespace(reward=1.0), SimpleNamespace(reward=math.nan)]

    with SampleWriter(tmp_path) as writer:
        function = _reward(
            Broken(retriever, Lengthy(), Arm.BOTH, writer), SimpleNamespace(eos_token_id=0, pad_token_id=1)
        )
        with pytest.raises(ValueError, match=r"\(1,\)"):
            function(["a", "b"], [[5], [6]], ["x", "y"], SimpleNamespace(global_step=0))


def test_batches_that_do_not_divide_are_refused(
    retriever: Retriever, names: list[str], model: Path, tmp_path: Path
) -> None:
    from dataclasses import replace

    with pytest.raises(SidecarError, match="do not divide"):
        run(retriever, names, model, tmp_path, replace(SETTINGS, batch=3))


def test_a_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="no model"):
        model_folder(str(tmp_path))


def test_prompts_for_models_with_and_without_a_chat(retriever: Retriever, model: Path) -> None:
    from transformers import AutoTokenizer

    (declaration,) = retriever.declarations(["List.append_assoc"])
    tokenizer = AutoTokenizer.from_pretrained(model)
    plain = query_prompt(declaration, tokenizer)
    assert isinstance(plain, str)
    assert declaration.shown in plain
    assert prompt_text(plain, tokenizer) == plain
    tokenizer.chat_template = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}<assistant>"
    chat = query_prompt(declaration, tokenizer)
    assert isinstance(chat, list)
    assert prompt_text(chat, tokenizer).endswith("<assistant>")


@pytest.mark.parametrize(
    ("completion", "query"),
    [
        ("even function\n", "even function"),
        ("\n\n  even\tfunction \nmore", "even function"),
        ("<think>what?\n</think>\neven function", "even function"),
        ("<think>never ends", ""),
        ("", ""),
    ],
)
def test_reading_queries(completion: str, query: str) -> None:
    assert read_query(completion) == query


def test_the_schedule_in_words() -> None:
    said = schedule_text(GrpoSettings(steps=100, sft_start=0.5, sft_until=0.6), 7)
    assert "7 real-style queries" in said
    assert "0.50 in step 1" in said
    assert "after step 60" in said
    assert schedule_text(GrpoSettings(steps=5), 0) == "5 steps of GRPO alone"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_vllm_where_there_is_no_gpu() -> None:
    assert not use_vllm(None)
    assert not use_vllm(False)
    with pytest.raises(SidecarError, match="no GPU"):
        use_vllm(True)
