"""The rewriter that asks a chat model behind an OpenAI-compatible endpoint.

In: a query. Out: what the model makes of it. Answers are kept, so a query is rewritten once; an endpoint that failed is
left in peace for a while, so that a search does not wait for it again and again.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

from sidecar.chat import ChatEndpoint, Message, Reply
from sidecar.errors import SidecarError
from sidecar.search.rewriter import Rewrite

PROMPT_FILE: Final = Path(__file__).with_name("rewrite_prompt.txt")
"""The instruction that is used unless the user names another, such as one made by `python -m training search gepa`."""

REST_SECONDS: Final = 30.0
"""How long an endpoint that failed is not asked."""

ANSWER_TOKENS: Final = 512

_LABEL: Final = re.compile(r"(?i)^\s*(?:rewritten(?: question| query)?|rewrite|query|answer)\s*:\s*")
_AROUND: Final = "\"'`“”„« »*"


def rewrite_messages(instruction: str, query: str) -> list[Message]:
    """The messages that ask for a rewrite."""
    return [{"role": "system", "content": instruction}, {"role": "user", "content": query}]


def read_rewrite(text: str) -> str:
    """The rewritten query within an answer: its first line that says something, without label and quotation marks."""
    lines = (_LABEL.sub("", line).strip() for line in text.splitlines())
    line = next((line for line in lines if line), "")
    inner = line.strip(_AROUND)
    # Quotation marks within the text are its own.
    return inner if line[:1] in _AROUND and line[-1:] in _AROUND else line


class EndpointRewriter:
    """Rewrites by asking a model. See `Rewriter`.

    Args:
        chat: The endpoint; its cache keeps what was rewritten.
        instruction: What the model is told to do.
    """

    def __init__(self, chat: ChatEndpoint, instruction: str) -> None:
        self._chat = chat
        self._instruction = instruction
        self._rests_until = 0.0
        self._trouble = ""

    async def rewrite(self, query: str) -> Rewrite:
        """What the model makes of a query.

        Raises:
            SidecarError: When the endpoint fails, or failed a moment ago.
        """
        if time.monotonic() < self._rests_until:
            raise SidecarError("unreachable", f"the endpoint is left alone for a while: {self._trouble}")
        try:
            reply: Reply = await self._chat.ask(rewrite_messages(self._instruction, query), max_tokens=ANSWER_TOKENS)
        except SidecarError as error:
            self._rests_until, self._trouble = time.monotonic() + REST_SECONDS, error.message
            raise
        if reply.refused:
            return Rewrite("", note="the rewriter refused; searched as typed")
        return Rewrite(read_rewrite(reply.text))


def read_instruction(file: Path | None) -> str:
    """The instruction in a file, or the one that comes with the package.

    Raises:
        SidecarError: `not_found` when there is no such file, `bad_request` when it is empty.
    """
    path = file or PROMPT_FILE
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SidecarError(
            "not_found", f"{path} cannot be read: {error}", field="LEAN_SIDECAR_REWRITER_PROMPT"
        ) from error
    if not text:
        raise SidecarError("bad_request", f"{path} is empty", field="LEAN_SIDECAR_REWRITER_PROMPT")
    return text
