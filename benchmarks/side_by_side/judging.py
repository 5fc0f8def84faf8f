"""Language models as judges of comparisons.

In: comparisons, endpoints. Out: verdicts, each written down as soon as it is given, none asked for twice.

A judge sees the query and two numbered lists under the letters A and B. Which system is A is shuffled by comparison;
every second judge sees each comparison the other way round, so that a preference for a letter shows as disagreement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Literal

from benchmarks.side_by_side.comparisons import Comparison, Shown
from benchmarks.side_by_side.verdicts import Side, Verdict, VerdictFile
from sidecar.chat import ChatEndpoint, Message, json_object
from sidecar.progress import Progress

INSTRUCTION: Final = """You compare two answers of search engines over the Lean library Mathlib.
A person typed a query; each engine gave a ranked list of declarations. The better answer is the one that serves the \
person better: what the query asks for is in it, and stands as far up as possible; further results count little. Judge \
by what the declarations state, not by their names alone. When both serve the person equally well, or neither does, \
say tie. Which engine is called A and which B is chance."""

ANSWER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "one sentence"},
        "better": {"type": "string", "enum": ["A", "B", "tie"]},
    },
    "required": ["reason", "better"],
    "additionalProperties": False,
}
_ASK: Final = 'Answer with JSON: {"reason": "one sentence", "better": "A", "B" or "tie"}'
_SIDES: Final[dict[str, Side]] = {"a": "left", "b": "right", "tie": "tie"}

LONGEST_ANSWER: Final = 2_048
"""Tokens, thoughts included."""


class ModelJudge:
    """One model in one order.

    Args:
        chat: The endpoint; its cache keeps replies.
        seed: Of the shuffle.
        turned: Whether it sees each comparison the other way round.
    """

    def __init__(self, chat: ChatEndpoint, seed: int, *, turned: bool) -> None:
        self._chat = chat
        self._seed = seed
        self._turned = turned
        settings = chat.settings
        self.name = f"{settings.model} at {settings.url}, shuffle {seed}" + (" turned" if turned else "")

    def left(self, comparison: Comparison) -> int:
        """Which of the two systems is A: 0 or 1."""
        return comparison.left(f"models {self._seed}") ^ self._turned

    async def judge(self, comparison: Comparison) -> Verdict:
        """Ask.

        Raises:
            SidecarError: When the endpoint cannot be reached or refuses the request; nothing counts as a tie for that.
        """
        left = self.left(comparison)
        messages = prompt(comparison, left)
        said = ""
        for fresh in (False, True):
            # An answer that cannot be read is asked for once more, past the cache.
            reply = await self._chat.ask(messages, schema=ANSWER_SCHEMA, max_tokens=LONGEST_ANSWER, fresh=fresh)
            if reply.refused:
                return self._missing(comparison, left, reply.text, "refused")
            read = read_answer(reply.text)
            if read is not None:
                return Verdict(comparison.id, self.name, left, *read)
            said = reply.text
        return self._missing(comparison, left, said, "unreadable")

    def _missing(self, comparison: Comparison, left: int, said: str, why: Literal["refused", "unreadable"]) -> Verdict:
        return Verdict(comparison.id, self.name, left, None, said[:500], why)

    @property
    def at_once(self) -> int:
        """How many comparisons it looks at at the same time."""
        return self._chat.settings.concurrent

    async def close(self) -> None:
        """Close its connections."""
        await self._chat.close()


async def judge_all(judge: ModelJudge, comparisons: Sequence[Comparison], kept: VerdictFile) -> None:
    """Ask one judge about everything that it has not judged yet and that is not a tie by itself.

    Raises:
        SidecarError: See `ModelJudge.judge`; what was judged until then is kept.
    """
    waiting = [one for one in comparisons if not one.alike and not kept.has(judge.name, one)]
    left_over = iter(waiting)
    errors: list[Exception] = []
    with Progress(f"verdicts, {judge.name}", len(waiting)) as progress:

        async def work() -> None:
            # After an error nothing new is asked, but what is under way may end: it has been paid for.
            for comparison in left_over:
                try:
                    kept.add(await judge.judge(comparison))
                except Exception as error:
                    errors.append(error)
                if errors:
                    return
                progress.advance()

        try:
            await asyncio.gather(*(work() for _ in range(judge.at_once)))
        finally:
            await judge.close()
    if errors:
        raise errors[0]


def prompt(comparison: Comparison, left: int) -> list[Message]:
    """The messages that ask about a comparison; nothing in them tells one system from the other."""
    parts = [f"Query: {comparison.query}"]
    for letter, answer in zip("AB", (comparison.answers[left], comparison.answers[1 - left]), strict=True):
        lines = [_line(number, shown) for number, shown in enumerate(answer, start=1)]
        parts.append(f"Answer {letter}:\n" + ("\n".join(lines) or "(nothing found)"))
    parts.append(_ASK)
    return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": "\n\n".join(parts)}]


def read_answer(text: str) -> tuple[Side, str] | None:
    """The side and the reason; None when the answer names no side."""
    found = json_object(text)
    said = None if found is None else found.get("better")
    side = _SIDES.get(said.strip().lower()) if isinstance(said, str) else None
    return None if found is None or side is None else (side, str(found.get("reason", "")))


def _line(number: int, shown: Shown) -> str:
    docstring = " ".join(shown.docstring.split())
    return f"{number}. {shown.statement}" + (f"\n   {docstring}" if docstring else "")
