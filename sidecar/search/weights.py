"""How much each ranking counts: the one place for it.

In: the name of the encoder that made the vectors for search. Out: weights for the fusion.

Chosen on the 806 development queries (Mathlib's lists of undergraduate mathematics, its overview, the 100 and 1000
theorems, blueprints, Wikidata) by nDCG@10, which are the ones that benchmarks/README.md shows: there is no other set
of real questions with answers, so figures of the fused search are those of the set that it was chosen on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

RankingName = Literal["formula", "name", "words", "meaning"]

RANK_CONSTANT: Final = 1.0
"""Constant of the reciprocal rank fusion. Small, because a question mostly has one or two answers, and where a ranking
finds one it has it among the first few."""

LEAST_AGREEMENT: Final = 0.55
"""A label that agrees less with the query says nothing (see `sidecar.index.labels`)."""

DEPTH: Final = 100
"""How many rows of each ranking take part, or 2·k if that is more; what stands lower moves none of the first k."""

FORMULA_WEIGHT: Final = 100.0
"""A statement that is the formula asked for goes before what shares words with it, though that be used much more."""

_TRAINED_ON_GOALS: Final[Mapping[RankingName, float]] = {
    "formula": FORMULA_WEIGHT,
    "name": 1.0,
    "words": 1.0,
    "meaning": 0.1,
}
_GENERAL: Final[Mapping[RankingName, float]] = {
    "formula": FORMULA_WEIGHT,
    "name": 1.0,
    "words": 1.0,
    "meaning": 0.6,
}


def weights_for(encoder: str) -> Mapping[RankingName, float]:
    """Weights of the rankings.

    Args:
        encoder: `VectorSet.encoder`: a tier, a folder or a hub name. The built-in `static` was trained on goals alone
            and knows little of questions; any other encoder counts as one that does.
    """
    return _TRAINED_ON_GOALS if encoder == "static" else _GENERAL
