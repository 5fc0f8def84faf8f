from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sidecar.errors import SidecarError
from sidecar.index import exact
from sidecar.index.approximate import ApproximateSearch, build_lists
from sidecar.index.exact import GATHERED_ROWS, ExactSearch
from sidecar.index.graphics import TorchSearch
from sidecar.index.manifest import VectorEntry
from sidecar.index.vectors import Engine, VectorSet

ROWS, DIMENSION = 9_000, 48


def _unit(count: int, seed: int, dimension: int = DIMENSION) -> npt.NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def matrix() -> npt.NDArray[np.float16]:
    vectors = _unit(ROWS, 0).astype(np.float16)
    vectors[17] = 0  # a text without any token
    vectors[4_000:4_005] = vectors[3_000]  # declarations with one text
    return vectors


@pytest.fixture(scope="module", params=["one thread", "three threads", "torch"])
def engine(request: pytest.FixtureRequest, matrix: npt.NDArray[np.float16]) -> Engine:
    if request.param == "torch":
        return TorchSearch(matrix, "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PART_ROWS", 2_000)
        return ExactSearch(matrix, 1 if request.param == "one thread" else 3)


def _reference(
    matrix: npt.NDArray[np.float16], queries: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.float64]:
    scores = queries.astype(np.float64) @ matrix.astype(np.float64).T
    if mask is not None:
        scores[:, ~mask] = -np.inf
    return scores


@pytest.mark.parametrize("share", [None, 1.0, 0.6, 0.1, 0.01, 0.0])
@pytest.mark.parametrize("k", [1, 32, 2_000])
@pytest.mark.parametrize("queries", [1, 5])
def test_finds_the_rows_that_numpy_finds(
    engine: Engine, matrix: npt.NDArray[np.float16], share: float | None, k: int, queries: int
) -> None:
    asked = _unit(queries, 1)
    mask = None if share is None else np.random.default_rng(2).random(ROWS) < share
    scores, rows = engine.search(asked, k, mask)
    assert scores.shape == rows.shape == (queries, k)
    every = _reference(matrix, asked, mask)
    expected = -np.sort(-every, axis=1)[:, :k]
    fitting = min(k, ROWS if mask is None else int(mask.sum()))
    np.testing.assert_allclose(scores[:, :fitting], expected[:, :fitting], atol=2e-6)
    assert np.isneginf(scores[:, fitting:]).all() and (rows[:, fitting:] == -1).all()
    for query in range(queries):
        found = rows[query, :fitting]
        assert len(set(found.tolist())) == fitting
        np.testing.assert_allclose(every[query, found], expected[query, :fitting], atol=2e-6)


def test_equal_scores_come_in_order_of_rows(engine: Engine, matrix: npt.NDArray[np.float16]) -> None:
    _, rows = engine.search(matrix[3_000:3_001].astype(np.float32), 6, None)
    assert rows[0].tolist() == [3_000, 4_000, 4_001, 4_002, 4_003, 4_004]


@pytest.mark.parametrize("visible", [GATHERED_ROWS - 1, GATHERED_ROWS, GATHERED_ROWS + 1])
def test_a_narrow_mask_is_as_exact_as_a_wide_one(matrix: npt.NDArray[np.float16], visible: int) -> None:
    mask = np.zeros(ROWS, dtype=np.bool_)
    mask[np.random.default_rng(3).choice(ROWS, visible, replace=False)] = True
    asked = _unit(3, 4)
    scores, rows = ExactSearch(matrix).search(asked, 50, mask)
    expected = -np.sort(-_reference(matrix, asked, mask), axis=1)[:, :50]
    np.testing.assert_allclose(scores, expected, atol=2e-6)
    assert mask[rows].all()


def test_an_empty_matrix_and_an_empty_batch_give_nothing() -> None:
    nothing = ExactSearch(np.zeros((0, 8), dtype=np.float16))
    scores, rows = nothing.search(_unit(2, 5, 8), 3, None)
    assert rows.tolist() == [[-1] * 3] * 2 and np.isneginf(scores).all()
    scores, rows = ExactSearch(_unit(4, 6, 8).astype(np.float16)).search(np.zeros((0, 8), np.float32), 3, None)
    assert rows.shape == scores.shape == (0, 3)


def test_scores_of_chosen_rows(matrix: npt.NDArray[np.float16]) -> None:
    query = _unit(1, 7)[0]
    chosen = np.array([5, 3, 5, 17, ROWS - 1], dtype=np.int64)
    scores = ExactSearch(matrix).scores(query, chosen)
    np.testing.assert_allclose(scores, matrix[chosen].astype(np.float64) @ query, atol=2e-6)
    assert ExactSearch(matrix).scores(query, chosen[:0]).shape == (0,)


