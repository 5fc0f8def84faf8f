"""The real `gepa` loop with stand-ins for the two models: it finds the better instruction, and reads why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.chat import ChatEndpoint, ChatSettings, ReplyCache
from sidecar.errors import SidecarError
from sidecar.text.names import name_words
from tests.endpoint import Endpoint, Said
from training.search.gepa import (
    COMPONENT,
    GepaSettings,
    RewriteAdapter,
    Task,
    draw_tasks,
    endpoint_reflection,
    endpoint_rewriting,
    optimise,
    score,
)
from training.search.retriever import Retriever
from training.search.samples import Sample, SampleWriter

SETTINGS = GepaSettings(training=12, validation=12, minibatch=3, calls=80)


@pytest.fixture(scope="module")
def samples(retriever: Retriever, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries that hide two words behind others, which only an instruction that says so brings back."""
    folder = tmp_path_factory.mktemp("samples")
    index = retriever.index
    names = [name for row, name in enumerate(index.names(range(index.size))) if index.target[row]][::12][:30]
    with SampleWriter(folder) as writer:
        for name in names:
            hidden = " ".join(word[::-1] for word in name_words(name))
            for query, consistent, reward in (("easy one", True, 0.0), (hidden, True, 0.5), ("wrong", False, 0.9)):
                writer.add([Sample(-1, name, query, 3, 50, consistent, "", "", reward)])
    return folder


def rewriting(instruction: str, queries: Sequence[str]) -> list[str]:
    """Reads words backwards when told to."""
    if "backwards" not in instruction:
        return list(queries)
    return [" ".join(word[::-1] for word in query.split()) for query in queries]


class Reflecting:
    """Proposes the right instruction once it has read what went wrong."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return "```\nRead each word backwards.\n```"


def test_it_finds_the_better_instruction(retriever: Retriever, samples: Path, tmp_path: Path) -> None:
    reflecting = Reflecting()
    record = optimise(samples, retriever, rewriting, reflecting, "Repeat the question.", tmp_path, SETTINGS)
    assert (tmp_path / "prompt.txt").read_text() == "Read each word backwards.\n"
    assert record["best"] > record["seed"] == record["typed"]
    assert json.loads((tmp_path / "gepa.json").read_text())["best"] == record["best"]
    seen = reflecting.prompts[0]
    assert "Repeat the question." in seen
    assert "Wanted: " in seen
    assert "Above it stood:" in seen
    assert "easy one" not in seen  # of each declaration the query with the highest reward


def test_the_same_run_again_is_the_same(retriever: Retriever, samples: Path, tmp_path: Path) -> None:
    first, second = (
        optimise(samples, retriever, rewriting, Reflecting(), "Repeat.", tmp_path / name, SETTINGS) for name in "ab"
    )
    assert first == second


def test_the_models_may_be_endpoints_and_a_second_run_asks_nothing(
    retriever: Retriever, samples: Path, tmp_path: Path
) -> None:
    def answer(body: dict[str, object]) -> Said:
        messages = body["messages"]
        assert isinstance(messages, list)
        if messages[0]["role"] == "user":
            return Said("```\nRead each word backwards.\n```")
        return Said(rewriting(messages[0]["content"], [messages[1]["content"]])[0])

    few = GepaSettings(training=6, validation=6, minibatch=3, calls=24)
    with Endpoint(answer) as endpoint:
        counts = []
        for name in "ab":
            chat = ChatEndpoint(ChatSettings(endpoint.url, "test"), ReplyCache(tmp_path / "replies"))
            optimise(
                samples,
                retriever,
                endpoint_rewriting(chat),
                endpoint_reflection(chat),
                "Repeat the question.",
                tmp_path / name,
                few,
            )
            counts.append(len(endpoint.requests))
    assert (tmp_path / "a" / "prompt.txt").read_text() == "Read each word backwards.\n"
    assert counts[0] == counts[1] > 0


def test_feedback_says_rank_and_what_stood_above(retriever: Retriever) -> None:
    adapter = RewriteAdapter(retriever, lambda instruction, queries: ["", "list append associative"])
    tasks = [Task("lists", "List.append_assoc"), Task("lists", "List.append_assoc")]
    batch = adapter.evaluate(tasks, {COMPONENT: "x"}, capture_traces=True)
    assert batch.scores[0] == 0.0
    assert batch.scores[1] > 0.3
    (shown,) = adapter.make_reflective_dataset({COMPONENT: "x"}, batch, [COMPONENT]).values()
    assert "was not among the declarations found" in shown[0]["Feedback"]
    assert shown[0]["Generated Outputs"] == "(nothing)"
    assert "Wanted: List.append_assoc: theorem List.append_assoc" in shown[1]["Feedback"]
    json.dumps(shown)


def test_tasks_are_consistent_and_apart(retriever: Retriever, samples: Path) -> None:
    training, validation = draw_tasks(samples, retriever, SETTINGS)
    assert len(training) == len(validation) == 12
    assert not {task.declaration for task in training} & {task.declaration for task in validation}
    assert not {"wrong", "easy one"} & {task.query for task in [*training, *validation]}


def test_too_few_queries_are_said(retriever: Retriever, samples: Path) -> None:
    with pytest.raises(SidecarError, match="about 30 declarations, 600 are wanted"):
        draw_tasks(samples, retriever, GepaSettings())


def test_what_a_rank_is_worth() -> None:
    assert [score(rank) for rank in (1, 3, None)] == [1.0, 0.5, 0.0]
