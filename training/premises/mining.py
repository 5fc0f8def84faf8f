"""Hard negatives: premises that a trained model ranks too high.

In: a model, states, a library. Out: a file with, for each state, the visible premises that the model likes best among
those that are neither a positive of the state, nor the theorem itself, nor say the same as one of these.

The file holds rows of the library and hashes of the states, so it fits any run over the same corpus.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.load import load_encoder
from sidecar.encoder.spread import TEXTS_AT_ONCE, SpreadEncoder
from sidecar.errors import SidecarError
from sidecar.progress import Progress
from sidecar.spread import Here, Spread
from sidecar.text.goal import goal_text
from training.data.examples import PremiseExample
from training.data.premise_library import PremiseLibrary
from training.premises.pairs import TrainingPairs

IntArray = npt.NDArray[np.int64]

DEPTH: Final = 32
"""Premises that are kept for a state."""

_STATES_AT_ONCE: Final = 256


def mine(
    model: str, pairs: TrainingPairs, library: PremiseLibrary, file: Path, spread: Spread, *, depth: int = DEPTH
) -> int:
    """Rank all visible premises for every state and write the file.

    Args:
        model: Encoder, as `sidecar.encoder.load.load_encoder` takes it; on a cluster every machine must have it.
        pairs: The states.
        library: The premises.
        file: What to write.
        spread: Where the work is done.
        depth: Most premises of a state.

    Returns:
        Number of (state, premise) entries written.
    """
    encoder = load_encoder(model)
    if not isinstance(spread, Here):
        encoder = SpreadEncoder(encoder, spread)
    premises = _vectors(encoder, library.texts, "declaration", "premises")
    states = _vectors(encoder, [example.state for example in pairs.examples], "goal", "states")
    shared = spread.share((premises, library))
    pieces = (
        (states[begin : begin + _STATES_AT_ONCE], _asked(pairs, library, begin, begin + _STATES_AT_ONCE), depth)
        for begin in range(0, len(states), _STATES_AT_ONCE)
    )
    rows: list[IntArray] = []
    with Progress("states", len(states)) as progress:
        for found in spread.map(_hardest, pieces, shared):
            rows += found
            progress.advance(len(found))
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + ".tmp.npz")
    np.savez(
        temporary,
        library=np.frombuffer(library.fingerprint.encode(), dtype=np.uint8),
        states=_keys(pairs.examples),
        offsets=offsets,
        rows=np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64),
    )
    temporary.replace(file)
    return int(offsets[-1])


def read_mined(file: Path, pairs: TrainingPairs, library: PremiseLibrary) -> list[IntArray]:
    """Mined rows of each state; none for states that the file does not know.

    What the file holds is checked against these pairs: a premise that is a positive here is left out even if it was
    none where the file was made.

    Raises:
        SidecarError: `not_found` without the file, `bad_request` when it is damaged, `conflict` when it was made from
            another corpus or other text rules.
    """
    if not file.is_file():
        raise SidecarError(
            "not_found", f"{file} is not a file", field="hard_negatives", hint="run python -m training mine"
        )
    try:
        with np.load(file, allow_pickle=False) as arrays:
            made_from = arrays["library"].tobytes().decode()
            keys, offsets, rows = arrays["states"], arrays["offsets"], arrays["rows"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise SidecarError(
            "bad_request", f"{file} is damaged: {error}", field="hard_negatives", hint="mine again"
        ) from error
    if made_from != library.fingerprint:
        raise SidecarError(
            "conflict",
            f"{file} was mined from another corpus or with other text rules",
            field="hard_negatives",
            hint="mine again with this corpus",
        )
    places = {int(key): place for place, key in enumerate(keys)}
    result = []
    for state, key in enumerate(_keys(pairs.examples).tolist()):
        place = places.get(key)
        found = rows[:0] if place is None else rows[offsets[place] : offsets[place + 1]]
        result.append(found[~np.isin(library.group[found], pairs.never_negative(state, library))])
    return result


def _keys(examples: Sequence[PremiseExample]) -> npt.NDArray[np.uint64]:
    """Hash of theorem and state."""
    digests = b"".join(
        hashlib.sha256(f"{example.theorem}\0{example.state}".encode("utf-8", "surrogatepass")).digest()[:8]
        for example in examples
    )
    return np.frombuffer(digests, dtype=np.uint64)


def _vectors(encoder: Encoder, texts: Sequence[str], purpose: Purpose, label: str) -> FloatMatrix:
    found = []
    with Progress(label, len(texts)) as progress:
        for begin in range(0, len(texts), TEXTS_AT_ONCE):
            lot = texts[begin : begin + TEXTS_AT_ONCE]
            if purpose == "goal":
                lot = [goal_text(text, encoder.max_tokens, encoder.count_tokens).text for text in lot]
            found.append(encoder.encode(lot, purpose))
            progress.advance(len(lot))
    return np.concatenate(found)


_Asked = list[tuple[int, int, IntArray]]
"""Of each state its module, its line, and the groups that are never its negatives."""


def _asked(pairs: TrainingPairs, library: PremiseLibrary, begin: int, end: int) -> _Asked:
    return [
        (int(pairs.module[state]), int(pairs.line[state]), pairs.never_negative(state, library))
        for state in range(begin, min(end, len(pairs.examples)))
    ]


def _hardest(
    shared: tuple[FloatMatrix, PremiseLibrary], states: FloatMatrix, asked: _Asked, depth: int
) -> list[IntArray]:
    premises, library = shared
    scores = states @ premises.T
    return [
        _best(scores[number], library, module, line, forbidden, depth)
        for number, (module, line, forbidden) in enumerate(asked)
    ]


def _best(
    scores: npt.NDArray[np.float32],
    library: PremiseLibrary,
    module: int,
    line: int,
    forbidden: IntArray,
    depth: int,
) -> IntArray:
    rows = np.flatnonzero(library.visible(module, line))
    # Forbidden rows are few: so many more are looked at that enough remain.
    wanted = min(depth + 64 + len(forbidden), len(rows))
    while True:
        best = rows[np.argpartition(-scores[rows], wanted - 1)[:wanted]] if wanted else rows
        allowed = best[~np.isin(library.group[best], forbidden)]
        if len(allowed) >= depth or wanted == len(rows):
            return allowed[np.argsort(-scores[allowed], kind="stable")][:depth].astype(np.int64)
        wanted = min(2 * wanted, len(rows))
