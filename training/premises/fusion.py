"""Learns how to weigh what the rankings of the methods say about a candidate.

In: an index, goals whose premises are known and that the encoder was not trained on. Out: a `LearnedFusion`, fitted by
a linear model of the features of every candidate; written beside the encoder, it is what the selector uses.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.source import open_corpus
from sidecar.encoder.base import FloatMatrix
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.fusion import fuse
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.learned import EARLY, FEATURES, METHODS, Candidates, LearnedFusion
from sidecar.select.request import Method, PremiseRequest
from sidecar.select.selector import RANK_CONSTANT, WEIGHTS, PremiseSelector
from training.data.context import FileContexts
from training.data.examples import PremiseExample
from training.premises.record import examples_digest

DEEPEST: Final = 256
"""Candidates below this rank of every method are not learned from, unless they are right."""

PENALTY: Final = 1e-3
"""Of the squared weights of the scaled features."""

STEPS: Final = 200
"""Most steps of the optimiser."""

HELD_OUT: Final = 5
"""One module in so many is kept out of fitting, to say how well it works."""

DEPTHS: Final = (1, 16, 32)


@dataclass(frozen=True, slots=True)
class Answered:
    """One goal with its candidates.

    Attributes:
        example: The goal.
        names: Of each candidate.
        candidates: The candidates.
    """

    example: PremiseExample
    names: Sequence[str]
    candidates: Candidates

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Which candidates are premises of the goal."""
        gold = set(self.example.gold)
        return np.array([name in gold for name in self.names], dtype=np.bool_)


def question(example: PremiseExample, contexts: FileContexts, k: int, method: Method = "fused") -> PremiseRequest:
    """The request that the Lean plugin would send from the example's place."""
    return PremiseRequest(
        goal=example.state,
        k=k,
        imports=contexts.imports(example),
        premises=contexts.before(example),
        theorem=example.theorem,
        module=example.module,
        method=method,
    )


