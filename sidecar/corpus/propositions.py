"""Whether a statement's type is a proposition, read off its text.

In: a field's or constructor's statement, and the constants known to make propositions. Out: yes or no, so that a law
of a class counts as a premise and its operations do not.

Statements are texts, so this reads them as a person would: what stands behind the last arrow, its relation or its head.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from sidecar.corpus.auxiliary import COMPONENT
from sidecar.corpus.records import Declaration

CORE: Final = frozenset(
    {
        "And",
        "Dvd.dvd",
        "Eq",
        "Exists",
        "ExistsUnique",
        "False",
        "GE.ge",
        "GT.gt",
        "HEq",
        "HasEquiv.Equiv",
        "HasSSubset.SSubset",
        "HasSubset.Subset",
        "Iff",
        "LE.le",
        "LT.lt",
        "Membership.mem",
        "Ne",
        "Nonempty",
        "Not",
        "Or",
        "Subsingleton",
        "True",
    }
)
"""Constants of Lean's core that make propositions, known even where a corpus does not include the core."""

_OPEN: Final = "([{⟨⦃"
_CLOSE: Final = ")]}⟩⦄"
# fmt: off
_RELATIONS: Final = frozenset((
    "=", "≠", "↔", "∧", "∨", "≤", "<", "≥", ">", "∈", "∉", "⊆", "⊂", "⊇", "⊃", "∣", "∤", "≈", "∼", "~", "≡",
    "≍", "⋖", "⩿", "≪", "⊣⊢ₛ", "⊢ₛ", "⊨", "⊢", "⊩", "≼", "≺", "⊴", "<+", "<+:", "<:+", "<:+:", "=ᶠ", "=ᵐ",
    "=ˢ", "≤ᶠ", "≤ᵐ", "<ᶠ", "=O", "=o", "=Θ", "~ᵤ", "≤ᵥ", "<ᵥ",
))
# fmt: on
_QUANTIFIERS: Final = ("∃", "¬", "∀ᶠ", "∀ᵐ", "∀ˢ")
_SCOPES: Final = ("∀", "∃", "fun", "λ")
_INNER: Final = "\0"
_TOKEN: Final = re.compile(r"\S+")
_GROUP: Final = re.compile("\0+")


def states_proposition(declaration: Declaration, propositional: Container[str]) -> bool:
    """Whether the type of a field or constructor is a proposition.

    Args:
        declaration: Its `signature` is read, notation on or off.
        propositional: Names of the constants that make propositions.
    """
    signature = declaration.signature
    outline = _outline(signature)
    colon = outline.find(" : ")
    if colon < 0:
        return False
    result = _result(signature[colon + 3 :])
    while result is not None and result.startswith("(") and not _outline(result).strip(_INNER + " "):
        result = _result(result[1:-1])
    if result is None:
        return True
    tokens = [token.strip(_INNER) for token in _outline(result).split()]
    if any(token in _RELATIONS for token in tokens):
        return True
    head = tokens[0].lstrip("@").rstrip(".") if tokens else ""
    if not head:
        return False
    if head in propositional or head in _propositional_variables(signature[:colon]):
        return True
    last = _last_component(head)
    return any(
        constant in propositional and _last_component(constant) == last
        for constant in declaration.constants[: declaration.conclusion_count]
    )


def _outline(text: str) -> str:
    """The text with everything inside brackets, and the brackets, blotted out; positions stay."""
    characters: list[str] = []
    depth = 0
    quoted = False
    for character in text:
        if character in "«»":
            quoted = character == "«"
        elif not quoted and character in _OPEN:
            depth += 1
        characters.append(character if depth == 0 else _INNER)
        if not quoted and character in _CLOSE:
            depth = max(0, depth - 1)
    return "".join(characters)


def _result(statement: str) -> str | None:
    """What stands behind binders and arrows; None when it begins like a proposition (`∃`, `¬`, `∀ᶠ`)."""
    outline = _outline(statement)
    start = 0
    while True:
        start += len(outline[start:]) - len(outline[start:].lstrip())
        rest = outline[start:]
        if rest.startswith(_QUANTIFIERS):
            return None
        scope = "," if rest.startswith("∀") else ";" if rest.startswith(("let ", "have ")) else None
        if scope is not None:
            end = outline.find(scope, start)
            if end < 0:
                return statement[start:].strip()
            start = end + 1
            continue
        for token in _TOKEN.finditer(outline, start):
            if token[0] == "→":
                start = token.end()
                break
            if token[0].startswith(_SCOPES):
                return statement[start : token.start()].strip()
        else:
            return statement[start:].strip()


def _propositional_variables(binders: str) -> set[str]:
    """Names bound to a proposition or predicate, as `p` in `{p : α → Prop}`."""
    names: set[str] = set()
    outline = _outline(binders)
    for group in _GROUP.finditer(outline):
        bound, _, its_type = binders[group.start() + 1 : group.end() - 1].partition(" : ")
        if its_type.endswith("Prop"):
            names.update(bound.split())
    return names


def _last_component(name: str) -> str:
    found = COMPONENT.findall(name)
    return (found[-1][0] or found[-1][1]) if found else name
