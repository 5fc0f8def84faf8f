"""A chat model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, Ollama, any provider).

In: messages, perhaps a JSON schema that the answer must fit. Out: the answer's text. What fails for a moment is tried
again, no more is asked than the endpoint takes, and an answer that was given once is kept on disk. Nothing is sent
anywhere but to the address that the user named, and a redirect is not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import random
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from sidecar.errors import SidecarError
from sidecar.select.store import CacheFile
from sidecar.transport import Answer, Transport, Unanswered

logger = logging.getLogger(__name__)

LARGEST_ANSWER: Final = 4 * 1024 * 1024
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 60.0
"""Between tries the wait doubles from the first to the longest, with some chance, unless the endpoint names one."""

_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""

_ABOUT_SCHEMAS: Final = re.compile(r"(?i)response_format|schema|grammar|guided|structured")
_THOUGHTS: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_SCHEMA: Final = "CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID"
_VERSION: Final = 1

Message = Mapping[str, str]
"""`role` (`system`, `user`, `assistant`) and `content`."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Which model is asked, and how.

    Attributes:
        url: Address up to and with the version (`http://127.0.0.1:8000/v1`).
        model: Name of the model there.
        token: Bearer token, if the endpoint wants one.
        seconds: How long one try may take.
        tries: How often a request is sent at most.
        concurrent: Requests that are under way at the same time.
        per_minute: Most requests a minute; 0 for no limit.
        structured: Send the JSON schema of the answer, where there is one. An endpoint that refuses schemas is asked
            without from then on; the prompt alone must do.
    """

    url: str
    model: str
    token: str | None = None
    seconds: float = 60.0
    tries: int = 5
    concurrent: int = 8
    per_minute: float = 0.0
    structured: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said.

    Attributes:
        text: The answer without the model's thoughts; empty for a refusal without words.
        refused: Whether the model or the endpoint's filter refused.
        kept: Whether it comes from the disk.
    """

    text: str
    refused: bool = False
    kept: bool = False


