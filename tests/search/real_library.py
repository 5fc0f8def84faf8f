"""A little library with everything that search must tell apart, beside the example library's real declarations."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidecar.corpus.source import EXAMPLE_FOLDER
from tests.extraction_files import write_module

IMPORTS = {
    "Mathlib.Algebra.Defs": ["Init.Prelude"],
    "Mathlib.Order.Filter": ["Mathlib.Algebra.Defs"],
    "Mathlib.OrderX.Filter": ["Mathlib.Algebra.Defs"],
    "Mathlib.Topology.Basic": ["Mathlib.Order.Filter"],
    "Std.Notation": ["Init.Prelude"],
    "Lean.Meta.Basic": ["Init.Prelude"],
    "Odd.«a-b»": ["Mathlib.Algebra.Defs"],
}


def row(
    name: str,
    statement: str,
    kind: str = "theorem",
    docstring: str = "",
    constants: Sequence[str] = (),
    attributes: Sequence[str] = (),
    parent: str | None = None,
) -> dict[str, Any]:
    return {
        "row": "declaration",
        "name": name,
        "kind": kind,
        "signature": f"{kind} {name} {statement}",
        "display": f"{kind} {name} {statement}",
        "docstring": docstring,
        "constants": list(constants),
        "conclusion_count": min(1, len(constants)),
        "attributes": list(attributes),
        "line": 3,
        "end_line": 4,
        "parent": parent,
        "has_equations": kind in ("def", "abbrev"),
    }


def modules() -> dict[str, list[dict[str, Any]]]:
    """Module → declarations."""
    uses_of_filter = [
        row(f"Filter.fact_{number}", "(f : Filter Nat) : f = f", constants=("Filter", "Nat")) for number in range(12)
    ]
    filters = [
        row(f"{owner}.filter", "(p : Nat → Bool) (s : T) : T", "def")
        for owner in ("Finset", "Multiset", "Array", "Option", "Stream", "Vector")
    ]
    return {
        "Mathlib.Algebra.Defs": [
            row("Group", "(G : Type u) : Type u", "class", "A group is a monoid with an inverse."),
            row("Group.mk", "(inv : G → G) : Group G", "ctor", constants=("Group",), parent="Group"),
            row("Units.group", "(α : Type u) [Monoid α] : Group (Units α)", "instance", constants=("Group",)),
            row("Pi.group", "(f : I → Type u) [∀ i, Group (f i)] : Group (∀ i, f i)", "instance", constants=("Group",)),
            row("add_comm", "[AddCommMagma G] (a b : G) : a + b = b + a", constants=("Eq", "HAdd.hAdd")),
            row("Dyadic.add_comm", "(a b : Dyadic) : a + b = b + a", constants=("Eq", "HAdd.hAdd", "Dyadic")),
            row(
                "Matrix.aeval_self_charpoly",
                "(M : Matrix n n R) : aeval M M.charpoly = 0",
                docstring="The **Cayley-Hamilton Theorem**, that the characteristic polynomial of a matrix,"
                " applied to the matrix itself, is zero.",
                constants=("Eq", "Matrix", "Polynomial.aeval"),
            ),
            row("Matrix.det", "(M : Matrix n n R) : R", "abbrev", "The determinant of a matrix.", ("Matrix",)),
            row("Nat.old_sum", "(n : Nat) : sum n = n", attributes=['deprecated Nat.new_sum (since := "2025-01-01")']),
            row("Nat.new_sum", "(n : Nat) : sum n = n"),
            row("Nat.lost_sum", "(n : Nat) : sum n = n", attributes=['deprecated "gone" (since := "2025-01-01")']),
            row("Nat._auxLemma.1", ": True"),
        ],
        "Mathlib.Order.Filter": [
            row("Filter", "(α : Type u) : Type u", "structure", "A filter on a type."),
            *uses_of_filter,
            *filters,
        ],
        "Mathlib.OrderX.Filter": [row("OrderX.filter_mono", "(a b : Nat) : a ≤ b", constants=("LE.le", "Nat"))],
        "Mathlib.Topology.Basic": [
            row("Continuous", "(f : X → Y) : Prop", "structure", "A continuous function."),
            row(
                "Continuous.add",
                "(hf : Continuous f) (hg : Continuous g) : Continuous fun x => f x + g x",
                docstring="The sum of continuous functions.",
                constants=("Continuous", "HAdd.hAdd"),
            ),
            row("TensorProduct", "(R M N : Type u) : Type u", "def", "The tensor product of modules."),
            row("Module.Basis.tensorProduct", "(b : Basis ι R M) : Basis ι R (TensorProduct R M M)", "def"),
            row("ContinuousMap.coe_injective'", ": Function.Injective f", constants=("Function.Injective",)),
        ],
        "Std.Notation": [
            row("Std.«term_...*»", ": Lean.ParserDescr", "def", constants=("Lean.ParserDescr",)),
            row("inv₀", "(h : a ≠ 0) : a⁻¹ ≠ 0", constants=("Ne",)),
            row("𝒰S", ": Type", "def"),
            row("map₂'", "(f : α → β → γ) : δ", "def"),
            row("quot.sound", ": True"),
            row("«quot.sound»", ": True ∧ True"),
            row("WithOne.forall", ": True", constants=("WithOne",)),
        ],
        "Lean.Meta.Basic": [
            row("Lean.Meta.Group", ": Type", "structure", "A group of goals that share a metavariable."),
            row("Lean.Elab.continuousFunction", ": MetaM Unit", "def", "A continuous function of the elaborator."),
        ],
        "Odd.«a-b»": [row("Odd.thing", ": True")],
    }


def write_library(folder: Path) -> Path:
    """Write it in the extraction format, the example library beside it."""
    folder.mkdir(parents=True)
    for path in EXAMPLE_FOLDER.glob("*.jsonl"):
        shutil.copy(path, folder)
    for name, declarations in modules().items():
        write_module(folder, name, IMPORTS[name], "", declarations)
    return folder
