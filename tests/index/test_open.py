from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.encoder.base import Encoder
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.index.layout import GRAPH_FILE
from sidecar.index.manifest import FORMAT, MANIFEST_FILE, Manifest
from sidecar.index.soundness import SMALL_BYTES
from sidecar.index.store import STORE_FILE
from sidecar.index.verify import MOST_FAULTS, verify_index
from tests.index.made_up import CountingEncoder


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """An index to break."""
    folder = tmp_path / "copy"
    shutil.copytree(built, folder)
    return folder


def _rewrite(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    path = folder / MANIFEST_FILE
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))


def _refused(folder: Path) -> SidecarError:
    with pytest.raises(SidecarError) as refused:
        Index.open(folder)
    return refused.value


def test_no_index_says_how_to_make_one(tmp_path: Path) -> None:
    for folder in (tmp_path / "nothing", tmp_path):
        error = _refused(folder)
        assert error.code == "not_found"
        assert f"lean-sidecar index build CORPUS --output {folder}" in (error.hint or "")


def test_every_file_that_is_missing_or_cut_is_named(built: Path, copied: Path) -> None:
    names = Manifest.read(built).files
    assert STORE_FILE in names and any(name.endswith(".f16") for name in names)
    for name, entry in names.items():
        path = copied / name
        path.rename(copied.with_name("aside"))
        error = _refused(copied)
        assert error.code == "conflict" and f"{name} is missing" in error.message
        copied.with_name("aside").rename(path)
        os.truncate(path, entry.bytes - 1)
        error = _refused(copied)
        assert error.code == "conflict" and f"{name} has {entry.bytes - 1} bytes instead of" in error.message
        assert "index build" in (error.hint or "")
        shutil.copy(built / name, path)
    Index.open(copied).close()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"{}", b"[" * 100_000])
def test_a_manifest_that_is_none_is_refused(copied: Path, content: bytes) -> None:
    (copied / MANIFEST_FILE).write_bytes(content)
    assert _refused(copied).code == "conflict"


def test_a_changed_manifest_is_refused(copied: Path) -> None:
    _rewrite(copied, lambda body: body.update(revision="0123456789ab"))
    assert "does not match its own checksum" in _refused(copied).message


def test_a_newer_format_asks_for_an_upgrade(copied: Path) -> None:
    _rewrite(copied, lambda body: body.update(format=99, unheard="of"))
    error = _refused(copied)
    assert error.code == "conflict" and f"format 99, newer than format {FORMAT}" in error.message
    assert "upgrade" in (error.hint or "")


def test_an_older_format_asks_for_a_build(copied: Path) -> None:
    _rewrite(copied, lambda body: body.update(format=0))
    error = _refused(copied)
    assert "older" in error.message and (error.hint or "").startswith("build it again")


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, "--encoder static`"),
        ({"counts": {"proofs": 3}, "corpus_format": "docgen"}, "--encoder static --proofs PROOFS`"),
        ({"counts": {"proofs": 3}, "corpus_format": "extraction"}, "--encoder static`"),
        ({"counts": {"proofs": 0}, "corpus_format": "docgen"}, "--encoder static`"),
        ({"vectors": {"all": {"encoder": "other"}}, "roles": {"premises": "gone"}}, "--encoder other`"),
        ({"vectors": {"all": {"encoder": "my model"}}, "roles": None}, "--encoder 'my model'`"),
        (
            {
                "vectors": {"a": {"encoder": "mine"}, "b": {"encoder": "small"}},
                "roles": {"premises": "a", "search": "b"},
            },
            "--encoder mine --search-encoder small`",
        ),
        ({"vectors": {"a": {"encoder": "mine"}}, "roles": {"premises": "b", "search": "a"}}, "--encoder mine`"),
        ({"vectors": ["static"], "roles": [], "counts": 7}, "`"),
        ({"vectors": {"all": {"encoder": "`rm`"}}}, "`"),
        ({"vectors": None, "counts": {"proofs": "many"}}, "`"),
    ],
)
def test_the_command_for_an_index_of_another_format_is_the_one_that_made_it(
    copied: Path, change: dict[str, object], options: str
) -> None:
    _rewrite(copied, lambda body: body.update({"format": 4, **change}))
    command = f"index build CORPUS --output {copied} {options}".replace(" `", "`")
    assert (_refused(copied).hint or "").endswith(command)


