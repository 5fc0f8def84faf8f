"""Lean problems, and whether a solution still proves what its problem states.

In: a file of problems, the text of a solution. Out: `Problem` records; what is wrong with the text, if anything.

A solution may put theorems and lemmas before the statement, fill the proof in, and add what it likes behind it. Header
and statement must stay as they are, and what could change their meaning, hide an axiom or print a message that Lean did
not mean is refused by its word, comments aside. That is stricter than need be: a solution that opens a namespace
counts as changed. What is counted as proved is proved.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WORD_END: Final = r"(?![\w.!?'])"

NOWHERE: Final = (
    *("axiom", "opaque", "unsafe", "implemented_by", "extern", "csimp", "initialize", "builtin_initialize"),
    *("elab", "elab_rules", "by_elab", "macro", "macro_rules", "syntax", "declare_syntax_cat", "simproc", "dsimproc"),
    *("notation", "notation3", "infix", "infixl", "infixr", "prefix", "postfix", "binder_predicate"),
    *("run_cmd", "run_elab", "run_meta", "run_tac", "#eval", "#exit", "debug.skipKernelTC", "addDecl"),
)
"""Words that a solution may not hold unless its problem does."""

NOT_BEFORE: Final = (
    *(
        "import",
        "open",
        "variable",
        "universe",
        "namespace",
        "section",
        "end",
        "include",
        "omit",
        "export",
        "alias",
        "local",
    ),
    *("scoped", "def", "abbrev", "structure", "inductive", "class", "instance", "attribute", "set_option", "deriving"),
)
"""Words that may not stand between header and statement: the statement could mean something else behind them."""

_MODIFIERS: Final = (
    r"(?:(?:open|set_option|omit|include|variable)\s[^:=]*?\sin\s+)*"
    r"(?:@\[[^\]]*\]\s*)*(?:(?:protected|private|nonrec|noncomputable)\s+)*"
)

_PIECES: Final = re.compile(
    r"""
      (?P<string>r"[^"]*" | r(?P<hashes>\#+)".*?"(?P=hashes) | "(?:[^"\\]|\\.)*")
    | (?P<character>(?<![\w'])'(?:[^'\\]|\\[^x u]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4})')
    | (?P<line>--[^\n]*)
    | (?P<open>/-) | (?P<close>-/)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to prove.

    Attributes:
        id: Its name; safe as a folder.
        theorem: Full name of the theorem.
        text: A Lean file that states it, with one `sorry` in place of its proof.
        header, statement: What stands before the statement, and the statement up to `:=`; both without comments, on one
            line. Attributes, modifiers and `open … in` belong to the statement.
    """

    id: str
    theorem: str
    text: str
    header: str
    statement: str

    @classmethod
    def of(cls, id_: str, theorem: str, text: str) -> Problem:
        """Find header and statement.

        Raises:
            ValueError: When the text has not one `sorry`, or no statement of the theorem before it.
        """
        if not _SAFE.fullmatch(id_):
            raise ValueError(f"the id {id_!r} is no plain word")
        plain = without_comments(text)
        if re.match(r"\s*module\b", plain):
            raise ValueError("a file with the header `module` prints no axioms")
        pieces = re.split(rf"(?<![\w.])sorry{_WORD_END}", plain)
        if len(pieces) != 2:
            raise ValueError(f"{len(pieces) - 1} times `sorry` in place of once")
        # Within a namespace the name is written short.
        names = "|".join(re.escape(part) for part in _suffixes(theorem))
        found = list(re.finditer(rf"(?:^|(?<=\s)){_MODIFIERS}(?:theorem|lemma)\s+(?:{names}){_WORD_END}", pieces[0]))
        if not found:
            raise ValueError(f"nothing states {theorem}")
        start = found[-1].start()
        statement = re.sub(r"\s*:=(?:\s*by)?\s*$", "", pieces[0][start:])
        if statement == pieces[0][start:]:
            raise ValueError("`:=` does not stand before `sorry`")
        return cls(id_, theorem, text, _one_line(pieces[0][:start]), _one_line(statement))

    @property
    def digest(self) -> str:
        """Hash of what is asked."""
        return hashlib.sha256(f"{self.theorem}\n{self.text}".encode()).hexdigest()[:16]

    def fault(self, solution: str) -> str | None:
        """Why a solution does not prove this problem, as far as its text tells; None when Lean may decide."""
        plain = _one_line(without_comments(solution))
        if plain == _one_line(without_comments(self.text)):
            return "unchanged"
        if re.search(rf"(?<![\w.])(?:sorry|admit){_WORD_END}", plain):
            return "sorry"
        # A space before and behind everything makes the rest a matter of whole words.
        plain, header = f" {plain} ", f" {self.header} " if self.header else " "
        if not plain.startswith(header):
            return "changed: the header"
        rest = plain[len(header) - 1 :]
        place = rest.find(f" {self.statement} :=")
        if place < 0:
            return "changed: the statement"
        theirs = _one_line(without_comments(self.text))
        for word in NOWHERE:
            if _holds(plain, word) and not _holds(theirs, word):
                return f"forbidden: {word}"
        for word in NOT_BEFORE:
            if _holds(rest[:place], word):
                return f"changed: {word} before the statement"
        return None


def read_problems(file: Path) -> list[Problem]:
    """Read JSON lines `{"id", "theorem", "text"}`.

    Raises:
        SidecarError: `not_found` for no file; `bad_request` for a row that is no problem, naming its line.
    """
    if not file.is_file():
        raise SidecarError("not_found", f"{file} is not a file", field="problems", hint="give a JSON lines file")
    problems: dict[str, Problem] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            problem = Problem.of(row["id"], row["theorem"], row["text"])
            if problem.id in problems:
                raise ValueError(f"the id {problem.id!r} comes twice")
        except (ValueError, KeyError, TypeError) as error:
            raise SidecarError(
                "bad_request", f"{file.name}, line {number}: {type(error).__name__} {error}", field="problems"
            ) from error
        problems[problem.id] = problem
    return list(problems.values())


def without_comments(text: str) -> str:
    """Lean text with each comment replaced by a space; what looks like a comment within a string stays."""
    kept: list[str] = []
    place = depth = 0
    while found := _PIECES.search(text, place):
        if depth == 0:
            kept.append(text[place : found.start()])
        if depth and found.lastgroup not in ("open", "close"):
            # Within a block comment only its marks count.
            place = found.start() + 1
            continue
        place = found.end()
        if found["open"]:
            depth += 1
        elif found["close"] and depth:
            depth -= 1
            kept.append(" " if depth == 0 else "")
        elif found["line"]:
            kept.append(" ")
        elif depth == 0:
            kept.append(found[0])
    return "".join(kept) + (text[place:] if depth == 0 else "")


def _holds(text: str, word: str) -> bool:
    start = r"(?<![\w.])" if word[0] != "#" else ""
    return re.search(f"{start}{re.escape(word)}{_WORD_END}", text) is not None


def _suffixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def _one_line(text: str) -> str:
    return " ".join(text.split())
