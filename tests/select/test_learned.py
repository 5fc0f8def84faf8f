"""Fusion by learned weights: what it reads, what it refuses, and that the selector goes by it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import BUILT_IN, TIERS, load_encoder
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.learned import FEATURES, FILE, Candidates, LearnedFusion, fusion_beside, read_fusion
from sidecar.select.ranking import Ranking
from sidecar.select.request import LocalPremise, PremiseRequest
from sidecar.select.selector import PremiseSelector
from tests.select.conftest import CACHE_BYTES, Room, names

GCD = "m n : Nat\n⊢ Eq (Nat.gcd m n) (Nat.gcd n m)"
IMPORTS = ("Init.Data.Nat.Gcd",)


def _fusion(encoder: str, **weights: float) -> LearnedFusion:
    named = {name.replace("_", " "): weight for name, weight in weights.items()}
    return LearnedFusion(tuple(named.get(name, 0.0) for name in FEATURES), 0.0, encoder, False, {"goals": 3})


def test_features_say_what_each_method_says() -> None:
    rankings = {
        "neural": Ranking(np.array([7, 2]), np.array([0.9, 0.5], dtype=np.float32)),
        "symbolic": Ranking(np.array([2, 9]), np.array([0.8, 0.2], dtype=np.float32)),
    }
    deprecated = np.zeros(9, dtype=np.bool_)
    deprecated[7] = True
    candidates = Candidates.of(rankings, deprecated)
    assert candidates.numbers.tolist() == [2, 7, 9]
    told = {name: candidates.features[:, number].tolist() for number, name in enumerate(FEATURES)}
    assert told["neural missing"] == [0.0, 0.0, 1.0]
    assert told["neural late"] == [1.0, 0.0, 12.0]
    assert told["neural score"] == pytest.approx([0.5, 0.9, 0.5])
    assert told["symbolic behind"] == pytest.approx([0.0, 0.6, 0.6])
    assert told["locality missing"] == [1.0, 1.0, 1.0]
    assert told["neural late × symbolic late"] == [0.0, 0.0, 12.0]
    assert (told["first late"], told["second late"]) == ([0.0, 0.0, 1.0], [1.0, 12.0, 12.0])
    assert told["deprecated"] == [0.0, 1.0, 0.0]
    assert told["beside the index"] == [0.0, 0.0, 1.0]
    assert Candidates.of({}, deprecated).features.shape == (0, len(FEATURES))


def test_weights_are_read_back_and_others_refused(tmp_path: Path) -> None:
    file = tmp_path / FILE
    fusion = _fusion("abc", neural_score=1.5)
    fusion.write(file)
    assert read_fusion(file) == fusion
    content = json.loads(file.read_text())
    for changes, fault in (
        ({"features": ["other"]}, "other features"),
        ({"weights": [1.0]}, "1 weights"),
        ({"weights": None}, "NoneType"),
    ):
        file.write_text(json.dumps(content | changes))
        with pytest.raises(SidecarError, match=fault):
            read_fusion(file)
    file.write_text('{"cut')
    with pytest.raises(SidecarError, match=FILE):
        read_fusion(file)


async def test_the_selector_goes_by_the_weights(room: Room, batcher: MicroBatcher, tmp_path: Path) -> None:
    embeddings = PremiseEmbeddings(tmp_path / "own", batcher.encoder.fingerprint, CACHE_BYTES)
    mine = LocalPremise("Mine.a", "theorem Mine.a (n : Nat) : Eq (Mine.frob n) n")
    request = PremiseRequest(GCD, k=40, imports=IMPORTS, premises=(mine,))
    by_symbols = PremiseRequest(GCD, k=40, imports=IMPORTS, premises=(mine,), method="symbolic")
    try:
        fusion = _fusion(batcher.encoder.fingerprint, symbolic_score=20.0)
        selector = PremiseSelector(room.index, batcher, embeddings, fusion=fusion)
        answer = await selector.select(request)
        plain = await room.selector.select(by_symbols)
        assert [one.score for one in answer.premises] == sorted((one.score for one in answer.premises), reverse=True)
        assert set(names(answer)[:10]) == set(names(plain)[:10])
        few = await selector.select(PremiseRequest(GCD, k=5, imports=IMPORTS, premises=(mine,)))
        assert names(few) == names(answer)[:5]
        local = PremiseSelector(
            room.index, batcher, embeddings, fusion=_fusion(batcher.encoder.fingerprint, beside_the_index=9.0)
        )
        assert names(await local.select(request))[0] == "Mine.a"
        listed, candidates = await local.candidates(request)
        assert len(listed) == len(candidates.numbers) == len(set(listed))
        assert listed[-1] == "Mine.a"
        # What states the goal comes first whatever was learned.
        against = _fusion(batcher.encoder.fingerprint, formula_missing=9.0)
        added = PremiseRequest("m n : Nat\n⊢ m + n = n + m", k=3)
        stated = await PremiseSelector(room.index, batcher, embeddings, fusion=against).select(added)
        assert "formula" in stated.premises[0].ranks
        # Weights that were fitted with proofs say nothing of an index without.
        taught = replace(_fusion(batcher.encoder.fingerprint, beside_the_index=9.0), proofs=True)
        answer = await PremiseSelector(room.index, batcher, embeddings, fusion=taught).select(request)
        assert answer.premises == (await room.selector.select(request)).premises
    finally:
        embeddings.close()


def test_weights_of_another_encoder_are_refused(index: Index, batcher: MicroBatcher, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="fitted with encoder other"):
        PremiseSelector(
            index,
            batcher,
            PremiseEmbeddings(tmp_path, batcher.encoder.fingerprint, CACHE_BYTES),
            fusion=_fusion("other"),
        )


def test_weights_lie_in_the_encoder_s_folder(tmp_path: Path) -> None:
    shutil.copytree(BUILT_IN / "static", tmp_path / "model", ignore=shutil.ignore_patterns(FILE))
    encoder = load_encoder(str(tmp_path / "model"))
    assert fusion_beside(encoder) is None
    _fusion(encoder.fingerprint, neural_score=1.0).write(tmp_path / "model" / FILE)
    assert fusion_beside(encoder) == _fusion(encoder.fingerprint, neural_score=1.0)
    # Weights beside an encoder do not change its vectors.
    assert load_encoder(str(tmp_path / "model")).fingerprint == encoder.fingerprint
    _fusion("other").write(tmp_path / "model" / FILE)
    with pytest.raises(SidecarError, match="fitted with encoder other"):
        fusion_beside(encoder)
    for tier in TIERS:
        fusion_beside(load_encoder(tier))
