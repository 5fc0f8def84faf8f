"""The retriever's loss by hand and against sentence-transformers' own, its pairs, and a run that learns."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.losses import CachedGISTEmbedLoss
from torch import Tensor, nn

from sidecar.encoder.folder import read_description, write_description
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.text.query import query_text
from tests.encoder.test_transformer import tiny_decoder
from training.data.queries import SearchExample
from training.data.questions import Forbidden, Pair, allowed, docstring_pairs
from training.premises.presets import base_folder, find_preset
from training.search.pairs import MOST_ANSWERS, example_pairs, generated_pairs
from training.search.retrieval import INSTRUCTIONS, RetrievalSettings, kind_of, read_prompts, train
from training.search.retrieval_loss import MarginContrastiveLoss
from training.search.retriever import Retriever
from training.search.samples import Sample, SampleWriter


def loss(margin: float | None, **options: object) -> MarginContrastiveLoss:
    return MarginContrastiveLoss(nn.Identity(), margin=margin, cached=False, **options)  # type: ignore[arg-type]


def at(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def test_by_hand() -> None:
    # Cosines of query 0: its answer 0.5, a candidate at 0.55 (within 0.1), one at 0.7 (above: dropped), one at −0.2.
    angles = [math.degrees(math.acos(cosine)) for cosine in (0.5, 0.55, 0.7, -0.2)]
    documents = torch.tensor([at(angle) for angle in angles])
    queries = torch.tensor([at(0.0)] + [at(angle) for angle in angles[1:]])
    numbers = {"number": torch.arange(4)}
    found = loss(0.1, temperature=0.5).calculate_loss([[queries], [documents]], numbers)
    cosines = queries @ documents.T
    expected = 0.0
    for row in range(4):
        kept = [c for c in range(4) if c == row or cosines[row, c] <= cosines[row, row] + 0.1]
        powers = [math.exp(float(cosines[row, c]) / 0.5) for c in kept]
        expected -= math.log(math.exp(float(cosines[row, row]) / 0.5) / sum(powers)) / 4
    assert 2 not in [c for c in range(4) if cosines[0, c] <= 0.6]
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.3])
def test_it_is_gist_with_the_sign_of_the_margin_turned(margin: float) -> None:
    torch.manual_seed(0)
    queries, documents = torch.randn(24, 6), torch.randn(24, 6)
    gist = CachedGISTEmbedLoss.__new__(CachedGISTEmbedLoss)
    nn.Module.__init__(gist)
    gist.temperature = 0.05
    gist.similarity_fct = nn.CosineSimilarity(dim=-1)
    gist.cross_entropy_loss = nn.CrossEntropyLoss()
    gist.mini_batch_size, gist.show_progress_bar, gist.gather_across_devices = 10, False, False
    gist.margin_strategy, gist.margin = "absolute", -margin
    gist.contrast_anchors = gist.contrast_positives = False
    reps: list[list[Tensor]] = [[queries], [documents]]
    expected = gist.calculate_loss(reps, reps)
    found = loss(margin).calculate_loss(reps, {"number": torch.arange(24)})
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


def test_the_same_declaration_twice_is_no_negative() -> None:
    torch.manual_seed(0)
    queries, documents = torch.randn(3, 4), torch.randn(3, 4)
    documents[2] = documents[0]
    apart = loss(None).calculate_loss([[queries], [documents]], {"number": torch.tensor([0, 1, 2])})
    same = loss(None).calculate_loss([[queries], [documents]], {"number": torch.tensor([0, 1, 0])})
    assert float(same) < float(apart)


def test_dimensions_and_pieces() -> None:
    torch.manual_seed(0)
    queries, documents = torch.randn(6, 8), torch.randn(6, 8)
    numbers = {"number": torch.arange(6)}
    whole, half = (float(loss(0.1).calculate_loss([[queries[:, :k]], [documents[:, :k]]], numbers)) for k in (8, 4))
    both = loss(0.1, dimensions=(4,)).calculate_loss([[queries[:4], queries[4:]], [documents]], numbers)
    assert float(both) == pytest.approx((whole + half) / 2, rel=1e-5)


def example(query: str, *gold: str) -> SearchExample:
    return SearchExample(query, gold, "test", "short")


def test_pairs_without_what_is_evaluated(retriever: Retriever) -> None:
    declarations = retriever.declarations(["List.append_assoc", "Nat.gcd_one_left", "absurd"])
    pairs = list(docstring_pairs(declarations))
    assert pairs
    assert all(pair.bare for pair in pairs)
    pairs += example_pairs([example("Appending lists", "List.append_assoc", "No.such")], retriever.index)
    assert pairs[-1] == Pair(query_text("Appending lists"), "List.append_assoc")
    kept, dropped = allowed(pairs, Forbidden([example("appending LISTS", "Nat.gcd_one_left")]))
    assert pairs[-1] not in kept
    assert "Nat.gcd_one_left" not in {pair.name for pair in kept}
    assert len(kept) + dropped == len(pairs)


def test_generated_queries_by_arm(retriever: Retriever, tmp_path: Path) -> None:
    def sample(query: str, rank: int | None, consistent: bool, step: int = -1) -> Sample:
        return Sample(step, "absurd", query, 2, rank, consistent, "", "", 0.5)

    with SampleWriter(tmp_path) as writer:
        writer.add(
            [
                sample("hard fits", 40, True),
                sample("Hard fits", 40, True),
                sample("easy fits", 1, True),
                sample("lost fits", None, True),
                sample("hard wrong", 40, False),
                sample("", None, True),
                sample("from training", 40, True, step=3),
            ]
        )

    def kept(judged: bool, hard: bool) -> list[str]:
        return [pair.query for pair in generated_pairs([tmp_path], retriever.index, judged=judged, hard=hard)]

    # One of four texts with `fits` is no near duplicate of another; the two spellings of one are.
    assert kept(True, True) == ["hard fits", "lost fits"]
    assert kept(True, False) == ["hard fits", "easy fits", "lost fits"]
    assert kept(False, True) == ["hard fits", "lost fits", "hard wrong"]


def test_near_duplicates_and_queries_that_fit_too_many_are_left_out(retriever: Retriever, tmp_path: Path) -> None:
    index = retriever.index
    names = [name for row, name in enumerate(index.names(range(index.size))) if index.target[row]][:6]

    def sample(query: str, name: str) -> Sample:
        return Sample(-1, name, query, 2, 40, True, "", "", 0.5)

    with SampleWriter(tmp_path / "one") as writer:
        writer.add([sample("sum of two bounded functions is bounded", names[0]), sample("is it commutative", names[1])])
        writer.add([sample("vague words", name) for name in names[:MOST_ANSWERS]])
        writer.add([sample("vaguer words", name) for name in names[: MOST_ANSWERS + 1]])
    with SampleWriter(tmp_path / "two") as writer:  # a later round
        writer.add([sample("The sums of two bounded functions are bounded", names[0])])
        writer.add([sample("sum of two bounded functions is compact and open", names[0])])
        writer.add([sample("sum of two bounded functions is bounded", names[1])])
    pairs = generated_pairs([tmp_path / "one", tmp_path / "two"], index, judged=True, hard=True)
    kept = [(pair.query, names.index(pair.name)) for pair in pairs]
    same = query_text("sum of two bounded functions is bounded")
    assert [place for query, place in kept if query == same] == [0, 1]
    assert (query_text("sum of two bounded functions is compact and open"), 0) in kept
    assert sum(query == "vague words" for query, _ in kept) == MOST_ANSWERS
    assert not any(query == "vaguer words" for query, _ in kept)
    assert len(kept) == 4 + MOST_ANSWERS


def test_a_run_learns_and_gives_an_encoder(retriever: Retriever, tmp_path: Path) -> None:
    names = [f"{name}" for name in ("List.append_assoc", "Nat.gcd_one_left", "absurd", "Nat.mul_le_mul")]
    pairs = [Pair(f"zebra {word}", name) for word, name in zip(("one", "two", "three", "four"), names, strict=True)]
    settings = RetrievalSettings("static", batch=4, steps=20)
    folder = train(settings, pairs, retriever.index, tmp_path)
    encoder = load_encoder(str(folder))
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < losses[0] / 4
    assert encoder.encode(["zebra one"], "question").any()


def test_lora_is_merged_into_a_plain_encoder(retriever: Retriever, tmp_path: Path) -> None:
    pairs = [Pair("lists", "List.append_assoc"), Pair("divisor", "Nat.gcd_one_left")]
    settings = RetrievalSettings("small", batch=2, steps=1, lora_rank=2, max_tokens=16)
    folder = train(settings, pairs, retriever.index, tmp_path)
    names = (str(base_folder(find_preset("small"))), str(folder))
    plain, adapted = (load_encoder(name, threads=1).encode(["lists"], "question") for name in names)
    assert plain.shape == adapted.shape
    assert float((plain * adapted).sum()) > 0.9


LONG = "a statement of very many words " * 5
KINDS = [
    Pair("the docstring of appending", "List.append_assoc", bare=True),
    Pair(LONG, "absurd"),
    Pair("gcd", "Nat.gcd"),
]


def test_kinds_of_queries() -> None:
    assert [kind_of(pair) for pair in KINDS] == ["docstring", "restatement", "question"]
    assert read_prompts(None) is None
    assert read_prompts(["question=Q: ", "docstring=a=b"]) == {"question": "Q: ", "docstring": "a=b"}
    with pytest.raises(SidecarError, match="no prompt"):
        read_prompts(["goal=x"])


def test_a_checkpoint_with_prompts_is_trained_and_served_with_one_for_each_kind(
    retriever: Retriever, tmp_path: Path
) -> None:
    """As Qwen3-Embedding comes: a decoder with left padding, last token, a prompt for queries; LoRA, two lengths."""
    tiny_decoder(tmp_path / "base")
    settings = RetrievalSettings(
        str(tmp_path / "base"), batch=3, steps=2, max_tokens=120, lora_rank=2, dimensions=(16,), served_dimension=16
    )
    folder = train(settings, KINDS, retriever.index, tmp_path / "run")
    described = read_description(folder)
    assert described.prompt("question", "gcd") == INSTRUCTIONS["question"]
    assert described.prompt("question", LONG) == INSTRUCTIONS["restatement"]
    assert described.prompt("goal") == "Instruct: find\nQuery:"
    assert described.prompt("declaration") == ""
    encoder = load_encoder(str(folder), threads=1, device="cpu")
    assert encoder.dimension == 16

    # What serves puts each question behind its own prompt.
    plain = tmp_path / "plain"
    shutil.copytree(folder, plain)
    write_description(plain, replace(described, prompts={}))
    without = load_encoder(str(plain), threads=1, device="cpu")
    texts = ["gcd", LONG]
    said = [INSTRUCTIONS["question"] + texts[0], INSTRUCTIONS["restatement"] + texts[1]]
    assert np.allclose(encoder.encode(texts, "question"), without.encode(said, "question"), atol=1e-3)

    # Other prompts make other vectors, and one for all kinds is one for all.
    one = train(replace(settings, prompts={"question": "Q: "}), KINDS, retriever.index, tmp_path / "one")
    assert dict(read_description(one).prompts) == {"goal": "Instruct: find\nQuery:", "question": "Q: "}


def test_a_checkpoint_without_prompts_gets_none(retriever: Retriever, tmp_path: Path) -> None:
    settings = RetrievalSettings("static", batch=2, steps=1, dimensions=(32, 64), served_dimension=64)
    folder = train(settings, KINDS[:2], retriever.index, tmp_path)
    assert dict(read_description(folder).prompts) == {}
    assert load_encoder(str(folder)).dimension == 64
    with pytest.raises(SidecarError, match="48 dimensions"):
        train(replace(settings, served_dimension=48), KINDS[:2], retriever.index, tmp_path / "other")


def test_many_queries_at_once_find_what_the_index_finds_for_each(
    retriever: Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = retriever.index
    texts = [query_text(name) for name in index.names(range(0, index.size, 7))]
    for block in (1 << 14, 50):  # in one block of vectors, in several
        monkeypatch.setattr("training.search.retriever.BLOCK", block)
        found = retriever.find([*texts, ""])
        scores, _ = index.vectors("search").search(
            retriever.encoder.encode(texts, "question"), retriever.depth, index.target
        )
        vectors = retriever.encoder.encode(texts, "question")
        for row, rows in enumerate(found[:-1]):
            assert index.target[rows].all()
            assert len(set(rows.tolist())) == len(rows)
            own = index.vectors("search").scores(vectors[row], rows)
            assert np.allclose(own, scores[row], atol=1e-5)
        assert (found[-1] == -1).all()
