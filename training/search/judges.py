"""Which judge: by its name.

In: `words`, the folder of a language model, or an endpoint as `MODEL@ADDRESS`. Out: the judge.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from sidecar.chat import ChatEndpoint, ChatSettings, ReplyCache
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from training.search.judge import EndpointJudge, Judge, LocalJudge
from training.search.word_judge import WordJudge

TOKEN: Final = "LEAN_SEARCH_ENDPOINT_TOKEN"
"""Environment variable with the endpoint's bearer token, so that it stands in no command line and no record."""


CONCURRENT: Final = 32
"""Requests to an endpoint that are under way at the same time."""


def make_endpoint(name: str, cache: Path | None, *, per_minute: float = 0.0) -> ChatEndpoint:
    """The endpoint that `MODEL@ADDRESS` names.

    Args:
        name: Model and address.
        cache: Folder for its replies; None to keep none.
        per_minute: Most requests a minute; 0 for no limit.

    Raises:
        SidecarError: `bad_request` when it names none.
    """
    model, mark, address = name.partition("@")
    if not mark or not model or not address.startswith(("http://", "https://")):
        raise SidecarError(
            "bad_request",
            f"{name!r} names no endpoint",
            field="endpoint",
            hint="give MODEL@ADDRESS, such as gpt-oss-120b@http://127.0.0.1:8000/v1",
        )
    settings = ChatSettings(
        address,
        model,
        os.environ.get(TOKEN) or None,
        concurrent=CONCURRENT,
        per_minute=per_minute,
    )
    return ChatEndpoint(settings, None if cache is None else ReplyCache(cache / "replies.sqlite"))


def make_judge(name: str, index: Index, cache: Path, *, per_minute: float = 0.0) -> Judge:
    """The judge of a name.

    Args:
        name: `words`, a folder, or `MODEL@ADDRESS`.
        index: Knows how rare words are.
        cache: Folder for verdicts of an endpoint.
        per_minute: Most requests a minute to an endpoint; 0 for no limit.
    """
    if name == "words":
        return WordJudge(index)
    if "@" in name:
        return EndpointJudge(make_endpoint(name, cache, per_minute=per_minute))
    return LocalJudge(Path(name))
