"""Judges: what they are asked, how their answers are read, and that no failure passes for a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sidecar.chat import ChatEndpoint, ChatSettings, ReplyCache
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from tests.endpoint import Endpoint, Said
from training.search.judge import Asked, EndpointJudge, Verdict, read_verdict

EVEN = Declaration("Function.Even.const", "theorem", "M", "theorem Function.Even.const (c : β) : Even fun _ => c")
ODD = Declaration("Function.Odd", "def", "M", "def Function.Odd (f : α → β) : Prop", docstring="An odd function.")


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.chat.FIRST_WAIT_SECONDS", 0.01)


def fits(body: dict[str, Any]) -> Said:
    """A judge that looks for one word of the query in the declaration."""
    text = body["messages"][1]["content"]
    declaration, query = text.split("\nQuery: ")
    word = query.split()[0].lower()
    return Said(json.dumps({"reason": f"about {word}", "consistent": "yes" if word in declaration.lower() else "no"}))


def judge(endpoint: Endpoint, cache: ReplyCache | None = None) -> EndpointJudge:
    return EndpointJudge(ChatEndpoint(ChatSettings(endpoint.url, "test", tries=2, seconds=10.0), cache))


def test_verdicts_come_in_order_and_equal_questions_are_asked_once() -> None:
    asked = [
        Asked("even constants", EVEN),
        Asked("prime ideal", EVEN),
        Asked("odd map", ODD),
        Asked("prime ideal", EVEN),
    ]
    with Endpoint(fits) as endpoint:
        verdicts = judge(endpoint).judge(asked)
    assert [verdict.consistent for verdict in verdicts] == [True, False, True, False]
    assert verdicts[0] == Verdict(True, "about even")
    assert len(endpoint.requests) == 3
    assert any("An odd function." in body["messages"][1]["content"] for body in endpoint.requests)
    assert all(body["response_format"]["type"] == "json_schema" for body in endpoint.requests)


def test_verdicts_are_kept_on_disk(tmp_path: Path) -> None:
    with Endpoint(fits) as endpoint:
        for _ in range(2):
            assert judge(endpoint, ReplyCache(tmp_path / "c")).judge([Asked("even", EVEN)])[0].consistent
    assert len(endpoint.requests) == 1


def test_a_refusal_counts_as_no_and_says_so() -> None:
    with Endpoint(lambda body: Said(None, refusal="cannot help")) as endpoint:
        assert judge(endpoint).judge([Asked("even", EVEN)]) == [Verdict(False, "cannot help", "refused")]


def test_an_answer_that_says_nothing_is_asked_for_again() -> None:
    calls = count()
    with Endpoint(lambda body: Said("well …") if next(calls) == 0 else fits(body)) as endpoint:
        assert judge(endpoint).judge([Asked("even", EVEN)])[0].consistent
    assert len(endpoint.requests) == 2


def test_an_answer_that_stays_unreadable_is_no_verdict() -> None:
    with Endpoint(lambda body: Said("well …")) as endpoint:
        assert judge(endpoint).judge([Asked("even", EVEN)]) == [Verdict(False, "well …", "unreadable")]


def test_an_endpoint_that_is_gone_is_an_error_and_no_verdict() -> None:
    with (
        Endpoint(lambda body: Said(status=500)) as endpoint,
        pytest.raises(SidecarError, match="no answer in 2 tries"),
    ):
        judge(endpoint).judge([Asked("even", EVEN), Asked("odd", ODD)])


def test_nothing_to_judge() -> None:
    with Endpoint(fits) as endpoint:
        assert judge(endpoint).judge([]) == []
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"reason": "r", "consistent": "yes"}', Verdict(True, "r")),
        ('```json\n{"consistent": "No", "reason": "r"}\n```', Verdict(False, "r")),
        ('{"consistent": true}', Verdict(True, "")),
        ('{"consistent": "perhaps"}', None),
        ('{"consistent": 1}', None),
        ('{"reason": "yes"}', None),
        ("yes", None),
    ],
)
def test_reading_verdicts(text: str, verdict: Verdict | None) -> None:
    assert read_verdict(text) == verdict


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    from training.search.tiny import write_tiny_model

    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder, ["yes and no", "Declaration Query", EVEN.signature] * 4)
    yield folder


def test_a_local_model_gives_the_same_verdicts_in_every_batch_size(tiny: Path) -> None:
    from training.search.judge import LocalJudge

    asked = [Asked("even", EVEN), Asked("an odd function of many words", ODD), Asked("prime", EVEN)]
    one, many = (LocalJudge(tiny, device="cpu", batch=batch).judge(asked) for batch in (1, 3))
    assert one == many
    assert all(verdict.reason.startswith("yes with probability 0.") for verdict in one)


def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    from training.search.judge import LocalJudge

    with pytest.raises(SidecarError, match="holds no model"):
        LocalJudge(tmp_path)
