"""Learning how to weigh the methods, on made-up rankings and on the example library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import EXAMPLE_FOLDER, open_corpus
from sidecar.encoder.load import load_encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index
from sidecar.select.learned import FEATURES, Candidates
from sidecar.select.ranking import Ranking
from training.data.examples import Positive, PremiseExample
from training.premises import fusion
from training.premises.fusion import Answered


def _answered(generator: np.random.Generator, number: int) -> Answered:
    """A goal with one premise, which the symbolic ranking has early and the neural one anywhere."""
    neural, symbolic = generator.permutation(50), generator.permutation(50)
    right = int(symbolic[number % 3])
    scores = np.linspace(1, 0, 50, dtype=np.float32)
    candidates = Candidates.of(
        {"neural": Ranking(neural, scores), "symbolic": Ranking(symbolic, scores)}, np.zeros(50, dtype=np.bool_)
    )
    example = PremiseExample(f"t{number}", f"M{number}", 1, "⊢ x", "", (Positive(f"p{right}"),))
    return Answered(example, [f"p{place}" for place in candidates.numbers], candidates)


def test_the_method_that_is_right_gets_the_weight() -> None:
    generator = np.random.default_rng(0)
    answered = [_answered(generator, number) for number in range(60)]
    learned = fusion.fit(answered[:40], "encoder", proofs=False)
    judged = fusion.judge(answered[40:], learned)
    assert judged["learned"]["recall@16"] == judged["symbolic"]["recall@16"] == 1.0
    assert judged["neural"]["recall@16"] < 0.7
    assert judged["neural"]["recall@16"] <= judged["union"]["recall@16"] <= 1.0
    assert len(learned.weights) == len(FEATURES)
    assert fusion.fit(answered[:40], "encoder", proofs=False) == learned


def test_goals_without_any_right_candidate_teach_nothing() -> None:
    one = _answered(np.random.default_rng(0), 0)
    lost = Answered(one.example, ["other"] * len(one.names), one.candidates)
    with pytest.raises(SidecarError, match="none of 1 goals"):
        fusion.fit([lost], "encoder", proofs=False)


def test_weights_are_learned_from_an_index(tmp_path: Path) -> None:
    corpus = open_corpus(EXAMPLE_FOLDER, "extraction")
    encoder = load_encoder("static")
    build_index(corpus, tmp_path / "index", encoder)
    theorems = [one for one in corpus.declarations() if one.kind == "theorem" and one.line and one.conclusion_count > 2]
    examples = []
    for one, earlier in zip(theorems[1::5], theorems[::5], strict=False):
        if earlier.module == one.module:
            statement = one.signature.partition(" : ")[2]
            examples.append(
                PremiseExample(
                    one.name, one.module, one.line, f"⊢ {statement}", one.signature, (Positive(earlier.name),)
                )
            )
    learned = fusion.learn(tmp_path / "index", EXAMPLE_FOLDER, examples[:12])
    assert learned.encoder == encoder.fingerprint
    assert learned.record["goals"] == 12
    assert np.isfinite(learned.weights).all()
