"""The whole loop at tiny size, on the example library: round 0, generator, queries, retriever, figures; resuming."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import Corpus, example_corpus, open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.index.verify import verify_index
from tests.corpus.written import declaration_row, module_row, write
from training.data.queries import SearchExample
from training.search.arms import Arm, Start
from training.search.reindex import reindex
from training.search.retrieval import RetrievalSettings
from training.search.reward import reward
from training.search.rounds import Rounds, RoundsSettings
from training.search.rounds_report import report
from training.search.samples import read_samples
from training.search.sft import SftSettings
from training.search.stages import Stages, digest
from training.search.standin_run import StandinSettings
from training.search.tiny import write_tiny_model

EVALUATION = [
    SearchExample("appending lists is associative", ("List.append_assoc",), "test", "short"),
    SearchExample("greatest common divisor with one", ("Nat.gcd_one_left",), "test", "short"),
]
GIVEN = [
    SearchExample("a contradiction proves anything", ("absurd",), "given", "short"),
    SearchExample("appending", ("List.append_assoc",), "given", "short"),
]
SETTINGS = RoundsSettings(
    rounds=1,
    retrieval=RetrievalSettings("static", batch=32, steps=1),
    standin=StandinSettings(steps=3, declarations=8, group=4, save_every=1),
    declarations=60,
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return example_corpus()


@pytest.fixture(scope="module")
def run(
    corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path, RoundsSettings], dict[str, object]]:
    """Does rounds; round 0 is the same for all tests and comes from one run."""
    shared = tmp_path_factory.mktemp("rounds") / "run"
    Rounds(corpus, GIVEN, EVALUATION, shared, replace(SETTINGS, rounds=0)).run()

    def go(output: Path, settings: RoundsSettings) -> dict[str, object]:
        if not output.exists():
            shutil.copytree(shared, output)
        return Rounds(corpus, GIVEN, EVALUATION, output, settings).run()

    return go


Run = Callable[[Path, RoundsSettings], dict[str, object]]


def times(output: Path) -> dict[str, int]:
    return {str(file.relative_to(output)): file.stat().st_mtime_ns for file in output.rglob("done.json")}


def test_the_loop_resumes_and_keeps_evaluations_out(run: Run, tmp_path: Path) -> None:
    tmp_path = tmp_path / "run"
    ranks = run(tmp_path, SETTINGS)
    assert list(ranks) == ["round 0", "both, round 1"]
    written = json.loads((tmp_path / "ranks.json").read_text())
    assert written["ranks"] == ranks
    assert [row["query"] for row in written["queries"]] == [example.query for example in EVALUATION]
    first = json.loads((tmp_path / "both" / "round-1" / "ranks" / "ranks.json").read_text())
    assert set(first) == {"retriever", "search"}
    assert all(len(found) == 2 for found in first.values())

    samples = list(read_samples(tmp_path / "both" / "round-1" / "queries" / "samples"))
    assert len(samples) == 60
    assert {"List.append_assoc", "Nat.gcd_one_left"}.isdisjoint(sample.declaration for sample in samples)
    assert all(sample.consistent is not None for sample in samples)
    pairs = (tmp_path / "both" / "round-1" / "retriever" / "targets.txt.gz").read_bytes()
    assert {"List.append_assoc", "Nat.gcd_one_left"}.isdisjoint(gzip.decompress(pairs).decode().split())

    done = times(tmp_path)
    assert len(done) == 1 + 3 + 5
    assert run(tmp_path, SETTINGS) == ranks
    assert times(tmp_path) == done

    # One more query a declaration changes round 1 from its queries on; what was made before is kept beside.
    run(tmp_path, replace(SETTINGS, per=2))
    now = times(tmp_path)
    assert {name for name in done if now[name] == done[name]} == {
        "base-index/done.json",
        *(name for name in done if name.startswith("round-0/")),
        "both/round-1/generator/done.json",
    }
    assert len(now) == len(done) + 4


def test_the_index_of_a_round_is_an_index_like_any_other(run: Run, tmp_path: Path) -> None:
    run(tmp_path / "run", replace(SETTINGS, rounds=0))
    assert verify_index(tmp_path / "run" / "round-0" / "index" / "index") == []
    with (
        Index.open(tmp_path / "run" / "base-index" / "index") as base,
        Index.open(tmp_path / "run" / "round-0" / "index" / "index") as index,
    ):
        assert index.revision != base.revision
        assert list(index.names(range(index.size))) == list(base.names(range(base.size)))
        encoder = load_encoder(index.manifest.vector_entry("search").encoder)
        assert not np.allclose(index.vectors("search").matrix, base.vectors("search").matrix)
        built = tmp_path / "built"
        build_index(example_corpus(), built, encoder)
        with Index.open(built) as whole:
            assert np.allclose(index.vectors("search").matrix, whole.vectors("search").matrix, atol=1e-3)


def test_control_arms_share_round_0(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "run"
    ranks = run(output, replace(SETTINGS, arms=(Arm.BOTH, Arm.DIFFICULTY, Arm.CONSISTENCY), search=False))
    assert list(ranks) == ["round 0", "both, round 1", "difficulty, round 1", "consistency, round 1"]
    assert not list((output / "round-0").glob("retriever.*"))  # nothing was set aside
    for arm in Arm:
        samples = list(read_samples(output / arm / "round-1" / "generator" / "samples"))
        asked = [sample for sample in samples if sample.consistent is not None]
        # The judge of rewards is asked by the arms that look at its verdict.
        assert bool(asked) == (arm is Arm.CONSISTENCY) or arm is Arm.BOTH
        assert all(
            sample.reward == reward(sample.rank, bool(sample.consistent), sample.tokens, arm) for sample in samples
        )
    text = report(EVALUATION, ranks).text()
    assert "| consistency, round 1 |" in text
    assert "retriever, style: short (n = 2)" in text
    assert "change of ndcg@10 since round 0" in text
    assert "search" not in text


@pytest.mark.parametrize("start", [Start.FROZEN, Start.PREVIOUS])
def test_where_the_second_generator_begins(run: Run, tmp_path: Path, start: Start) -> None:
    output = tmp_path / "run"
    ranks = run(output, replace(SETTINGS, rounds=2, start=start, search=False))
    label = "both" if start is Start.PREVIOUS else f"both-{start}"
    assert list(ranks)[1:] == ["both, round 1", f"{label.replace('-', ' from ')}, round 2"]
    second = output / label / "round-2"
    generator = second / "generator" / "generator.json"
    assert generator.is_file() == (start is not Start.FROZEN)
    one, two = (
        [sample.query for sample in read_samples(folder / "queries" / "samples")]
        for folder in (output / "both" / "round-1", second)
    )
    assert one != two  # a frozen generator, too, writes other queries the second time


@pytest.mark.parametrize("start", [Start.SFT, Start.BASE])
def test_a_tiny_language_model_through_the_whole_loop(run: Run, corpus: Corpus, tmp_path: Path, start: Start) -> None:
    """A random Qwen3 with a tokenizer trained on the spot: three steps of GRPO a round."""
    write_tiny_model(tmp_path / "tiny", (declaration.shown for declaration in corpus.declarations()))
    grpo = {"steps": 3, "declarations": 2, "group": 2, "batch": 4, "completion_tokens": 6, "beta": 0.0, "lora_rank": 0}
    settings = replace(
        SETTINGS,
        rounds=2,
        generator=str(tmp_path / "tiny"),
        start=start,
        grpo=grpo,
        sft=SftSettings(steps=1, batch=1),
        declarations=6,
        search=False,
    )
    output = tmp_path / "run"
    assert list(run(output, settings)) == ["round 0", "both, round 1", f"both from {start}, round 2"]
    assert (output / "sft" / "model" / "config.json").is_file() == (start is Start.SFT)
    second = output / f"both-{start}" / "round-2" / "generator"
    assert (second / "model" / "config.json").is_file()
    assert json.loads((second / "inputs.json").read_text())["inputs"]["before"] is None
    lines = (output / "both" / "round-1" / "generator" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["step"] == 3
    assert len(list(read_samples(output / "both" / "round-1" / "generator" / "samples"))) == 3 * 2 * 2


def test_an_index_of_another_corpus_or_version_is_refused(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "library", module_row("A"), declaration_row("A.b"))
    other = open_corpus(tmp_path / "library")
    build_index(other, tmp_path / "index", load_encoder("static"))
    with pytest.raises(SidecarError, match="another corpus"):
        Rounds(corpus, GIVEN, EVALUATION, tmp_path / "run", SETTINGS, tmp_path / "index").run()
    monkeypatch.setattr("training.search.reindex.text_fingerprint", lambda: "other rules")
    with pytest.raises(SidecarError, match="text rules"):
        reindex(tmp_path / "index", tmp_path / "again", load_encoder("static"))


def test_the_standin_has_no_fine_tuning(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="stand-in"):
        run(tmp_path, replace(SETTINGS, start=Start.SFT))


def test_stages(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    calls: list[str] = []

    def work(mark: str, fails: bool = False) -> Callable[[Path], None]:
        def do(folder: Path) -> None:
            calls.append(mark)
            with (folder / "file").open("a") as file:
                file.write(mark)
            if fails:
                raise KeyboardInterrupt

        return do

    with pytest.raises(KeyboardInterrupt):
        stages.run("a", {"x": 1}, work("1", fails=True))
    with pytest.raises(ValueError, match="not done"):
        digest(tmp_path / "a")
    folder = stages.run("a", {"x": 1}, work("2"))
    assert (folder / "file").read_text() == "12"
    stages.run("a", {"x": 1}, work("3"))
    assert calls == ["1", "2"]
    before = digest(folder)
    stages.run("a", {"x": 2}, work("4"))
    assert (folder / "file").read_text() == "4"
    assert digest(folder) != before
    assert (tmp_path / f"a.{before[:8]}" / "file").read_text() == "12"
