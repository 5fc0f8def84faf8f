from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.records import KINDS, Declaration, Module, Proof
from sidecar.corpus.source import Corpus, open_corpus
from sidecar.encoder.base import Encoder
from sidecar.errors import SidecarError
from sidecar.index import build
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.index.layout import replaced_folder
from sidecar.index.lock import writer_lock
from sidecar.index.manifest import Manifest
from sidecar.index.staging import Staging
from sidecar.index.verify import verify_index
from sidecar.text.declaration import declaration_text
from tests.index.made_up import ODD_NAMES, CountingEncoder, declared, library, write_library


class TestContents:
    def test_rows_are_what_is_not_hidden_in_corpus_order(self, corpus: Corpus, built: Path) -> None:
        every = list(corpus.declarations())
        propositional = propositional_constants(every)
        shown = [each for each in every if not role(each, propositional).hidden]
        with Index.open(built) as index:
            assert list(index.all_declarations()) == shown
            assert index.declarations(range(index.size)) == shown
            assert index.size == len(shown) < len(every)
            assert index.manifest.counts["hidden"] == len(every) - len(shown)
            roles = [role(each, propositional) for each in shown]
            assert index.premise.tolist() == [each.premise for each in roles]
            assert index.target.tolist() == [each.target for each in roles]
            assert [KINDS[kind] for kind in index.kinds] == [each.kind for each in shown]
            assert 0 < index.premise.sum() < index.size

    def test_odd_names_are_found_and_kept_apart(self, built: Path) -> None:
        with Index.open(built) as index:
            rows = [index.row(name) for name in ODD_NAMES]
            assert None not in rows and len(set(rows)) == len(ODD_NAMES)
            assert index.names([row for row in rows if row is not None]) == list(ODD_NAMES)
            assert index.rows([*ODD_NAMES, "sound"]).tolist() == [*rows, -1]
            assert index.row("Made.new._auxLemma") is None

    def test_visibility_follows_imports(self, built: Path) -> None:
        with Index.open(built) as index:
            mask, unknown = index.visible(["Made.Order", "Made.Nowhere"])
            assert unknown == ["Made.Nowhere"]
            assert {index.module(int(row)) for row in np.flatnonzero(mask)} == {"Made.Basic", "Made.Order"}
            assert {index.module(int(row)) for row in np.flatnonzero(~mask)} == {"Made.Ring"}
            assert not index.visible([])[0].any()

    def test_deprecated_declarations_name_their_replacement(self, built: Path) -> None:
        with Index.open(built) as index:
            old, new = index.row("Made.old"), index.row("Made.new")
            assert old is not None and new is not None
            assert index.deprecated[old] and index.replacement(old) == "Made.new"
            assert not index.deprecated[new] and index.replacement(new) is None
            assert index.deprecated.sum() == 1

    def test_vectors_are_those_of_the_canonical_texts(self, built: Path, static: Encoder) -> None:
        with Index.open(built) as index:
            rows = list(range(0, index.size, 37))
            expected = static.encode([declaration_text(each) for each in index.declarations(rows)], "declaration")
            found = index.vectors("premises").matrix[rows].astype(np.float32)
            np.testing.assert_allclose(found, expected, atol=2e-3)
            _, nearest = index.vectors("search").search(expected, 3)
            texts = index.text_hashes
            assert all((texts[best[0]] == texts[row]).all() for best, row in zip(nearest, rows, strict=True))

    def test_words_find_what_holds_them(self, built: Path) -> None:
        with Index.open(built) as index:
            rows, _ = index.lexical.search(["gone", "soon"], 5)
            assert index.name(int(rows[0])) == "Made.old"

    def test_constants_are_those_of_the_corpus(self, corpus: Corpus, built: Path) -> None:
        with Index.open(built) as index:
            number = index.constants.number("Made.Even")
            assert number is not None
            holders = {each.name for each in corpus.declarations() if "Made.Even" in each.constants}
            assert set(index.names(index.constants.rows_of[number])) == holders

    def test_a_text_is_encoded_once(self, corpus: Corpus, static: Encoder, tmp_path: Path) -> None:
        encoder = CountingEncoder(static)
        manifest = build_index(corpus, tmp_path / "i", encoder)
        assert len(encoder.texts) == len(set(encoder.texts)) == manifest.build.encoded
        with Index.open(tmp_path / "i") as index:
            one, other = index.rows(["T.same_text", "T.same.text"])
            matrix = index.vectors("premises").matrix
            assert matrix[one].any() and np.array_equal(matrix[one], matrix[other])

    def test_nothing_is_wrong_with_it(self, built: Path, static: Encoder) -> None:
        assert verify_index(built, static) == []

    def test_the_summary_says_what_it_holds(self, built: Path) -> None:
        summary = Manifest.read(built).summary()
        assert summary["bytes"] == sum(path.stat().st_size for path in built.iterdir() if path.name != "manifest.json")
        assert summary["encoders"]["premises"]["name"] == "static"  # type: ignore[index]