class ReplyCache:
    """Replies on disk. Safe to use from several threads; never fatal (see `CacheFile`).

    Args:
        path: The file.
        most: Replies that are kept; the ones not used for longest go first.
    """

    def __init__(self, path: Path, most: int = 1_000_000) -> None:
        self._file = CacheFile(path, _SCHEMA, _VERSION)
        self._most = most

    def get(self, key: bytes) -> Reply | None:
        """The reply that was kept under a key."""

        def work(connection: sqlite3.Connection) -> str | None:
            row = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
            if row is not None:
                connection.execute("UPDATE replies SET used = ? WHERE key = ?", (time.time_ns(), key))
            return None if row is None else str(row[0])

        found = self._file.run(work)
        if found is None:
            return None
        fields = json.loads(found)
        return Reply(fields["text"], fields["refused"], kept=True)

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply."""
        text = json.dumps({"text": reply.text, "refused": reply.refused})

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (key, text, time.time_ns()))
            (count,) = connection.execute("SELECT count(*) FROM replies").fetchone()
            if count > self._most:
                # A tenth at once, so that a full cache is not sorted for every reply.
                connection.execute(
                    "DELETE FROM replies WHERE key IN (SELECT key FROM replies ORDER BY used LIMIT ?)",
                    (count - self._most + self._most // 10,),
                )

        self._file.run(work)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ChatEndpoint:
    """Asks one model. May be used from several event loops, one after another or at once.

    Args:
        settings: Which model, and how.
        cache: Where replies are kept; None to ask anew every time.

    Raises:
        SidecarError: `bad_request` for an address or a token that HTTP cannot carry.
    """

    def __init__(self, settings: ChatSettings, cache: ReplyCache | None = None) -> None:
        self.settings = settings
        self._cache = cache
        self._open = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Transport, asyncio.Semaphore]]()
        self._next_start = 0.0
        self._structured = settings.structured
        self._transport()  # a wrong address is said at once

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        max_tokens: int = 1_024,
        fresh: bool = False,
    ) -> Reply:
        """Ask for one answer.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the answer must fit, where the endpoint takes one.
            temperature: 0 for the likeliest answer. Only such answers are kept.
            max_tokens: Longest answer, the model's thoughts included.
            fresh: Ask again although an answer is kept, and keep the new one.

        Raises:
            SidecarError: `unauthorized` or `bad_request` when the endpoint says so; `not_found` when it does not know
                the model; `unreachable` when it gave no usable answer in so many tries.
        """
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [dict(message) for message in messages],
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        if schema is not None and self._structured:
            answer = {"name": "answer", "strict": True, "schema": dict(schema)}
            try:
                return await self._ask(
                    {**body, "response_format": {"type": "json_schema", "json_schema": answer}}, fresh
                )
            except _NoSchemas as error:
                if self._structured:
                    logger.warning("%s takes no JSON schema (%s): it is asked without", self.settings.url, error)
                self._structured = False
        return await self._ask(body, fresh)

    async def _ask(self, body: Mapping[str, Any], fresh: bool) -> Reply:
        raw = json.dumps(body, sort_keys=True, ensure_ascii=False).encode()
        key = hashlib.sha256(self.settings.url.encode() + b"\n" + raw).digest()
        keeps = body["temperature"] == 0.0
        if self._cache is not None and keeps and not fresh:
            kept = await asyncio.to_thread(self._cache.get, key)
            if kept is not None:
                return kept
        transport, places = self._transport()
        async with places:
            reply = await self._try(transport, raw)
        if self._cache is not None and keeps:
            await asyncio.to_thread(self._cache.put, key, reply)
        return reply

    async def close(self) -> None:
        """Close the connections of this event loop."""
        held = self._open.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[0].close()

    def _transport(self) -> tuple[Transport, asyncio.Semaphore]:
        # Connections belong to the event loop that opened them.
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self._connect()
        held = self._open.get(loop)
        if held is None:
            held = self._open[loop] = self._connect()
        return held

    def _connect(self) -> tuple[Transport, asyncio.Semaphore]:
        settings = self.settings
        return Transport(settings.url, settings.token, LARGEST_ANSWER), asyncio.Semaphore(settings.concurrent)

    async def _try(self, transport: Transport, body: bytes) -> Reply:
        wait, trouble = FIRST_WAIT_SECONDS, ""
        for number in range(1, self.settings.tries + 1):
            await self._take_turn()
            asked: float | None = None
            try:
                async with asyncio.timeout(self.settings.seconds):
                    answer = await transport.request("POST", "/chat/completions", body, "application/json")
                if answer.status == 200:
                    return _read(answer)
                if (
                    answer.status in (400, 422)
                    and b'"response_format"' in body
                    and _ABOUT_SCHEMAS.search(_message(answer))
                ):
                    raise _NoSchemas(_message(answer))
                if answer.status not in _PASSING:
                    raise self._refusal(answer)
                trouble, asked = f"status {answer.status}: {_message(answer)}", _retry_after(answer)
            except TimeoutError:
                trouble = f"no answer in {self.settings.seconds:g} s"
            except Unanswered as error:
                trouble = str(error)
            except _Unreadable as error:
                trouble = str(error)
            if number < self.settings.tries:
                logger.info("%s: %s; try %d of %d", self.settings.url, trouble, number, self.settings.tries)
                # Any answer within the longest wait is believed; a longer one is not sat out.
                pause = wait * (0.5 + random.random()) if asked is None else asked
                await asyncio.sleep(min(pause, LONGEST_WAIT_SECONDS))
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        raise SidecarError(
            "unreachable",
            f"{self.settings.url} gave no answer in {self.settings.tries} tries; the last time: {trouble}",
            field="endpoint",
            hint="see whether the endpoint runs, then give the command again",
        )

    async def _take_turn(self) -> None:
        """Wait until one more request may be sent."""
        if self.settings.per_minute <= 0:
            return
        now = time.monotonic()
        start = max(now, self._next_start)
        self._next_start = start + 60.0 / self.settings.per_minute
        if start > now:
            await asyncio.sleep(start - now)

    def _refusal(self, answer: Answer) -> SidecarError:
        settings, said = self.settings, _message(answer)
        if answer.status in (401, 403):
            return SidecarError(
                "unauthorized", f"{settings.url} says {said}", field="token", hint="give the endpoint's token"
            )
        if answer.status == 404:
            return SidecarError(
                "not_found",
                f"{settings.url} says {said} to model {settings.model!r}",
                field="model",
                hint="the address ends in the version (…/v1), and the endpoint must serve the model",
            )
        return SidecarError("bad_request", f"{settings.url} answers {answer.status}: {said}", field="endpoint")


class _NoSchemas(Exception):
    """The endpoint refuses JSON schemas."""


class _Unreadable(Exception):
    """Status 200 with a body that is no chat completion."""


def _read(answer: Answer) -> Reply:
    try:
        choice = json.loads(answer.body)["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content") or "", message.get("refusal") or ""
        if not isinstance(text, str) or not isinstance(refusal, str):
            raise TypeError("the content is no text")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _Unreadable(f"the answer is no chat completion ({type(error).__name__}: {error})") from error
    refused = bool(refusal) or choice.get("finish_reason") == "content_filter"
    return Reply(refusal if refused else _THOUGHTS.sub("", text).strip(), refused)


def _message(answer: Answer) -> str:
    """What the endpoint says about a failure, shortened."""
    text = answer.body[:2_000].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(answer.body)["error"]["message"])
    return " ".join(text.split())[:300] or "nothing more"


def _retry_after(answer: Answer) -> float | None:
    """Seconds that the endpoint asks to wait; None when it names none (a date counts as none)."""
    with contextlib.suppress(ValueError):
        seconds = float(answer.headers.get("retry-after", ""))
        return seconds if 0 <= seconds < float("inf") else None
    return None


def json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object within a text, whatever stands around it; None when there is none."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        with contextlib.suppress(ValueError):
            found, _ = decoder.raw_decode(text, start)
            if isinstance(found, dict):
                return found
        start = text.find("{", start + 1)
    return None
