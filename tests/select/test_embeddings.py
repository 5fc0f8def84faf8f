from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.batcher import MicroBatcher
from sidecar.errors import SidecarError
from sidecar.index.strings import text_hash
from sidecar.select.embeddings import CHUNK, CHUNK_CHARACTERS, FILE, PremiseEmbeddings, _chunks
from sidecar.select.request import LocalPremise
from sidecar.text.declaration import premise_text


class Counting:
    """A batcher that counts the texts it is given, and fails when it is told to."""

    def __init__(self, batcher: MicroBatcher) -> None:
        self._batcher = batcher
        self.encoder: Encoder = batcher.encoder
        self.texts = 0
        self.room = 10**9

    async def encode(self, texts: Sequence[str], purpose: Purpose, *, bulk: bool = False) -> FloatMatrix:
        assert purpose == "declaration" and bulk
        if self.texts + len(texts) > self.room:
            raise SidecarError("overloaded", "no room")
        self.texts += len(texts)
        return await self._batcher.encode(texts, purpose, bulk=bulk)


@pytest.fixture
def counting(batcher: MicroBatcher) -> Counting:
    return Counting(batcher)


def made_up(count: int, word: str = "frob") -> list[LocalPremise]:
    return [
        LocalPremise(f"Mine.{word}{number}", f"theorem Mine.{word}{number} (n : Nat) : Eq (Mine.{word} {number} n) n")
        for number in range(count)
    ]


def open_cache(folder: Path, encoder: Encoder, byte_limit: int = 1 << 24, memory: int = 65_536) -> PremiseEmbeddings:
    return PremiseEmbeddings(folder, encoder.fingerprint, byte_limit, memory_premises=memory)


