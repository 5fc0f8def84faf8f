"""The typed records of the corpus.

In: what a reader of one source found. Out: `Declaration`, `Module` and `Proof`, the only shapes that the later rooms
see.
Names are opaque strings: nothing splits a name at its dots to decide identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final[tuple[str, ...]] = (
    "theorem",
    "axiom",
    "def",
    "abbrev",
    "instance",
    "opaque",
    "structure",
    "class",
    "inductive",
    "class inductive",
    "ctor",
    "field",
    "parent_proj",
)
"""Every kind of declaration, as doc-gen4 names them; `lemma` is read as `theorem`."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of a Lean library.

    Attributes:
        name: Fully-qualified name, opaque, unique in a corpus.
        kind: One of `KINDS`.
        module: Module that declares it.
        signature: Canonical one-line statement `kind name binders : type` with identifiers in full.
        display: The statement as a person reads it (notation on, short names); equals `signature` where the source
            has no second form.
        docstring: Light Markdown, `""` when there is none.
        constants: Constants of the statement without repeats, those of the conclusion first.
        conclusion_count: How many leading entries of `constants` come from the type after the binders.
        attributes: Displayed attributes (`simp`, `deprecated Nat.foo (since := …)`, `instance 100`, …).
        line, end_line: 1-based source lines, or None when unknown.
        parent: The structure or inductive of a ctor, field or parent_proj.
        has_equations: Whether Lean has equation lemmas for it (definitions that a hammer can unfold).
    """

    name: str
    kind: str
    module: str
    signature: str
    display: str = ""
    docstring: str = ""
    constants: tuple[str, ...] = ()
    conclusion_count: int = 0
    attributes: tuple[str, ...] = ()
    line: int | None = None
    end_line: int | None = None
    parent: str | None = None
    has_equations: bool = False

    @property
    def shown(self) -> str:
        """The statement to show to a person."""
        return self.display or self.signature


@dataclass(frozen=True, slots=True)
class Module:
    """One module of a Lean library.

    Attributes:
        name: Opaque module name (`Mathlib.Logic.Basic`).
        imports: Direct imports, in source order.
        docstring: The module docstrings joined by blank lines, `""` when there are none.
        source: Address of the source file, or None.
    """

    name: str
    imports: tuple[str, ...] = ()
    docstring: str = ""
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """What the proof of a theorem uses.

    Attributes:
        theorem: Fully-qualified name of the theorem.
        premises: Fully-qualified names, whatever a source says the proof uses; they need not be known.
    """

    theorem: str
    premises: tuple[str, ...]
