"""Formulas up to the names of variables.

In: a statement, or a question that may be a formula (Lean, LaTeX, ASCII). Out: spellings in which variables are
numbered by first use and constants keep the last component of their names, so that `x + y = y + x` and the statement
`a + b = b + a` are spelled alike.

What a person leaves out is left out of both: types of bound variables and of terms, coercion arrows, leading ∀. There
is a spelling with the brackets as they stand and one without, because Lean prints fewer of them than people write.
`a ≥ b` is spelled as `b ≤ a`. Indexes hold spellings: who changes a rule here raises `sidecar.index.manifest.FORMAT`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sidecar.text.clean import one_line
from sidecar.text.declaration import Statement, parse_premise
from sidecar.text.query import without_latex

LONGEST: Final = 1_000
MOST_TOKENS: Final = 96
"""Letters and tokens; nobody types a longer formula, and longer statements have no spelling."""

FEWEST_TOKENS: Final = 3

_ASCII: Final = (
    ("<->", "↔"),
    ("<=>", "↔"),
    ("/\\ ", "∧ "),
    ("\\/ ", "∨ "),
    ("<=", "≤"),
    (">=", "≥"),
    ("!=", "≠"),
    ("->", "→"),
    ("=>", "↦"),
    ("²", "^2"),
    ("³", "^3"),
    ("∕", "/"),
    ("−", "-"),
    ("⋅", "*"),
)
"""What people type for symbols, the longest first."""

_PASTED: Final = re.compile(
    r"\s*(?:(?:private|protected|noncomputable) )*(?=(?:theorem|lemma|example|instance|axiom) .*:)", re.DOTALL
)
_WORDS: Final = {"forall": "∀", "exists": "∃", "λ": "fun"}
_TYPED_TERM: Final = re.compile(r"\(([^():]+) : [^()]*\)")
_POWER: Final = re.compile(r"\b([a-z]{2,6})\s*\^\s*(\d+)\s+(\w+|\([^()]*\))")
"""A function with the exponent of its value, as in sin² x."""

_SINGLE: Final = re.compile(r"\(\s*([\w.'!?]+)\s*\)")
_TYPED_VARIABLE: Final = re.compile(r"(∀|∃!?|∑|∏|∫|λ|\bfun|\bforall|\bexists)([^,:↦()]*) : [^,:↦()]*(?=,|↦)")
_TOKEN: Final = re.compile(r"«[^«»]*»|⁻¹|[^\W\d](?:[\w'!?]|\.(?=[^\W\d]))*|\d+(?:\.\d+)?|\S")
_VARIABLE: Final = re.compile(r"(?:[A-Za-zα-κμ-ορ-ωΓΔΘΛΞΦΨΩ𝒜-𝒵𝕜]|[a-z]s)[0-9₀-₉']*")
"""Letters that stand for something; not π, λ, Σ, Π, nor letters of sets of numbers."""

_GREEK: Final = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "mu"),
        *("nu", "xi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega"),
    )
)
_UNSEEN: Final = frozenset("↑⇑↥@$`")
_PUNCTUATION: Final = frozenset("()[]{},.;:!?'\"-⟨⟩")
_OPENING, _CLOSING = frozenset("([{⟨"), frozenset(")]}⟩")
_LOOSER: Final = frozenset("→∧∨∀∃")
"""What binds less than `=`: where one stands outside all brackets, an equation is only a part."""

_TURNED: Final = {"≥": "≤", ">": "<", "⊇": "⊆", "⊃": "⊂"}
_PROPOSITION: Final = re.compile("[=≠≤≥<>∈∉⊆⊂∣≡↔¬]")
_OPERATOR: Final = re.compile(r"[^\w\s()\[\]{},.;:!?'\"⟨⟩↑⇑↥@$`-]|λ|\b(?:forall|exists)\b")
_MARK: Final = "\0"


class Formulas(NamedTuple):
    """Spellings of a statement or a question; equal ones mean the same formula.

    Attributes:
        whole: Of all of it, the surest first.
        sides: Of its sides, when it is an equation or an equivalence; of all of a question that is neither, and so may
            be a side.
        turned: Of it with its sides exchanged, when it is an equation or an equivalence.
    """

    whole: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()


def statement_formulas(statement: Statement) -> Formulas:
    """Spellings of a statement: of its hypotheses with → before the conclusion, and of the conclusion alone."""
    bound = {name for binder in statement.binders for name in binder.names}
    conclusion = _Formula.read(statement.type.replace("=>", "↦"), bound)
    if conclusion is None:
        return Formulas()
    hypotheses = [
        binder.type
        for binder in statement.binders
        if len(binder.names) == 1
        and _PROPOSITION.search(binder.type)
        and f"{_MARK}{binder.names[0]}" not in conclusion.tokens
    ]
    implied = None
    if hypotheses:
        implied = _Formula.read(" → ".join([*hypotheses, statement.type]).replace("=>", "↦"), bound)
    whole = (*(() if implied is None else implied.spellings()), *conclusion.spellings())
    return Formulas(tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(conclusion.sides())))


def question_formulas(question: str) -> Formulas:
    """Spellings of a question; none for one in words. Of a pasted declaration, those of its statement."""
    pasted = _PASTED.match(question)
    if pasted is not None:
        statement = parse_premise(question[pasted.end() :].partition(" := ")[0])
        return statement_formulas(statement)._replace(sides=())
    formula = _Formula.read(_POWER.sub(r"\1 \3 ^ \2", without_latex(_symbols(question))), ())
    if formula is None:
        return Formulas()
    if formula.has_sides:
        return Formulas(formula.spellings(), (), formula.exchanged(formula.tokens[formula.relation]).spellings())
    return Formulas(formula.spellings(), formula.spellings()[-1:])


class _Formula(NamedTuple):
    """A formula in tokens.

    Attributes:
        tokens: Symbols, numerals, names and, behind `_MARK`, variables.
        relation: Place of the relation between its sides; 0 where it has no sides.
    """

    tokens: tuple[str, ...]
    relation: int

    @classmethod
    def read(cls, text: str, bound: Container[str]) -> _Formula | None:
        """The formula in a text; None where there is none, or too long a one."""
        if len(text) > LONGEST or _OPERATOR.search(text) is None:
            return None
        tokens = tuple(_unquantified(_unbracketed(list(_tokens(one_line(text), bound)))))
        if not FEWEST_TOKENS <= len(tokens) <= MOST_TOKENS:
            return None
        if all(_is_word(token) or token in _PUNCTUATION for token in tokens):
            return None
        outside = list(_outside(tokens))
        looser = any(tokens[place] in _LOOSER for place in outside)
        for relations in ("↔",) if looser else ("↔", "=", "≥>⊇⊃"):
            places = [place for place in outside if tokens[place] in relations]
            if len(places) == 1 and 0 < places[0] < len(tokens) - 1:
                formula = cls(tokens, places[0])
                return formula if formula.has_sides else formula.exchanged(_TURNED[tokens[places[0]]])
        return cls(tokens, 0)

    @property
    def has_sides(self) -> bool:
        """Whether it is an equation or an equivalence."""
        return self.tokens[self.relation] in "=↔"

    def spellings(self) -> tuple[str, ...]:
        """With the brackets that it has, and without any."""
        spelled = _numbered(self.tokens)
        if "(" not in self.tokens and ")" not in self.tokens:
            return (spelled,)
        return spelled, _numbered(_bare(self.tokens))

    def sides(self) -> Iterator[str]:
        """Spellings, without brackets, of its sides that are no single term."""
        if not self.has_sides:
            return
        for side in (self.tokens[: self.relation], self.tokens[self.relation + 1 :]):
            bare = _bare(side)
            if len(bare) >= FEWEST_TOKENS and not all(map(_is_word, bare)):
                yield _numbered(bare)

    def exchanged(self, relation: str) -> _Formula:
        """The formula with its sides exchanged and another relation between them."""
        left, right = self.tokens[: self.relation], self.tokens[self.relation + 1 :]
        return _Formula((*right, relation, *left), len(right))


def _symbols(text: str) -> str:
    for typed, symbol in _ASCII:
        text = text.replace(typed, symbol)
    return text


def _tokens(text: str, bound: Container[str]) -> Iterator[str]:
    if " : " in text:
        text = _TYPED_VARIABLE.sub(r"\1\2", _TYPED_TERM.sub(r"(\1)", text))
    if "(" in text:
        text = _SINGLE.sub(r" \1 ", text)
    for token in _TOKEN.findall(text):
        if token in _UNSEEN:
            continue
        if token in bound or _is_letter(token):
            yield _MARK + token
            continue
        head, dot, rest = token.partition(".")
        if not dot or not head or token[0] == "«" or head[0].isdigit():
            yield _WORDS.get(token, token)
        elif head in bound or _is_letter(head):
            yield _MARK + head
            yield f".{rest}"
        else:
            last = token.rpartition(".")[2]
            yield _MARK + last if last in bound or _is_letter(last) else last


@lru_cache(maxsize=1 << 14)
def _is_letter(token: str) -> bool:
    return _VARIABLE.fullmatch(token) is not None or token in _GREEK


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == _MARK


def _bare(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token not in "()"]


def _unbracketed(tokens: list[str]) -> list[str]:
    """Without brackets around all of it."""
    while len(tokens) > 1 and tokens[0] == "(" and next(_outside(tokens[1:]), 0) == len(tokens) - 2:
        tokens = tokens[1:-1]
    return tokens


def _unquantified(tokens: list[str]) -> list[str]:
    """Without leading ∀ that only name variables."""
    while tokens and tokens[0] == "∀" and "," in tokens:
        end = tokens.index(",")
        if not all(_is_word(token) or token in "()" for token in tokens[1:end]):
            break
        tokens = tokens[end + 1 :]
    return tokens


def _outside(tokens: Sequence[str]) -> Iterator[int]:
    """Places outside all brackets; in a text that closes more than it opens, the first such bracket is one."""
    depth = 0
    for place, token in enumerate(tokens):
        if token in _CLOSING and depth > 0:
            depth -= 1
        elif token in _OPENING:
            depth += 1
        elif depth == 0:
            yield place


def _numbered(tokens: Iterable[str]) -> str:
    numbers: dict[str, str] = {}
    return " ".join(
        numbers.setdefault(token, f"#{len(numbers) + 1}") if token[0] == _MARK else token for token in tokens
    )
