"""A search by codes gives what a search of every vector gives: the same rows, the same order, the same scores."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sidecar.errors import SidecarError
from sidecar.index import exact
from sidecar.index.codes import (
    FINE_STEPS,
    WIDTH_STEP,
    VectorCodes,
    open_codes,
    rotated,
    scan_order,
    uncovered_rows,
    write_codes,
)
from sidecar.index.exact import GATHERED_ROWS, ExactSearch
from sidecar.index.files import open_matrix
from sidecar.index.products import load_products

Half = npt.NDArray[np.float16]
Float = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

ROWS = 6_000
KINDS = ("random", "flat", "clustered", "repeated", "equal", "tiny", "lopsided", "sparse", "large", "opposite")

load_products()


def _vectors(kind: str, dimension: int, random: np.random.Generator, rows: int = ROWS) -> Half:
    normal = random.standard_normal((rows, dimension))
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    if kind == "clustered":
        centres = unit[random.integers(0, 20, rows)]
        unit = centres + 0.02 * normal
    elif kind == "flat":  # as encoders give them: most directions carry little
        unit = unit * np.exp(-np.arange(dimension) / (dimension / 6))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    elif kind == "repeated":
        unit = unit[random.integers(0, 60, rows)]
    elif kind == "equal":  # all closer to each other than codes can tell
        unit = unit[0] + 1e-4 * normal
    elif kind == "tiny":  # down to float16's subnormal numbers
        unit *= 10.0 ** random.uniform(-8, -4, (rows, 1))
    elif kind == "lopsided":  # one dimension carries nearly everything
        unit *= np.r_[50.0, np.full(dimension - 1, 0.01)]
    elif kind == "sparse":
        unit[random.random((rows, dimension)) < 0.95] = 0
    elif kind == "large":
        unit *= 3e4
    elif kind == "opposite":
        unit = np.abs(unit) * random.choice([-1, 1], (rows, 1))
    vectors: Half = unit.astype(np.float16)
    return vectors


def _coded(matrix: Half) -> VectorCodes:
    order = scan_order(np.random.default_rng(len(matrix)).random(len(matrix)) < 0.6)
    with tempfile.TemporaryDirectory() as name:
        entry = write_codes(matrix, order, Path(name), "v")
        assert entry is not None
        return open_codes(Path(name), entry, order, matrix.shape[1])


def _reference(matrix: Half, query: Float, k: int, mask: Mask | None) -> tuple[Float, npt.NDArray[np.int64]]:
    """By the score of every row, as the search of every vector computes it."""
    rows = np.arange(len(matrix)) if mask is None else np.flatnonzero(mask)
    scores = ExactSearch(matrix).scores(query, rows)
    order = np.lexsort((rows, -scores))[:k]
    missing = k - len(order)
    return (
        np.pad(scores[order], (0, missing), constant_values=-np.inf),
        np.pad(rows[order], (0, missing), constant_values=-1),
    )


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    dimension=st.sampled_from([1, 7, 16, 32, 48, 64, 100, 128, 384]),
    k=st.sampled_from([1, 3, 20, 41]),
    share=st.sampled_from([None, 1.0, 0.8, 0.5]),
    threads=st.sampled_from([1, 3]),
    seed=st.integers(0, 2**32 - 1),
    near=st.booleans(),
    strength=st.sampled_from([1.0, 1e-30, 1e-12, 1e6, 1e30, 1e38]),
)
@example("random", 384, 20, None, 1, 0, True, 1.0)
@example("flat", 384, 20, None, 1, 0, True, 1.0)
@example("flat", 384, 41, 0.8, 3, 0, False, 1.0)
@example("repeated", 64, 41, 0.8, 3, 1, True, 1.0)
def test_codes_change_no_answer(
    kind: str, dimension: int, k: int, share: float | None, threads: int, seed: int, near: bool, strength: float
) -> None:
    random = np.random.default_rng(seed)
    matrix = _vectors(kind, dimension, random)
    mask = None if share is None else np.repeat(random.random(ROWS // 50) < share, 50)
    queries = random.standard_normal((3, dimension)).astype(np.float32)
    if near:
        queries = matrix[random.integers(0, ROWS, 3)].astype(np.float32) + 0.01 * queries
    with np.errstate(over="ignore"):
        queries = queries * np.float32(strength)
    queries[2] = matrix[7]
    codes = _coded(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PART_ROWS", 1_000)
        with_codes, without = ExactSearch(matrix, threads, codes), ExactSearch(matrix, threads)
        scores, rows = with_codes.search(queries, k, mask)
        plain_scores, plain_rows = without.search(queries, k, mask)
    np.testing.assert_array_equal(rows, plain_rows)
    np.testing.assert_array_equal(scores, plain_scores)
    for place, query in enumerate(queries):
        if np.isfinite(query).all() and strength < 1e30:
            expected_scores, expected_rows = _reference(matrix, query, k, mask)
            np.testing.assert_array_equal(rows[place], expected_rows)
            np.testing.assert_array_equal(scores[place], expected_scores)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    dimension=st.sampled_from([1, 3, 16, 64, 96, 384, 1_500]),
    seed=st.integers(0, 2**32 - 1),
    strength=st.sampled_from([1.0, 1e-38, 1e-20, 1e20]),
)
def test_no_score_lies_above_its_bound(kind: str, dimension: int, seed: int, strength: float) -> None:
    random = np.random.default_rng(seed)
    matrix = _vectors(kind, dimension, random, 300)
    codes = _coded(matrix)
    queries = np.concatenate([random.standard_normal((2, dimension)), matrix[:2] * 1.0]).astype(np.float32)
    queries *= np.float32(strength)
    chosen = codes.query_codes(queries)
    own = codes.codes.astype(np.int64).T
    coarse = chosen.coarse.astype(np.int64) @ own
    both = coarse + (chosen.fine.astype(np.int64) @ own) / FINE_STEPS
    for place, query in enumerate(queries):
        scores = ExactSearch(matrix).scores(query, codes.order).astype(np.float64)
        assert (scores <= coarse[place] * chosen.factors[place] + chosen.coarse_slack[place]).all()
        assert (scores <= both[place] * chosen.factors[place] + chosen.slack[place]).all()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each time that every vector was read: for how many queries."""
    calls: list[int] = []
    best = exact._Scan.best

    def noted(self: exact._Scan, queries: Float, wanted: int, mask: Mask | None) -> exact.Found:
        calls.append(len(queries))
        return best(self, queries, wanted, mask)

    monkeypatch.setattr(exact._Scan, "best", noted)
    return calls