def test_the_command_for_a_damaged_index_is_the_one_that_made_it(copied: Path) -> None:
    (copied / STORE_FILE).unlink()
    assert "--encoder static`" in (_refused(copied).hint or "")
    (copied / MANIFEST_FILE).write_text("no manifest")
    assert (_refused(copied).hint or "").endswith(f"--output {copied}`")


def test_a_foreign_folder_is_refused(copied: Path) -> None:
    _rewrite(copied, lambda body: body.update(kind="a browser extension"))
    assert "does not belong to an index" in _refused(copied).message


@pytest.mark.parametrize("part", ["vectors", "codes"])
@pytest.mark.parametrize("name", ["../elsewhere.f16", "/etc/hostname", "unlisted.f16"])
def test_a_manifest_leads_to_no_other_file(copied: Path, name: str, part: str) -> None:
    def change(body: dict[str, Any]) -> None:
        for whole in body["vectors"].values():
            entry = whole if part == "vectors" else whole["codes"]
            if name != "unlisted.f16":
                body["files"][name] = body["files"].pop(entry["file"])
            entry["file"] = name

    _seal_again(copied, change)
    assert f"{name!r}, which cannot be part of it" in _refused(copied).message


def test_a_broken_database_is_refused_at_once(copied: Path) -> None:
    path = copied / STORE_FILE
    path.write_bytes(b"\0" * path.stat().st_size)
    assert "damaged" in _refused(copied).message


@pytest.mark.parametrize("header", [b"(", b"{'descr': [", b"1", b"\xff\xff", b"{'shape': 'x'}", b'"' * 3])
def test_an_array_whose_header_is_none_is_refused(copied: Path, header: bytes) -> None:
    path = copied / "names.order.npy"
    content = path.read_bytes()
    path.write_bytes(content[:10] + header.ljust(118) + content[128:])
    assert "damaged" in _refused(copied).message


def _flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 0x10]))


