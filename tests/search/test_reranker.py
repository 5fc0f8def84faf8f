"""The reranker: what it moves and what it must not, what happens when it fails, and real cross-encoders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.encoder.batcher import MicroBatcher
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.search.cross_encoder import INSTRUCTION, CrossEncoderReranker, load_reranker
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchAnswer, SearchRequest
from tests.training.made_up import write_encoder

QUERY = "a continuous function"


class Reversing:
    """Likes best what was last."""

    name = "reversing"

    def __init__(self) -> None:
        self.read: list[str] = []

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read = list(texts)
        return [float(place) for place in range(len(texts))]


class Odd(Reversing):
    """Does something else."""

    def __init__(self, found: list[float] | Exception | float) -> None:
        super().__init__()
        self._found = found

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if isinstance(self._found, Exception):
            raise self._found
        if isinstance(self._found, float):
            await asyncio.sleep(self._found)
            return [0.0] * len(texts)
        return self._found


def _names(answer: SearchAnswer) -> list[str]:
    return [result.name for result in answer.results]


def _codes(answer: SearchAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]


async def test_a_reranker_orders_the_best_results_and_says_so(index: Index, batcher: MicroBatcher) -> None:
    reranker = Reversing()
    engine = SearchEngine(index, batcher, reranker=reranker)
    plain = await engine.search(SearchRequest(QUERY, 50))
    assert reranker.read == []
    assert "rerank" not in plain.timings
    answer = await engine.search(SearchRequest(QUERY, 50, rerank=True))
    named = sum(result.score > 1 for result in plain.results)
    assert _names(answer)[:named] == _names(plain)[:named]
    assert _names(answer)[named:] == _names(plain)[named:][::-1]
    assert answer.timings["rerank"] >= 0
    first = answer.results[named]
    assert first.why[0].method == "rerank"
    assert first.why[0].detail == f"the reranker's number 1, {len(reranker.read)} before"
    scores = [result.score for result in answer.results]
    assert scores == sorted(scores, reverse=True)
    # It reads what people read: the statement as shown, and the docstring.
    assert any("\nThe sum of continuous functions." in text for text in reranker.read)


async def test_what_is_asked_for_comes_from_further_down(index: Index, batcher: MicroBatcher) -> None:
    engine = SearchEngine(index, batcher, reranker=Reversing())
    deep = await engine.search(SearchRequest(QUERY, 50, rerank=True))
    short = await engine.search(SearchRequest(QUERY, 3, rerank=True))
    assert _names(short) == _names(deep)[:3]


async def test_names_and_replacements_keep_their_places(index: Index, batcher: MicroBatcher) -> None:
    engine = SearchEngine(index, batcher, reranker=Reversing())
    for name in ("Continuous.add", "add_comm", "Nat.old_sum"):
        plain = await engine.search(SearchRequest(name, 5))
        answer = await engine.search(SearchRequest(name, 5, rerank=True))
        assert _names(answer)[0] == _names(plain)[0] == name
    names = _names(await engine.search(SearchRequest("the sum of n is n", 50, rerank=True)))
    assert names.index("Nat.new_sum") < names.index("Nat.old_sum")
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("found", "code"),
    [(RuntimeError("out of memory"), "reranker_failed"), ([1.0], "reranker_failed"), (60.0, "reranker_slow")],
)
async def test_where_a_reranker_fails_the_order_before_it_stays(
    index: Index, batcher: MicroBatcher, found: list[float] | Exception | float, code: str
) -> None:
    engine = SearchEngine(index, batcher, reranker=Odd(found))
    plain = await engine.search(SearchRequest(QUERY, 10))
    until = asyncio.get_running_loop().time() + 2.0
    answer = await engine.search(SearchRequest(QUERY, 10, rerank=True), until)
    assert asyncio.get_running_loop().time() < until
    assert _names(answer) == _names(plain)
    assert _codes(answer) == [*_codes(plain), code]


async def test_scores_that_are_no_numbers_count_as_a_failure(index: Index, batcher: MicroBatcher) -> None:
    engine = SearchEngine(index, batcher, reranker=Odd([float("nan")] * 50))
    answer = await engine.search(SearchRequest(QUERY, 10, rerank=True))
    assert _codes(answer) == ["reranker_failed"]


async def test_a_server_without_a_reranker_says_so(engine: SearchEngine) -> None:
    plain = await engine.search(SearchRequest(QUERY, 10))
    answer = await engine.search(SearchRequest(QUERY, 10, rerank=True))
    assert _codes(answer) == ["no_reranker"]
    assert _names(answer) == _names(plain)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random classifier with one label over the words of the made-up library."""
    folder = tmp_path_factory.mktemp("reranker") / "tiny"
    return write_classifier(folder, labels=1)


