"""The whole loop at tiny size, on the example library: round 0, generator, queries, retriever, figures; resuming."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.corpus.source import Corpus, example_corpus
from sidecar.errors import SidecarError
from training.data.queries import SearchExample
from training.search.arms import Arm, Start
from training.search.retrieval import RetrievalSettings
from training.search.rounds import Rounds, RoundsSettings
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
    retrieval=RetrievalSettings("static", batch=32, steps=4),
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
    figures = run(tmp_path, SETTINGS)
    assert list(figures) == ["round 0", "round 1"]
    assert json.loads((tmp_path / "figures.json").read_text()) == figures
    first = json.loads((tmp_path / "round-1" / "figures" / "figures.json").read_text())
    assert first["retriever"]["all"]["ndcg@10"]["n"] == 2
    assert set(first) == {"retriever", "search"}

    samples = list(read_samples(tmp_path / "round-1" / "queries" / "samples"))
    assert len(samples) == 60
    assert {"List.append_assoc", "Nat.gcd_one_left"}.isdisjoint(sample.declaration for sample in samples)
    assert all(sample.consistent is not None for sample in samples)

    done = times(tmp_path)
    assert len(done) == 2 * 3 + 1 + 2
    assert run(tmp_path, SETTINGS) == figures
    assert times(tmp_path) == done

    # One more query a declaration changes round 1 from its queries on; what was made before is kept beside.
    run(tmp_path, replace(SETTINGS, per=2))
    now = times(tmp_path)
    assert {name for name in done if now[name] == done[name]} == {
        *(name for name in done if name.startswith("round-0/")),
        "round-1/generator/done.json",
    }
    assert len(now) == len(done) + 4


def test_a_control_arm_begins_from_the_same_round_0(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "run"
    assert "round 1" in run(output, replace(SETTINGS, arm=Arm.DIFFICULTY))
    assert not list((output / "round-0").glob("*.*"))  # nothing was set aside


def test_a_frozen_generator_writes_other_queries(run: Run, tmp_path: Path) -> None:
    tmp_path = tmp_path / "run"
    run(tmp_path, replace(SETTINGS, rounds=2, start=Start.FROZEN))
    assert not (tmp_path / "round-2" / "generator").exists()
    one, two = (
        [sample.query for sample in read_samples(tmp_path / f"round-{number}" / "queries" / "samples")]
        for number in (1, 2)
    )
    assert one != two


def test_a_language_model_from_supervised_fine_tuning(run: Run, corpus: Corpus, tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "tiny", (declaration.shown for declaration in corpus.declarations()))
    grpo = {"steps": 1, "declarations": 2, "group": 2, "batch": 4, "completion_tokens": 6, "beta": 0.0, "lora_rank": 0}
    settings = replace(
        SETTINGS,
        rounds=2,
        generator=str(tmp_path / "tiny"),
        start=Start.SFT,
        grpo=grpo,
        sft=SftSettings(steps=1, batch=1),
        declarations=6,
    )
    figures = run(tmp_path / "run", settings)
    assert list(figures) == ["round 0", "round 1", "round 2"]
    assert (tmp_path / "run" / "sft" / "model" / "config.json").is_file()
    assert (tmp_path / "run" / "round-2" / "generator" / "model" / "config.json").is_file()


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
