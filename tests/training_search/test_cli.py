"""The commands: what they print, and what they say about wrong options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidecar.corpus.source import EXAMPLE_FOLDER
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from training.cli import application
from training.search.judges import make_endpoint
from training.search.retriever import Retriever
from training.search.samples import read_samples
from training.search.writing import targets


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(application, ["search", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("queries") / "dev.jsonl"
    rows = [
        {"query": "appending lists is associative", "gold": ["List.append_assoc"], "kind": "short", "set": "test"},
        {"query": "divisor with one", "gold": ["Nat.gcd_one_left"], "kind": "short", "set": "test"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_generator_its_queries_a_retriever_and_figures(retriever: Retriever, queries: Path, tmp_path: Path) -> None:
    index = retriever.index.folder
    for _ in range(2):  # the second time nothing is left to do
        run("generator", "--index", index, "--output", tmp_path / "g", "--evaluation", queries, "--steps", "1")
    assert (tmp_path / "g" / "generator.json").is_file()
    run("write", "--index", index, "--generator", tmp_path / "g", "--output", tmp_path / "again", "--per", "2")
    assert 2 * len(targets(retriever.index)) == len(list(read_samples(tmp_path / "again")))
    with pytest.raises(SidecarError, match="no generator"):
        run("write", "--index", index, "--generator", tmp_path / "nothing", "--output", tmp_path / "none")
    said = run(
        *("retriever", "--index", index, "--output", tmp_path / "r", "--generated", tmp_path / "g" / "queries"),
        *("--preset", "static", "--evaluation", queries, "--steps", "1", "--batch", "8"),
    )
    assert "pairs" in said
    assert (tmp_path / "r" / "model" / "model.safetensors").is_file()
    said = run("figures", "--index", index, "--evaluation", queries)
    assert "test (n = 2): ndcg@1" in said
    assert "search" in said


@pytest.mark.parametrize("given", [True, False])
def test_that_nothing_is_kept_out_is_said(
    retriever: Retriever, queries: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, given: bool
) -> None:
    evaluation = ("--evaluation", queries) if given else ()
    run(
        *("generator", "--index", retriever.index.folder, "--output", tmp_path / "g", "--steps", "1"),
        *("--train-only", *evaluation),
    )
    assert ("nothing is kept out" in caplog.text) is not given


def test_a_tiny_model(tmp_path: Path) -> None:
    run("tiny", EXAMPLE_FOLDER, "--output", tmp_path / "m")
    assert (tmp_path / "m" / "config.json").is_file()


def test_rounds_without_rounds_are_round_0(queries: Path, tmp_path: Path) -> None:
    said = run(
        *("rounds", EXAMPLE_FOLDER, "--output", tmp_path / "run", "--evaluation", queries),
        *("--rounds", "0", "--retriever-steps", "1", "--batch", "8"),
    )
    assert "retriever, all (n = 2)" in said
    assert "| round 0 |" in said
    with Index.open(tmp_path / "run" / "round-0" / "index" / "index") as index:
        assert index.size > 400


def test_rounds_on_several_ranks_are_refused(queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SidecarError, match="one process"):
        run("rounds", EXAMPLE_FOLDER, "--output", tmp_path, "--evaluation", queries)


@pytest.mark.parametrize("name", ["gpt", "@http://x/v1", "gpt@", "gpt@ftp://x"])
def test_endpoints_that_are_none(name: str) -> None:
    with pytest.raises(SidecarError, match="MODEL@ADDRESS"):
        make_endpoint(name, None)


def test_the_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_SEARCH_ENDPOINT_TOKEN", "secret")
    assert make_endpoint("gpt@http://127.0.0.1:1/v1", None).settings.token == "secret"
