"""The models that a server may be given: a query tower in place of the index's encoder, and a reranker."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.encoder.towers import write_tower
from tests.running import running_server
from tests.search.test_reranker import write_classifier


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