def test_long_texts_make_small_chunks() -> None:
    lengths = [10] * (CHUNK + 1) + [CHUNK_CHARACTERS // 3] * 4 + [CHUNK_CHARACTERS * 2, 5]
    chunks = list(_chunks(range(len(lengths)), lengths))
    assert [place for chunk in chunks for place in chunk] == list(range(len(lengths)))
    assert all(len(chunk) <= CHUNK for chunk in chunks)
    assert all(len(chunk) == 1 or sum(lengths[place] for place in chunk) <= CHUNK_CHARACTERS for chunk in chunks)
    assert len(chunks) == 5
    assert list(_chunks([], [])) == []


async def test_vectors_are_those_of_the_encoder(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    premises = made_up(20)
    features = await cache.features(premises, counting)
    expected = counting.encoder.encode([premise_text(premise.text) for premise in premises], "declaration")
    assert features.vectors is not None and features.vectors.dtype == np.float16
    np.testing.assert_allclose(features.vectors.astype(np.float32), expected, atol=2e-3)
    assert not features.cut.any()
    cache.close()


async def test_constants_are_read_from_the_text_or_taken_from_the_client(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    read = LocalPremise("a", "theorem a (x y : _) (h : LT.lt x y) : Eq x y")
    sent = LocalPremise("a", read.text, ("LT.lt", "Eq", "Secret"))
    for _ in range(2):
        statements = (await cache.features([read, sent], counting)).statements
        assert statements.starts.tolist() == [0, 2, 5]
        expected = [text_hash(name) for name in ("Eq", "LT.lt", "Eq", "LT.lt", "Secret")]
        assert statements.codes.tolist() == expected
        assert statements.leading.tolist() == [True, False, True, False, False]
    cache.close()


async def test_each_text_is_encoded_once_even_after_a_restart(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    premises = made_up(700)
    first = await cache.features([*premises, *premises[:5]], counting)
    assert counting.texts == 700
    again = await cache.features(premises, counting)
    cache.close()
    restarted = open_cache(tmp_path, counting.encoder)
    read = await restarted.features(premises, counting)
    assert counting.texts == 700
    assert first.vectors is not None and again.vectors is not None and read.vectors is not None
    assert np.array_equal(first.vectors[:700], again.vectors) and np.array_equal(again.vectors, read.vectors)
    assert np.array_equal(first.vectors[700:], again.vectors[:5])
    assert np.array_equal(again.statements.codes, read.statements.codes)
    restarted.close()


async def test_a_changed_text_under_the_same_name_is_encoded_anew(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    await cache.features([LocalPremise("a", "theorem a : Eq 1 1")], counting)
    changed = await cache.features([LocalPremise("a", "theorem a : LT.lt 1 2")], counting)
    assert counting.texts == 2
    assert changed.statements.codes.tolist() == [text_hash("LT.lt")]
    cache.close()


async def test_another_encoder_shares_nothing(tmp_path: Path, counting: Counting) -> None:
    first = open_cache(tmp_path, counting.encoder)
    await first.features(made_up(3), counting)
    first.close()
    other = PremiseEmbeddings(tmp_path, "another fingerprint", 1 << 24)
    await other.features(made_up(3), counting)
    assert counting.texts == 6
    other.close()


async def test_constants_alone_need_no_encoder(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    features = await cache.features(made_up(3), counting, vectors=False)
    assert counting.texts == 0 and features.vectors is None
    assert len(features.statements) == len((await cache.features(made_up(3), counting, vectors=False)).statements) == 3
    assert (await cache.features(made_up(3), counting)).vectors is not None
    assert counting.texts == 3
    cache.close()


async def test_no_premises(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    features = await cache.features([], counting)
    assert features.vectors is not None and features.vectors.shape == (0, counting.encoder.dimension)
    assert len(features.statements) == 0
    cache.close()


async def test_work_done_before_a_failure_is_kept(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    premises = made_up(CHUNK * 2 + 10)
    counting.room = CHUNK
    with pytest.raises(SidecarError):
        await cache.features(premises, counting)
    cache.close()
    counting.room = 10**9
    restarted = open_cache(tmp_path, counting.encoder)
    await restarted.features(premises, counting)
    assert counting.texts == len(premises)
    restarted.close()


async def test_the_file_is_bounded_and_drops_what_was_not_used_for_longest(tmp_path: Path, counting: Counting) -> None:
    limit = 1 << 20
    cache = open_cache(tmp_path, counting.encoder, limit, memory=16)
    old = made_up(400, "old")
    await cache.features(old, counting)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE premises SET used = used - 1000")
    connection.close()
    for batch in range(6):
        await cache.features(made_up(300, f"new{batch}"), counting)
    cache.close()
    connection = sqlite3.connect(tmp_path / FILE)
    (kept,) = connection.execute("SELECT count(*) FROM premises").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()
    assert 0 < kept < 2_200
    assert pages * 4_096 < 3 * limit
    restarted = open_cache(tmp_path, counting.encoder, limit)
    before = counting.texts
    await restarted.features(made_up(300, "new5"), counting)
    newest = counting.texts - before
    await restarted.features(old, counting)
    assert newest < 300 and counting.texts - before - newest == 400
    restarted.close()


@pytest.mark.parametrize("damage", ["garbage", "cut", "other tables", "other version"])
async def test_a_damaged_file_is_set_aside(
    tmp_path: Path, counting: Counting, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    await cache.features(made_up(300), counting)
    cache.close()
    file = tmp_path / FILE
    if damage == "garbage":
        file.write_bytes(b"this is no database" * 1_000)
    elif damage == "cut":
        content = file.read_bytes()
        file.write_bytes(content[:8_192] + bytes(len(content) - 8_192))
    else:
        with sqlite3.connect(file) as connection:
            if damage == "other version":
                connection.execute("PRAGMA user_version = 99")
            else:
                connection.execute("ALTER TABLE premises RENAME TO others")
                connection.execute("PRAGMA user_version = 0")
        connection.close()
    again = open_cache(tmp_path, counting.encoder)
    features = await again.features(made_up(300), counting)
    assert features.vectors is not None and features.vectors.any(axis=1).all()
    again.close()
    assert (tmp_path / f"{FILE}.damaged").exists()
    assert "set aside" in caplog.text
    texts = counting.texts
    healthy = open_cache(tmp_path, counting.encoder)
    await healthy.features(made_up(300), counting)
    assert counting.texts == texts
    healthy.close()


async def test_a_locked_file_costs_no_answer(
    tmp_path: Path, counting: Counting, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.select.store.LOCK_SECONDS", 0.05)
    first = open_cache(tmp_path, counting.encoder)
    await first.features(made_up(3), counting)
    first.close()
    holder = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    cache = open_cache(tmp_path, counting.encoder)
    assert (await cache.features(made_up(5, "new"), counting)).vectors is not None
    assert (await cache.features(made_up(5, "new"), counting)).vectors is not None
    assert counting.texts == 8
    assert "in memory" in caplog.text
    holder.execute("COMMIT")
    holder.close()
    cache.close()


async def test_a_folder_that_cannot_be_made_costs_no_answer(tmp_path: Path, counting: Counting) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = open_cache(tmp_path / "file" / "cache", counting.encoder)
    assert (await cache.features(made_up(2), counting)).vectors is not None
    cache.close()


async def test_two_processes_may_share_the_file(tmp_path: Path, counting: Counting) -> None:
    one, two = open_cache(tmp_path, counting.encoder), open_cache(tmp_path, counting.encoder)
    await asyncio.gather(one.features(made_up(300, "x"), counting), two.features(made_up(300, "y"), counting))
    assert counting.texts == 600
    await one.features(made_up(300, "y"), counting)
    await two.features(made_up(300, "x"), counting)
    assert counting.texts == 600
    one.close()
    two.close()


async def test_what_two_requests_miss_at_once_is_encoded_once(tmp_path: Path, counting: Counting) -> None:
    cache = open_cache(tmp_path, counting.encoder)
    premises = made_up(CHUNK * 3)
    first, second = await asyncio.gather(cache.features(premises, counting), cache.features(premises, counting))
    assert counting.texts == len(premises)
    assert first.vectors is not None and second.vectors is not None
    assert np.array_equal(first.vectors, second.vectors)
    cache.close()
