"""A made-up library, big enough that an index of it has every case, small enough to build in a second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from tests.extraction_files import write_module

WORDS = ("add", "mul", "zero", "succ", "comm", "assoc", "left", "cancel", "sub", "lt", "le", "mono", "even", "odd")
CONSTANTS = ("Eq", "HAdd.hAdd", "HMul.hMul", "Nat", "Int", "LE.le", "Made.Even", "Made.Ring.Box", "WithOne.forall")
ODD_NAMES = (
    "Std.«term_...*»",
    "Lean.«term∃__,_»",
    "inv₀",
    "𝒰S",
    "map₂'",
    "quot.sound",
    "«quot.sound»",
    "Quot.sound",
    "«a b».c",
)


def declared(
    name: str, statement: str, constants: Sequence[str] = ("Eq",), kind: str = "theorem", **fields: Any
) -> dict[str, Any]:
    """A declaration row of the extraction format."""
    return {
        "row": "declaration",
        "name": name,
        "kind": kind,
        "signature": f"{kind} {name} {statement}",
        "display": f"{kind} {name} {statement}",
        "docstring": "",
        "constants": list(constants),
        "conclusion_count": min(1, len(constants)),
        "attributes": [],
        "line": 1,
        "end_line": 2,
        "parent": None,
        "has_equations": False,
        **fields,
    }


def library(count: int = 600, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Module → declaration rows."""
    random = np.random.default_rng(seed)
    modules: dict[str, list[dict[str, Any]]] = {"Made.Basic": [], "Made.Order": [], "Made.Ring": []}
    names = list(modules)
    for number in range(count):
        first, second, third = random.choice(WORDS, 3)
        a, b = random.choice(CONSTANTS, 2, replace=False).tolist()
        modules[names[number * 3 // count]].append(
            declared(
                f"Made.{first}_{second}_{number}",
                f"(x y : Nat) : {first} x ({second} y) = {third} {number} x",
                (a, b),
                docstring=f"What {first} does after {second}." if number % 5 == 0 else "",
                attributes=["simp"] if number % 7 == 0 else [],
            )
        )
    modules["Made.Ring"] += [declared(name, ": True = True") for name in ODD_NAMES]
    # `T.x_y` and `T.x.y` have the same words, so these two have one text.
    modules["Made.Ring"] += [declared("T.same_text", "(x : Nat) : x = x"), declared("T.same.text", "(x : Nat) : x = x")]
    modules["Made.Ring"] += [
        declared(
            "Made.old", ": 1 = 1", attributes=['deprecated Made.new (since := "2025-01-01")'], docstring="Gone soon."
        ),
        declared("Made.new", ": 1 = 1 ∧ True"),
        declared("Made.new._auxLemma", ": True"),
        declared("Made.plain", ": Type", (), "structure", display="structure Made.plain"),
    ]
    return modules


IMPORTS = {"Made.Basic": [], "Made.Order": ["Made.Basic"], "Made.Ring": ["Made.Order"]}


def write_library(folder: Path, modules: dict[str, list[dict[str, Any]]]) -> Path:
    """Write a library in the extraction format."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, declarations in modules.items():
        write_module(folder, name, IMPORTS.get(name, []), f"About {name}.", declarations)
    return folder


class CountingEncoder:
    """An encoder that remembers what it was given."""

    def __init__(self, encoder: Encoder, name: str | None = None, fingerprint: str | None = None) -> None:
        self._encoder = encoder
        self.name = name or encoder.name
        self.fingerprint = fingerprint or encoder.fingerprint
        self.dimension = encoder.dimension
        self.max_tokens = encoder.max_tokens
        self.backend = encoder.backend
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        self.texts += texts
        return self._encoder.encode(texts, purpose)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._encoder.count_tokens(texts)
