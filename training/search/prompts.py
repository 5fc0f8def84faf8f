"""What a language model is told when it writes a query.

In: a declaration, a tokenizer. Out: the prompt, as messages where the tokenizer knows a chat, else as text; and the
query within an answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from sidecar.chat import Message
from sidecar.corpus.records import Declaration
from sidecar.text.clean import one_line

INSTRUCTION: Final = """You write search queries for Lean's library Mathlib, as mathematicians and programs type them: \
short, often without full sentences, in their own words and not in those of the library. Write one query that the \
declaration below answers. It must fit the declaration, yet need not say its name. Reply with the query alone."""

STATEMENT_CHARACTERS: Final = 1_500
"""A longer statement or docstring is cut."""

_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_QUERY: Final = "\nQuery: "


def query_messages(declaration: Declaration) -> list[Message]:
    """The prompt as messages."""
    described = declaration.shown[:STATEMENT_CHARACTERS]
    if declaration.docstring:
        described += f"\n{declaration.docstring[:STATEMENT_CHARACTERS]}"
    return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": described}]


def query_prompt(declaration: Declaration, tokenizer: Any) -> list[Message] | str:
    """The prompt as the tokenizer's model wants it."""
    messages = query_messages(declaration)
    if tokenizer.chat_template is not None:
        return messages
    return "\n\n".join(message["content"] for message in messages) + _QUERY


def prompt_text(prompt: list[Message] | str, tokenizer: Any) -> str:
    """A prompt as the text that the model continues."""
    if isinstance(prompt, str):
        return prompt
    text: str = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True, enable_thinking=False)
    return text


def read_query(completion: str) -> str:
    """The query within an answer: its first line that says something."""
    text = _THOUGHTS.sub("", completion)
    return next((line for line in map(one_line, text.splitlines()) if line.strip()), "").strip()