@pytest.mark.parametrize("kind", ["random", "flat"])
def test_where_codes_tell_rows_apart_not_every_vector_is_read(kind: str, counted: list[int]) -> None:
    random = np.random.default_rng(0)
    matrix = _vectors(kind, 192, random, 20_000)
    query = matrix[5:6].astype(np.float32)
    ExactSearch(matrix, 1, _coded(matrix)).search(query, 5, None)
    assert counted == []


def test_where_codes_cannot_tell_rows_apart_every_vector_is_read(counted: list[int]) -> None:
    random = np.random.default_rng(1)
    matrix = _vectors("equal", 96, random, 40_000)
    query = random.standard_normal((1, 96)).astype(np.float32)
    found = ExactSearch(matrix, 1, _coded(matrix)).search(query, 5, None)
    assert counted == [1]
    scores, rows = _reference(matrix, query[0], 5, None)
    np.testing.assert_array_equal(found[0][0], scores)
    np.testing.assert_array_equal(found[1][0], rows)


def test_where_this_machine_cannot_multiply_codes_every_vector_is_read(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "can_multiply", lambda width: False)
    matrix = _vectors("flat", 128, np.random.default_rng(2))
    found = ExactSearch(matrix, 1, _coded(matrix)).search(matrix[5:6].astype(np.float32), 5, None)
    assert counted == [1] and found[1][0, 0] == 5