class TestDamageOfEqualSize:
    """What no size tells is met at opening, not at a request."""

    def test_a_flipped_byte_of_a_small_file_is_named(self, built: Path, copied: Path) -> None:
        random = np.random.default_rng(1)
        for name, entry in Manifest.read(built).files.items():
            assert entry.bytes <= SMALL_BYTES
            _flip(copied / name, int(random.integers(entry.bytes)))
            error = _refused(copied)
            assert error.code == "conflict" and f"{name} is not what was written" in error.message
            assert "index build" in (error.hint or "")
            shutil.copy(built / name, copied / name)
        Index.open(copied).close()

    @pytest.mark.parametrize(
        ("name", "place", "message"),
        [
            ("names.offsets.npy", 128 + 8 * 50 + 1, "do not ascend"),
            ("names.offsets.npy", 128 + 1, "do not ascend"),
            ("constants-of-rows.offsets.npy", 128 + 8 * 50 + 2, "do not ascend"),
            ("rows-of-words.offsets.npy", 128 + 8 * 20 + 1, "do not ascend"),
            ("names.hashes.npy", 128 + 8 * 50 + 7, "do not ascend"),
            ("spellings.keys.npy", 128 + 8 * 50 + 7, "do not ascend"),
        ],
    )
    def test_large_tables_are_looked_at(
        self, copied: Path, name: str, place: int, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sidecar.index.soundness.SMALL_BYTES", 0)
        Index.open(copied).close()
        _flip(copied / name, place)
        error = _refused(copied)
        assert name in error.message and message in error.message

    @pytest.mark.parametrize(
        "name", ["names.offsets.npy", "spellings.rows.npy", "rows-of-words.beside.npy", "content-hashes.npy"]
    )
    def test_an_array_of_other_numbers_is_refused(
        self, copied: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sidecar.index.soundness.SMALL_BYTES", 0)
        path = copied / name
        content = path.read_bytes()
        shape = np.load(path).shape
        other = str((shape[0] - 2, *shape[1:])).encode()
        for said, instead in ((b"'<u", b"'<i"), (b"'<i", b"'<f"), (b"'|u1'", b"'|i1'"), (str(shape).encode(), other)):
            if said in content[:128] and len(said) == len(instead):
                path.write_bytes(content[:128].replace(said, instead) + content[128:])
                error = _refused(copied)
                assert name in error.message and "instead of" in error.message
        path.write_bytes(content)
        Index.open(copied).close()

    def test_offsets_that_end_elsewhere_are_refused(self, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sidecar.index.soundness.SMALL_BYTES", 0)
        for name in ("names.offsets.npy", "rows-of-words.offsets.npy"):
            path = copied / name
            content = path.read_bytes()
            end = int.from_bytes(content[-8:], "little") + 1
            path.write_bytes(content[:-8] + end.to_bytes(8, "little"))
            assert f"instead of 0 to {end - 1}" in _refused(copied).message
            path.write_bytes(content)

    def test_any_flipped_byte_of_the_import_graph_is_a_refusal_or_does_no_harm(
        self, built: Path, copied: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sidecar.index.soundness.SMALL_BYTES", 0)
        with Index.open(built) as whole:
            names = whole.graph.names
        content = (built / GRAPH_FILE).read_bytes()
        for place in [*range(0, 64, 2), *range(len(content) - 150, len(content), 3)]:
            _flip(copied / GRAPH_FILE, place)
            try:
                with Index.open(copied) as index:
                    assert index.graph.names == names
            except SidecarError as error:
                assert error.code == "conflict" and GRAPH_FILE in error.message
            (copied / GRAPH_FILE).write_bytes(content)


class TestVerify:
    def test_every_flipped_byte_is_found(self, built: Path, copied: Path, static: Encoder) -> None:
        random = np.random.default_rng(0)
        for name, entry in Manifest.read(built).files.items():
            _flip(copied / name, int(random.integers(entry.bytes)))
            faults = verify_index(copied, static)
            assert len(faults) == 1 and faults[0].startswith(f"{name}: its checksum is")
            shutil.copy(built / name, copied / name)
        assert verify_index(copied, static) == []

    def test_a_file_too_many_is_named(self, copied: Path, static: Encoder) -> None:
        (copied / "notes.txt").write_text("mine")
        assert verify_index(copied, static) == ["notes.txt: does not belong to the index"]

    def test_vectors_of_another_model_are_found(self, copied: Path, static: Encoder) -> None:
        """Checksums are right, the content is not: as if the encoder had been exchanged under its name."""
        manifest = Manifest.read(copied)
        name = manifest.vector_entry("premises").file
        vectors = np.fromfile(copied / name, dtype=np.float16).reshape(-1, static.dimension)
        vectors[::-1].tofile(copied / name)
        _seal_again(copied)
        faults = verify_index(copied, static)
        assert len(faults) == MOST_FAULTS + 1 and faults[-1] == "… and more of the same kind"
        assert "vectors have not their own codes, the first is row 0" in faults[0]
        assert all("is not that of its text" in fault for fault in faults[1:-1])

    def test_vectors_that_have_no_unit_length_are_found(self, copied: Path, static: Encoder) -> None:
        name = Manifest.read(copied).vector_entry("premises").file
        vectors = np.fromfile(copied / name, dtype=np.float16).reshape(-1, static.dimension)
        vectors[5] *= 3
        vectors[9] = np.nan
        vectors.tofile(copied / name)
        _seal_again(copied)
        assert f"{name}: 2 vectors have not length 1, the first is row 5" in verify_index(copied, static)

    def test_codes_of_other_vectors_are_found(self, copied: Path, static: Encoder) -> None:
        manifest = Manifest.read(copied)
        codes = manifest.vector_entry("premises").codes
        assert codes is not None
        width = (copied / codes.file).stat().st_size // manifest.counts["declarations"]
        numbers = np.fromfile(copied / codes.file, dtype=np.int8).reshape(-1, width)
        numbers[[4, 11]] = -numbers[[4, 11]]
        numbers.tofile(copied / codes.file)
        _seal_again(copied)
        fault = f"{codes.file}: 2 vectors have not their own codes, the first is row 4"
        assert verify_index(copied, static) == [fault]

    def test_an_encoder_that_cannot_be_had_is_a_fault(self, copied: Path) -> None:
        def change(body: dict[str, Any]) -> None:
            for entry in body["vectors"].values():
                entry["encoder"] = "/nowhere/model"

        _seal_again(copied, change)
        (fault,) = verify_index(copied)
        assert "cannot be compared with its encoder" in fault and "/nowhere/model" in fault

    def test_rows_that_changed_behind_their_hashes_are_found(self, copied: Path, static: Encoder) -> None:
        import sqlite3

        with sqlite3.connect(copied / STORE_FILE) as connection:
            connection.execute("UPDATE declarations SET docstring = 'something else' WHERE row = 3")
        connection.close()
        _seal_again(copied)
        faults = verify_index(copied, static)
        assert any(fault.startswith("row 3:") and "hash of its content" in fault for fault in faults)


def _seal_again(folder: Path, change: Callable[[dict[str, Any]], None] = lambda body: None) -> None:
    """Make the manifest fit the files again, as somebody would who wanted to deceive it."""
    body = json.loads((folder / MANIFEST_FILE).read_text())
    for name in body["files"]:
        content = (folder / name).read_bytes()
        body["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    change(body)
    del body["checksum"]
    checksum = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    (folder / MANIFEST_FILE).write_text(json.dumps({**body, "checksum": checksum}))


class TestEncoders:
    def test_the_same_encoder_is_welcome(self, built: Path, static: Encoder) -> None:
        with Index.open(built) as index:
            index.require_encoder(static)
            index.require_encoder(static, "search")

    def test_another_model_of_the_same_width_is_refused(self, built: Path, static: Encoder) -> None:
        other = CountingEncoder(static, "mine", "ffff")
        with (
            Index.open(built) as index,
            pytest.raises(SidecarError, match="another model with vectors of the same") as no,
        ):
            index.require_encoder(other)
        assert no.value.code == "conflict"
        assert "'static'" in no.value.message and "'mine'" in no.value.message and "ffff" in no.value.message
        assert f"--output {built} --encoder mine" in (no.value.hint or "")

    def test_other_weights_under_one_name_are_refused(self, built: Path, static: Encoder) -> None:
        with Index.open(built) as index, pytest.raises(SidecarError, match="other weights") as refused:
            index.require_encoder(CountingEncoder(static, "static", "ffff"))
        assert (refused.value.hint or "").startswith("build it again")

    def test_another_width_is_refused(self, built: Path, static: Encoder) -> None:
        other = CountingEncoder(static, "wide", "ffff")
        other.dimension = 768
        with Index.open(built) as index, pytest.raises(SidecarError, match="vectors of 768 numbers instead of 384"):
            index.require_encoder(other)

    def test_other_text_rules_are_named(self, built: Path, static: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sidecar.index.index.text_fingerprint", lambda: "0" * 16)
        with Index.open(built) as index, pytest.raises(SidecarError, match="other text rules"):
            index.require_encoder(CountingEncoder(static, "static", "ffff"))


class TestUse:
    def test_many_threads_read_one_index(self, built: Path) -> None:
        with Index.open(built) as index:
            expected = list(index.all_declarations())

            def read(seed: int) -> bool:
                rows = np.random.default_rng(seed).integers(0, index.size, 40).tolist()
                return index.declarations(rows) == [expected[row] for row in rows] and index.names(rows) == [
                    expected[row].name for row in rows
                ]

            with ThreadPoolExecutor(8) as pool:
                assert all(pool.map(read, range(60)))

    def test_rows_that_are_not_there(self, built: Path) -> None:
        with Index.open(built) as index:
            for row in (-1, index.size):
                with pytest.raises(IndexError, match=str(row)):
                    index.declaration(row)
                with pytest.raises(IndexError):
                    index.name(row)
            assert index.declarations([]) == [] and index.names([]) == []

    def test_closing_waits_for_requests_that_run(self, built: Path) -> None:
        index = Index.open(built)
        inside, leave = threading.Event(), threading.Event()
        read: list[str] = []

        def request() -> None:
            with index.in_use():
                inside.set()
                leave.wait()
                read.append(index.declaration(0).name)

        worker = threading.Thread(target=request)
        worker.start()
        inside.wait()
        index.close()
        with pytest.raises(SidecarError, match="closed"), index.in_use():
            raise AssertionError("a closed index let a new request in")
        leave.set()
        worker.join()
        assert read == [index.name(0)]
        with pytest.raises(SidecarError, match="closed"):
            index.declaration(0)
        index.close()

    def test_searching_on_a_torch_device_gives_the_same(self, built: Path, static: Encoder) -> None:
        queries = static.encode(["addition is commutative", "zero"], "question")
        with Index.open(built) as plain, Index.open(built, device="cpu:0") as torch:
            scores, rows = plain.vectors("search").search(queries, 10, plain.premise)
            other_scores, other_rows = torch.vectors("search").search(queries, 10, torch.premise)
            np.testing.assert_allclose(scores, other_scores, atol=2e-6)
            assert np.array_equal(rows, other_rows)
