"""The models that a server may be given: a query tower in place of the index's encoder, and a reranker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import example_corpus
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from tests.encoder.towers import write_tower
from tests.running import running_server
from tests.search.test_reranker import write_classifier


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the example library with one encoder for premises and one for search."""
    folder = tmp_path_factory.mktemp("both") / "index"
    build_index(example_corpus(), folder, load_encoder("static"), search_encoder=load_encoder("small"))
    return folder


def test_a_server_with_a_tower_answers_goals_and_questions(tmp_path: Path) -> None:
    tower = write_tower(tmp_path / "tower")
    local = {"name": "Mine.lemma", "text": "theorem Mine.lemma (a : Nat) : Eq (HAdd.hAdd a 0) a"}
    with running_server(tmp_path / "server", "--encoder", str(tower)) as server:
        client = server.client()
        status = client.status()
        assert status["encoder"]["name"] == str(tower)
        assert status["encoder"]["documents"] != status["encoder"]["fingerprint"]
        answer = client.premises("a b : Nat\n⊢ Eq (HAdd.hAdd a b) (HAdd.hAdd b a)", 4_000, premises=[local])
        assert "Mine.lemma" in [premise["name"] for premise in answer["premises"]]
        assert client.search("addition is commutative", 5)["results"]
        embedded = client.call("embed", {"texts": ["theorem a : True"], "purpose": "declaration"})
        assert embedded["fingerprint"] == status["encoder"]["documents"]
        assert len(np.frombuffer(embedded["vectors"], dtype="<f4")) == embedded["dimension"]
        # The encoder stays when the index is loaded again.
        client.reload()
        assert client.status()["encoder"] == status["encoder"]


def test_a_server_with_a_reranker_uses_it_when_asked(tmp_path: Path) -> None:
    reranker = write_classifier(tmp_path / "reranker", labels=1)
    with running_server(tmp_path / "server", LEAN_SIDECAR_RERANKER=str(reranker)) as server:
        client = server.client()
        assert client.status()["reranker"] == str(reranker)
        assert "rerank" not in client.search("lists appended", 5)["timings"]
        answer = client.search("lists appended", 5, rerank=True)
        assert answer["timings"]["rerank"] > 0
        assert answer["warnings"] == []
        assert any(reason["method"] == "rerank" for result in answer["results"] for reason in result["why"])


def test_a_server_does_not_start_with_what_is_no_reranker(tmp_path: Path) -> None:
    with running_server(tmp_path / "server", wait=False, LEAN_SIDECAR_RERANKER=str(tmp_path / "absent")) as server:
        assert server.process.wait(120) != 0
        assert "no reranker" in server.log


@pytest.mark.parametrize("asked", [None, "static", "small"])
def test_each_role_keeps_its_encoder(both: Path, tmp_path: Path, asked: str | None) -> None:
    options = () if asked is None else ("--encoder", asked)
    with running_server(tmp_path / "server", *options, LEAN_SIDECAR_INDEX=str(both)) as server:
        client = server.client()
        status = client.status()
        assert (status["encoder"]["name"], status["search_encoder"]["name"]) == ("static", "small")
        assert client.premises("a b : Nat\n⊢ Eq (HAdd.hAdd a b) (HAdd.hAdd b a)", 4)["premises"]
        assert client.search("addition is commutative", 5)["results"]
        client.reload()
        assert client.status()["encoder"] == status["encoder"]
