"""The benchmark of rerankers: a tiny cross-encoder on the example library, timed and judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import record as recording
from benchmarks import reranker
from tests.running import small_index
from tests.search.test_reranker import write_classifier


def test_a_reranker_that_is_named_is_timed_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"query": "length of two lists appended", "gold": ["List.length_append"], "kind": "short", "set": "made"},
        {"query": "addition is commutative", "gold": ["Nat.add_comm"], "kind": "short", "set": "made"},
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = write_classifier(tmp_path / "tiny", labels=1)
    words = f"reranker --index {small_index()} --queries {tmp_path}/dev.jsonl --reranker {folder} --timed 1 --record"
    monkeypatch.setattr(sys, "argv", words.split())
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(reranker.reranking, "RERANK_SECONDS", reranker.reranking.RERANK_SECONDS)
    reranker.main()
    lines = [json.loads(line) for line in (tmp_path / "results" / "reranker.jsonl").read_text().splitlines()]
    found = {(line["system"], line["metric"]): line["value"] for line in lines}
    assert found["without tiny", "ndcg@10"] > 0
    assert ("tiny", "ndcg@10") in found
    assert found["tiny", "times as long as without"] > 0
