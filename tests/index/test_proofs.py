"""The table of what proofs use: written with an index, brought up to date, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import open_corpus
from sidecar.encoder.base import Encoder
from sidecar.errors import SidecarError
from sidecar.index.build import build_index, update_index
from sidecar.index.index import Index
from sidecar.index.manifest import Manifest, file_entry
from sidecar.index.verify import verify_index
from tests.index.made_up import CountingEncoder, library, write_library


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return write_library(tmp_path / "made", library(200))


def _list(file: Path, proofs: Sequence[tuple[str, Sequence[str]]]) -> Path:
    rows = [json.dumps({"name": name, "premises": list(premises)}) for name, premises in proofs]
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def _known(index: Index) -> Mapping[str, list[str]]:
    rows = index.proofs.theorems.tolist()
    return {index.name(row): index.names(index.proofs.premises_of[row].tolist()) for row in rows}


def test_premises_of_the_index_are_kept_and_nothing_else(made: Path, static: Encoder, tmp_path: Path) -> None:
    names = [row["name"] for rows in library(200).values() for row in rows]
    a, b, c, d = names[:4]
    proofs = [
        (a, [b, "No.Such", a, b, "Made.plain"]),  # unknown, itself, twice, a structure that is no premise
        ("No.Such.Theorem", [b]),
        (c, ["No.Such"]),
        (a, [c, b]),  # a second state of the same theorem
        (d, ["T.same_text", "«a b».c"]),
    ]
    folder = tmp_path / "i"
    manifest = build_index(open_corpus(made, proofs=_list(tmp_path / "p.jsonl", proofs)), folder, static)
    assert manifest.counts["proofs"] == 2
    with Index.open(folder) as index:
        assert _known(index) == {a: [b, c], d: ["T.same_text", "«a b».c"]}
        assert len(index.proofs) == 2
        uses = index.proofs.uses()
        assert {index.name(int(row)): int(uses[row]) for row in np.flatnonzero(uses)} == {
            **dict.fromkeys((b, c, "T.same_text", "«a b».c"), 1)
        }
    assert verify_index(folder, static) == []


def test_more_proofs_than_are_looked_up_together(
    made: Path, static: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.index.proofs._AT_ONCE", 7)
    names = [row["name"] for row in library(200)["Made.Basic"]]
    proofs = [(name, names[:place]) for place, name in enumerate(names)]
    build_index(open_corpus(made, proofs=_list(tmp_path / "p.jsonl", proofs)), tmp_path / "i", static)
    with Index.open(tmp_path / "i") as index:
        assert _known(index) == dict(proofs[1:])


def test_new_proofs_need_no_encoding(made: Path, static: Encoder, tmp_path: Path) -> None:
    names = [row["name"] for row in library(200)["Made.Basic"]]
    folder = tmp_path / "i"
    before = build_index(open_corpus(made), folder, static)
    assert before.counts["proofs"] == 0
    encoder = CountingEncoder(static)
    proofs = _list(tmp_path / "p.jsonl", [(names[0], names[1:3])])
    report = update_index(folder, open_corpus(made, proofs=proofs), encoder)
    assert (report.added, report.changed, report.removed, report.encoded) == (0, 0, 0, 0)
    assert encoder.texts == []
    assert report.as_wire()["proofs"] == 1
    assert report.manifest.revision != before.revision
    with Index.open(folder) as index:
        assert _known(index) == {names[0]: names[1:3]}
    # Without the list the proofs are gone, and the answer shows it.
    assert update_index(folder, open_corpus(made), encoder).as_wire()["proofs"] == 0


def test_a_fault_in_the_list_is_met_before_anything_is_encoded(made: Path, static: Encoder, tmp_path: Path) -> None:
    proofs = tmp_path / "p.jsonl"
    proofs.write_text('{"name": "a", "premises": []}\nrubbish\n')
    encoder = CountingEncoder(static)
    with pytest.raises(SidecarError, match=r"p\.jsonl:2: not a row of JSON"):
        build_index(open_corpus(made, proofs=proofs), tmp_path / "i", encoder)
    assert encoder.texts == []


def test_a_build_that_was_interrupted_goes_on_with_other_proofs(made: Path, static: Encoder, tmp_path: Path) -> None:
    names = [row["name"] for row in library(200)["Made.Basic"]]
    first, second = (_list(tmp_path / f"{n}.jsonl", [(names[0], names[1 : 1 + n])]) for n in (1, 2))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("write_tables", "publish"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"sidecar.index.build.{step}", fail)
            with pytest.raises(KeyboardInterrupt):
                build_index(open_corpus(made, proofs=first), tmp_path / step, static)
        encoder = CountingEncoder(static)
        build_index(open_corpus(made, proofs=second), tmp_path / step, encoder)
        if step == "write_tables":
            assert encoder.texts == []
        with Index.open(tmp_path / step) as index:
            assert _known(index) == {names[0]: names[1:3]}
        assert verify_index(tmp_path / step, static) == []


@pytest.mark.parametrize("row", [-1, 10**6])
def test_rows_that_the_index_cannot_have_are_met_when_it_is_opened(
    made: Path, static: Encoder, tmp_path: Path, row: int
) -> None:
    names = [each["name"] for each in library(200)["Made.Basic"]]
    folder = tmp_path / "i"
    build_index(open_corpus(made, proofs=_list(tmp_path / "p.jsonl", [(names[0], names[1:3])])), folder, static)
    values = folder / "proofs.values.npy"
    np.save(values, np.array([row, 1], dtype=np.int32))
    manifest = Manifest.read(folder)
    replace(manifest, files={**manifest.files, values.name: file_entry(values)}).write(folder)
    with pytest.raises(SidecarError, match=r"proofs\.values\.npy holds rows outside 0 to"):
        Index.open(folder)