def test_a_query_that_fails_does_not_hold_up_the_others(counted: list[int]) -> None:
    random = np.random.default_rng(2)
    matrix = _vectors("random", 64, random, 30_000)
    matrix[10_000:25_000] = matrix[0]  # its own neighbours are all alike
    codes = _coded(matrix)
    queries = np.stack([matrix[0], matrix[30]]).astype(np.float32)
    scores, rows = ExactSearch(matrix, 1, codes).search(queries, 4, None)
    assert rows[0].tolist() == [0, 10_000, 10_001, 10_002]
    assert rows[1, 0] == 30 and scores[1, 0] > scores[1, 1]
    assert counted[0] == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_of_equal_rows_the_first_come(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "PART_ROWS", 500)
    matrix = _vectors("random", 32, np.random.default_rng(3))
    matrix[1_000:4_000] = matrix[5_000]
    query = matrix[5_000:5_001].astype(np.float32)
    for search in (ExactSearch(matrix, threads), ExactSearch(matrix, threads, _coded(matrix))):
        assert search.search(query, 50, None)[1][0].tolist() == list(range(1_000, 1_050))
        mask = np.ones(ROWS, dtype=np.bool_)
        mask[1_000:1_010] = False
        assert search.search(query, 50, mask)[1][0].tolist() == list(range(1_010, 1_060))
        few = np.zeros(ROWS, dtype=np.bool_)
        few[900 : 900 + GATHERED_ROWS] = True
        assert search.search(query, 50, few)[1][0].tolist() == list(range(1_000, 1_050))


def test_of_equal_rows_the_first_come_when_codes_answer(counted: list[int]) -> None:
    """Some of them are premises, whose codes stand first."""
    matrix = _vectors("random", 64, np.random.default_rng(11), 20_000)
    matrix[1_000:1_200] = matrix[5_000]
    query = matrix[5_000:5_001].astype(np.float32)
    found = ExactSearch(matrix, 1, _coded(matrix)).search(query, 50, None)[1][0]
    assert found.tolist() == list(range(1_000, 1_050)) and counted == []


def test_a_query_without_length_gets_the_first_rows() -> None:
    matrix = _vectors("random", 32, np.random.default_rng(4))
    queries = np.zeros((2, 32), dtype=np.float32)
    queries[1] = matrix[9]
    mask = np.ones(ROWS, dtype=np.bool_)
    mask[0] = False
    scores, rows = ExactSearch(matrix, 1, _coded(matrix)).search(queries, 3, mask)
    assert rows[0].tolist() == [1, 2, 3] and scores[0].tolist() == [0, 0, 0] and rows[1, 0] == 9


def test_a_query_that_is_no_number_gets_nothing() -> None:
    matrix = _vectors("random", 32, np.random.default_rng(5))
    scores, rows = ExactSearch(matrix, 1, _coded(matrix)).search(np.full((1, 32), np.nan, np.float32), 3, None)
    assert rows.tolist() == [[-1] * 3] and np.isneginf(scores).all()


@pytest.mark.parametrize("dimension", [1, 7, 12, 100, 384])
def test_rotating_changes_no_inner_product(dimension: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((20, dimension))
    turned = rotated(vectors)
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, atol=1e-12 * dimension)


def test_a_few_large_dimensions_do_not_make_codes_coarse() -> None:
    random = np.random.default_rng(4)
    even = random.standard_normal((2_000, 384)) / np.sqrt(384)
    uneven = even * np.where(np.arange(384) % 100 == 7, 8, 1)
    errors = []
    for vectors in (even, uneven):
        unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        errors.append(_coded(unit).error)
    assert errors[1] < 1.5 * errors[0]


def test_vectors_that_are_no_numbers_get_no_codes(tmp_path: Path) -> None:
    matrix = _vectors("random", 16, np.random.default_rng(6), 100)
    matrix[3, 2] = np.nan
    assert write_codes(matrix, np.arange(100), tmp_path, "v") is None and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "width"), [("random", 160), ("flat", WIDTH_STEP)])