def test_two_encoders_serve_one_index(corpus: Corpus, static: Encoder, tmp_path: Path) -> None:
    other = CountingEncoder(static, "other", "another fingerprint")
    manifest = build_index(corpus, tmp_path / "i", static, search_encoder=other)
    assert len(manifest.vectors) == 2
    with Index.open(tmp_path / "i") as index:
        assert index.vectors("premises").encoder == "static" and index.vectors("search").encoder == "other"
        index.require_encoder(static, "premises")
        index.require_encoder(other, "search")
        with pytest.raises(SidecarError):
            index.require_encoder(other, "premises")


def test_instances_are_premises_only_on_demand(static: Encoder, tmp_path: Path) -> None:
    rows = [declared("a", ": True"), declared("i", ": Add Nat", kind="instance")]
    corpus = open_corpus(write_library(tmp_path / "c", {"Made.Basic": rows}))
    assert build_index(corpus, tmp_path / "i", static).counts["premises"] == 1
    assert build_index(corpus, tmp_path / "i", static, instances=True).counts["premises"] == 2


def test_many_rows_get_inverted_lists(corpus: Corpus, static: Encoder, tmp_path: Path) -> None:
    manifest = build_index(corpus, tmp_path / "i", static, approximate_rows=300)
    assert manifest.vector_entry("premises").approximate in manifest.files
    with Index.open(tmp_path / "i") as index:
        query = np.array(index.vectors("premises").matrix[7:8], dtype=np.float32)
        assert index.vectors("premises").search(query, 5)[1][0, 0] == 7
    assert verify_index(tmp_path / "i", static) == []


def test_the_revision_changes_with_the_content_and_only_with_it(static: Encoder, tmp_path: Path) -> None:
    modules = library(30)

    def revision(name: str) -> str:
        return build_index(open_corpus(write_library(tmp_path / name, modules)), tmp_path / "i", static).revision

    first = revision("one")
    assert revision("two") == first
    modules["Made.Basic"][3]["docstring"] += "!"
    assert revision("three") != first


@pytest.fixture
def source(corpus: Corpus) -> Path:
    return corpus.path