def fit(answered: Sequence[Answered], encoder: str, *, proofs: bool) -> LearnedFusion:
    """Fit the weights; every goal weighs the same, however many premises it has.

    What is maximised is the mean logarithm of the share that each right candidate has of the softmax over all
    candidates of its goal (ListNet's top-one probability, Cao et al. 2007), with a small quadratic penalty.

    Args:
        answered: Goals; one without any right candidate teaches nothing.
        encoder: Fingerprint of the encoder.
        proofs: Whether the index knows proofs.

    Raises:
        SidecarError: `bad_request` when no goal has a right candidate.
    """
    import torch

    features: list[FloatMatrix] = []
    targets: list[npt.NDArray[np.float32]] = []
    for one in answered:
        right = one.right
        if right.any():
            rows = np.flatnonzero(right | (one.candidates.features[:, _EARLY] >= 1 / (EARLY + DEEPEST)).any(axis=1))
            features.append(one.candidates.features[rows])
            targets.append((right[rows] / right.sum()).astype(np.float32))
    if not features:
        raise SidecarError(
            "bad_request",
            f"none of {len(answered)} goals has a premise among its candidates",
            field="data",
            hint="give the corpus and the index that the examples were made for",
        )
    matrix = np.concatenate(features).astype(np.float64)
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    spread[spread < 1e-9] = np.inf  # what never varies gets no weight
    scaled = torch.from_numpy(((matrix - mean) / spread).astype(np.float32))
    target = torch.from_numpy(np.concatenate(targets))
    goal = torch.from_numpy(np.repeat(np.arange(len(features)), [len(one) for one in features]))
    weights = torch.zeros(matrix.shape[1], requires_grad=True)
    optimizer: Any = torch.optim.LBFGS([weights], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = scaled @ weights
        highest = torch.full((len(features),), -torch.inf).scatter_reduce(0, goal, scores.detach(), "amax")
        total = torch.zeros(len(features)).index_add(0, goal, (scores - highest[goal]).exp())
        share = scores - highest[goal] - total.log()[goal]
        value = -(target * share).sum() / len(features) + PENALTY * weights.square().sum()
        torch.autograd.backward(value)
        return value

    optimizer.step(loss)
    learned = weights.detach().numpy().astype(np.float64) / spread
    return LearnedFusion(tuple(learned.tolist()), float(-mean @ learned), encoder, proofs, {})


_EARLY: Final = [number for number, name in enumerate(FEATURES) if name.endswith(" early") and "×" not in name]


def judge(answered: Sequence[Answered], fusion: LearnedFusion) -> dict[str, dict[str, float]]:
    """Mean recall at `DEPTHS` and mean reciprocal rank of the learned order, of single methods, and of other fusions.

    These are `union`, neural and symbolic in turns, and `reciprocal`, by rank with the weights of the selector (without
    its care for replacements of what is deprecated).
    """
    ways: dict[str, Any] = {
        "learned": lambda one: np.argsort(-fusion.scores(one.candidates), kind="stable"),
        "neural": lambda one: _by(one, "neural"),
        "symbolic": lambda one: _by(one, "symbolic"),
        "union": lambda one: _in_turns(_by(one, "neural"), _by(one, "symbolic")),
        "reciprocal": _by_reciprocal_rank,
    }
    found: dict[str, dict[str, float]] = {}
    for way, order_of in ways.items():
        right = [one.right[order_of(one)] for one in answered]
        found[way] = {}
        for k in DEPTHS:
            shares = [float(hits[:k].sum()) / len(one.example.gold) for hits, one in zip(right, answered, strict=True)]
            found[way][f"recall@{k}"] = round(float(np.mean(shares)), 4) if shares else 0.0
        first = [1 / (1 + int(hits.argmax())) if hits.any() else 0.0 for hits in right]
        found[way]["mrr"] = round(float(np.mean(first)), 4) if first else 0.0
    return found


def _by(one: Answered, method: str) -> npt.NDArray[np.int64]:
    early = one.candidates.features[:, FEATURES.index(f"{method} early")]
    return np.argsort(-early, kind="stable").astype(np.int64)


def _by_reciprocal_rank(one: Answered) -> npt.NDArray[np.int64]:
    """Nearly as the selector fuses without learned weights; it also leaves out what a method knows nothing of."""
    rankings = {}
    for method in METHODS:
        ranked = np.flatnonzero(one.candidates.features[:, FEATURES.index(f"{method} missing")] == 0)
        early = one.candidates.features[ranked, FEATURES.index(f"{method} early")]
        rankings[method] = ranked[np.argsort(-early, kind="stable")]
    fused = fuse(rankings, WEIGHTS, len(one.names), RANK_CONSTANT)
    return np.array([item.item for item in fused], dtype=np.int64)


def _in_turns(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    both = np.stack([first, second], axis=1).ravel()
    _, places = np.unique(both, return_index=True)
    return both[np.sort(places)]


async def answer(index: Index, corpus: Path, examples: Sequence[PremiseExample], *, threads: int = 0) -> list[Answered]:
    """Candidates of every goal, as the selector finds them."""
    encoder = load_encoder(index.manifest.encoder_name, threads=threads)
    contexts = FileContexts(open_corpus(corpus), examples)
    batcher = MicroBatcher(encoder, waiting_limit=100_000)
    answered = []
    with tempfile.TemporaryDirectory() as cache:
        embeddings = PremiseEmbeddings(Path(cache), encoder.fingerprint, 1 << 32)
        selector = PremiseSelector(index, batcher, embeddings)
        try:
            with Progress("goals", len(examples)) as progress:
                for example in examples:
                    answered.append(Answered(example, *await selector.candidates(question(example, contexts, 1))))
                    progress.advance()
        finally:
            embeddings.close()
            await batcher.close()
    return answered


def learn(folder: Path, corpus: Path, examples: Sequence[PremiseExample], *, threads: int = 0) -> LearnedFusion:
    """Fit on four modules of five, say how well it does on the fifth, then fit on all.

    Args:
        folder: The index; its encoder's scores are learned from.
        corpus: The corpus that the examples were made from.
        examples: Goals of the validation split.
        threads: Of the encoder.
    """
    with Index.open(folder, threads=threads) as index:
        answered = asyncio.run(answer(index, corpus, examples, threads=threads))
        fingerprint = load_encoder(index.manifest.encoder_name, threads=threads).fingerprint
        proofs = bool(len(index.proofs))
    kept = [one for one in answered if not _held_out(one.example)]
    held_out = [one for one in answered if _held_out(one.example)]
    judged = judge(held_out, fit(kept, fingerprint, proofs=proofs)) if kept and held_out else {}
    fusion = fit(answered, fingerprint, proofs=proofs)
    record = {
        "goals": len(answered),
        "digest": examples_digest(examples),
        "held_out": {"goals": len(held_out), "fitted_on": len(kept), "figures": judged},
    }
    return LearnedFusion(fusion.weights, fusion.bias, fusion.encoder, proofs, record)


def _held_out(example: PremiseExample) -> bool:
    digest = hashlib.sha1(example.module.encode(), usedforsecurity=False).digest()
    return digest[0] % HELD_OUT == 0
