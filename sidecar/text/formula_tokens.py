"""From the text of a formula to its tokens, in one of the many ways in which it can be written.

In: Lean text, perhaps with LaTeX and ASCII signs, and the names that are variables. Out: symbols, numerals, constants
by the last component of their names, and variables behind `MARK`. What a person may leave out, or Lean prints in
another way, is alike then: types of terms and of bound variables, coercion arrows, brackets around all or around one
name, leading ∀; `x.f` is `f x`, `n!` is `factorial n`, `a ≥ b` is `b ≤ a`, `a ∉ s` is `¬ a ∈ s`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Final

MARK: Final = "\0"
"""Stands before the name of a variable."""

_MODIFIERS: Final = "ᶜᵀᴴˣᗮⁿᵐᶠ"
"""Letters that are operators behind a term, though Unicode counts them among letters."""

TOKEN: Final = re.compile(
    rf"«[^«»]*»|[∀∃]ᶠ|[=≤][ᶠᵐ]|∃!|⁻¹|//|[{_MODIFIERS}]"
    rf"|[^\W\d{_MODIFIERS}](?:(?![{_MODIFIERS}])[\w']|\.(?=[^\W\d]))*|\d+(?:\.\d+)?|\S"
)
_LETTER: Final = re.compile(r"(?:[A-Za-zα-κμ-ορ-ωΓΔΘΛΞΦΨΩϕϵϑℓℱℬℒℳℰ𝒜-𝒵𝔞-𝔷𝕜]|[a-z]s)(?:_?[0-9]|[₀-₉ₐ-ₜᵢⱼ'])*")
"""What stands for something; not π, λ, Σ, Π, nor letters of sets of numbers."""

_GREEK: Final = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "mu"),
        *("nu", "xi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega"),
    )
)
_SAME: Final = {"forall": "∀", "exists": "∃", "λ": "fun", "𝓝": "nhds", "π": "pi", "sqrt": "√"}
"""Other ways to write a token."""

_UNSEEN: Final = frozenset("↑⇑↥@$`✝?\\")
BINDERS: Final = frozenset(("∀", "∃", "∃!", "∀ᶠ", "∃ᶠ", "∑", "∏", "∫", "⋃", "⋂", "⨆", "⨅", "fun"))
_PARTNERS: Final = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄"}
_OPENING, _CLOSING = frozenset(_PARTNERS), frozenset(_PARTNERS.values())
_ENDS_OF_BINDERS: Final = frozenset((",", "↦"))
_SEPARATORS: Final = frozenset(("→", "∧", "∨", "↔", ",", "↦", "|", "//"))
_TURNED: Final = {"≥": "≤", ">": "<", "⊇": "⊆", "⊃": "⊂"}
PROPOSITION: Final = re.compile("[=≠≤≥<>∈∉⊆⊂⊇⊃∣≡↔¬∀∃∧∨]")
"""A symbol of what is true or false."""


def formula_tokens(text: str, bound: Container[str] = ()) -> list[str]:
    """Tokens of a formula on one line; `bound` are names that are variables besides single letters."""
    tokens = [token for token in map(_same, TOKEN.findall(text)) if token not in _UNSEEN]
    tokens = _untyped(tokens)
    tokens = _postfixed(list(_marked(tokens, _Bound(tokens, bound))))
    tokens = _turned(tokens)
    while True:
        shorter = _unquantified(_unbracketed(tokens))
        if len(shorter) == len(tokens):
            return tokens
        tokens = shorter


def is_word(token: str) -> bool:
    """Whether a token is a name, a numeral or a variable."""
    return token[0].isalnum() or token[0] == MARK


def outside(tokens: Sequence[str]) -> Iterator[int]:
    """Places outside all brackets."""
    depth = 0
    for place, token in enumerate(tokens):
        if token in _CLOSING and depth > 0:
            depth -= 1
        elif token in _OPENING:
            depth += 1
        elif depth == 0:
            yield place


@lru_cache(maxsize=1 << 14)
def _same(token: str) -> str:
    return _SAME.get(token, token)


@lru_cache(maxsize=1 << 14)
def is_variable(token: str) -> bool:
    """Whether a token is a variable wherever it stands: a letter, perhaps with marks, or the name of one."""
    return _LETTER.fullmatch(token) is not None or token in _GREEK


class _Bound:
    """Which names are variables: those that are given, those that a binder names, and letters."""

    def __init__(self, tokens: Sequence[str], given: Container[str]) -> None:
        self._given = given
        self._own: set[str] = set()
        for place, token in enumerate(tokens):
            if token in BINDERS:
                for name in tokens[place + 1 :]:
                    if not name[0].isalpha() or "." in name or name == "in":
                        break
                    self._own.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self._own or (isinstance(name, str) and (name in self._given or is_variable(name)))


def _untyped(tokens: list[str]) -> list[str]:
    """Without the types of terms and of bound variables; a proposition that a binder assumes becomes `… →`."""
    kept: list[str] = []
    opened: list[int] = []  # where in `kept` brackets are open
    binders: list[int] = []  # how many brackets were open at each binder whose variables are being named
    assumed: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        naming = bool(binders) and len(opened) - binders[-1] in (0, 1)
        if token == ":" and (opened or naming):
            inside = kept[opened[-1]] if opened and not (naming and len(opened) == binders[-1]) else ""
            end = _end_of_type(tokens, place + 1, inside)
            said = tokens[place + 1 : end]
            if inside == "(" and any(PROPOSITION.match(part) for part in said):
                if not naming:
                    kept.append(token)  # no type: what a name is said to prove
                    place += 1
                    continue
                assumed += [*said, "→"]
                del kept[opened[-1] + 1 :]
            place = end
            continue
        if token in _OPENING:
            opened.append(len(kept))
            kept.append(token)
        elif token in _CLOSING:
            if opened and _PARTNERS[kept[opened[-1]]] == token:
                start = opened.pop()
                content = kept[start + 1 :]
                only_names = all(part[0].isalpha() for part in content)
                if (naming and token != "]" and only_names) or (token == ")" and len(content) == 1):
                    kept[start:] = content
                else:
                    kept.append(token)
            else:
                kept.append(token)
        else:
            kept.append(token)
            if token in BINDERS:
                binders.append(len(opened))
            elif token in _ENDS_OF_BINDERS and binders and binders[-1] == len(opened):
                binders.pop()
                kept += assumed
                assumed = []
        while binders and binders[-1] > len(opened):
            binders.pop()
        place += 1
    return kept


def _end_of_type(tokens: Sequence[str], place: int, inside: str) -> int:
    """Where a type ends that stands in a bracket, or between a binder and its comma."""
    depth = 0
    for at in range(place, len(tokens)):
        token = tokens[at]
        if token in _OPENING:
            depth += 1
        elif token in _CLOSING:
            if depth == 0:
                return at
            depth -= 1
        elif depth == 0 and (token in _ENDS_OF_BINDERS if not inside else inside == "{" and token in ("|", "//")):
            return at
    return len(tokens)


def _marked(tokens: Sequence[str], bound: _Bound) -> Iterator[str]:
    """Variables behind `MARK`; a dotted name as its last component, or as variable and `.field`."""
    for token in tokens:
        if token in bound:
            yield MARK + token
            continue
        head, dot, rest = token.partition(".")
        if not dot or not head or token[0] == "«" or head[0].isdigit():
            yield token
        elif head in bound:
            yield MARK + head
            for field in rest.split("."):
                yield f".{field}"
        else:
            last = _same(token.rpartition(".")[2])
            yield MARK + last if last in bound else last


def _postfixed(tokens: list[str]) -> list[str]:
    """Fields and factorials before what they are of."""
    kept: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        moved = ""
        if kept and len(token) > 1 and token[0] == "." and not token[1].isdigit():
            moved = token[1:]
        elif kept and token == "." and place + 1 < len(tokens) and kept[-1] == ")" and tokens[place + 1][0].isalpha():
            place += 1
            moved = tokens[place]
        elif kept and token == "!" and (is_word(kept[-1]) or kept[-1] == ")"):
            moved = "factorial"
        if moved:
            kept.insert(_start_of_term(kept), moved)
        else:
            kept.append(token)
        place += 1
    return kept


def _start_of_term(tokens: Sequence[str]) -> int:
    """Where the bracket or name begins that stands last."""
    if tokens[-1] != ")":
        return len(tokens) - 1
    depth = 0
    for place in range(len(tokens) - 1, -1, -1):
        depth += (tokens[place] == ")") - (tokens[place] == "(")
        if depth == 0:
            return place
    return len(tokens) - 1


def _turned(tokens: Sequence[str]) -> list[str]:
    """With ≥, >, ⊇, ⊃ and ∉ written otherwise, between any two brackets, connectives or commas."""
    if not any(token in _TURNED or token == "∉" for token in tokens):
        return list(tokens)
    kept: list[str] = []
    starts = [0]
    for token in (*tokens, ","):
        if token in _OPENING:
            kept.append(token)
            starts.append(len(kept))
        elif token in _CLOSING or token in _SEPARATORS:
            start = starts[-1]
            kept[start:] = _turned_part(kept[start:])
            if token in _CLOSING and len(starts) > 1:
                starts.pop()
                kept.append(token)
            else:
                kept.append(token)
                starts[-1] = len(kept)
        else:
            kept.append(token)
    return kept[:-1]


def _turned_part(part: list[str]) -> list[str]:
    places = [place for place in outside(part) if part[place] in _TURNED or part[place] == "∉"]
    if len(places) != 1 or not 0 < places[0] < len(part) - 1:
        return part
    left, relation, right = part[: places[0]], part[places[0]], part[places[0] + 1 :]
    return ["¬", *left, "∈", *right] if relation == "∉" else [*right, _TURNED[relation], *left]


def _unbracketed(tokens: list[str]) -> list[str]:
    """Without brackets around all of it."""
    while len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")" and _start_of_term(tokens) == 0:
        tokens = tokens[1:-1]
    return tokens


def _unquantified(tokens: list[str]) -> list[str]:
    """Without leading ∀ that only name variables."""
    while tokens and tokens[0] == "∀" and "," in tokens:
        end = tokens.index(",")
        if not all(token[0] == MARK for token in tokens[1:end]):
            break
        tokens = tokens[end + 1 :]
    return tokens