def test_codes_go_to_disk_and_back(tmp_path: Path, kind: str, width: int) -> None:
    matrix = _vectors(kind, 160, np.random.default_rng(7), 10_000)
    matrix[:, 3] = 0  # a dimension that no vector uses
    order = scan_order(np.arange(10_000) % 3 == 0)
    entry = write_codes(matrix, order, tmp_path, "v")
    assert entry is not None
    assert (tmp_path / entry.file).stat().st_size == 10_000 * width
    codes = open_codes(tmp_path, entry, order, 160)
    assert codes.frame.width == width and list(uncovered_rows(matrix, codes)) == []
    described = codes.frame.rows(matrix[order].astype(np.float64))
    distance = np.linalg.norm(codes.codes.astype(np.float64) * codes.scales - described, axis=1)
    assert distance.max() <= entry.error < distance.max() * 1.001 + 1e-6
    with pytest.raises(SidecarError, match="bytes instead of"):
        open_codes(tmp_path, entry, np.arange(len(matrix) + 1), 160)
    with pytest.raises(SidecarError, match="does not hold directions of vectors of length 159"):
        open_codes(tmp_path, entry, order, 159)
    np.save(tmp_path / entry.scales_file, np.zeros(width + 1, dtype=np.float32))
    with pytest.raises(SidecarError, match=f"does not hold {width} scales"):
        open_codes(tmp_path, entry, order, 160)
    assert open_matrix(tmp_path / entry.file, 10_000, width, np.uint8).dtype == np.uint8


def test_what_the_directions_leave_out_is_not_forgotten(counted: list[int]) -> None:
    """The best row is the best by what it holds along the last direction, of which codes know the length alone."""
    random = np.random.default_rng(9)
    matrix = _vectors("flat", 384, random, 20_000)
    matrix[17] = matrix[3]
    matrix[17, 383] = 0.2
    codes = _coded(matrix)
    assert codes.frame.width < 384
    query = matrix[3:4].astype(np.float32)
    query[0, 383] = 0.2
    found = ExactSearch(matrix, 1, codes).search(query, 3, None)
    assert counted == []
    assert found[1][0, :2].tolist() == [17, 3] and found[0][0, 0] > found[0][0, 1]


def test_the_bound_is_used_in_full() -> None:
    """A row that reaches the answer by nothing but the slack is in it."""
    random = np.random.default_rng(10)
    matrix = _vectors("random", 64, random)
    query = random.standard_normal((1, 64)).astype(np.float32)
    codes = _coded(matrix)
    slack = np.array([2.5])
    right = replace(codes.query_codes(query), slack=slack, coarse_slack=slack)
    best = ExactSearch(matrix).search(query, 4, None)[1][0]
    # The codes of the fourth row say too little, by a hair less than the slack allows.
    products = (right.coarse.astype(np.int64) @ codes.codes.astype(np.int64).T)[0].astype(np.int32)
    place = int(np.flatnonzero(codes.order == best[3])[0])
    needed = float(ExactSearch(matrix).scores(query[0], best[3:4])[0])
    products[place] = int((needed - slack[0]) / right.factors[0]) + 1
    assert products[place] < np.sort(products)[-200]
    search = ExactSearch(matrix, 1, codes)
    both = products, np.zeros_like(products)
    found = search._found(codes, right, 0, both, query[0], None, 4, 2_000)
    assert found is not None and best[3] in found[1]


def test_an_index_that_was_made_on_another_machine_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums in another order, as other processors make them, differ by what float64 cannot tell."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        matrix = _vectors("random", 384, random, int(random.integers(2, 130)))
        codes = _coded(matrix)
        monkeypatch.setattr("sidecar.index.codes.BLOCK_ROWS", 1)
        assert list(uncovered_rows(matrix, codes)) == []
        monkeypatch.undo()


def test_each_search_is_made_under_its_own_mask() -> None:
    random = np.random.default_rng(8)
    matrix = _vectors("random", 64, random)
    search = ExactSearch(matrix, 1, _coded(matrix))
    query = random.standard_normal((1, 64)).astype(np.float32)
    mask = random.random(ROWS) < 0.8
    for _ in range(4):
        for _ in range(2):
            scores, rows = search.search(query, 3, mask)
            expected_scores, expected_rows = _reference(matrix, query[0], 3, mask)
            np.testing.assert_array_equal(rows[0], expected_rows)
            np.testing.assert_array_equal(scores[0], expected_scores)
        mask[rows[0]] = False  # the same array, with other rows in it
