"""Goals: taken apart, spelled as canonical text under a token budget, and capped for the wire.

In: a goal as Lean prints it. Out: its hypotheses and target; the words an encoder reads, target first; the identifiers
that it mentions; and a shorter goal of at most so many characters.

Wire cap. `cap_goal` is also computed by the Lean side, so its rule is stated in code points and lines alone:

1. A text of at most `limit` code points is left as it is.
2. The target begins at the first line that starts with `⊢`; the lines before it are the hypotheses. A text without such
   a line is all target.
3. Hypothesis lines are dropped from the first on until what is left, line ends included, has at most `limit` code
   points.
4. When no hypothesis line is left and the target is still longer, its first `limit` code points are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sidecar.errors import SidecarError
from sidecar.text.clean import clean, one_line
from sidecar.text.names import sealed, unsealed
from sidecar.text.words import IDENTIFIER, is_sort, line_words, local_names, mentioned

_TURNSTILE: Final = re.compile("⊢(?!ₛ)")
_ASCII_TURNSTILE: Final = re.compile(r"(?:^|(?<=\s))\|-(?=\s)", re.MULTILINE)
_NAMES: Final = rf"{IDENTIFIER}(?>(?: {IDENTIFIER})*)"
_HYPOTHESIS_LINE: Final = re.compile(rf" *{_NAMES} : ")
_NAME: Final = re.compile(IDENTIFIER)
_TAG: Final = re.compile(r"case\b[^:]*|[0-9]+ goals?(?: \(.*\))?|No goals")
_OPENING: Final = "([{⟨⦃⟦⁅⟪⌊⌈"
_CLOSING: Final = ")]}⟩⦄⟧⁆⟫⌋⌉"
_BRACKET: Final = re.compile(f"[{re.escape(_OPENING)}]|[{re.escape(_CLOSING)}]")
_STRUCTURE: Final = re.compile(rf"({_NAMES})( : )?|{_BRACKET.pattern}")
_VALUE: Final = re.compile(rf" := |{_BRACKET.pattern}")
_BINDS: Final = ("∀", "∃", "∑", "∏", "⋃", "⋂", "⨆", "⨅", "∫", "λ", "∀ᶠ", "∀ᵐ", "∃ᶠ", "∃!", "∫⁻", ",")
_TYPE_STANDS_BEFORE: Final = (":", ":=")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One line of a goal's context.

    Attributes:
        names: The names it introduces, as printed (daggers included); empty when none could be read.
        type: Text of the type, on one line.
        value: Text of the value of a `let`, or None.
    """

    names: tuple[str, ...]
    type: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal taken apart.

    Attributes:
        hypotheses: In the order printed.
        target: What is to be shown, on one line, without the turnstile.
        followed: Whether other goals come behind it in the text, which count for nothing.
    """

    hypotheses: tuple[Hypothesis, ...]
    target: str
    followed: bool = False


@dataclass(frozen=True, slots=True)
class GoalText:
    """Canonical text of a goal.

    Attributes:
        text: Words of the target, then of the hypotheses from the last to the first.
        hypotheses: How many hypotheses the goal has.
        hypotheses_dropped: How many of them, the earliest, were left out to fit the budget.
        target_cut: Whether even the words of the target alone are over the budget (an encoder will cut their end).
    """

    text: str
    hypotheses: int
    hypotheses_dropped: int
    target_cut: bool


@lru_cache(maxsize=4)
def parse_goal(text: str) -> Goal:
    """Take a goal apart; never fails. Remembers the last ones, as a request asks twice.

    Several goals: the first one is taken. `case` tags and counts of goals are skipped, lines that are indented deeper
    than the first continue the line before, and a text without ⊢ is all target. A goal that was joined into one line is
    cut where a run of fresh names stands before a colon. What stands between « and » belongs to a name, whatever it is.
    Where there is no ⊢, the first `|-` between spaces is one.
    """
    entries: list[list[str]] = []
    target: list[str] | None = None
    margin: int | None = None
    depth = 0
    followed = False
    if "⊢" not in text:
        text = _ASCII_TURNSTILE.sub("⊢", text, count=1)
    lines = sealed(clean(text)).split("\n")
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped or _TAG.fullmatch(stripped):
            if target is not None:
                followed = _has_goal(lines[number:])
                break
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        begins = _HYPOTHESIS_LINE.match(line) is not None
        if target is not None:
            if (begins or stripped.startswith("⊢")) and indent <= margin and depth <= 0:
                followed = _has_goal(lines[number:])
                break  # the next goal, without a blank line before it
            target.append(stripped)
            depth += _depth(stripped)
            continue
        turnstile = _TURNSTILE.search(stripped)
        before = stripped[: turnstile.start()].rstrip() if turnstile else stripped
        if before:
            if entries and (indent > margin or (depth > 0 and not begins)):
                entries[-1].append(before)
            else:
                entries.append([before])
                depth = 0
            depth += _depth(before)
        if turnstile:
            target = [stripped[turnstile.end() :]]
            depth = _depth(target[0])
    if target is None:
        return Goal((), unsealed(one_line(" ".join(" ".join(entry) for entry in entries))))
    hypotheses: list[Hypothesis] = []
    known: set[str] = set()
    for entry in entries:
        hypotheses += _hypotheses(one_line(" ".join(entry)), known)
    return Goal(tuple(map(_unsealed, hypotheses)), unsealed(one_line(" ".join(target))), followed)


def goal_text(text: str, budget: int, count: Callable[[Sequence[str]], list[int]]) -> GoalText:
    """Canonical text of a goal within a budget of tokens.

    The words of the target come first, then those of the hypotheses from the last to the first, because the last ones
    are the nearest to the target. Over the budget, whole hypotheses are dropped, earliest first; the target is never
    touched.

    Args:
        text: The goal as printed.
        budget: Most tokens, special tokens included.
        count: Number of tokens of each text as the encoder counts them, special tokens included.
    """
    goal = parse_goal(text)
    target, pieces = _pieces(goal)
    total = len(goal.hypotheses)
    spelled = [piece for piece in pieces if piece]
    whole = " ".join([target, *spelled]) if target else " ".join(spelled)
    if count([whole])[0] <= budget:
        return GoalText(whole, total, 0, False)
    special, *sizes = count(["", target, *pieces])
    left = budget - sizes[0]
    kept: list[str] = [target] if target else []
    dropped = 0
    for position, (piece, size) in enumerate(zip(pieces, sizes[1:], strict=True)):
        left -= size - special
        if left < 0:
            dropped = len(pieces) - position
            break
        if piece:
            kept.append(piece)
    return GoalText(" ".join(kept), total, dropped, sizes[0] > budget)


def identifiers(text: str) -> list[str]:
    """Constants and free identifiers of a goal without repeats, the target's first, then the last hypothesis' first.

    Symbols are given as the constants they stand for; names of hypotheses and bound names are left out.
    """
    goal = parse_goal(text)
    types = _types(goal)
    local = local_names(types)
    found = dict.fromkeys(mentioned(goal.target, types, local))
    for hypothesis in reversed(goal.hypotheses):
        found.update(dict.fromkeys(mentioned(_statement(hypothesis), types, local)))
    return list(found)


def cap_goal(text: str, limit: int) -> tuple[str, int]:
    """Shorten a goal to at most `limit` code points; see the rule at the top of this module.

    Returns:
        The text to send and how many hypothesis lines were dropped.

    Raises:
        SidecarError: `bad_request` when `limit` is below 1.
    """
    if limit < 1:
        raise SidecarError("bad_request", f"a goal cannot be cut to {limit} characters", field="limit")
    if len(text) <= limit:
        return text, 0
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("⊢")), 0)
    dropped, size = 0, len(text)
    while dropped < first and size > limit:
        size -= len(lines[dropped]) + 1
        dropped += 1
    return "\n".join(lines[dropped:])[:limit], dropped


def _has_goal(lines: Sequence[str]) -> bool:
    return any(_TURNSTILE.search(line) for line in lines)


def _unsealed(hypothesis: Hypothesis) -> Hypothesis:
    if all("«" not in text for text in (*hypothesis.names, hypothesis.type, hypothesis.value or "")):
        return hypothesis
    value = None if hypothesis.value is None else unsealed(hypothesis.value)
    return Hypothesis(tuple(map(unsealed, hypothesis.names)), unsealed(hypothesis.type), value)


def _depth(text: str) -> int:
    """Brackets that a text leaves open; negative when it closes more."""
    return sum(1 if mark in _OPENING else -1 for mark in _BRACKET.findall(text))


def _hypotheses(entry: str, known: set[str]) -> Iterator[Hypothesis]:
    """The hypotheses of one entry: one, or several when the goal was joined into one line; their names become known."""
    starts: list[tuple[int, int, tuple[str, ...]]] = []
    depth = 0
    for match in _STRUCTURE.finditer(entry):
        if match[1] is None:
            depth += 1 if match[0] in _OPENING else -1
        elif match[2] and depth <= 0:
            names = _fresh(entry, match, known, first=not starts)
            if names:
                starts.append((names[0].start() + match.start(), match.end(), tuple(name[0] for name in names)))
                known.update(name[0] for name in names)
    if not starts:
        yield Hypothesis((), entry)
        return
    following = [*(start for start, _, _ in starts[1:]), len(entry)]
    for (_, colon, names_found), end in zip(starts, following, strict=True):
        yield Hypothesis(names_found, *_split_value(entry[colon:end].strip()))


def _fresh(entry: str, match: re.Match[str], taken: set[str], *, first: bool) -> list[re.Match[str]]:
    """The names of a hypothesis that begins in a run of names before a colon; none when a binder's colon was matched.

    In a line that was joined, the run also holds the end of the hypothesis before. What is known already, what has a
    dot, and what is capitalised like a constant belongs to that; so does the first name behind a colon.
    """
    names = list(_NAME.finditer(match[1]))
    if first:
        return names if match.start() == 0 else []
    before = entry[max(0, match.start() - 4) : match.start()].rstrip()
    if before.endswith(_BINDS) or any(name[0] == "fun" for name in names):
        return []
    run: list[re.Match[str]] = []
    for name in reversed(names):
        text = name[0]
        if text in taken or "." in text or (text[0].isupper() and text[1:3].islower() and len(text) > 2):
            break
        run.append(name)
    run.reverse()
    if len(run) == len(names) and before.endswith(_TYPE_STANDS_BEFORE):
        del run[0]
    return run


def _split_value(text: str) -> tuple[str, str | None]:
    depth = 0
    for match in _VALUE.finditer(text):
        if match[0] != " := ":
            depth += 1 if match[0] in _OPENING else -1
        elif depth <= 0:
            return text[: match.start()].strip(), text[match.end() :].strip()
    return text, None


def _types(goal: Goal) -> dict[str, str]:
    return {name: hypothesis.type for hypothesis in goal.hypotheses for name in hypothesis.names}


def _statement(hypothesis: Hypothesis) -> str:
    return hypothesis.type if hypothesis.value is None else f"{hypothesis.type} = {hypothesis.value}"


def _pieces(goal: Goal) -> tuple[str, list[str]]:
    """Words of the target, and of each hypothesis from the last to the first (`""` where it only names a sort)."""
    types = _types(goal)
    pieces = [
        "" if is_sort(hypothesis.type) else line_words(_statement(hypothesis), types)
        for hypothesis in reversed(goal.hypotheses)
    ]
    return line_words(goal.target, types), pieces
