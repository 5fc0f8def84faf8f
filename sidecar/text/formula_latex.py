"""What LaTeX draws with structure, as Lean prints it: fractions, sums, integrals, limits.

In: a question on one line (LaTeX, or the same written with Unicode, `∑_{k=0}^n`). Out: the ways in which a library may
state it, the likeliest first: a sum over k from 0 to n is one over `range (n + 1)`, `Icc 0 n` or `Fin (n + 1)`. What is
no structure is left to `sidecar.text.query.without_latex`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MOST_OPERATORS: Final = 6
"""Sums, integrals and limits of one formula; the deeper ones stay as they are."""

_CHANGES: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|quad|qquad)(?![A-Za-z])", " "),
        (r"\\[,;:! ]|\\\\|~(?=\$|$)", " "),
        (r"\\(?:operatorname|mathrm|mathop|text|textrm|mathit|mathsf)\*?\s*\{([A-Za-z ]*)\}", r" \1 "),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\\(frac|binom)\s*(\d|(?<=\s)[A-Za-z])\s*(\d|[A-Za-z])", r"\\\1{\2}{\3}"),
        (r"\\sqrt\s*([A-Za-z\d])", r"\\sqrt{\1}"),
        (r"\\(?:lambda)(?![A-Za-z])", " λ' "),
        (r"\\nmid(?![A-Za-z])", " ∤ "),
        (r"\\n?ot\s*\\in(?![A-Za-z])", " ∉ "),
        (r"\\not\s*=", " ≠ "),
        (r"\\(?:Longrightarrow|implies)(?![A-Za-z])", " → "),
        (r"\\(?:Longleftrightarrow|leftrightarrow)(?![A-Za-z])", " ↔ "),
        (r"\\p?mod\s*(?:\{([^{}]*)\}|(\w))", r" (mod \1\2)"),
        (r"\\ln(?![A-Za-z])", r" log "),
    )
)
_FLAT: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r" (\1)/(\2) "),
        (r"\\binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r" choose (\1) (\2) "),
        (r"\\sqrt\s*\{([^{}]*)\}", r" √(\1) "),
        (r"([_^])\s*\{\s*(\w)\s*\}", r"\1\2 "),
        (r"([_^])\s*\{([^{}]*)\}", r"\1(\2)"),
    )
)
"""Innermost braces, from the inside out."""

_INFINITE: Final = re.compile(r"\(?\s*\+?\s*(?:∞|\\infty|infinity)\s*\)?")
_NEGATIVE_INFINITE: Final = re.compile(r"\(?\s*-\s*(?:∞|\\infty|infinity)\s*\)?")
_OPERATOR: Final = re.compile(
    r"(?:\\(sum|prod|int|bigcup|bigcap|lim)(?![A-Za-z])|([∑∏∫⋃⋂])|\b(lim|sum|prod|int)(?=\s*_))\s*"
)
_SYMBOLS: Final = {"sum": "∑", "prod": "∏", "int": "∫", "bigcup": "⋃", "bigcap": "⋂", "lim": "lim"}
_FROM: Final = re.compile(r"\s*([A-Za-z])\s*=\s*(.+?)\s*")
_NAME: Final = re.compile(r"\s*([A-Za-z])\s*")
_MEMBER: Final = re.compile(r"\s*([A-Za-z])\s*(?:\\in(?![A-Za-z])|∈|\bin\b)\s*(.+?)\s*")
_TO: Final = re.compile(r"\s*([A-Za-z])\s*(?:\\(?:to|rightarrow|longrightarrow)(?![A-Za-z])|→|->)\s*(.+?)\s*")
_LESS_ONE: Final = re.compile(r"\(?\s*(\w+)\s*-\s*1\s*\)?")
_DIFFERENTIAL: Final = re.compile(
    r"(?:\\mathrm\s*)?(?<![A-Za-z\\])d\s*(\\?[A-Za-zμν]+)(?:\s*\(\s*([a-z])\s*\))?(?![A-Za-z])"
)
_MEASURES: Final = {"\\mu": "μ", "\\nu": "ν", "μ": "μ", "ν": "ν"}
_FUNCTION_ALONE: Final = re.compile(r"(?<![\\A-Za-z])([fguvhFGH])(?!\s*[\w(])")
_ARGUMENT: Final = re.compile(r"\(\s*([a-z])\s*\)")
_END_OF_LIMIT: Final = re.compile(r"\$|,|;|\.(?!\d)|→|↔|\b(?:if|when|for)\b")


class _Scope(NamedTuple):
    """What stands below and above an operator, `""` where nothing does, and where it ends."""

    below: str
    above: str
    end: int


def drawn(text: str) -> list[str]:
    """The ways in which Lean may print a text in which LaTeX has structure; the text itself where it has none."""
    for pattern, replacement in _CHANGES:
        text = pattern.sub(replacement, text)
    for _ in range(12):
        before = text
        for pattern, replacement in _FLAT:
            text = pattern.sub(replacement, text)
        if text == before:
            break
    if _OPERATOR.search(text) is None:
        return [text]
    return list(dict.fromkeys(_operators(text, way) for way in range(3)))


def _operators(text: str, way: int) -> str:
    """The text with its operators as Lean prints them; `way` is which of the spellings is wanted, the likeliest 0."""
    position = 0
    for _ in range(MOST_OPERATORS):
        found = _OPERATOR.search(text, position)
        if found is None:
            break
        symbol = found[2] or _SYMBOLS[found[1] or found[3]]
        scope = _scope(text, found.end())
        rest = text[scope.end :]
        if symbol == "∫":
            head, rest = _integral(scope, rest, way)
        elif symbol == "lim":
            head, rest = _limit(scope, rest, way)
        else:
            head = _sum(symbol, scope, way)
        if head:
            text = f"{text[: found.start()]} {head}{rest}"
            position = found.start() + 2
        else:
            position = found.end()
    return text


def _scope(text: str, position: int) -> _Scope:
    parts = {"_": "", "^": ""}
    while True:
        while text[position : position + 1] == " ":
            position += 1
        mark = text[position : position + 1]
        if mark not in parts or not mark or parts[mark]:
            return _Scope(parts["_"], parts["^"], position)
        position += 1
        while text[position : position + 1] == " ":
            position += 1
        end = _end_of_term(text, position)
        parts[mark] = text[position:end].strip()
        if parts[mark].startswith("("):
            parts[mark] = parts[mark][1:-1].strip()
        if not parts[mark]:
            return _Scope(parts["_"], parts["^"], end)
        position = end


_COMMAND: Final = re.compile(r"\\[A-Za-z]+|\d+|.?")


def _end_of_term(text: str, position: int) -> int:
    if text[position : position + 1] != "(":
        found = _COMMAND.match(text, position)
        return position if found is None else found.end()
    depth = 0
    for place in range(position, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place + 1
    return len(text)


def _sum(symbol: str, scope: _Scope, way: int) -> str:
    """A sum, product, union or intersection up to its body; nothing for one that is spelled so already."""
    infinite = bool(scope.above) and _INFINITE.fullmatch(scope.above) is not None
    start = _FROM.fullmatch(scope.below)
    if start is None:
        member, name = _MEMBER.fullmatch(scope.below), _NAME.fullmatch(scope.below)
        if member is not None:
            return f"{symbol} {member[1]} ∈ {member[2]}, "
        return f"{symbol} {name[1]}, " if name is not None else ""
    if infinite:
        first = symbol if symbol in "⋃⋂" else f"{symbol}'"
        return f"{first} {start[1]}, "
    if not scope.above:
        return ""
    less = _LESS_ONE.fullmatch(scope.above)
    beyond = less[1] if less is not None else f"({scope.above} + 1)"
    if way == 2:
        return f"{symbol} {start[1]}, "
    if way == 1:
        return f"{symbol} {start[1]} ∈ {'Icc' if start[2] == '0' else 'Ico'} {start[2]} " + (
            f"({scope.above}), " if start[2] == "0" else f"{beyond}, "
        )
    if start[2] == "0":
        return f"{symbol} {start[1]} ∈ range {beyond}, "
    return f"{symbol} {start[1]} ∈ Icc {start[2]} ({scope.above}), "


def _integral(scope: _Scope, rest: str, way: int) -> tuple[str, str]:
    """An integral up to its body, and what stands from there; an integral that Lean printed has no differential."""
    ends = _DIFFERENTIAL.search(rest)
    if ends is None:
        return "", rest
    body, after = rest[: ends.start()], rest[ends.end() :]
    measure = _MEASURES.get(ends[1])
    shown = _ARGUMENT.search(body)
    name = ends[2] or (ends[1] if measure is None else shown[1] if shown is not None else "t")
    if len(name) != 1:
        return "", rest
    body = _FUNCTION_ALONE.sub(rf"\1({name})", body)
    # Where the measure is not said, statements are about any or about the usual one.
    by = f" ∂{measure}" if measure is not None else " ∂μ" if way == 1 else ""
    if scope.below and scope.above:
        return f"∫ {name} in ({scope.below})..({scope.above}), ", f"{body}{by}{after}"
    if scope.below:
        return f"∫ {name} in {scope.below}, ", f"{body}{by}{after}"
    return f"∫ {name}, ", f"{body}{by}{after}"


def _limit(scope: _Scope, rest: str, way: int) -> tuple[str, str]:
    """A limit that is said to equal something."""
    towards = _TO.fullmatch(scope.below)
    equal = _outside(rest)
    if towards is None or equal is None:
        return "", rest
    body, limit = rest[:equal].strip(), rest[equal + 1 :]
    ends = _END_OF_LIMIT.search(limit)
    after = "" if ends is None else limit[ends.start() :]
    limit = limit if ends is None else limit[: ends.start()]
    name, place = towards[1], towards[2]
    at = _filter(place)
    if way == 1 and at.startswith("(nhds"):
        at = f"(nhdsWithin ({place}) {{{place}}}ᶜ)"
    alone = re.fullmatch(rf"\\?([A-Za-z]+)(?:_|\s*\(\s*|\s+){name}\s*\)?", body)
    function = alone[1] if alone is not None else f"(fun {name} ↦ {body})"
    return f"Tendsto {function} {at} {_filter(limit.strip())} ", after


def _filter(place: str) -> str:
    if _INFINITE.fullmatch(place):
        return "atTop"
    return "atBot" if _NEGATIVE_INFINITE.fullmatch(place) else f"(nhds ({place}))"


def _outside(text: str) -> int | None:
    """Where the first `=` stands outside brackets."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "=" and depth == 0:
            return place
    return None
