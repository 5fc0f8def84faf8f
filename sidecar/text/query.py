"""Questions and docstrings into words.

In: what a person writes: prose, LaTeX, Lean terms, names, or all of them at once. Out: lower-case words, the same ones
that declarations are spelled with.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.text.clean import one_line
from sidecar.text.symbols import LETTERS
from sidecar.text.words import words

_LATIN: Final = re.compile("[ßæÆœŒøØłŁđĐı]")
"""Letters of people's names that no decomposition takes apart; in a statement they would be words of their own."""

_LATEX: Final[dict[str, str]] = {
    "N": "ℕ",
    "NN": "ℕ",
    "Z": "ℤ",
    "ZZ": "ℤ",
    "Q": "ℚ",
    "QQ": "ℚ",
    "R": "ℝ",
    "RR": "ℝ",
    "C": "ℂ",
    "CC": "ℂ",
    "le": "≤",
    "leq": "≤",
    "leqslant": "≤",
    "ge": "≥",
    "geq": "≥",
    "geqslant": "≥",
    "ne": "≠",
    "neq": "≠",
    "in": "∈",
    "notin": "∉",
    "ni": "∋",
    "subset": "⊂",
    "subseteq": "⊆",
    "supset": "⊃",
    "supseteq": "⊇",
    "cup": "∪",
    "cap": "∩",
    "bigcup": "⋃",
    "bigcap": "⋂",
    "setminus": "\\",
    "emptyset": "∅",
    "varnothing": "∅",
    "times": "×",
    "cdot": "*",
    "div": "/",
    "circ": "∘",
    "oplus": "⊕",
    "otimes": "⊗",
    "bigoplus": "⨁",
    "sum": "∑",
    "prod": "∏",
    "int": "∫",
    "oint": "∮",
    "sqrt": "√",
    "to": "→",
    "rightarrow": "→",
    "longrightarrow": "→",
    "mapsto": "→",
    "implies": "→",
    "Rightarrow": "→",
    "iff": "↔",
    "Leftrightarrow": "↔",
    "forall": "∀",
    "exists": "∃",
    "neg": "¬",
    "lnot": "¬",
    "land": "∧",
    "wedge": "∧",
    "lor": "∨",
    "vee": "∨",
    "mid": "∣",
    "equiv": "≡",
    "cong": "≅",
    "simeq": "≃",
    "sim": "≈",
    "approx": "≈",
    "infty": "∞",
    "partial": "∂",
    "nabla": "∇",
    "top": "⊤",
    "bot": "⊥",
    "sup": "⨆",
    "inf": "⨅",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "lceil": "⌈",
    "rceil": "⌉",
    "langle": "⟨",
    "rangle": "⟩",
    "Vert": "‖",
}
_FORMATTING: Final = (
    "left right big Big bigg Bigg bigl bigr bigm middle mathbb mathbf mathcal mathrm mathfrak mathscr mathit mathsf "
    "text textbf textit texttt emph bf em it rm tt operatorname displaystyle limits nolimits quad qquad dots ldots "
    "cdots vdots overline underline bar hat tilde widetilde widehat begin end label ref cite footnote item"
)
_SILENT: Final = frozenset(_FORMATTING.split())
"""Commands that only format."""

_BLACKBOARD: Final = re.compile(r"\\(?:mathbb|mathbf|Bbb)\s*(?:\{\s*([NZQRC])\s*\}|([NZQRC])(?![A-Za-z]))")
_FRACTION: Final = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_INVERSE: Final = re.compile(r"\^ *(?:\{ *- *1 *\}|-1(?![0-9]))")
_GROUPING: Final = re.compile(r"(?<!\\)[{}]")
_COMMAND: Final = re.compile(r"\\([A-Za-z]+|\|)\*?")
_SET_BAR: Final = re.compile(r"(\\\{[^{}|]{0,200}?)\\mid\b")
_MARKS: Final = re.compile(
    r"[h/\-–$`~\\*'’](?:"
    r"(?<=h)ttps?://[^\s)>\]]+"
    r"|(?<=/)-|(?<=-)/"  # marks of comments
    r"|(?<=[$`~])|(?<=\\)[,;:!%&_#()\[\]{}\\]?"  # mathematics, code, spacing
    r"|(?<=(?<![\w)\]])\*)\*{0,2}(?=\w)|(?<=[\w.]\*)\*{0,2}(?=[\s.,;:!?)]|$)"  # emphasis, but not a product
    r"|(?<=[^\W\d_]{2}[-/–])(?=[^\W\d_]{2})|(?<=\b[^\W\d_]-)(?=[^\W\d_]{2})"  # compound words: left/right, p-adic
    r"|(?<=\w['’])s\b"
    r")"
)
"""What is no part of a question's words. The pattern begins with one set, which makes searching several times faster
than a choice of patterns would."""

_OPENING_BARS: Final = re.compile(r"\\(?:left\s*(\\?\|)|lVert|lvert)\s*")
_CLOSING_BARS: Final = re.compile(r"\s*\\(?:right\s*(\\?\|)|rVert|rvert)")
_ENGLISH_TYPE: Final = re.compile(r"\bType(?= [a-z]{2})")
_ENGLISH_IF: Final = re.compile(r"\b[Ii]f\b")


def query_text(query: str) -> str:
    """Canonical text of a question, a docstring or any other mixed text.

    LaTeX commands become the symbols they draw (`\\mathbb{R}` is ℝ, `\\le` is ≤), marks of formatting are taken off,
    and what remains is spelled by the same rules as statements.
    """
    text = without_latex(_LATIN.sub(lambda match: LETTERS[match[0]], one_line(query)))
    text = _MARKS.sub(" ", text)
    if "Type " in text:
        text = _ENGLISH_TYPE.sub("type", text)
    if ("if" in text or "If" in text) and " else " not in text:
        text = _ENGLISH_IF.sub(" ", text)
    return words(text)


def without_latex(text: str) -> str:
    """A text with the symbols that its LaTeX commands draw, without commands and brackets that only format."""
    if "\\" in text:
        text = _BLACKBOARD.sub(lambda match: f" {_LATEX[match[1] or match[2]]} ", text)
        text = _FRACTION.sub(r"\1 / \2", text)
    if "\\" in text or "$" in text:
        text = _SET_BAR.sub(r"\1|", text)
        text = _GROUPING.sub(" ", _INVERSE.sub("⁻¹", text)).replace("\\{", "{").replace("\\}", "}")
        text = _CLOSING_BARS.sub(_bar, _OPENING_BARS.sub(_bar, text))
        text = _COMMAND.sub(_command, text)
    return text


def _bar(match: re.Match[str]) -> str:
    bar = "|" if match[1] == "|" or match[0].strip().endswith("vert") else "‖"
    return f" {bar}" if match.re is _OPENING_BARS else f"{bar} "


def _command(match: re.Match[str]) -> str:
    name = match[1]
    if name == "|":
        return "‖"  # opens or closes a norm: what stands beside it tells
    if name in _LATEX:
        return f" {_LATEX[name]} "
    return " " if name in _SILENT else f" {name} "
