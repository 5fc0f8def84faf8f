"""Formulas up to the names of variables.

In: a statement, or a question that may be a formula (Lean, LaTeX, ASCII) or a pasted declaration. Out: spellings in
which variables are numbered by first use, so that `x + y = y + x` and the statement `a + b = b + a` are spelled alike;
`formula_tokens.py` says what else is alike.

What matches hundreds of statements is no formula: one without a variable that repeats has to hold some constants or
operators. Indexes hold spellings: who changes a rule here raises `sidecar.index.manifest.FORMAT`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sidecar.text.clean import one_line
from sidecar.text.declaration import Binder, Statement, parse_premise
from sidecar.text.formula_tokens import MARK, PROPOSITION, formula_tokens, is_word, outside
from sidecar.text.goal import parse_goal
from sidecar.text.query import without_latex

LONGEST: Final = 1_000
MOST_TOKENS: Final = 96
"""Letters and tokens; nobody types a longer formula, and longer statements have no spelling."""

FEWEST_TOKENS: Final = 3
FEWEST_OF_A_SIDE: Final = 5

FEWEST_FIXED: Final = 3
"""Constants, operators and numerals of a formula in which no variable repeats; one less where there is no numeral."""

_ASCII: Final = (
    *(("<->", "↔"), ("<=>", "↔"), ("/\\ ", "∧ "), ("\\/ ", "∨ "), ("->", "→"), ("⟹", "→"), ("⇒", "→"), ("⇔", "↔")),
    *(("²", "^2"), ("³", "^3"), ("∕", "/"), ("−", "-"), ("⋅", "*"), ("·", "*"), ("∗", "*")),
)
"""What people type for symbols."""

_OPERATORS: Final = (
    (re.compile(r"(?<![<>=!])>=(?![=>])"), "≥"),
    (re.compile(r"(?<![<>=!])<=(?![=>])"), "≤"),
    (re.compile(r"(?<![<>=!])!=(?!=)"), "≠"),
    (re.compile(r"\\[()\[\],;:! ]"), " "),
    (re.compile(r"\^ *(?:\{ *- *1 *\}|\( *- *1 *\)|-1(?!\d))"), "⁻¹"),
    (re.compile(r"\^ *\{([^{}]*)\}"), r"^(\1)"),
    (re.compile(r"(∑|∏|⋃|⋂|\\(?:sum|prod|bigcup|bigcap))\s*_\s*\{([^{}]*)\}"), r"\1 \2, "),
    (re.compile(r"_\{(\w)\}"), r"_\1"),
    (re.compile(r"\\[dt]?binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"choose (\1) (\2)"),
    (re.compile(r"([∑∏]\s*\w+) in "), r"\1 ∈ "),
)
_DIVIDES: Final = re.compile(r"(?<=[\w)]) \| (?=[\w(])")
_POWER: Final = re.compile(r"\b([a-z]{2,6})\s*\^\s*(\d+)\s+(\w+|\([^()]*\))")
"""A function with the exponent of its value, as in sin² x."""

_PASTED: Final = re.compile(
    r"\s*(?:/--.*?-/\s*)?(?:@\[[^\]]*\]\s*)?(?:(?:public|private|protected|noncomputable)\s+)*"
    r"(?:(?=(?:theorem|lemma|example|axiom)\s.*:)|(?:have|show|suffices)\s+(?=\w+\s*:\s))",
    re.DOTALL,
)
_KEYWORDS: Final = ("theorem", "lemma", "example", "axiom")
_BARE_BINDERS: Final = re.compile(
    r"\s*(?:\([^()]* : [^()]*\)|\{[^{}|]* : [^{}|]*\})(?:\s*[(\[{⦃][^()\[\]{}⦃⦄]*[)\]}⦄])*\s*:\s"
)
_PROOF: Final = re.compile(r"\s:=(?:\s.*|by\b.*)?$|:=by\b.*$", re.DOTALL)
_HYPHEN: Final = re.compile(r"(?<=\w)-(?=[^\W\d]{2})")
_OPERATOR: Final = re.compile(r"[^\w\s()\[\]{},.;:!?'\"⟨⟩↑⇑↥@$`]|λ|\b(?:forall|exists)\b")
_PUNCTUATION: Final = frozenset("()[]{},.;:!?'\"⟨⟩")
_LOOSER_THAN_EQUATIONS: Final = frozenset(("→", "∧", "∨", "∀", "∃", "∃!", "∀ᶠ", "∃ᶠ", "¬", "fun", "if", "let"))
_LOOSER_THAN_EQUIVALENCES: Final = frozenset(("∀", "∃", "∃!", "∀ᶠ", "∃ᶠ", "fun", "if", "let"))
"""What, outside all brackets, makes `=` or `↔` a part of something else: anywhere, or before it."""


class Formulas(NamedTuple):
    """Spellings of a statement or a question; equal ones mean the same formula.

    Attributes:
        exact: Of all of it, with the brackets as they stand.
        bare: Of all of it, without brackets, of which Lean prints fewer than people write.
        conclusion: Without brackets, of what a statement concludes from hypotheses; of all of a question.
        sides: Without brackets, of the sides of an equation or equivalence; of all of a question that is neither.
    """

    exact: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    conclusion: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()


def statement_formulas(statement: Statement) -> Formulas:
    """Spellings of a statement: its hypotheses, with → before the conclusion."""
    conclusion, implied = _read_statement(statement)
    sides = () if conclusion is None else tuple(dict.fromkeys(conclusion.sides()))
    whole = conclusion if implied is None else implied
    return Formulas(
        () if whole is None else (whole.exact(),),
        () if whole is None else (whole.bare(),),
        () if implied is None or conclusion is None or not conclusion.says else (conclusion.bare(),),
        sides,
    )


def question_formulas(question: str) -> Formulas:
    """Spellings of a question, also with the sides exchanged; none for one in words.

    Read as it stands; `formula_readings.py` knows what else its author may mean.
    """
    if len(question) > 4 * LONGEST:
        return Formulas()
    pasted = pasted_statement(question)
    if pasted is None:
        return formula_spellings(with_symbols(one_line(question)))
    conclusion, implied = _read_statement(pasted)
    whole = conclusion if implied is None else implied
    return Formulas() if whole is None else _spellings(whole, conclusion, ())


def formula_spellings(text: str, bound: Container[str] = ()) -> Formulas:
    """Spellings of a formula in Lean's symbols, also with the sides exchanged; none where there is no formula.

    Args:
        text: The formula, on one line.
        bound: Names that are variables besides single letters.
    """
    whole = _Formula.read(text, bound)
    if whole is None:
        return Formulas()
    return _spellings(whole, whole, () if whole.relation or len(whole.tokens) < FEWEST_OF_A_SIDE else (whole.bare(),))


def _spellings(whole: _Formula, conclusion: _Formula | None, sides: tuple[str, ...]) -> Formulas:
    found = [whole, *whole.turned()]
    last = [] if conclusion is None or not conclusion.says else [conclusion, *conclusion.turned()]
    return Formulas(
        tuple(each.exact() for each in found),
        tuple(each.bare() for each in found),
        tuple(each.bare() for each in last),
        sides,
    )


def _read_statement(statement: Statement) -> tuple[_Formula | None, _Formula | None]:
    """The conclusion, and with hypotheses before it if there are any."""
    bound = {name.rstrip("✝") for binder in statement.binders for name in binder.names}
    said = statement.type.replace("=>", "↦")
    conclusion = _Formula.read(said, bound, silent=True)
    shown = set() if conclusion is None else {token[1:] for token in conclusion.tokens if token[0] == MARK}
    hypotheses = [
        binder.type.replace("=>", "↦")
        for binder in statement.binders
        if len(binder.names) == 1
        and (binder.names[0].startswith(("h", "H")) or PROPOSITION.search(binder.type))
        and binder.names[0] not in shown
    ]
    if not hypotheses:
        return (conclusion if conclusion is not None and conclusion.says else None), None
    return conclusion, _Formula.read(" → ".join([*hypotheses, said]), bound)


def pasted_statement(question: str) -> Statement | None:
    """The statement of a goal, or of a declaration with or without its beginning; None for anything else."""
    if "⊢" in question:
        goal = parse_goal(question)
        binders = tuple(Binder(hypothesis.names, hypothesis.type) for hypothesis in goal.hypotheses)
        return Statement("", "", binders, "", goal.target, "")
    found = _PASTED.match(question)
    if found is not None:
        text = question[found.end() :]
        return parse_premise(_PROOF.sub("", text if text.startswith(_KEYWORDS) else f"theorem {text}"))
    if _BARE_BINDERS.match(question):
        return parse_premise(f"theorem t {_PROOF.sub('', question)}")
    return None


def with_symbols(text: str) -> str:
    """A question with the symbols that its author means."""
    text = text.strip().strip('"“”').rstrip(".?;")
    for typed, symbol in _ASCII:
        text = text.replace(typed, symbol)
    text = text.replace("=>", "↦" if "fun" in text or "λ" in text else "→")
    for pattern, symbol in _OPERATORS:
        text = pattern.sub(symbol, text)
    if "{" not in text:
        text = _DIVIDES.sub(" ∣ ", text)
    return _HYPHEN.sub(" ", _POWER.sub(r"\1 \3 ^ \2", without_latex(text)))


class _Formula(NamedTuple):
    """A formula in tokens.

    Attributes:
        tokens: See `formula_tokens`.
        relation: Place of `=` or `↔` between its sides; 0 where it is no equation or equivalence.
    """

    tokens: tuple[str, ...]
    relation: int

    @classmethod
    def read(cls, text: str, bound: Container[str], *, silent: bool = False) -> _Formula | None:
        """The formula in a text; None where there is none, or too long a one, or (unless silent) it says too little."""
        if len(text) > LONGEST or _OPERATOR.search(text) is None:
            return None
        tokens = tuple(formula_tokens(text, bound))
        if not FEWEST_TOKENS <= len(tokens) <= MOST_TOKENS:
            return None
        if all(is_word(token) or token in _PUNCTUATION for token in tokens):
            return None
        formula = cls(tokens, _relation(tokens))
        return formula if silent or formula.says else None

    @property
    def says(self) -> bool:
        """Whether few statements are this formula."""
        return _says(self.tokens)

    def exact(self) -> str:
        """With the brackets that it has."""
        return _numbered(self.tokens)

    def bare(self) -> str:
        """Without any brackets."""
        return _numbered(_without_brackets(self.tokens))

    def sides(self) -> Iterator[str]:
        """Spellings, without brackets, of its sides that say something."""
        if self.relation:
            for side in (self.tokens[: self.relation], self.tokens[self.relation + 1 :]):
                bare = _without_brackets(side)
                if len(bare) >= FEWEST_OF_A_SIDE and _says(bare):
                    yield _numbered(bare)

    def turned(self) -> Iterator[_Formula]:
        """The equation or equivalence with its sides exchanged."""
        if self.relation:
            left, right = self.tokens[: self.relation], self.tokens[self.relation + 1 :]
            yield _Formula((*right, self.tokens[self.relation], *left), len(right))


def _relation(tokens: Sequence[str]) -> int:
    places = list(outside(tokens))
    found = [place for place in places if tokens[place] == "↔"]
    if found:
        looser = any(tokens[place] in _LOOSER_THAN_EQUIVALENCES for place in places if place < found[-1])
    else:
        found = [place for place in places if tokens[place] == "="]
        looser = any(tokens[place] in _LOOSER_THAN_EQUATIONS for place in places)
    return found[0] if len(found) == 1 and not looser and found[0] < len(tokens) - 1 else 0


def _says(tokens: Sequence[str]) -> bool:
    variables = [token for token in tokens if token[0] == MARK]
    fixed = sum(token[0] != MARK and token not in _PUNCTUATION for token in tokens)
    numerals = any(token[0].isdigit() for token in tokens)
    return len(set(variables)) < len(variables) or fixed >= (FEWEST_FIXED if numerals else FEWEST_FIXED - 1)


def _without_brackets(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token not in "()"]


def _numbered(tokens: Iterable[str]) -> str:
    numbers: dict[str, str] = {}
    return " ".join(
        numbers.setdefault(token, f"#{len(numbers) + 1}") if token[0] == MARK else token for token in tokens
    )
