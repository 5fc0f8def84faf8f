"""A small real index: the example library and a few aliases, encoded by the static encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.corpus.source import EXAMPLE_FOLDER, open_corpus
from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.environment import Environments
from sidecar.select.request import PremiseAnswer, PremiseRequest
from sidecar.select.selector import PremiseSelector

CACHE_BYTES = 1 << 24

STATEMENT = "(m n : Nat) : Eq (Nat.gcd m n) (Nat.gcd n m)"
ALIASES = {
    "Nat.gcd_comm_older": ['deprecated Nat.gcd_comm_old (since := "2024-01-01")'],
    "Nat.gcd_comm_old": ['deprecated Nat.gcd_comm (since := "2025-01-01")'],
    "Nat.gcd_symm": [],
}
"""Declarations of the module `Aliases` that state what `Nat.gcd_comm` states."""


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return load_encoder("static")


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("select")
    shutil.copytree(EXAMPLE_FOLDER, place / "corpus")
    _write_aliases(place / "corpus" / "Aliases.jsonl")
    folder = place / "index"
    build_index(open_corpus(place / "corpus", "extraction"), folder, encoder)
    with Index.open(folder) as opened:
        yield opened


def _write_aliases(file: Path) -> None:
    rows: list[dict[str, object]] = [
        {"row": "module", "format": 1, "module": "Aliases", "imports": ["Init.Data.Nat.Gcd"], "docstring": ""}
        | {"source": None, "package": "tests", "revision": None, "toolchain": "leanprover/lean4:v4.33.0"}
    ]
    for line, (name, attributes) in enumerate(ALIASES.items(), start=1):
        signature = f"theorem {name} {STATEMENT}"
        rows.append(
            {"row": "declaration", "name": name, "kind": "theorem", "signature": signature, "display": signature}
            | {"docstring": "", "constants": ["Eq", "Nat", "Nat.gcd"], "conclusion_count": 3, "line": line}
            | {"attributes": attributes, "end_line": line, "parent": None, "has_equations": False}
        )
    rows.append({"row": "end", "declarations": len(ALIASES), "examples": 0})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
async def batcher(encoder: Encoder) -> AsyncIterator[MicroBatcher]:
    running = MicroBatcher(encoder)
    yield running
    await running.close()


@dataclass
class Room:
    """A selector with everything behind it."""

    selector: PremiseSelector
    environments: Environments
    embeddings: PremiseEmbeddings
    index: Index

    async def ask(self, goal: str, **fields: object) -> PremiseAnswer:
        return await self.selector.select(PremiseRequest(goal, **fields))  # type: ignore[arg-type]


@pytest.fixture
def room(tmp_path: Path, index: Index, batcher: MicroBatcher) -> Iterator[Room]:
    embeddings = PremiseEmbeddings(tmp_path / "cache", batcher.encoder.fingerprint, CACHE_BYTES)
    environments = Environments(tmp_path / "cache")
    yield Room(PremiseSelector(index, batcher, embeddings, environments), environments, embeddings, index)
    embeddings.close()
    environments.close()


def names(answer: PremiseAnswer) -> list[str]:
    return [premise.name for premise in answer.premises]


def codes(answer: PremiseAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]
