"""The generator without a model: what it writes, and that it learns what the reward wants."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import SidecarError
from training.search.arms import Arm
from training.search.retriever import Retriever
from training.search.samples import SampleWriter, read_samples
from training.search.scoring import Scorer
from training.search.standin import KINDS, SITES, Choices, Policy, Source, described, write_query
from training.search.standin_run import StandinSettings, train
from training.search.word_judge import WordJudge
from training.search.words import word_rarity


@pytest.fixture(scope="module")
def names(retriever: Retriever) -> list[str]:
    index = retriever.index
    return [name for row, name in enumerate(index.names(range(index.size))) if index.target[row]]


def query(retriever: Retriever, declaration_name: str, /, **options: str) -> str:
    plain = {
        "speaks": "name",
        "length": "20",
        "stay": "first",
        "name": "stays",
        "terms": "as they are",
        "around": "nothing",
    }
    choices = {site: SITES[site].index(option) for site, option in {**plain, **options}.items()}
    (declaration,) = retriever.declarations([declaration_name])
    return write_query(Source.of(declaration), choices, word_rarity(retriever.index), random.Random(0))


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, "nat gcd one left"),
        ({"name": "last component hidden"}, "nat"),
        ({"name": "hidden"}, ""),
        ({"around": "lemma"}, "nat gcd one left lemma"),
        ({"around": "is it true that", "length": "3"}, "is it true that nat greatest common"),
        ({"around": "how to prove", "name": "hidden"}, ""),
    ],
)
def test_queries_by_choices(retriever: Retriever, options: dict[str, str], written: str) -> None:
    found = query(retriever, "Nat.gcd_one_left", **options)
    assert found.replace("greatest common divisor", "gcd") == written


def test_everyday_words(retriever: Retriever) -> None:
    assert query(retriever, "List.length_nil", terms="in everyday words") != query(retriever, "List.length_nil")


def test_rare_words_stay_longest(retriever: Retriever) -> None:
    rarity = word_rarity(retriever.index)
    rare = query(retriever, "List.append_assoc", stay="rarest", length="3", speaks="name and conclusion").split()
    common = query(retriever, "List.append_assoc", stay="commonest", length="3", speaks="name and conclusion").split()
    assert sum(map(rarity, rare)) > sum(map(rarity, common))


@given(st.integers(0, 2**32))
def test_any_choice_gives_a_query_of_one_line_and_a_description(seed: int) -> None:
    # A declaration of every kind: the sites must fit whatever is missing.
    from sidecar.corpus.source import example_corpus

    declarations = list(example_corpus().declarations())
    source = Source.of(declarations[seed % len(declarations)])
    choices = Policy.untrained().draw(source.kind, np.random.default_rng(seed))
    text = write_query(source, choices, lambda _: 1.0, random.Random(seed))
    assert "\n" not in text
    assert text == text.strip()
    assert set(described(choices).split("; ")) == {f"{site}: {SITES[site][option]}" for site, option in choices.items()}


def test_it_learns_the_option_that_is_rewarded_and_only_where_it_is() -> None:
    policy = Policy.untrained()
    generator = np.random.default_rng(0)
    for _ in range(60):
        kinds = [2] * 32
        choices: list[Choices] = [policy.draw(kind, generator) for kind in kinds]
        rewards = np.array([float(choice["length"] == 1) for choice in choices])
        policy.learn(kinds, choices, rewards - rewards.mean(), rate=2.0, entropy=0.001)
    assert policy.likely("length", 2)[1] > 0.9
    assert policy.likely("length", 0).tolist() == pytest.approx([0.2] * 5)
    assert policy.likely("stay", 2).max() < 0.6


def test_the_entropy_term_keeps_choices_open() -> None:
    policy = Policy.untrained()
    policy.scores["length"][0, 0] = 3.0
    before = policy.likely("length", 0)[0]
    choices = [policy.draw(0, np.random.default_rng(0))] * 4
    policy.learn([0] * 4, choices, [0.0] * 4, rate=1.0, entropy=0.5)
    assert 0.2 < policy.likely("length", 0)[0] < before


def scorer(retriever: Retriever, writer: SampleWriter, arm: Arm = Arm.BOTH) -> Scorer:
    return Scorer(retriever, WordJudge(retriever.index), arm, writer)


def rewards(folder: Path) -> list[float]:
    return [json.loads(line)["reward"] for line in (folder / "metrics.jsonl").read_text().splitlines()]


SETTINGS = StandinSettings(steps=6, declarations=12, group=4, save_every=2)


def trained(retriever: Retriever, names: list[str], folder: Path, settings: StandinSettings = SETTINGS) -> Policy:
    with SampleWriter(folder / "samples") as writer:
        return train(scorer(retriever, writer), names, folder, settings)


def test_a_run_writes_generator_metrics_and_every_sample(
    retriever: Retriever, names: list[str], tmp_path: Path
) -> None:
    policy = trained(retriever, names, tmp_path)
    again = Policy.read(tmp_path / "generator.json")
    assert all(np.array_equal(policy.scores[site], again.scores[site]) for site in SITES)
    samples = list(read_samples(tmp_path / "samples"))
    assert len(samples) == 6 * 12 * 4
    assert {sample.step for sample in samples} == set(range(1, 7))
    assert rewards(tmp_path)[0] == pytest.approx(np.mean([s.reward for s in samples if s.step == 1]))


def test_an_interrupted_run_ends_as_one_that_was_not(retriever: Retriever, names: list[str], tmp_path: Path) -> None:
    whole = trained(retriever, names, tmp_path / "whole")

    calls = iter(range(5))
    with pytest.raises(StopIteration), SampleWriter(tmp_path / "cut" / "samples") as writer:
        stopping = scorer(retriever, writer)
        score: Callable[..., object] = stopping.score

        def stop(*arguments: object, **options: object) -> object:
            next(calls)
            return score(*arguments, **options)

        stopping.score = stop  # type: ignore[method-assign, assignment]
        train(stopping, names, tmp_path / "cut", SETTINGS)
    resumed = trained(retriever, names, tmp_path / "cut")
    assert all(np.array_equal(whole.scores[site], resumed.scores[site]) for site in SITES)
    assert rewards(tmp_path / "cut") == rewards(tmp_path / "whole")
    assert list(read_samples(tmp_path / "cut" / "samples")) == list(read_samples(tmp_path / "whole" / "samples"))


@pytest.mark.parametrize("harm", ["checkpoint behind", "no checkpoint"])
def test_a_kill_between_samples_and_checkpoint_changes_nothing(
    retriever: Retriever, names: list[str], tmp_path: Path, harm: str
) -> None:
    whole = trained(retriever, names, tmp_path / "whole")
    checkpoint = tmp_path / "cut" / "generator.json"
    trained(retriever, names, tmp_path / "cut", replace(SETTINGS, steps=2))
    before = checkpoint.read_text()
    trained(retriever, names, tmp_path / "cut", replace(SETTINGS, steps=4))
    if harm == "no checkpoint":
        checkpoint.unlink()
    else:
        checkpoint.write_text(before)
    resumed = trained(retriever, names, tmp_path / "cut")
    assert all(np.array_equal(whole.scores[site], resumed.scores[site]) for site in SITES)
    assert list(read_samples(tmp_path / "cut" / "samples")) == list(read_samples(tmp_path / "whole" / "samples"))
    assert rewards(tmp_path / "cut") == rewards(tmp_path / "whole")


def test_a_file_that_is_no_generator_is_said(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text('{"format": 1, "scores": {"speaks": [[1]]}}')
    with pytest.raises(SidecarError, match=r"speaks"):
        Policy.read(tmp_path / "g.json")
    with pytest.raises(SidecarError, match="no stand-in generator"):
        Policy.read(tmp_path / "absent.json")


def test_every_kind_has_its_scores() -> None:
    assert all(rows.shape == (KINDS, len(SITES[site])) for site, rows in Policy.untrained().scores.items())
