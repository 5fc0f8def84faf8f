"""A query read as a name: what people write around names is taken off.

In: a query. Out: the readings of it that could be a name, the likeliest first. Nothing is looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sidecar.corpus.records import KINDS

_QUOTED: Final = re.compile("«[^«»]*»")
_NAME_MARKS: Final = re.compile(r"[._«»'!?\d₀-₉]|(?<=[^\W\d_])(?=[A-Z])")
_NAME: Final = r"(?:«[^«»]*»|[^\s«:(\[{⦃])+"
_UNIVERSES: Final = r"(?:\.\{[^{}]*\})?"

_MODIFIERS: Final = r"(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|public|noncomputable|unsafe|partial|scoped|local)\s+)*"
_KIND_OF_WORD: Final = {**{kind: kind for kind in KINDS}, "lemma": "theorem"}
_IN_PROSE: Final = frozenset(
    {"theorem", "lemma", "axiom", "instance", "structure", "class", "inductive", "field", "class inductive"}
)
"""Kinds that prose speaks of too: `class group`, `field of fractions`."""

_KINDS: Final = "|".join(sorted(_KIND_OF_WORD, key=len, reverse=True))
_COMMANDS: Final = r"#(?:print\s+axioms|\w+)|open|export|deriving\s+instance"
_TACTICS: Final = "exact|apply|refine|rewrite|rw|nth_rw|simp_rw|simp\\s+only|simp|simpa\\s+using|unfold|have|using"
_LEAD: Final = re.compile(
    rf"{_MODIFIERS}(?:(?P<kind>{_KINDS})|(?P<command>{_COMMANDS})|(?P<tactic>{_TACTICS}))\s+(?=\S)"
)
_DECLARED: Final = re.compile(rf"{_MODIFIERS}(?:(?:{_KINDS})\s+)?({_NAME}){_UNIVERSES}(?=\s*[(\[{{⦃].*\s:\s|\s*:\s)")
_LINK: Final = re.compile(r"https?://\S*#(?=[^\s/]+$)")  # a page of documentation names a declaration behind #
_BEFORE: Final = re.compile(r"(?:[@`\"“‘(\[*←.]|_root_\.|\s)*")
_AFTER: Final = re.compile(r"[`\"”’)\]*][.,;:?!]*$|[.,;:\s]+$")  # a name may end in ? or !, a quoted one does not
_UNIVERSES_AFTER: Final = re.compile(r"\.\{[^{}]*\}$")
_FIRST: Final = re.compile(_NAME)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a query as a name.

    Attributes:
        name: The name.
        exact_only: Whether nothing but the declaration of exactly this name is meant.
        kind: One of `KINDS`, when only a declaration of this kind is meant.
    """

    name: str
    exact_only: bool = False
    kind: str | None = None


def readings(query: str) -> list[Reading]:
    """The ways to read a query as a name, those that say more first.

    A pasted declaration (`theorem foo (n : ℕ) : …`, `Nat.add_comm (n m : ℕ) : …`) names what it declares, but only by
    its exact name: its author may call it `foo`, or `X`. A kind, a command or a tactic may stand before a name
    (`lemma Nat.add_comm`, `#check Nat.succ`, `rw [Nat.add_comm]`); where it may be a word of prose as well, both
    readings are given. A `?` or `!` at the end may be the name's or the asker's.
    """
    text = query.strip()
    declared = _DECLARED.match(text)
    if declared is not None and (_LEAD.match(text) or is_written_as_name(declared[1])):
        return [Reading(declared[1], exact_only=True)]
    found = [*_behind_a_word(text), *(Reading(name) for name in _ends(_bare(text)))]
    return [reading for reading in dict.fromkeys(found) if reading.name]


def without_lead(query: str) -> str:
    """The query without the kind, command or tactic before a name; the query itself when it is no such thing."""
    text = query.strip()
    lead = _LEAD.match(text)
    if lead is None:
        return query
    name = _bare(text[lead.end() :])
    return name if is_written_as_name(name) else query


def is_written_as_name(text: str) -> bool:
    """Whether the spelling is that of a name (`add_comm`, `Nat.succ`, `primeIdeal`), not of plain words.

    Of plain words (`filter`, `Prime ideal`) nobody means the case, so no spelling of them is better than another.
    """
    plain = _QUOTED.sub("x", text)
    return re.search(r"\s", plain) is None and _NAME_MARKS.search(text) is not None


def _behind_a_word(text: str) -> Iterator[Reading]:
    """What is named behind a kind, a command or a tactic."""
    lead = _LEAD.match(text)
    if lead is None:
        return
    rest = _bare(text[lead.end() :])
    alone = re.search(r"\s", _QUOTED.sub("x", rest)) is None
    if alone and is_written_as_name(rest):
        yield from (Reading(name) for name in _ends(rest))
    elif alone and lead["kind"] in _IN_PROSE:
        yield Reading(rest, exact_only=True, kind=_KIND_OF_WORD[lead["kind"]])
    elif alone and (lead["tactic"] is None or text[lead.end()] == "["):
        yield Reading(rest)
    elif lead["kind"] is None:
        first = _FIRST.match(rest)  # the rest are arguments, or further names
        if first is not None and is_written_as_name(_bare(first[0])):
            yield Reading(_bare(first[0]), exact_only=True)


def _bare(text: str) -> str:
    """A text without what stands around a name: quotes, brackets, `@`, universes, a full stop at the end."""
    text = _LINK.sub("", text.strip())
    text = text[_BEFORE.match(text).end() :]  # type: ignore[union-attr]  # it matches the empty string too
    while (shorter := _UNIVERSES_AFTER.sub("", _AFTER.sub("", text))) != text:
        text = shorter
    return text


def _ends(name: str) -> Iterator[str]:
    """The name, and what it is when a `?` or `!` at its end is the asker's."""
    yield name
    while name.endswith(("?", "!")):
        name = name[:-1].rstrip()
        yield name
