from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from sidecar.index.lexical import LENGTH_SHARE, NAME_WEIGHT, SATURATION, LexicalTable, weigh_words, write_lexical
from sidecar.index.sparse import SparseRows, offsets_of

TEXTS = [
    # (words of the name, words of the text)
    ("nat add comm", "nat add comm eq add n m add m n"),
    ("nat mul comm", "nat mul comm eq mul n m mul m n"),
    ("int add comm", "int add comm eq add a b add b a int is a ring"),
    ("compact", "compact is bounded closed"),
    ("empty", "empty"),
    ("long", "long " + "n m " * 60 + "compact"),
    ("twin", "twin nat add"),
    ("twin", "twin nat add"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LexicalTable:
    folder = tmp_path_factory.mktemp("lexical")
    numbers = {word: number for number, word in enumerate(dict.fromkeys(" ".join(t for _, t in TEXTS).split()))}
    counted = [
        weigh_words([numbers[word] for word in name.split()], [numbers[word] for word in text.split()])
        for name, text in TEXTS
    ]
    write_lexical(
        folder,
        list(numbers),
        SparseRows(
            offsets_of(np.array([len(each) for each in counted])),
            np.array([word for each in counted for word in each], dtype=np.int32),
        ),
        np.array([count for each in counted for count in each.values()], dtype=np.uint8),
        np.array([len(text.split()) for _, text in TEXTS], dtype=np.int32),
    )
    return LexicalTable(folder, len(TEXTS))


def _reference(query: list[str]) -> list[float]:
    """BM25 written out."""
    lengths = [len(text.split()) for _, text in TEXTS]
    mean = sum(lengths) / len(lengths)
    scores = []
    for (name, text), length in zip(TEXTS, lengths, strict=True):
        counts, in_name = Counter(text.split()), Counter(name.split())
        score = 0.0
        for word in dict.fromkeys(query):
            frequency = sum(word in other.split() for _, other in TEXTS)
            often = counts[word] + (NAME_WEIGHT - 1) * in_name[word]
            discount = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / mean)
            rarity = math.log(1 + (len(TEXTS) - frequency + 0.5) / (frequency + 0.5))
            score += rarity * often * (SATURATION + 1) / (often + discount)
        scores.append(score)
    return scores


@pytest.mark.parametrize(
    "query", ["nat add comm", "compact", "compact compact nat", "n m", "add unheard of", "is a ring"]
)
def test_scores_are_bm25(table: LexicalTable, query: str) -> None:
    rows, scores = table.search(query.split(), len(TEXTS))
    expected = _reference(query.split())
    assert set(rows.tolist()) == {row for row, score in enumerate(expected) if score > 0}
    np.testing.assert_allclose(scores, [expected[row] for row in rows], atol=1e-3)
    assert (np.diff(scores) <= 0).all()


def test_ties_come_in_order_of_rows_and_the_limit_keeps_the_best(table: LexicalTable) -> None:
    rows, scores = table.search(["twin"], 5)
    assert rows.tolist() == [6, 7] and scores[0] == scores[1]
    every, _ = table.search(["add", "nat"], 8)
    for limit in range(1, len(every)):
        assert table.search(["add", "nat"], limit)[0].tolist() == every[:limit].tolist()


def test_a_mask_hides_rows_and_changes_no_score(table: LexicalTable) -> None:
    rows, scores = table.search(["add"], 8)
    mask = np.ones(len(TEXTS), dtype=np.bool_)
    mask[rows[0]] = False
    left, left_scores = table.search(["add"], 8, mask)
    assert left.tolist() == rows[1:].tolist()
    np.testing.assert_array_equal(left_scores, scores[1:])


@pytest.mark.parametrize(("words", "limit"), [([], 5), (["unheard"], 5), (["nat"], 0)])
def test_nothing_to_find_gives_nothing(table: LexicalTable, words: list[str], limit: int) -> None:
    rows, scores = table.search(words, limit)
    assert rows.shape == scores.shape == (0,)
    assert rows.dtype == np.int64 and scores.dtype == np.float32


def test_document_frequencies(table: LexicalTable) -> None:
    assert table.document_frequency("add") == 4
    assert table.document_frequency("unheard") == 0


def test_which_words_the_rows_hold(table: LexicalTable) -> None:
    words = ["compact", "nowhere", "comm"]
    rows = np.arange(len(TEXTS))
    expected = [[word in text.split() for _, text in TEXTS] for word in words]
    assert table.held(words, rows).tolist() == expected
    assert table.held([], rows).shape == (0, len(TEXTS))
    assert table.held(words, rows[:0]).shape == (3, 0)
