"""Names that Lean or its macros made, or that cannot be shown.

In: a declaration. Out: why it is auxiliary, or None.

Names are opaque for identity; this is the one place that looks inside them. A name is read component by component,
with dots inside « » left alone: `«foo.match_1»` is one component that a user chose, `foo.«match_1»` is `foo.match_1`
written with more signs than it needs, and `foo.1` has a number that `foo.«1»` has not.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.corpus.records import Declaration

COMPONENT: Final = re.compile("«([^»]*)»?|([^.«]+)")
"""One component of a name: the text inside « », or else the plain text."""

_SUSPECT: Final = re.compile(
    r"(?:^|[.«])(?:_|\d|match_\d|proof_\d|omega_\d|eq_|noConfusion|injEq|sizeOf_spec|congr_simp|hcongr_|ctorIdx"
    r"|toCtorIdx|ctorElim|rec|casesOn|brecOn|below|ibelow|binductionOn)|✝|\[anonymous\]"
)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBERED: Final = re.compile(r"(?:match|proof|omega|hcongr)_\d+")
_EQUATION: Final = re.compile(r"eq_\d+")
_GENERATED: Final = frozenset(
    {
        "congr_simp",
        "ctorElim",
        "ctorElimType",
        "ctorIdx",
        "injEq",
        "noConfusion",
        "noConfusionType",
        "sizeOf_spec",
        "toCtorIdx",
    }
)
_RECURSOR: Final = re.compile(r"(?:rec|recOn|casesOn|brecOn|below|ibelow|binductionOn)(?:_\d+)?")


def auxiliary_reason(declaration: Declaration) -> str | None:
    """Why a declaration must not surface, or None when a person may have written it.

    Rules, on components of the name:

    * one that starts with `_` (`_private`, `_hyg`, `_cstage1`, `_aux_…`), a bare number, or a dagger: internal to Lean;
    * `match_1`, `proof_1`, `omega_1`, `hcongr_3` below another name; `eq_1` at the end, and `eq_def` or `eq_unfold`
      when the statement is about the constant in front of it: made by the elaborator;
    * `noConfusion`, `noConfusionType`, `injEq`, `sizeOf_spec`, `congr_simp`, `ctorIdx`, … at the end: made with a type;
    * `rec`, `recOn`, `casesOn`, `brecOn`, `below`, … at the end: made with a type too, but people write such
      eliminators for their own types (`Multiset.rec`). Lean's own are definitions, have no docstring and bind a
      `motive`; what differs in any of these is kept.

    A control character or a line break in a name (or in the module's), which « » allow, hides it too: no list, table or
    message could show it, and nobody types it.
    """
    name = declaration.name
    if has_control(name) or has_control(declaration.module):
        return "control character in its name"
    if not _SUSPECT.search(name):
        return None
    if "✝" in name or "[anonymous]" in name:
        return "inaccessible name"
    found = COMPONENT.findall(name)
    components = [quoted or plain for quoted, plain in found]
    for quoted, plain in found:
        if (quoted or plain).startswith("_"):
            return "private name" if (quoted or plain) == "_private" else "internal name"
        if plain.isdecimal():
            return "internal name"
    below = components[1:]
    if not below:
        return None
    if any(map(_NUMBERED.fullmatch, below)):
        return "made by the elaborator"
    last = below[-1]
    if _EQUATION.fullmatch(last):
        return "equation lemma"
    if last in ("eq_def", "eq_unfold") and name.rpartition(".")[0] in declaration.constants:
        return "equation lemma"
    if last in _GENERATED:
        return "made with its type"
    if _RECURSOR.fullmatch(last) and _looks_generated(declaration, last):
        return "recursor"
    return None


def has_control(name: str) -> bool:
    """Whether a name holds a control character or a line break."""
    return not name.isprintable() and _CONTROL.search(name) is not None


def shown_name(name: str) -> str:
    """A name as a message shows it: on one line, control characters by their numbers."""
    return _CONTROL.sub(lambda sign: repr(sign[0])[1:-1], name)


def _looks_generated(declaration: Declaration, last: str) -> bool:
    if declaration.docstring or declaration.kind in ("theorem", "axiom", "ctor", "field"):
        return False
    head = declaration.signature.partition(" : ")[0]
    binds_motive = "motive" in declaration.signature
    binds_anything = any(bracket in head for bracket in "({[⦃")
    return binds_motive or not (binds_anything or last.endswith("below"))