class TestInterruption:
    @pytest.mark.parametrize("point", ["commit:1", "commit:3", "commit:5", "tables", "manifest", "publish"])
    def test_a_killed_build_goes_on(
        self, source: Path, built: Path, static: Encoder, tmp_path: Path, point: str
    ) -> None:
        folder = tmp_path / "i"
        _killed(source, folder, point)
        encoder = CountingEncoder(static)
        manifest = build_index(open_corpus(source), folder, encoder)
        batches = {"commit:1": 0, "commit:3": 2, "commit:5": 4}.get(point)
        every = Manifest.read(built).build.encoded
        if point == "publish":
            # That build was whole; this one had nothing to go on with.
            assert len(encoder.texts) == every
        elif batches is None:
            assert encoder.texts == []
        else:
            assert every - 100 * batches <= len(encoder.texts) <= every - 98 * batches
        _assert_same(folder, built)
        assert manifest.build.encoded == every
        assert sorted(path.name for path in tmp_path.iterdir()) == ["i"]

    def test_killed_again_and_again(self, source: Path, built: Path, tmp_path: Path) -> None:
        folder = tmp_path / "i"
        for point in ("commit:2", "commit:1", "tables"):
            _killed(source, folder, point)
        assert subprocess.run(_command(source, folder, "never"), check=False).returncode == 0
        _assert_same(folder, built)

    def test_what_an_interrupted_build_left_is_named(self, source: Path, tmp_path: Path) -> None:
        _killed(source, tmp_path / "i", "commit:2")
        with pytest.raises(SidecarError, match="never finished") as refused:
            Index.open(tmp_path / "i")
        assert refused.value.code == "not_found" and "index build" in (refused.value.hint or "")

    def test_another_corpus_or_encoder_starts_afresh(
        self, source: Path, static: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        folder = tmp_path / "i"
        _killed(source, folder, "commit:3")
        other = CountingEncoder(static, "other", "another fingerprint")
        with caplog.at_level(logging.INFO):
            manifest = build_index(open_corpus(source), folder, other)
        assert any("starting afresh" in line for line in caplog.messages)
        assert len(other.texts) == manifest.build.encoded > 600
        assert verify_index(folder, other) == []

    def test_a_damaged_leftover_starts_afresh(self, source: Path, built: Path, static: Encoder, tmp_path: Path) -> None:
        folder = tmp_path / "i"
        _killed(source, folder, "commit:3")
        vectors = next((tmp_path / "i.building").glob("*.f16"))
        os.truncate(vectors, vectors.stat().st_size // 2)
        build_index(open_corpus(source), folder, static)
        _assert_same(folder, built)

    def test_stopped_by_the_keyboard(self, source: Path, built: Path, static: Encoder, tmp_path: Path) -> None:
        class Interrupted(CountingEncoder):
            def encode(self, texts, purpose):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
                if len(self.texts) > 300:
                    raise KeyboardInterrupt
                return super().encode(texts, purpose)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(build, "SMALLEST_BATCH", 100)
            patch.setattr(build, "LARGEST_BATCH", 100)
            with pytest.raises(KeyboardInterrupt):
                build_index(open_corpus(source), tmp_path / "i", Interrupted(static))
        rest = CountingEncoder(static)
        build_index(open_corpus(source), tmp_path / "i", rest)
        assert len(rest.texts) < 400
        _assert_same(tmp_path / "i", built)


def _command(source: Path, folder: Path, point: str) -> list[str]:
    return [sys.executable, "-m", "tests.index.dying_build", str(source), str(folder), point]


def _killed(source: Path, folder: Path, point: str) -> None:
    ended = subprocess.run(
        _command(source, folder, point), check=False, capture_output=True, cwd=Path(__file__).parents[2]
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def _assert_same(folder: Path, other: Path) -> None:
    """Two indexes hold the same, byte by byte where bytes are decided by the content."""
    one, two = Manifest.read(folder), Manifest.read(other)
    assert one.revision == two.revision and one.counts == two.counts
    for name in one.files.keys() | two.files.keys():
        if not name.endswith((".sqlite", ".f16")):
            assert one.files[name] == two.files[name], name
    with Index.open(folder) as first, Index.open(other) as second:
        assert list(first.all_declarations()) == list(second.all_declarations())
        # Sums of floats differ a little with the batch that a text is in.
        np.testing.assert_allclose(
            first.vectors("premises").matrix.astype(np.float32),
            second.vectors("premises").matrix.astype(np.float32),
            atol=1e-3,
        )


class TestReplacing:
    def test_readers_keep_the_index_that_they_opened(self, static: Encoder, tmp_path: Path) -> None:
        folder = tmp_path / "i"
        build_index(_small(tmp_path / "one", 40), folder, static)
        with Index.open(folder) as old:
            names = old.names(range(old.size))
            build_index(_small(tmp_path / "two", 60), folder, static)
            with Index.open(folder) as new:
                assert new.size > old.size and new.revision != old.revision
            # Rows that were never read before come from the old files, which no name leads to any more.
            assert [each.name for each in old.all_declarations()] == names
            assert old.vectors("premises").search(np.ones((1, 384), np.float32), 3)[1].max() < old.size
            assert len(old.lexical.search(["add"], 5)[0]) == 5
        assert sorted(path.name for path in tmp_path.iterdir()) == ["i", "one", "two"]

    def test_where_folders_cannot_be_exchanged(
        self, static: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sidecar.index import publish

        monkeypatch.setattr(publish, "_exchange", lambda first, second: False)
        folder = tmp_path / "i"
        first = build_index(_small(tmp_path / "one", 20), folder, static)
        second = build_index(_small(tmp_path / "two", 30), folder, static)
        assert Manifest.read(folder) == second != first
        assert not replaced_folder(folder).exists()

        # A process that ended between the two steps left the old index aside; the next build brings it back first.
        folder.rename(replaced_folder(folder))
        with pytest.raises(SidecarError, match="no declaration"):
            build_index(_Nothing(), folder, static)  # type: ignore[arg-type]
        assert Manifest.read(folder) == second

    def test_opening_while_it_is_replaced_again_and_again(self, static: Encoder, tmp_path: Path) -> None:
        import threading

        folder = tmp_path / "i"
        corpora = [_small(tmp_path / str(count), count) for count in (20, 30)]
        sizes = {build_index(each, folder, static).revision: Manifest.read(folder).counts for each in corpora}
        stop = threading.Event()
        failures: list[BaseException] = []
        opened: set[str] = set()

        def keep_opening() -> None:
            while not stop.is_set():
                try:
                    with Index.open(folder) as index:
                        assert index.size == sizes[index.revision]["declarations"]
                        assert index.store.counts()[0] == index.size
                        opened.add(index.revision)
                except BaseException as error:
                    failures.append(error)
                    return

        reader = threading.Thread(target=keep_opening)
        reader.start()
        for _ in range(4):
            for each in corpora:
                build_index(each, folder, static)
        stop.set()
        reader.join()
        assert not failures, failures
        assert opened

    @pytest.mark.parametrize("content", ["notes.txt", None])
    def test_what_is_not_an_index_is_left_alone(
        self, corpus: Corpus, static: Encoder, tmp_path: Path, content: str | None
    ) -> None:
        place = tmp_path / "precious"
        if content is None:
            place.write_text("mine")
        else:
            place.mkdir()
            (place / content).write_text("mine")
        with pytest.raises(SidecarError, match="is not an index") as refused:
            build_index(corpus, place, static)
        assert refused.value.code == "conflict"
        assert "mine" in (place if content is None else place / content).read_text()

    def test_an_empty_folder_is_taken(self, static: Encoder, tmp_path: Path) -> None:
        (tmp_path / "i").mkdir()
        build_index(_small(tmp_path / "c", 10), tmp_path / "i", static)
        assert verify_index(tmp_path / "i", static) == []


def _small(folder: Path, count: int) -> Corpus:
    return open_corpus(write_library(folder, library(count)))


class _Nothing:
    """A corpus without declarations."""

    path = Path("nothing")
    format = "extraction"

    def __init__(self, *declarations: Declaration) -> None:
        self._declarations = declarations

    def modules(self) -> Iterator[Module]:
        return iter([Module("Made.Basic")])

    def declarations(self) -> Iterator[Declaration]:
        return iter(self._declarations)

    def proofs(self) -> Iterator[Proof]:
        return iter(())

    def revisions(self) -> dict[str, str]:
        return {}

    def fingerprint(self) -> str:
        return "nothing"

    def source_fingerprint(self) -> str:
        return "nothing"


def test_a_corpus_without_declarations_is_refused(static: Encoder, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match="no declaration") as refused:
        build_index(_Nothing(), tmp_path / "i", static)  # type: ignore[arg-type]
    assert refused.value.code == "bad_request" and refused.value.field == "corpus"
    assert not (tmp_path / "i").exists()


def test_a_module_that_is_not_described_still_counts(static: Encoder, tmp_path: Path) -> None:
    stray = Declaration("stray", "theorem", "Made.Stray", "theorem stray : True")
    build_index(_Nothing(stray), tmp_path / "i", static)  # type: ignore[arg-type]
    with Index.open(tmp_path / "i") as index:
        assert index.graph.names == ("Made.Basic", "Made.Stray")
        assert index.visible(["Made.Stray"])[0].tolist() == [True]
        assert index.visible(["Made.Basic"])[0].tolist() == [False]


def test_half_a_character_is_refused_by_name(static: Encoder, tmp_path: Path) -> None:
    half = Declaration("half", "theorem", "Made.Basic", "theorem half : True", docstring="a\ud800b")
    with pytest.raises(SidecarError, match=r"'half' of module 'Made\.Basic'") as refused:
        build_index(_Nothing(half), tmp_path / "i", static)  # type: ignore[arg-type]
    assert refused.value.code == "bad_request"


def test_a_second_writer_is_told_who_writes(corpus: Corpus, static: Encoder, tmp_path: Path) -> None:
    with writer_lock(tmp_path / "i"):
        with pytest.raises(SidecarError, match=f"process {os.getpid()} is writing") as refused:
            build_index(corpus, tmp_path / "i", static)
        assert refused.value.code == "conflict" and str(os.getpid()) in (refused.value.hint or "")
    build_index(corpus, tmp_path / "i", static)
    assert not (tmp_path / "i.lock").exists()


def test_a_folder_may_be_the_one_that_one_is_in_and_a_link(
    corpus: Corpus, static: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, below, link = tmp_path / "here", tmp_path / "below", tmp_path / "link"
    here.mkdir()
    link.symlink_to(below)
    monkeypatch.chdir(here)
    with pytest.raises(SidecarError, match="no index"):
        Index.open(Path())
    manifest = build_index(corpus, Path(), static)
    with pytest.raises(SidecarError, match="removed or replaced"):
        Manifest.read(Path())
    monkeypatch.chdir(here)
    assert Manifest.read(Path()).revision == manifest.revision
    for _ in range(2):
        build_index(corpus, link, static)
        assert link.is_symlink() and verify_index(link, static) == []
    assert {each.name for each in tmp_path.iterdir()} == {"here", "below", "link"}
    with pytest.raises(SidecarError, match="cannot be an index"):
        build_index(corpus, Path("/"), static)


@pytest.mark.parametrize("place", ["file/index", "file/far/index", "x" * 300])
def test_a_place_where_nothing_can_be_written_is_named(
    corpus: Corpus, static: Encoder, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SidecarError, match="cannot be written") as refused:
        build_index(corpus, tmp_path / place, static)
    assert "another folder" in (refused.value.hint or "")


def test_a_full_disk_is_said_and_nothing_is_lost(
    corpus: Corpus, static: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "SMALLEST_BATCH", 100)
    monkeypatch.setattr(build, "LARGEST_BATCH", 100)
    original = Staging.append
    calls = 0

    def fail(self: Staging, name: str, data: bytes) -> None:
        nonlocal calls
        calls += name.endswith(".f16")
        if calls == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        original(self, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "append", fail)
        with pytest.raises(SidecarError, match="No space left") as refused:
            build_index(corpus, tmp_path / "i", static)
        assert "goes on" in (refused.value.hint or "")
    rest = CountingEncoder(static)
    build_index(corpus, tmp_path / "i", rest)
    assert 200 < len(rest.texts) < 400
    assert verify_index(tmp_path / "i", static) == []


def test_the_rate_is_reported(
    corpus: Corpus, static: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        manifest = build_index(corpus, tmp_path / "i", static)
    assert manifest.build.declarations_per_second > 0
    assert any("declarations in" in line and "/s" in line for line in caplog.messages)


@pytest.mark.shared_data
def test_real_declarations(shared: Path, static: Encoder, tmp_path: Path) -> None:
    import gzip
    import json
    from itertools import islice

    source = shared / "data" / "declarations"
    with gzip.open(source / "declarations-001.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = list(islice(lines, 800))
    names = {json.loads(row)["name"] for row in rows}
    modules = {json.loads(row)["module"] for row in rows}
    part = tmp_path / "part"
    part.mkdir()
    (part / "declarations-000.jsonl").write_text("".join(rows), encoding="utf-8")
    for stem, key, wanted in (("modules", "module", modules), ("equations", "name", names)):
        with (
            gzip.open(source / f"{stem}-000.jsonl.gz", "rt", encoding="utf-8") as lines,
            (part / f"{stem}-000.jsonl").open("w", encoding="utf-8") as out,
        ):
            out.writelines(row for row in lines if json.loads(row)[key] in wanted)
    corpus = open_corpus(part)
    build_index(corpus, tmp_path / "i", static)
    assert verify_index(tmp_path / "i", static) == []
    with Index.open(tmp_path / "i") as index:
        shown = {each.name: each for each in index.all_declarations()}
        assert all(shown.get(each.name, each) == each for each in corpus.declarations())
        assert len(shown) > 700
