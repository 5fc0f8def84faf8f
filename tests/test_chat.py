"""The chat endpoint's client against a real HTTP server: retries, cache, limits, what each failure says."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sidecar.chat import ChatEndpoint, ChatSettings, ReplyCache, json_object
from sidecar.errors import SidecarError
from tests.endpoint import Endpoint, Said

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.chat.FIRST_WAIT_SECONDS", 0.01)


def settings(endpoint: Endpoint, **changes: Any) -> ChatSettings:
    return ChatSettings(**{"url": endpoint.url, "model": "test", "seconds": 10.0, **changes})


async def test_an_answer_and_what_was_asked() -> None:
    with Endpoint(lambda body: Said("hi")) as endpoint:
        chat = ChatEndpoint(settings(endpoint))
        reply = await chat.ask(HELLO, schema={"type": "object"}, max_tokens=7)
        await chat.close()
    assert (reply.text, reply.refused, reply.kept) == ("hi", False, False)
    (asked,) = endpoint.requests
    assert asked["model"] == "test"
    assert asked["messages"] == HELLO
    assert asked["temperature"] == 0.0
    assert asked["max_tokens"] == 7
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}


async def test_an_endpoint_without_schemas_is_not_sent_any() -> None:
    with Endpoint(lambda body: Said("hi")) as endpoint:
        await ChatEndpoint(settings(endpoint, structured=False)).ask(HELLO, schema={"type": "object"})
    assert "response_format" not in endpoint.requests[0]


async def test_an_endpoint_that_refuses_schemas_is_asked_without_from_then_on() -> None:
    def answer(body: dict[str, Any]) -> Said:
        refused = Said(status=400, raw=b'{"error": {"message": "response_format json_schema is not supported"}}')
        return refused if "response_format" in body else Said("hi")

    with Endpoint(answer) as endpoint:
        chat = ChatEndpoint(settings(endpoint))
        for _ in range(2):
            assert (await chat.ask(HELLO, schema={"type": "object"})).text == "hi"
    assert ["response_format" in body for body in endpoint.requests] == [True, False, False]


async def test_thoughts_are_no_answer() -> None:
    with Endpoint(lambda body: Said("<think>yes? no?\n</think>\n\nyes")) as endpoint:
        assert (await ChatEndpoint(settings(endpoint)).ask(HELLO)).text == "yes"


@pytest.mark.parametrize("said", [Said(None, refusal="I will not"), Said("", finish="content_filter")])
async def test_a_refusal_is_told(said: Said) -> None:
    with Endpoint(lambda body: said) as endpoint:
        reply = await ChatEndpoint(settings(endpoint)).ask(HELLO)
    assert reply.refused
    assert reply.text == (said.refusal or "")


@pytest.mark.parametrize(
    "failure",
    [
        Said(status=429, headers={"retry-after": "0"}),
        Said(status=503, raw=b"busy"),
        Said(raw=b"{"),
        Said(raw=b'{"choices": []}'),
        Said(raw=b'{"choices": [{"message": {"content": 7}}]}'),
        Said(wait=5.0),
    ],
)
async def test_what_fails_for_a_moment_is_tried_again(failure: Said) -> None:
    calls = count()
    with Endpoint(lambda body: failure if next(calls) < 2 else Said("at last")) as endpoint:
        reply = await ChatEndpoint(settings(endpoint, seconds=0.3)).ask(HELLO)
    assert reply.text == "at last"
    assert len(endpoint.requests) == 3


async def test_after_the_last_try_the_error_says_what_happened() -> None:
    with (
        Endpoint(lambda body: Said(status=500, raw=b'{"error": {"message": "out of memory"}}')) as endpoint,
        pytest.raises(SidecarError, match=r"3 tries.*out of memory") as caught,
    ):
        await ChatEndpoint(settings(endpoint, tries=3)).ask(HELLO)
    assert caught.value.code == "unreachable"
    assert len(endpoint.requests) == 3


async def test_nobody_there() -> None:
    with Endpoint(lambda body: Said()) as endpoint:
        pass
    with pytest.raises(SidecarError) as caught:
        await ChatEndpoint(settings(endpoint, tries=2)).ask(HELLO)
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (Said(status=400, raw=b'{"error": {"message": "response_format?"}}'), "bad_request", "response_format"),
        (Said(status=404, raw=b'{"error": {"message": "no model"}}'), "not_found", "'test'"),
        (Said(status=403, raw=b"no"), "unauthorized", "no"),
        (Said(status=302, headers={"location": "http://elsewhere"}), "bad_request", "302"),
    ],
)
async def test_what_cannot_pass_is_not_tried_again(said: Said, code: str, words: str) -> None:
    with Endpoint(lambda body: said) as endpoint, pytest.raises(SidecarError, match=words) as caught:
        await ChatEndpoint(settings(endpoint)).ask(HELLO)
    assert caught.value.code == code
    assert len(endpoint.requests) == 1


async def test_the_token_is_sent_and_never_said() -> None:
    with Endpoint(lambda body: Said("hi"), token="secret") as endpoint:
        assert (await ChatEndpoint(settings(endpoint, token="secret")).ask(HELLO)).text == "hi"
        with pytest.raises(SidecarError) as caught:
            await ChatEndpoint(settings(endpoint, token="wrong-one")).ask(HELLO)
    assert caught.value.code == "unauthorized"
    assert "wrong-one" not in str(caught.value)


def test_a_wrong_address_is_said_at_once() -> None:
    with pytest.raises(SidecarError, match="not the address"):
        ChatEndpoint(ChatSettings("somewhere", "test"))


async def test_replies_are_kept_on_disk_by_everything_that_decides_them(tmp_path: Path) -> None:
    calls = count()
    with Endpoint(lambda body: Said(f"answer {next(calls)}")) as endpoint:
        cache = ReplyCache(tmp_path / "replies.sqlite")
        chat = ChatEndpoint(settings(endpoint), cache)
        assert (await chat.ask(HELLO)).text == "answer 0"
        cache.close()
        again = ChatEndpoint(settings(endpoint), ReplyCache(tmp_path / "replies.sqlite"))
        kept = await again.ask(HELLO)
        assert (kept.text, kept.kept) == ("answer 0", True)
        assert (await again.ask(HELLO, max_tokens=5)).text == "answer 1"
        assert (await again.ask([{"role": "user", "content": "bye"}])).text == "answer 2"
        assert (await again.ask(HELLO, temperature=1.0)).text == "answer 3"
        assert (await again.ask(HELLO, temperature=1.0)).text == "answer 4"
        assert (await again.ask(HELLO, fresh=True)).text == "answer 5"
        assert (await again.ask(HELLO)).text == "answer 5"


async def test_the_cache_stays_small_and_forgets_what_was_not_used(tmp_path: Path) -> None:
    with Endpoint(lambda body: Said(body["messages"][0]["content"])) as endpoint:
        chat = ChatEndpoint(settings(endpoint), ReplyCache(tmp_path / "replies.sqlite", most=10))
        for number in range(10):
            await chat.ask([{"role": "user", "content": str(number)}])
        assert (await chat.ask([{"role": "user", "content": "0"}])).kept
        await chat.ask([{"role": "user", "content": "10"}])
        assert (await chat.ask([{"role": "user", "content": "0"}])).kept
        assert not (await chat.ask([{"role": "user", "content": "1"}])).kept


async def test_no_more_at_once_than_allowed() -> None:
    with Endpoint(lambda body: Said("hi", wait=0.05)) as endpoint:
        chat = ChatEndpoint(settings(endpoint, concurrent=2))
        await asyncio.gather(*(chat.ask([{"role": "user", "content": str(number)}]) for number in range(6)))
    assert endpoint.most_at_once == 2
    assert len(endpoint.requests) == 6


async def test_requests_are_spread_over_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    asleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asleep(0)

    with Endpoint(lambda body: Said("hi")) as endpoint:
        chat = ChatEndpoint(settings(endpoint, per_minute=6.0))
        monkeypatch.setattr("sidecar.chat.asyncio.sleep", sleep)
        await asyncio.gather(*(chat.ask([{"role": "user", "content": str(number)}]) for number in range(3)))
    assert sorted(round(wait / 10) for wait in waits) == [1, 2]


def test_one_endpoint_serves_several_event_loops() -> None:
    with Endpoint(lambda body: Said("hi")) as endpoint:
        chat = ChatEndpoint(settings(endpoint))
        for _ in range(2):
            assert asyncio.run(chat.ask(HELLO)).text == "hi"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure:\n```json\n{"a": {"b": 2}}\n```', {"a": {"b": 2}}),
        ('the set {x | x > 0} … {"a": 1} {"b": 2}', {"a": 1}),
        ("nothing {here", None),
        ("[1]", None),
        ("", None),
    ],
)
def test_json_within_text(text: str, found: dict[str, Any] | None) -> None:
    assert json_object(text) == found
