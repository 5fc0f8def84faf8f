"""What people write in words or in ASCII within formulas, and formulas within sentences.

In: a question on one line, without structure of LaTeX. Out: the same with symbols for words (`p and q iff q and p`),
and the formulas that stand in a sentence (`why is a + b = b + a`). A word of prose is replaced too: what is no formula
then is no statement of a library either, so nothing is found for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sidecar.text.clean import one_line
from sidecar.text.formula_tokens import PROPOSITION, TOKEN, is_variable

FUNCTIONS: Final[dict[str, int]] = {
    **dict.fromkeys(
        ("sin", "cos", "tan", "cot", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log"), 1
    ),
    **dict.fromkeys(("sqrt", "√", "det", "trace", "rank", "conj", "re", "im", "arg", "card", "length", "reverse"), 1),
    **dict.fromkeys(("factorial", "succ", "pred", "abs", "norm", "deriv", "degree", "natDegree", "transpose"), 1),
    **dict.fromkeys(("gcd", "lcm", "max", "min", "choose", "dist", "edist", "map", "filter", "Icc", "Ioc"), 2),
    **dict.fromkeys(("Ico", "Ioo"), 2),
    **dict.fromkeys(("range", "nhds", "fib"), 1),
    **dict.fromkeys(("inner",), 3),
}
"""Functions that people write in formulas, with the number of their arguments."""

_BRACKETED: Final = r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
_TERM: Final = rf"(?:{_BRACKETED}|([A-Za-z]|\d+))"

_WORDS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(?:if and only if|is equivalent to|iff)\b|⟺|<==>|<->|<=>", " ↔ "),
        (r"\b(?:implies(?: that)?|entails)\b|⟹|--+>|==+>|->", " → "),
        (r"\bfor (?:all|every|each|any)\b|\b[Ff]or(?: )?all\b", " ∀ "),
        (r"\bthere (?:exists?|is)(?: an?| some)?\b|\bexists?\b", " ∃ "),
        (r",?\s*(?:\bsuch that\b|\bs\.\s?t\.)", ","),
        (r"\bis (?:less than or equal|at most|smaller than or equal)(?: to)?\b|=<|⩽|≦", " ≤ "),
        (r"\bis (?:greater than or equal|at least|larger than or equal)(?: to)?\b|⩾|≧", " ≥ "),
        (r"\bis (?:strictly )?(?:less|smaller) than\b", " < "),
        (r"\bis (?:strictly )?(?:greater|larger|bigger) than\b", " > "),
        (r"\bis (?:not equal to|different from)\b|=/=|<>|!==?|/=(?!=)|\bne\b", " ≠ "),
        (r"\b(?:is equal to|equals)\b|===?", " = "),
        (r"\b(?:does not divide|doesn't divide)\b", " ∤ "),
        (r"\bdivides\b", " ∣ "),
        (r"(?<=[\w)]) (?:is a subset of|is contained in|subset(?: of)?) (?=[\w(])", " ⊆ "),
        (r"(?<=\b\w) (?:is in|belongs to|in|is an element of) (?=[A-Zℕℤℚℝℂa-z]\b)(?!a [a-z]{3})(?!\S+\s*\.\.)", " ∈ "),
        (r"(?<=[\w)]) (?:union|cup) (?=[\w(])", " ∪ "),
        (r"(?<=[\w)]) (?:intersection|intersect|inter|cap) (?=[\w(])", " ∩ "),
        (r"(?<=[\w)]) plus (?=[\w(])", " + "),
        (r"(?<=[\w)]) minus (?=[\w(])", " - "),
        (r"(?<=[\w)]) times (?=[\w(])", " * "),
        (r"(?<=[\w)]) (?:divided by|over) (?=[\w(])", " / "),
        (r"(?<=\b\w) squared\b", " ^ 2 "),
        (r"(?<=\b\w) cubed\b", " ^ 3 "),
        (r"\s*\(\s*mod\s+([^()]+?)\s*\)", r" [MOD \1] "),
        (r"(?<=[\w)]) mod (?=[\w(])", " % "),
        (r"\b(?:not|it is false that)\b", " ¬ "),
        (r"\bor\b| \|\| ", " ∨ "),
        (r"\band\b|&&|(?<=\s)&(?=\s)", " ∧ "),
        (r"(?:λ|\bfun) (\w+),", r"fun \1 ↦"),
        (r"(?:^|(?<=[\s(∧∨→↔¬~]))[~!](?=\s*[~!]*[\w(∃∀])", " ¬ "),
        (r"\*\*", "^"),
        (r"[×·⋅∗]", " * "),
        (r"÷", " / "),
        (r"\bln\b", "log"),
        (r"\btr\b", "trace"),
        (r"\b[Ss]qrt\b", "√"),
        (rf"\babs\s*{_BRACKETED}", r" |\1| "),
        (rf"\bnorm\s*{_BRACKETED}", r" ‖\1‖ "),
        (rf"\bfloor\s*{_BRACKETED}", r" ⌊\1⌋ "),
        (rf"\bceil(?:ing)?\s*{_BRACKETED}", r" ⌈\1⌉ "),
        (r"\bC(?=\s*\([^(),]+,)", " choose "),
        (r"(?<![A-Za-z] )\b([A-Za-z]|\d+) choose ([A-Za-z]|\d+)\b", r" choose \1 \2 "),
        (r"([A-Z]|\))\s*\^\s*(?:[cC]|∁)(?![\w(])", r"\1ᶜ"),
        (r"([A-Z]|\))\s*\^\s*(?:T|⊤|⊺)(?![\w(])|([A-Z]|\))ᵀ", r"\1\2.transpose "),
        (r"[⟨⟪]\s*([^⟨⟩⟪⟫,]+),\s*([^⟨⟩⟪⟫,]+)[⟩⟫](?:_ℝ)?", r" inner ℝ (\1) (\2) "),
    )
)
_EXPONENTIAL: Final = re.compile(rf"(?<![\w'\\])e\s*\^\s*{_TERM}")
_EXPONENTIAL_BEGINS: Final = re.compile(r"(?<![\w'\\])e\s*\^")
_LETTER_E: Final = re.compile(r"(?<![\w'\\])e(?!\s*\^)(?!\w)")
_POWER: Final = re.compile(
    rf"\b([a-z]{{2,6}})\s*(?:\^\s*([234])|(²)|(³))\s*(?:{_BRACKETED}|(?<=[\s²³])\s*(\w+)|([A-Za-zα-ω]))"
)
"""The number e with its exponent, another e, and a function with the exponent of its value, as in sin² x."""

_TYPED_BINDER: Final = re.compile(r"([∀∃]) ([\w, ]+?) ∈ [ℕℤℚℝℂ]\s*[,:.]?")
_BINDER: Final = re.compile(r"([∀∃]) ?((?:[A-Za-z]\w?)(?:(?: |, ?)[A-Za-z]\w?(?![\w(]))*) ?[:.,](?=\s)")
_IF: Final = re.compile(r"\b[Ii]f (.+?),? (?:then|we have) (.+)")
_IS: Final = re.compile(r"\b([A-Za-z]) (?:is|are) (?:an? )?([a-z]{3,})\b(?! [a-z]{3})")

_RELATION: Final = re.compile(PROPOSITION.pattern.replace("[", "[→"))
_PROSE: Final = re.compile(r"[A-Za-zÀ-ÿ]{2,}(?:[-'’][A-Za-z]+)*")
_LOOSE: Final = frozenset("∧∨→↔∀∃¬,:;.?!=")
"""What cannot stand at the end of a formula, nor, but for the quantifiers and ¬, at its beginning."""

MOST_PROSE: Final = 10
"""Words around a formula; in a longer text a formula is one thing of many that are said."""

_SPANNING: Final = frozenset("∃∑∏∫⋃⋂↦")
"""Behind one of these a comma belongs to the formula."""


def with_words(text: str) -> str:
    """A text with symbols for the words and ASCII signs that mean them."""
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    text = _POWER.sub(_power, text)
    if has_exponential(text):
        text = _EXPONENTIAL.sub(r" exp (\1\2) ", text)
    text = one_line(text)
    text = _TYPED_BINDER.sub(lambda match: f"{match[1]} {match[2].replace(',', ' ')}, ", text)
    return _BINDER.sub(lambda match: f"{match[1]} {match[2].replace(',', ' ')}, ", text)


def has_exponential(text: str) -> bool:
    """Whether a text holds the number e, and that letter for nothing else."""
    return _EXPONENTIAL_BEGINS.search(text) is not None and _LETTER_E.search(text) is None


def _power(match: re.Match[str]) -> str:
    if match[1] not in FUNCTIONS:
        return match[0]
    exponent = match[2] or ("2" if match[3] else "3")
    argument = f"({match[5]})" if match[5] is not None else match[6] or match[7]
    return f" {match[1]} {argument} ^ {exponent} "


def is_sentence(text: str) -> bool:
    """Whether something stands in a text, seen by `with_words`, that no formula has."""
    return "`" in text or any(map(_is_prose, TOKEN.findall(text)))


def formulas_within(text: str) -> Iterator[str]:
    """The formulas in a sentence that `with_words` has seen, the most complete first; none in prose."""
    if sum(map(_is_prose, TOKEN.findall(text))) > MOST_PROSE:
        return
    conditional = _IF.search(text)
    if conditional is not None:
        said = _IS.sub(lambda match: f"{match[2].capitalize()} {match[1]}", conditional[1])
        hypotheses = " → ".join(part.strip() for part in re.split(r" ∧ |, ", said))
        for conclusion in _spans(conditional[2]):
            yield f"{hypotheses} → {conclusion}"
            break
    spans = list(_spans(text))
    if len(spans) > 1:
        yield " → ".join(spans)
    else:
        yield from spans


def without_conjunctions(text: str) -> str | None:
    """A statement whose hypotheses are joined by ∧, with → between them; None for another."""
    depth, last = 0, -1
    places: list[int] = []
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character == "→":
            last = place
        elif depth == 0 and character in "∨↔∃":
            return None
        elif depth == 0 and character == "∧":
            places.append(place)
    places = [place for place in places if place < last]
    if not places:
        return None
    return "".join("→" if place in places else character for place, character in enumerate(text))


def _spans(text: str) -> Iterator[str]:
    """Runs of what is no prose that state something."""
    run: list[str] = []
    tokens = (*TOKEN.findall(text), ";")
    for place, token in enumerate(tokens):
        ends = (
            token in "`;?" or (token in ",.:" and not _open(run) and "." not in tokens[place + 1]) or _is_prose(token)
        )
        if not ends:
            run.append(token)
            continue
        while run and run[-1] in _LOOSE:
            run.pop()
        while run and (run[0] in _LOOSE and run[0] not in "∀∃¬"):
            del run[0]
        if len(run) > 2 and any(_RELATION.match(part) for part in run):
            yield " ".join(run)
        run = []


def _open(run: list[str]) -> bool:
    depth = 0
    for token in run:
        depth += (token in "([{⟨") - (token in ")]}⟩")
    return depth > 0 or any(token in _SPANNING for token in run) or (bool(run) and run[0] == "∀") or run[-1:] == ["."]


def _is_prose(token: str) -> bool:
    """Whether a token is a word that no formula has: not a variable, a function, or a short product of letters."""
    if _PROSE.fullmatch(token) is None or token in FUNCTIONS:
        return False
    return token.lower() in _SHORT_PROSE or (len(token) > 3 and not is_variable(token))


_SHORT_PROSE: Final = frozenset(
    (
        *("is", "in", "of", "an", "it", "to", "be", "if", "by", "as", "at", "on", "we", "so", "do", "no", "my", "me"),
        *(
            "the",
            "for",
            "why",
            "how",
            "any",
            "all",
            "are",
            "can",
            "has",
            "its",
            "let",
            "one",
            "two",
            "get",
            "who",
            "use",
        ),
        *("law", "set", "sum", "way", "not", "but", "was", "you", "may", "our", "say", "via", "ring", "now", "does"),
    )
)
