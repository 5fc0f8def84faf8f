"""Fusion by weights that were learned: how likely each candidate is a premise, from what every method says about it.

In: the rankings of one request. Out: features of every candidate, and with a `LearnedFusion` a score for each.
The weights lie in `fusion.json` beside those of the encoder that they were fitted with; `training.premises.fusion`
fits them. Scores of different methods have no common scale, so each enters as it is, against the best of its ranking,
and by its rank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np

from sidecar.encoder.base import Encoder, FloatMatrix
from sidecar.encoder.load import BUILT_IN, TIERS
from sidecar.errors import SidecarError
from sidecar.select.ranking import Ranking
from sidecar.select.symbolic import BoolArray, FloatArray, IntArray

FILE: Final = "fusion.json"
FORMAT: Final = 2

METHODS: Final = ("neural", "symbolic", "proofs", "locality", "formula")

_CROSSED: Final = ("neural", "symbolic", "proofs", "locality")
"""Methods that are also told in pairs; a goal is seldom stated by a premise."""

EARLY: Final = 5.0
"""Constant of the feature `early`."""

_OF_METHOD: Final = ("missing", "early", "earlier", "late", "score", "behind")
"""Of one method: whether it did not rank the candidate, 1 / (`EARLY` + rank), 1 / (30 + rank), log₂ of the rank, the
score, and how much the score lies behind the first."""

_PAIRS: Final = tuple(combinations(_CROSSED, 2))

FEATURES: Final[tuple[str, ...]] = (
    *(f"{method} {name}" for method in METHODS for name in _OF_METHOD),
    *(f"{first} {name} × {second} {name}" for first, second in _PAIRS for name in ("early", "score", "late")),
    "first late",
    "second late",
    "deprecated",
    "beside the index",
)
"""Of each method; of each two methods, the products; the least and the second least logarithm of a rank; and of the
candidate itself."""

_LATEST: Final = 4_096
"""Rank that stands for none."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the methods ranked for one request, without repeats.

    Attributes:
        numbers: int64, shape (candidates,), ascending.
        features: float32, shape (candidates, len(FEATURES)).
    """

    numbers: IntArray
    features: FloatMatrix

    @classmethod
    def of(cls, rankings: Mapping[str, Ranking], deprecated: BoolArray) -> Candidates:
        """Features of everything that any method ranked.

        Args:
            rankings: By method; a method may be missing.
            deprecated: bool, shape (rows of the index,); candidates beyond them stand beside the index.
        """
        numbers = np.unique(np.concatenate([ranking.numbers for ranking in rankings.values()] or [np.zeros(0, int)]))
        columns: dict[str, FloatArray] = {}
        for method in METHODS:
            told = _told(rankings.get(method), numbers)
            columns.update({f"{method} {name}": column for name, column in zip(_OF_METHOD, told, strict=True)})
        for first, second in _PAIRS:
            for name in ("early", "score", "late"):
                product = columns[f"{first} {name}"] * columns[f"{second} {name}"]
                columns[f"{first} {name} × {second} {name}"] = product
        late = np.sort(np.stack([columns[f"{method} late"] for method in _CROSSED]), axis=0)
        columns["first late"], columns["second late"] = late[0], late[1]
        inside = numbers < len(deprecated)
        marked = np.zeros(len(numbers), dtype=np.float32)
        marked[inside] = deprecated[numbers[inside]]
        columns["deprecated"] = marked
        columns["beside the index"] = (~inside).astype(np.float32)
        # One feature after another in memory: written the other way round, so many columns take twice as long.
        return cls(numbers, np.stack([columns[name] for name in FEATURES]).astype(np.float32, copy=False).T)


def _told(ranking: Ranking | None, numbers: IntArray) -> list[FloatArray]:
    ranks = np.full(len(numbers), _LATEST, dtype=np.float32)
    scores = np.zeros(len(numbers), dtype=np.float32)
    missing = np.ones(len(numbers), dtype=np.float32)
    if ranking is not None and len(ranking.numbers):
        places = np.searchsorted(numbers, ranking.numbers)
        ranks[places] = np.minimum(np.arange(1, len(places) + 1), _LATEST)
        # What is far down, or not among the best, is told alike, so that a longer ranking changes little.
        scores[:] = ranking.scores.min()
        scores[places] = ranking.scores
        missing[places] = 0.0
        behind = ranking.scores[0] - scores
    else:
        behind = np.zeros(len(numbers), dtype=np.float32)
    return [missing, 1 / (EARLY + ranks), 1 / (30 + ranks), np.log2(ranks), scores, behind]


@dataclass(frozen=True, slots=True)
class LearnedFusion:
    """Weights of the features.

    Attributes:
        weights: One for each of `FEATURES`.
        bias: Added to their sum.
        encoder: Fingerprint of the encoder whose scores the weights were fitted with.
        proofs: Whether they were fitted with an index that knows proofs; only such indexes are then ranked by them.
        record: What they were fitted on, and how well they did.
    """

    weights: tuple[float, ...]
    bias: float
    encoder: str
    proofs: bool
    record: dict[str, Any]

    def scores(self, candidates: Candidates) -> FloatArray:
        """Score of each candidate, higher for likelier premises: float32, shape (candidates,)."""
        scores: FloatArray = (candidates.features.astype(np.float64) @ np.array(self.weights) + self.bias).astype(
            np.float32
        )
        return scores

    def write(self, file: Path) -> None:
        """Write the file that `read_fusion` reads."""
        content = {"format": FORMAT, "features": list(FEATURES), **asdict(self)}
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_fusion(file: Path) -> LearnedFusion:
    """Read learned weights.

    Raises:
        SidecarError: `bad_request` when the file is not whole, `conflict` when it has other features.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["features"] != list(FEATURES) or content["format"] != FORMAT:
            raise SidecarError(
                "conflict",
                f"{file} was fitted for other features",
                field="fusion",
                hint="fit it again: python -m training fusion",
            )
        weights = tuple(float(weight) for weight in content["weights"])
        bias, encoder, record = float(content["bias"]), str(content["encoder"]), dict(content["record"])
        fusion = LearnedFusion(weights, bias, encoder, content["proofs"] is True, record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SidecarError(
            "bad_request", f"{file}: {error}", field="fusion", hint="fit it again: python -m training fusion"
        ) from error
    if len(weights) != len(FEATURES) or not np.isfinite([*weights, fusion.bias]).all():
        raise SidecarError("bad_request", f"{file}: {len(weights)} weights, or not all finite", field="fusion")
    return fusion


def fusion_beside(encoder: Encoder) -> LearnedFusion | None:
    """The learned weights in an encoder's folder, or None where there are none.

    Raises:
        SidecarError: What `read_fusion` raises; `conflict` when they were fitted with another encoder.
    """
    folder = BUILT_IN / encoder.name if encoder.name in TIERS else Path(encoder.name)
    file = folder / FILE
    if not file.is_file():
        return None
    fusion = read_fusion(file)
    require_fit(fusion, encoder)
    return fusion


def require_fit(fusion: LearnedFusion, encoder: Encoder) -> None:
    """Refuse weights that were fitted with another encoder.

    Raises:
        SidecarError: `conflict`.
    """
    if fusion.encoder != encoder.fingerprint:
        raise SidecarError(
            "conflict",
            f"the fusion was fitted with encoder {fusion.encoder}, not with {encoder.name} ({encoder.fingerprint})",
            field="fusion",
            hint="fit it again: python -m training fusion",
        )