def write_classifier(folder: Path, labels: int) -> Path:
    import torch
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    write_encoder(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = BertConfig.from_pretrained(folder, num_labels=labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForSequenceClassification(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
    return folder


async def test_a_cross_encoder_scores_pairs_whatever_stands_beside_them(
    cross_encoder: Path, index: Index, batcher: MicroBatcher
) -> None:
    from sentence_transformers import CrossEncoder

    reranker = load_reranker(str(cross_encoder), threads=1)
    texts = [f"{first} group {second} ring" * count for count, (first, second) in enumerate(("ab", "ba", "bb"), 1)]
    scores = await reranker.scores("ring group", texts)
    expected = CrossEncoder(str(cross_encoder), device="cpu").predict([("ring group", text) for text in texts])
    assert scores == pytest.approx(expected.tolist(), abs=1e-5)
    assert await reranker.scores("ring group", texts[:1]) == pytest.approx(scores[:1], abs=1e-5)
    engine = SearchEngine(index, batcher, reranker=reranker)
    answer = await engine.search(SearchRequest(QUERY, 20, rerank=True))
    assert _codes(answer) == []
    assert any(reason.method == "rerank" for result in answer.results for reason in result.why)
    reranker.close()


def test_what_is_no_reranker_is_refused_by_name(tmp_path: Path, cross_encoder: Path) -> None:
    for name in ("nowhere", str(tmp_path / "absent")):
        with pytest.raises(SidecarError) as caught:
            load_reranker(name)
        assert (caught.value.code, caught.value.field) == ("not_found", "reranker")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SidecarError) as caught:
        load_reranker(str(tmp_path / "empty"))
    assert caught.value.code == "bad_request"
    three = write_classifier(tmp_path / "three", labels=3)
    with pytest.raises(SidecarError, match="tells 3 classes apart"):
        load_reranker(str(three))


CHATML = (
    "{% for message in messages %}{% if message.role in ['system', 'user', 'assistant'] %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endif %}{% endfor %}"
)


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random language model of Qwen3's kind with the template of a chat model, which knows no documents."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    folder = tmp_path_factory.mktemp("reranker") / "language-model"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        ["yes no"] * 20,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.add_tokens(["yes", "no"])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", model_max_length=512
    )
    wrapped.chat_template = CHATML
    wrapped.save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=len(wrapped),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=512,
        pad_token_id=wrapped.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


async def test_a_language_model_gets_the_instruction_in_its_own_slot(
    language_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = load_reranker(str(language_model), threads=1)
    model = reranker._model
    prompt = model[0].processor.apply_chat_template(
        [
            {"role": "system", "content": INSTRUCTION},
            {"role": "query", "content": "the sum of two sums"},
            {"role": "document", "content": "theorem add_add"},
        ],
        tokenize=False,
    )
    assert prompt.startswith("<|im_start|>system\nJudge whether the Document meets the requirements")
    assert f"<Instruct>: {INSTRUCTION}\n<Query>: the sum of two sums\n<Document>: theorem add_add<|im_end|>" in prompt
    assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    told: list[str | None] = []
    predict = model.predict
    monkeypatch.setattr(model, "predict", lambda *a, **b: (told.append(b["prompt"]), predict(*a, **b))[1])
    scores = await reranker.scores("the sum of two sums", ["theorem add_add", "theorem mul_mul", "x" * 2_000])
    assert told == [INSTRUCTION]
    assert len(set(scores)) == 3
    assert all(0 <= score <= 1 for score in scores)


def test_a_language_model_whose_template_cannot_carry_a_document_is_refused(
    language_model: Path, tmp_path: Path
) -> None:
    import shutil

    folder = tmp_path / "other"
    shutil.copytree(language_model, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(SidecarError, match="cannot be used as a reranker"):
        load_reranker(str(folder))


def test_a_classifier_gets_no_instruction(cross_encoder: Path) -> None:
    assert isinstance(reranker := load_reranker(str(cross_encoder)), CrossEncoderReranker)
    assert reranker._prompt is None
