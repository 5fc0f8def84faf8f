"""The one table that says what a declaration may serve as: premise, search target, or nothing.

In: a declaration, and the constants that make propositions. Out: its `Role` with the reason, and its `Deprecation`.

The table; the first row that fits decides:

| declaration | premise | search target |
|---|---|---|
| auxiliary or private name, or one with control characters (`auxiliary.py`) | no, hidden | no, hidden |
| from a meta-programming library (`META_LIBRARIES`) | no | yes |
| axiom that proves everything or stands for compiled code (`UNSOUND`) | no | yes |
| theorem, other axiom | yes | yes |
| field that states a proposition; constructor of an inductive proposition | yes | yes |
| definition or abbreviation for the meta level, syntax, library notes (its statement says so) | no | yes |
| definition, abbreviation from a tactic module (`TACTIC_MODULES`) | no | yes |
| definition, abbreviation with equations | yes | yes |
| instance | only when asked for | yes |
| parent projection, or constructor of a structure, without a docstring | no | no |
| anything else (structures, classes, inductives, data fields, data constructors, opaque constants) | no | yes |

A declaration that is no target and not hidden can still be found by its exact name.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from sidecar.corpus.auxiliary import auxiliary_reason
from sidecar.corpus.propositions import CORE, states_proposition
from sidecar.corpus.records import Declaration

META_LIBRARIES: Final = (
    "Lean",
    "Lake",
    "Aesop",
    "Qq",
    "ProofWidgets",
    "Plausible",
    "ImportGraph",
    "LeanSearchClient",
)
"""Root modules of libraries for writing Lean programs: nothing of theirs proves a goal."""

TACTIC_MODULES: Final = (
    "Batteries.CodeAction",
    "Batteries.Lean",
    "Batteries.Linter",
    "Batteries.Tactic",
    "Batteries.Util",
    "Mathlib.Lean",
    "Mathlib.Tactic",
    "Mathlib.Util",
    "Std.Tactic",
)
"""Modules of tactics and tools: their theorems may be premises, their definitions are not."""

UNSOUND: Final = frozenset(
    {
        "Lean.ofReduceBool",
        "Lean.ofReduceNat",
        "Lean.trustCompiler",
        "Quot.lcInv",
        "isScalarObj",
        "lcAny",
        "lcCast",
        "lcErased",
        "lcProof",
        "lcUnreachable",
        "lcVoid",
        "sorryAx",
    }
)
"""Axioms that no honest proof may use."""

_META_CONSTANTS: Final = ("Lean.", "Batteries.Util.LibraryNote")
_OBJECT_LEVEL: Final = ("Lean.Grind.", "Lean.Order.", "Lean.Omega.")
_DEPRECATED: Final = re.compile(
    r'deprecated(?:\s+(?P<name>(?:«[^»]*»|[^\s"(«])+))?(?:\s+"(?P<message>(?:[^"\\]|\\.)*)")?'
    r'(?:\s*\(since\s*:=\s*"(?P<since>[^"]*)"\))?\s*'
)


@dataclass(frozen=True, slots=True)
class Role:
    """What a declaration may serve as.

    Attributes:
        premise: Premise selection may offer it.
        target: Search by meaning may find it.
        hidden: It surfaces nowhere; neither `premise` nor `target` then holds.
        reason: The row of the table that decided, for people.
    """

    premise: bool
    target: bool
    hidden: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Deprecation:
    """What a `deprecated` attribute says.

    Attributes:
        replacement: Name to use instead, if one is given; it need not be in the corpus.
        message: Advice in words, `""` when there is none.
        since: Date of the deprecation as written, `""` when there is none.
    """

    replacement: str | None
    message: str
    since: str


def propositional_constants(declarations: Iterable[Declaration]) -> frozenset[str]:
    """Names of the constants whose own statement ends in `Prop`, and those of Lean's core.

    Args:
        declarations: A whole corpus, read once; `role` wants the result.
    """
    return CORE | {
        declaration.name
        for declaration in declarations
        if declaration.signature.endswith((" : Prop", "→ Prop")) and declaration.kind not in ("theorem", "axiom")
    }


def role(declaration: Declaration, propositional: Container[str], *, instances: bool = False) -> Role:
    """What a declaration may serve as, by the table above.

    Args:
        declaration: Any declaration of a corpus.
        propositional: Result of `propositional_constants` for that corpus.
        instances: Whether instances count as premises.
    """
    reason = auxiliary_reason(declaration)
    if reason is not None:
        return Role(False, False, True, reason)
    kind = declaration.kind
    level = _level(declaration.module)
    if level == "meta":
        return Role(False, True, False, "meta-programming library")
    if kind in ("theorem", "axiom"):
        if declaration.name in UNSOUND:
            return Role(False, True, False, "axiom that no proof may use")
        return Role(True, True, False, kind)
    if kind in ("field", "ctor"):
        if declaration.parent in propositional or (kind == "field" and states_proposition(declaration, propositional)):
            return Role(True, True, False, f"{kind} that states a proposition")
        if kind == "ctor" and not declaration.docstring and _of_structure(declaration):
            return Role(False, False, False, "constructor of a structure")
        return Role(False, True, False, f"{kind} that holds data")
    if kind in ("def", "abbrev"):
        return _role_of_definition(declaration, level)
    if kind == "instance":
        return Role(instances, True, False, "instance")
    if kind == "parent_proj":
        return Role(False, bool(declaration.docstring), False, "parent projection")
    return Role(False, True, False, kind)


def _role_of_definition(declaration: Declaration, level: Literal["meta", "tactic", "object"]) -> Role:
    if any(
        constant.startswith(_META_CONSTANTS) and not constant.startswith(_OBJECT_LEVEL)
        for constant in declaration.constants
    ):
        return Role(False, True, False, "definition for the meta level")
    if level == "tactic":
        return Role(False, True, False, "definition of a tactic module")
    if not declaration.has_equations:
        return Role(False, True, False, "definition without equations")
    return Role(True, True, False, "definition with equations")


@lru_cache(maxsize=65_536)
def _level(module: str) -> Literal["meta", "tactic", "object"]:
    return "meta" if _within(module, META_LIBRARIES) else "tactic" if _within(module, TACTIC_MODULES) else "object"


def _within(module: str, roots: tuple[str, ...]) -> bool:
    return any(module == root or module.startswith(root + ".") for root in roots)


def _of_structure(declaration: Declaration) -> bool:
    # A structure's constructor is called `mk` unless its author gave it a name, and then it is worth finding.
    return declaration.parent is not None and declaration.name == f"{declaration.parent}.mk"


def deprecation(declaration: Declaration) -> Deprecation | None:
    """What the declaration's `deprecated` attribute says, or None when it has none."""
    for attribute in declaration.attributes:
        found = _DEPRECATED.fullmatch(attribute)
        if found:
            return Deprecation(found["name"], found["message"] or "", found["since"] or "")
        if attribute.startswith(("deprecated ", 'deprecated"')):
            return Deprecation(None, attribute.removeprefix("deprecated").strip(), "")
    return None
