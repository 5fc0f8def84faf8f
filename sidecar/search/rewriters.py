"""Which rewriter a server uses.

In: the settings. Out: the rewriter, or none.
"""

from __future__ import annotations

from typing import Final

from sidecar.errors import SidecarError
from sidecar.search.rewriter import REWRITE_SECONDS, Rewriter
from sidecar.settings import Settings

VOCABULARY: Final = "vocabulary"
OFF: Final = "off"

KEPT_REWRITES: Final = 100_000


def make_rewriter(settings: Settings) -> Rewriter | None:
    """The rewriter that the settings name.

    Raises:
        SidecarError: `bad_request` when they name none, or an endpoint without a model.
    """
    if settings.rewriter == OFF:
        return None
    if settings.rewriter == VOCABULARY:
        from sidecar.search.vocabulary import VocabularyRewriter

        return VocabularyRewriter()
    if not settings.rewriter.startswith(("http://", "https://")):
        raise SidecarError(
            "bad_request",
            f"{settings.rewriter!r} is no rewriter",
            field="LEAN_SIDECAR_REWRITER",
            hint=f"give `{VOCABULARY}`, `{OFF}` or the address of an endpoint, such as http://127.0.0.1:8000/v1",
        )
    if settings.rewriter_model is None:
        raise SidecarError(
            "bad_request",
            f"no model is named for {settings.rewriter}",
            field="LEAN_SIDECAR_REWRITER_MODEL",
            hint="name one of the endpoint's models",
        )
    from sidecar.chat import ChatEndpoint, ChatSettings, ReplyCache
    from sidecar.search.endpoint_rewriter import EndpointRewriter, read_instruction

    chat = ChatSettings(
        settings.rewriter,
        settings.rewriter_model,
        settings.rewriter_token,
        # A person waits: one try, which ends before the search gives the rewriter up.
        seconds=0.9 * REWRITE_SECONDS,
        tries=1,
    )
    cache = ReplyCache(settings.cache_folder / "rewrites.sqlite", KEPT_REWRITES)
    return EndpointRewriter(ChatEndpoint(chat, cache), read_instruction(settings.rewriter_prompt))
