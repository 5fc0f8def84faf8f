"""Writing about every declaration: three generators, resuming, and which declarations are written about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.chat import ChatEndpoint, ChatSettings
from sidecar.errors import SidecarError
from sidecar.text.query import query_text
from tests.endpoint import Endpoint, Said
from training.search.arms import Arm
from training.search.retriever import Retriever
from training.search.samples import SampleWriter, read_samples
from training.search.scoring import Scorer
from training.search.standin import Policy
from training.search.tiny import write_tiny_model
from training.search.word_judge import WordJudge
from training.search.writing import EndpointWriter, ModelWriter, QueryWriter, StandinWriter, targets, write_all

Write = Callable[[Path, list[str]], None]


@pytest.fixture(scope="module")
def names(retriever: Retriever) -> list[str]:
    return targets(retriever.index)[:10]


@pytest.fixture(scope="module")
def model(retriever: Retriever, names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny_model(folder, (one.shown for one in retriever.declarations(names)))
    return folder


def written(retriever: Retriever, writer: QueryWriter, folder: Path, names: list[str]) -> list[object]:
    with SampleWriter(folder) as samples:
        scorer = Scorer(retriever, WordJudge(retriever.index), Arm.BOTH, samples, judge_all=True)
        write_all(writer, scorer, names, folder, per=2)
    return list(read_samples(folder))


@pytest.mark.parametrize("kind", ["standin", "model"])
def test_it_goes_on_where_it_stopped(
    retriever: Retriever, names: list[str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("training.search.writing.BATCH", 4)
    writer: QueryWriter = (
        StandinWriter(Policy.untrained(), retriever, 1) if kind == "standin" else ModelWriter(model, 1, batch=4)
    )
    whole = written(retriever, writer, tmp_path / "whole", names)
    written(retriever, writer, tmp_path / "cut", names[:8])
    assert written(retriever, writer, tmp_path / "cut", names) == whole
    samples = list(read_samples(tmp_path / "whole"))
    assert [sample.declaration for sample in samples] == [name for name in names for _ in range(2)]
    assert all(sample.consistent is not None for sample in samples)
    assert all((sample.tokens > 0) == bool(query_text(sample.query)) for sample in samples)


def test_an_endpoint_writes(retriever: Retriever, names: list[str], tmp_path: Path) -> None:
    def answer(body: dict[str, object]) -> Said:
        messages = body["messages"]
        assert isinstance(messages, list)
        assert body["temperature"] == 1.0
        return Said(None, refusal="no") if names[1] in messages[1]["content"] else Said("even functions\nand more")

    with Endpoint(answer) as endpoint:
        chat = ChatEndpoint(ChatSettings(endpoint.url, "test"))
        written(retriever, EndpointWriter(chat, retriever), tmp_path, names[:3])
    samples = list(read_samples(tmp_path))
    assert [sample.query for sample in samples if sample.declaration == names[0]] == ["even functions"] * 2
    assert [(s.query, s.tokens, s.reward) for s in samples if s.declaration == names[1]] == [("", 0, 0.0)] * 2


def test_what_is_written_about(retriever: Retriever) -> None:
    index = retriever.index
    found = targets(index)
    rows = index.rows(found)
    assert index.target[rows].all()
    assert not index.deprecated[rows].any()
    assert len(set(found)) == len(found) > 300


@pytest.mark.parametrize("harm", ["marker behind", "no marker"])
def test_a_kill_between_samples_and_marker_doubles_nothing(
    retriever: Retriever, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr("training.search.writing.BATCH", 4)
    writer = StandinWriter(Policy.untrained(), retriever, 1)
    whole = written(retriever, writer, tmp_path / "whole", names)
    marker = tmp_path / "cut" / "written.json"
    written(retriever, writer, tmp_path / "cut", names[:4])
    before = marker.read_text()
    written(retriever, writer, tmp_path / "cut", names[:8])
    if harm == "no marker":
        marker.unlink()
    else:
        marker.write_text(before)
    assert written(retriever, writer, tmp_path / "cut", names) == whole


def test_a_marker_that_was_cut_off_is_said(retriever: Retriever, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "written.json").write_text('{"decl')
    with pytest.raises(SidecarError, match=r"written\.json cannot be read"):
        written(retriever, StandinWriter(Policy.untrained(), retriever, 1), tmp_path, names)
