"""What proofs use is what people look for."""

from __future__ import annotations

import json
from pathlib import Path

from sidecar.corpus.source import open_corpus
from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from tests.index.made_up import declared, library, write_library

ALIKE = ("Lattice.mono_of_alpha", "Lattice.mono_of_gamma")


async def test_of_two_that_fit_alike_the_one_that_proofs_use_comes_first(tmp_path: Path, batcher: MicroBatcher) -> None:
    modules = library(90)
    modules["Made.Ring"] += [declared(name, "(f : Nat → Nat) : Monotone f") for name in ALIKE]
    corpus = write_library(tmp_path / "corpus", modules)
    proofs = tmp_path / "proofs.jsonl"
    users = [row["name"] for row in modules["Made.Basic"]]
    found = {}
    for used in ALIKE:
        rows = [json.dumps({"name": name, "premises": [used]}) for name in users]
        proofs.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        build_index(open_corpus(corpus, proofs=proofs), tmp_path / used, batcher.encoder)
        with Index.open(tmp_path / used) as index:
            answer = await SearchEngine(index, batcher).search(SearchRequest("lattice mono", k=2))
            found[used] = [result.name for result in answer.results]
    assert found == {ALIKE[0]: list(ALIKE), ALIKE[1]: list(reversed(ALIKE))}
