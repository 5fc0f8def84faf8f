"""Premises beside the index: those of the current file and of modules that the index does not know.

In: the premises as they were sent. Out: those that can be ranked, with reasons for the others, and a `Block` of what
every method needs to rank them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.encoder.base import FloatMatrix
from sidecar.index.index import Index
from sidecar.select.embeddings import PremiseFeatures
from sidecar.select.locality import PremisePlaces
from sidecar.select.request import LocalPremise, Origin, PremiseWarning
from sidecar.select.symbolic import IntArray, SymbolicRanking, WeighedStatements

NAMED: Final = 10
"""Most names that a warning gives; the rest is counted."""

_ANY_WORD: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Block:
    """Premises of one origin, ready to be ranked.

    Attributes:
        origin: Where they come from.
        premises: The premises.
        rows: int64, shape (premises,): rows of the index with the same names, −1 where there are none.
        vectors: float32, which is multiplied several times as fast as float16, shape (premises, dimension); None where
            nothing was encoded.
        statements: Their weighed constants.
        places: Where they stand.
        warnings: What to say about them in every answer.
    """

    origin: Origin
    premises: tuple[LocalPremise, ...]
    rows: IntArray
    vectors: FloatMatrix | None
    statements: WeighedStatements
    places: PremisePlaces
    warnings: tuple[PremiseWarning, ...]


def accept(premises: Sequence[LocalPremise]) -> tuple[list[LocalPremise], list[PremiseWarning]]:
    """Sort out what cannot be ranked.

    A premise without a name or without any word in its text is refused. Of several premises of one name the last
    counts, as the declaration that a file holds now; where their texts differ there is a warning. One text under two
    names is two premises.
    """
    kept: dict[str, LocalPremise] = {}
    refused: list[str] = []
    repeated: dict[str, None] = {}
    for number, premise in enumerate(premises):
        if not premise.name.strip():
            refused.append(f"number {number} has no name")
        elif not _ANY_WORD.search(premise.text):
            refused.append(f"{premise.name} has no statement")
        else:
            earlier = kept.pop(premise.name, None)
            if earlier is not None and earlier.text != premise.text:
                repeated[premise.name] = None
            kept[premise.name] = premise
    warnings: list[PremiseWarning] = []
    if refused:
        warnings.append(PremiseWarning("premises_refused", f"{listed(refused)}: these premises were left out"))
    if repeated:
        message = f"{listed(list(repeated))}: sent several times with different texts, the last of each was used"
        warnings.append(PremiseWarning("duplicate_premises", message))
    return list(kept.values()), warnings


def make_block(
    origin: Origin,
    premises: Sequence[LocalPremise],
    features: PremiseFeatures,
    index: Index,
    symbolic: SymbolicRanking,
    warnings: Sequence[PremiseWarning],
) -> Block:
    """Bring together what is known of accepted premises."""
    cut = [premise.name for premise, is_cut in zip(premises, features.cut.tolist(), strict=True) if is_cut]
    said = list(warnings)
    if cut:
        said.append(
            PremiseWarning("premises_cut", f"{listed(cut)}: longer than the encoder reads, the end was left out")
        )
    return Block(
        origin,
        tuple(premises),
        index.rows([premise.name for premise in premises]),
        None if features.vectors is None else features.vectors.astype(np.float32),
        symbolic.weigh(features.statements),
        PremisePlaces(premises),
        tuple(said),
    )


def listed(names: Sequence[str]) -> str:
    """The first names and how many there are."""
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"