def test_many_threads_get_what_one_gets(matrix: npt.NDArray[np.float16]) -> None:
    engine = ExactSearch(matrix)
    asked = _unit(40, 8)
    masks = [np.random.default_rng(seed).random(ROWS) < 0.5 for seed in range(40)]
    alone = [engine.search(asked[i : i + 1], 20, masks[i])[1] for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: engine.search(asked[i : i + 1], 20, masks[i])[1], range(40)))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_python_goes_on_while_a_search_runs(matrix: npt.NDArray[np.float16]) -> None:
    engine = ExactSearch(matrix)
    asked = _unit(1_000, 9)
    running = threading.Event()

    def search() -> None:
        running.set()
        engine.search(asked, 10, None)

    worker = threading.Thread(target=search)
    worker.start()
    running.wait()
    steps = 0
    while worker.is_alive():
        steps += 1
    # With Python's lock held, at most a handful of switches could happen before and after the search.
    assert steps > 1_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_the_vectors_are_searched_where_they_lie(tmp_path: Path) -> None:
    rows, dimension = 60_000, 128
    with (tmp_path / "v.f16").open("wb") as file:
        for _ in range(20):
            file.write(_unit(rows // 20, 10, dimension).astype(np.float16).tobytes())
    size = rows * dimension * 2
    entry = VectorEntry("v.f16", "static", "f", dimension)
    VectorSet(tmp_path, entry, np.ones(rows, dtype=np.bool_)).search(_unit(1, 11, dimension), 5)  # loads FAISS
    before = _own_memory()
    vectors = VectorSet(tmp_path, entry, np.ones(rows, dtype=np.bool_))
    vectors.search(_unit(1, 11, dimension), 5)
    assert _own_memory() - before < size / 2


def _own_memory() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


@pytest.fixture(scope="module")
def clustered() -> npt.NDArray[np.float16]:
    random = np.random.default_rng(12)
    centres = _unit(300, 13)
    vectors = centres[random.integers(0, 300, 20_000)] + 0.25 * _unit(20_000, 14)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture(scope="module")
def lists(clustered: npt.NDArray[np.float16], tmp_path_factory: pytest.TempPathFactory) -> ApproximateSearch:
    file = tmp_path_factory.mktemp("lists") / "v.ivf"
    build_lists(clustered, file, threads=1)
    return ApproximateSearch(clustered, file)


@pytest.mark.parametrize("share", [None, 0.6])
def test_lists_miss_few_rows(clustered: npt.NDArray[np.float16], lists: ApproximateSearch, share: float | None) -> None:
    mask = None if share is None else np.random.default_rng(15).random(len(clustered)) < share
    asked = clustered[::400].astype(np.float32)
    scores, rows = lists.search(asked, 16, mask)
    exact_scores, exact_rows = ExactSearch(clustered).search(asked, 16, mask)
    hits = [len(set(one) & set(other)) for one, other in zip(rows.tolist(), exact_rows.tolist(), strict=True)]
    assert np.mean(hits) / 16 > 0.9
    both = rows[:, 0] == exact_rows[:, 0]
    assert both.mean() > 0.9
    np.testing.assert_allclose(scores[both, 0], exact_scores[both, 0], atol=2e-6)
    assert mask is None or mask[rows].all()


@pytest.mark.parametrize("visible", [0, 3, 500])
def test_lists_are_exact_under_narrow_masks(
    clustered: npt.NDArray[np.float16], lists: ApproximateSearch, visible: int
) -> None:
    mask = np.zeros(len(clustered), dtype=np.bool_)
    mask[np.random.default_rng(16).choice(len(clustered), visible, replace=False)] = True
    asked = clustered[:20].astype(np.float32)
    for found, expected in zip(
        lists.search(asked, 10, mask), ExactSearch(clustered).search(asked, 10, mask), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_lists_give_every_row_when_k_is_large(clustered: npt.NDArray[np.float16], lists: ApproximateSearch) -> None:
    _, rows = lists.search(clustered[:1].astype(np.float32), len(clustered) + 5, None)
    assert sorted(rows[0].tolist()) == [-1] * 5 + list(range(len(clustered)))


@pytest.fixture
def small_set(tmp_path: Path) -> VectorSet:
    (tmp_path / "v.f16").write_bytes(_unit(10, 17, 8).astype(np.float16).tobytes())
    return VectorSet(tmp_path, VectorEntry("v.f16", "static", "f", 8), np.ones(10, dtype=np.bool_))


def test_what_does_not_fit_is_refused(small_set: VectorSet) -> None:
    with pytest.raises(SidecarError, match=r"\(1, 9\).*length 8") as refused:
        small_set.search(np.zeros((1, 9), np.float32), 3)
    assert refused.value.field == "queries"
    with pytest.raises(SidecarError, match="k is 0"):
        small_set.search(np.zeros((1, 8), np.float32), 0)
    with pytest.raises(SidecarError, match="mask"):
        small_set.search(np.zeros((1, 8), np.float32), 1, np.ones(9, dtype=np.bool_))


def test_a_file_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.f16").write_bytes(os.urandom(10 * 8 * 2 - 1))
    with pytest.raises(SidecarError, match="159 bytes instead of 160"):
        VectorSet(tmp_path, VectorEntry("v.f16", "static", "f", 8), np.ones(10, dtype=np.bool_))


def test_any_kind_of_query_array_will_do(small_set: VectorSet) -> None:
    queries = _unit(3, 18, 8)
    expected = small_set.search(queries, 4)[1]
    turned = np.asfortranarray(queries)
    assert np.array_equal(small_set.search(turned, 4)[1], expected)
    assert np.array_equal(small_set.search(queries.astype(np.float64), 4)[1], expected)  # type: ignore[arg-type]
