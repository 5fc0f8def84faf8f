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
from typing import Final

from sidecar.errors import SidecarError
from sidecar.text.clean import clean, one_line
from sidecar.text.words import IDENTIFIER, is_sort, mentioned, words

TURNSTILE: Final = "⊢"
_NAMES: Final = rf"{IDENTIFIER}(?: +{IDENTIFIER})*"
_HYPOTHESIS: Final = re.compile(rf"({_NAMES}) : ?")
_NAME: Final = re.compile(IDENTIFIER)
_CASE: Final = re.compile(r"case\b.*")
_COUNT: Final = re.compile(r"\d+ goals?( \(.*\))?")
_OPENING: Final = frozenset("([{⟨⦃⟦⁅⟪⌊⌈")
_CLOSING: Final = frozenset(")]}⟩⦄⟧⁆⟫⌋⌉")


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
    """

    hypotheses: tuple[Hypothesis, ...]
    target: str


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


def parse_goal(text: str) -> Goal:
    """Take a goal apart.

    Several goals: the first one is taken. `case` tags and counts of goals are skipped, lines that are indented deeper
    than the first continue the line before, and a text without ⊢ is all target. A goal that was joined into one line is
    cut where a run of fresh names stands before a colon.
    """
    lines = _first_goal(clean(text))
    if not any(TURNSTILE in line for line in lines):
        return Goal((), one_line(" ".join(lines)))
    entries: list[str] = []
    target: list[str] = []
    margin = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        before, turnstile, after = line.partition(TURNSTILE) if not target else ("", "", line)
        if target:
            target.append(after)
            continue
        if before.strip():
            deeper = len(line) - len(line.lstrip()) > margin
            if entries and (deeper or _depth(entries[-1]) > 0):
                entries[-1] += " " + before.strip()
            else:
                entries.append(before.strip())
        if turnstile:
            target.append(after)
    hypotheses: list[Hypothesis] = []
    for entry in entries:
        hypotheses += _hypotheses(one_line(entry), {name for known in hypotheses for name in known.names})
    return Goal(tuple(hypotheses), one_line(" ".join(target)))


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
    found = dict.fromkeys(mentioned(goal.target, types))
    for hypothesis in reversed(goal.hypotheses):
        found |= dict.fromkeys(mentioned(_statement(hypothesis), types))
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
    first = next((number for number, line in enumerate(lines) if line.startswith(TURNSTILE)), 0)
    dropped, size = 0, len(text)
    while dropped < first and size > limit:
        size -= len(lines[dropped]) + 1
        dropped += 1
    return "\n".join(lines[dropped:])[:limit], dropped


def _first_goal(text: str) -> list[str]:
    """Lines of the first goal, without blank lines, `case` tags and a count of goals."""
    lines: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        ends = not stripped or (_CASE.fullmatch(stripped) is not None and " : " not in stripped)
        if ends and any(TURNSTILE in kept for kept in lines):
            break
        if ends or (not lines and _COUNT.fullmatch(stripped)):
            continue
        lines.append(line)
    return lines or [""]


def _depth(text: str) -> int:
    return sum((character in _OPENING) - (character in _CLOSING) for character in text)


def _hypotheses(entry: str, known: set[str]) -> Iterator[Hypothesis]:
    """The hypotheses of one entry: one, or several when the goal was joined into one line."""
    starts: list[tuple[int, int, tuple[str, ...]]] = []
    for match in _HYPOTHESIS.finditer(entry):
        if _depth(entry[: match.start()]) > 0:
            continue
        fresh = _fresh(entry, match, known, first=not starts)
        if fresh is not None:
            start, names = fresh
            starts.append((start, match.end(), names))
            known |= set(names)
    if not starts or starts[0][0] > 0:
        yield Hypothesis((), entry)
        return
    for (_, end, names), following in zip(starts, [*(start for start, _, _ in starts[1:]), len(entry)], strict=True):
        type_text, value = _split_value(entry[end:following].strip())
        yield Hypothesis(names, type_text, value)


def _fresh(entry: str, match: re.Match[str], known: set[str], *, first: bool) -> tuple[int, tuple[str, ...]] | None:
    """Where a hypothesis begins whose colon ends `match`, and its names; None when that colon belongs to a binder."""
    found = [(name.start() + match.start(), name[0]) for name in _NAME.finditer(match[1])]
    if first:
        return (match.start(), tuple(name for _, name in found)) if match.start() == 0 else None
    before = entry[: match.start()].rstrip()
    if before.endswith(tuple("∀∃∑∏⋃⋂⨆⨅∫λ(,[{⦃")) or before.endswith(("fun", "∀ᶠ", "∀ᵐ", "∃!", "∃ᶠ", "∫⁻")):
        return None
    run: list[tuple[int, str]] = []
    for position, name in reversed(found):
        if name in known or "." in name or (len(name) > 2 and name[0].isupper() and name[1].islower()):
            break
        run.insert(0, (position, name))
    if len(run) == len(found) and before.endswith((":", ":=")):
        run = run[1:]  # a type stands before the names
    return (run[0][0], tuple(name for _, name in run)) if run else None


def _split_value(text: str) -> tuple[str, str | None]:
    position = text.find(" := ")
    while position >= 0:
        if _depth(text[:position]) == 0:
            return text[:position].strip(), text[position + 4 :].strip()
        position = text.find(" := ", position + 1)
    return text, None


def _types(goal: Goal) -> dict[str, str]:
    return {name: hypothesis.type for hypothesis in goal.hypotheses for name in hypothesis.names}


def _statement(hypothesis: Hypothesis) -> str:
    return hypothesis.type if hypothesis.value is None else f"{hypothesis.type} = {hypothesis.value}"


def _pieces(goal: Goal) -> tuple[str, list[str]]:
    """Words of the target, and those of each hypothesis from the last to the first (`""` where it only names a sort)."""
    types = _types(goal)
    pieces = [
        "" if is_sort(hypothesis.type) else words(_statement(hypothesis), types)
        for hypothesis in reversed(goal.hypotheses)
    ]
    return words(goal.target, types), pieces
