"""Declarations and premises: raw texts, canonical texts, constants.

In: a record of the corpus, or the raw text of a premise (`/-- doc -/`, a line end, `kind name binders : type`). Out:
the words that an encoder reads: those of the name, the conclusion, the binders, the docstring, so that a cut at the
end loses the least; and the constants of the statement, the conclusion's first.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sidecar.corpus.records import KINDS, Declaration
from sidecar.text.clean import clean, one_line
from sidecar.text.names import name_words, sealed, unsealed
from sidecar.text.query import query_text
from sidecar.text.words import Remembered, line_words, local_names, mentioned, type_words, without_universes

_KINDS: Final = "|".join(sorted((*KINDS, "lemma"), key=len, reverse=True))
_HEAD: Final = re.compile(rf"(?:({_KINDS}) )?((?:«[^«»]*»|[^\s«:(\[{{⦃]|:(?=[^\s]))+)")
_OPENING: Final = "([{⦃⟨"
_CLOSING: Final = ")]}⦄⟩"
_FLAT: Final = r"[^()\[\]{}⦃⦄⟨⟩«]*"
_MARK: Final = re.compile(rf"[(\[{{⦃⟨)\]}}⦄⟩«:](?:(?<=«)[^«»]*»|(?<=[(\[{{⦃⟨]){_FLAT}[)\]}}⦄⟩])?")
"""Brackets (whole where nothing is nested in them), quoted names and colons. The pattern begins with one set, which
makes searching several times faster than a choice of patterns would."""

_NOT_IN_NAMES: Final = frozenset("()[]{}⟨⟩⦃⦄∀∃∑∏λ→=<≤,;")
"""What tells a colon inside a nameless binder (`[∀ x : ι, Foo x]`) from the one behind names."""


class Binder(NamedTuple):
    """One bracketed binder: its names, none for an anonymous instance, and the text of its type."""

    names: tuple[str, ...]
    type: str


class Statement(NamedTuple):
    """A raw premise taken apart; every part is on one line.

    Attributes:
        kind: Kind of declaration, `""` when the text names none.
        name: Full name.
        binders: Bracketed binders before the colon, in order.
        extends: What stands between the binders and the colon (`extends …`), else `""`.
        type: What stands after the colon, `""` when there is none.
        docstring: Text of the docstring without its marks, `""` when there is none.
    """

    kind: str
    name: str
    binders: tuple[Binder, ...]
    extends: str
    type: str
    docstring: str


def wire_text(declaration: Declaration) -> str:
    """The raw text of a declaration as the Lean side would send it."""
    signature = one_line(declaration.signature)
    docstring = clean(declaration.docstring).strip()
    return f"/-- {docstring} -/\n{signature}" if docstring else signature


def parse_premise(raw: str) -> Statement:
    """Take the raw text of a premise apart; never fails (what cannot be read is taken as the type)."""
    text = clean(raw).strip()
    docstring = ""
    if text.startswith("/--"):
        end = text.rfind("-/\n")
        if end < 0:
            end = text.rfind("-/")
        if end >= 3:
            docstring, text = text[3:end].strip(), text[end + 2 :]
    text = without_universes(one_line(sealed(text)))
    head = _HEAD.match(text)
    if head is None:
        return Statement("", "", (), "", unsealed(text.removeprefix(": ")), docstring)
    binders, extends, type_text = _parts(text[head.end() :] + " ")
    if "«" in text:
        binders = tuple(Binder(tuple(map(unsealed, each.names)), unsealed(each.type)) for each in binders)
    return Statement(head[1] or "", unsealed(head[2]), binders, unsealed(extends), unsealed(type_text), docstring)


def declaration_text(declaration: Declaration) -> str:
    """Canonical text of a declaration: `premise_text` of its raw text."""
    return premise_text(wire_text(declaration))


def premise_text(raw: str) -> str:
    """Canonical text of a premise, from its raw text."""
    return statement_text(parse_premise(raw))


def statement_text(statement: Statement) -> str:
    """Canonical text of a premise that was taken apart."""
    types = _types(statement)
    pieces = [" ".join(name_words(statement.name)), line_words(statement.type, types)]
    pieces += [type_words(binder.type, types) for binder in statement.binders]
    if statement.extends:
        pieces.append(line_words(statement.extends, types))
    if statement.docstring:
        pieces.append(query_text(statement.docstring))
    return " ".join(filter(None, pieces))


def premise_identifiers(raw: str) -> list[str]:
    """Constants of a premise's statement without repeats, those of the conclusion first."""
    statement = parse_premise(raw)
    types = _types(statement)
    local = local_names(types)
    found = dict.fromkeys(mentioned(statement.type, types, local))
    for binder in statement.binders:
        found.update(dict.fromkeys(mentioned(binder.type, types, local)))
    found.update(dict.fromkeys(mentioned(statement.extends.removeprefix("extends "), types, local)))
    return list(found)


def _parts(text: str) -> tuple[tuple[Binder, ...], str, str]:
    """Cut ` binders… extends… : type ` at its brackets of depth 0 and its first colon of depth 0."""
    binders: list[Binder] = []
    loose: list[str] = []
    depth = start = 0
    for match in _MARK.finditer(text):
        mark = match[0]
        first = mark[0]
        if first == ":":
            position = match.start()
            if depth == 0 and text[position - 1 : position] == " " == text[position + 1 : position + 2]:
                loose.append(text[start:position])
                return tuple(binders), one_line(" ".join(loose)), text[position + 1 :].strip()
        elif len(mark) > 1:
            if depth == 0 and first != "«":
                loose.append(text[start : match.start()])
                binders.append(_BINDERS[mark[1:-1]])
                start = match.end()
        elif first in _OPENING:
            if depth == 0:
                loose.append(text[start : match.start()])
                start = match.end()
            depth += 1
        elif first in _CLOSING and depth > 0:
            depth -= 1
            if depth == 0:
                binders.append(_BINDERS[text[start : match.start()]])
                start = match.end()
    loose.append(text[start:])
    return tuple(binders), one_line(" ".join(loose)), ""


def _binder(inside: str) -> Binder:
    names, colon, type_text = inside.partition(" : ")
    if not colon or not _NOT_IN_NAMES.isdisjoint(names):
        return Binder((), inside.strip())
    if " := " in type_text:
        before, _, _ = type_text.partition(" := ")
        if before.count("{") == before.count("}") and before.count("(") == before.count(")"):
            type_text = before  # the default of an optional argument is no part of the statement
    return Binder(tuple(names.split()), type_text.strip())


_BINDERS: Final = Remembered(_binder, 1 << 16, 256)


def _types(statement: Statement) -> dict[str, str]:
    return {name: binder.type for binder in statement.binders for name in binder.names}
