"""What a TPTP problem holds.

In: the text of a problem. Out: the names of its formulas by role, or an error when it would read files or is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sidecar.errors import SidecarError

NAME = r"'(?:[^'\\]|\\.)*'|[A-Za-z0-9_$]+"
"""A formula's name in TPTP: a word, a number, or anything in single quotes."""

_PIECES = re.compile(
    rf"""
      %[^\n]* | /\*.*?\*/                                              # comments
    | \b(?P<kind>fof|cnf|tff|thf|tcf)\s*\(\s*(?P<name>{NAME})\s*,\s*(?P<role>[a-z_]+)
    | \b(?P<include>include)\s*\(
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"                            # quoted: may look like any of the above
    """,
    re.VERBOSE | re.DOTALL,
)

_NOT_A_PREMISE = frozenset({"conjecture", "negated_conjecture", "question", "type", "logic", "unknown"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A TPTP problem.

    Attributes:
        text: The problem itself.
        premises: Names of the formulas that a proof may use, in order, without quotes.
        first_order: Whether every formula is in `fof` or `cnf`. Provers are complete there, so that a claim that the
            goal does not follow can be believed.
    """

    text: str
    premises: tuple[str, ...]
    first_order: bool


def read_problem(text: str) -> Problem:
    """Look a problem over before any prover does.

    Raises:
        SidecarError: `bad_request` for a problem without formulas, or one that includes files: a request must not
            make a prover read the disk.
    """
    premises: dict[str, None] = {}
    kinds: set[str] = set()
    for piece in _PIECES.finditer(text):
        if piece["include"]:
            raise SidecarError(
                "bad_request",
                f"the problem includes a file (character {piece.start()})",
                field="problem",
                hint="send the included formulas as part of the problem",
            )
        if piece["kind"]:
            kinds.add(piece["kind"])
            if piece["role"] not in _NOT_A_PREMISE:
                premises[plain_name(piece["name"])] = None
    if not kinds:
        raise SidecarError(
            "bad_request",
            f"no TPTP formula in {len(text)} characters",
            field="problem",
            hint="send annotated formulas, such as `fof(name, axiom, p).`",
        )
    return Problem(text, tuple(premises), kinds <= {"fof", "cnf"})


def plain_name(name: str) -> str:
    """A formula's name without quotes: `'a b'` and `a` are written with and without, and mean the same."""
    if name.startswith("'"):
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name
