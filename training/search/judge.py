"""Does a query fit the declaration that it was written for? The judges.

In: queries, each with its declaration. Out: a verdict each, with a reason. Three judges answer: a chat model behind an
endpoint, a causal language model on this machine, and (`word_judge.py`) a rule over words that needs no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from sidecar.chat import ChatEndpoint, Message, Reply, json_object
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError

STATEMENT_CHARACTERS: Final = 4_000
"""A longer statement or docstring is cut: what a short query asks about stands at the beginning."""

INSTRUCTION: Final = """You check queries for a search engine over the Lean library Mathlib.
A query is consistent with a declaration when a mathematician who typed the query would accept the declaration as an \
answer to it: everything that the query says holds for the declaration, and the query is about what the declaration \
states or defines, not merely about its field. A query may be short, informal, incomplete or use other words. It is \
not consistent when it asks for something else, says something false about the declaration, or is so vague that most \
declarations of the field would answer it as well."""

ANSWER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "one sentence"},
        "consistent": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["reason", "consistent"],
    "additionalProperties": False,
}
_ASK_JSON: Final = 'Answer with JSON: {"reason": "one sentence", "consistent": "yes" or "no"}'


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one query.

    Attributes:
        consistent: The j of the reward; False where the judge gave no verdict.
        reason: Why, in words.
        missing: Why there is no verdict, if so: the judge refused, or its answer could not be read.
    """

    consistent: bool
    reason: str
    missing: Literal["refused", "unreadable"] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with the declaration that it was written for."""

    query: str
    declaration: Declaration


class Judge(Protocol):
    """Judges queries."""

    @property
    def name(self) -> str:
        """What tells this judge from others in records and in hashes of inputs."""

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        """A verdict for each, in order.

        Raises:
            SidecarError: When the judge cannot be reached; nothing is judged 0 for that.
        """


def prompt(asked: Asked) -> list[Message]:
    """The messages that ask for a verdict on one query."""
    declaration = asked.declaration
    docstring = declaration.docstring[:STATEMENT_CHARACTERS]
    described = f"{declaration.shown[:STATEMENT_CHARACTERS]}\n" + (f"\n{docstring}\n" if docstring else "")
    return [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": f"Declaration:\n{described}\nQuery: {asked.query}\n\n{_ASK_JSON}"},
    ]


class EndpointJudge:
    """A chat model as judge.

    Args:
        chat: The endpoint; its cache keeps verdicts.
        max_tokens: Longest answer, thoughts included.
    """

    def __init__(self, chat: ChatEndpoint, max_tokens: int = 2_048) -> None:
        self._chat = chat
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """See `Judge.name`."""
        return f"{self._chat.settings.model} at {self._chat.settings.url}"

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        """See `Judge.judge`. Equal questions are asked once."""
        return asyncio.run(self._judge(list(dict.fromkeys(asked)), asked))

    async def _judge(self, distinct: Sequence[Asked], asked: Sequence[Asked]) -> list[Verdict]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {question: group.create_task(self._one(question)) for question in distinct}
        except BaseExceptionGroup as errors:
            # The first one says it; the others were cancelled or say the same.
            raise errors.exceptions[0] from None
        finally:
            await self._chat.close()
        return [tasks[question].result() for question in asked]

    async def _one(self, question: Asked) -> Verdict:
        reply = Reply("")
        for fresh in (False, True):
            # An answer that cannot be read is asked for once more, past the cache.
            reply = await self._chat.ask(
                prompt(question), schema=ANSWER_SCHEMA, max_tokens=self._max_tokens, fresh=fresh
            )
            if reply.refused:
                return Verdict(False, reply.text, "refused")
            verdict = read_verdict(reply.text)
            if verdict is not None:
                return verdict
        return Verdict(False, reply.text[:500], "unreadable")


def read_verdict(text: str) -> Verdict | None:
    """Read an answer; None when it says neither yes nor no."""
    found = json_object(text)
    if found is None:
        return None
    said = found.get("consistent")
    if isinstance(said, str):
        said = {"yes": True, "true": True, "no": False, "false": False}.get(said.strip().lower())
    return Verdict(said, str(found.get("reason", ""))) if isinstance(said, bool) else None


class LocalJudge:
    """A causal language model on this machine as judge: which of `yes` and `no` it finds likelier.

    Args:
        folder: Folder of the model, in the format of transformers, safetensors only.
        device: torch device, or `auto`.
        batch: Queries that are judged at one time.
        max_tokens: Longer prompts lose their beginning.
    """

    def __init__(self, folder: Path, *, device: str = "auto", batch: int = 8, max_tokens: int = 2_048) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if not (folder / "config.json").is_file():
            raise SidecarError("not_found", f"{folder} holds no model", field="judge", hint="give a model's folder")
        self._device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        self._tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left", truncation_side="left")
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        model = AutoModelForCausalLM.from_pretrained(str(folder), use_safetensors=True, dtype="auto")
        self._model = model.to(self._device).eval()
        self._folder = folder
        self._batch = batch
        self._max_tokens = max_tokens
        self._answers = [self._first_token(word) for word in ("yes", "no")]
        if self._answers[0] == self._answers[1]:
            raise SidecarError(
                "bad_request", f"{folder}: its tokenizer begins `yes` and `no` with the same token", field="judge"
            )

    @property
    def name(self) -> str:
        """See `Judge.name`."""
        return f"model {self._folder.name}"

    def judge(self, asked: Sequence[Asked]) -> list[Verdict]:
        """See `Judge.judge`."""
        import torch

        verdicts: list[Verdict] = []
        with torch.inference_mode():
            for start in range(0, len(asked), self._batch):
                part = asked[start : start + self._batch]
                inputs = self._tokenizer(
                    [self._prompt(question) for question in part],
                    return_tensors="pt",
                    padding=True,
                    truncation=True,
                    max_length=self._max_tokens,
                ).to(self._device)
                last = self._model(
                    input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], logits_to_keep=1
                ).logits[:, -1]
                likely = torch.softmax(last[:, self._answers].float(), dim=1)[:, 0].tolist()
                verdicts += [Verdict(yes > 0.5, f"yes with probability {yes:.2f}") for yes in likely]
        return verdicts

    def _prompt(self, asked: Asked) -> str:
        messages = prompt(asked)
        messages[1] = {
            "role": "user",
            "content": messages[1]["content"].removesuffix(_ASK_JSON) + "Is it consistent? Answer yes or no.",
        }
        if self._tokenizer.chat_template is not None:
            text: str = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
            return text
        return "\n\n".join(message["content"] for message in messages) + "\nAnswer: "

    def _first_token(self, word: str) -> int:
        numbers = self._tokenizer.encode(word, add_special_tokens=False)
        return int(numbers[0])
