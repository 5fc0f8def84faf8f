"""What people type, asked of a part of the real library: some seven thousand declarations of Lean and Mathlib."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.corpus.source import open_corpus
from sidecar.encoder.batcher import MicroBatcher
from sidecar.index.build import build_index
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.search.vocabulary import VocabularyRewriter

pytestmark = pytest.mark.shared_data

MODULES = (
    *("Init.Prelude", "Init.Core", "Init.Data.Nat.Basic", "Init.Data.List.Basic", "Mathlib.Algebra.Group.Defs"),
    *("Mathlib.Algebra.Group.Basic", "Mathlib.Algebra.Group.EvenFunction", "Mathlib.Algebra.Order.BigOperators.Ring"),
    *("Mathlib.Analysis.InnerProductSpace.Basic", "Mathlib.Analysis.InnerProductSpace.Defs"),
    *("Mathlib.Analysis.Real.Cardinality", "Mathlib.Geometry.Euclidean.Angle.Unoriented"),
    *("Mathlib.LinearAlgebra.Charpoly", "Mathlib.LinearAlgebra.Matrix.Charpoly", "Mathlib.LinearAlgebra.TensorProduct"),
    *("Mathlib.Order.Filter.Basic", "Mathlib.Order.Filter.Defs", "Mathlib.Order.Filter.Map"),
    *("Mathlib.Topology.Algebra.Group", "Mathlib.Topology.Algebra.Monoid", "Mathlib.Topology.Continuous"),
    *("Mathlib.Topology.Defs", "Mathlib.Topology.Order.IntermediateValue"),
)
"""Modules, each with everything below it."""

_BEGINNINGS = tuple(f"{module}." for module in MODULES)
_MODULE = re.compile(rb'"module":"([^"]*)"')


@pytest.fixture(scope="module")
def engine(shared: Path, tmp_path_factory: pytest.TempPathFactory, batcher: MicroBatcher) -> Iterator[SearchEngine]:
    folder = tmp_path_factory.mktemp("real")
    corpus = folder / "declarations"
    corpus.mkdir()
    for file in sorted((shared / "data" / "declarations").glob("*.jsonl.gz")):
        if file.name.startswith("equations"):
            shutil.copy(file, corpus)
            continue
        with gzip.open(file) as lines, gzip.open(corpus / file.name, "w", compresslevel=1) as kept:
            kept.writelines(filter(_wanted, lines))
    build_index(open_corpus(corpus), folder / "index", batcher.encoder)
    with Index.open(folder / "index") as index:
        yield SearchEngine(index, batcher, VocabularyRewriter())


def _wanted(line: bytes) -> bool:
    found = _MODULE.search(line)
    assert found is not None
    return f"{found[1].decode()}.".startswith(_BEGINNINGS)


async def names(engine: SearchEngine, query: str, k: int = 10) -> list[str]:
    return [result.name for result in (await engine.search(SearchRequest(query, k))).results]


CAYLEY_HAMILTON = {"LinearMap.aeval_self_charpoly", "Matrix.aeval_self_charpoly"}
CAUCHY_SCHWARZ = {
    *("inner_mul_inner_self_le", "norm_inner_le_norm", "real_inner_le_norm", "abs_real_inner_le_norm"),
    *("InnerProductSpace.Core.norm_inner_le_norm", "InnerProductSpace.Core.inner_mul_inner_self_le"),
    *("Finset.sum_mul_sq_le_sq_mul_sq", "Real.sum_mul_le_sqrt_mul_sqrt"),
}
PYTHAGORAS = {
    "EuclideanGeometry.dist_sq_eq_dist_sq_add_dist_sq_iff_angle_eq_pi_div_two",
    "EuclideanGeometry.law_cos",
}


@pytest.mark.parametrize(
    ("query", "wanted", "k"),
    [
        *((query, CAYLEY_HAMILTON, 2) for query in ("Cayley-Hamilton", "cayley-hamilton", "CAYLEY-HAMILTON")),
        *((query, CAYLEY_HAMILTON, 2) for query in ("Cayley–Hamilton theorem", "cayley hamilton", "Cayley_Hamilton")),
        ("tensor product", {"TensorProduct"}, 5),
        ("group", {"Group"}, 5),
        ("filter", {"Filter"}, 5),
        ("addition is continuous", {"Continuous.add"}, 10),
        ("Cauchy-Schwarz inequality", CAUCHY_SCHWARZ, 5),
        ("constant function unchanged under negating the input", {"Function.Even.const"}, 3),
        ("Nat.add_comm", {"Nat.add_comm"}, 1),
        ("add_comm", {"add_comm"}, 1),
        ("addComm", {"add_comm"}, 1),
        # Pasted statements, verbatim and with another name.
        ("theorem Nat.mul_succ (n m : ℕ) : n * m.succ = n * m + n", {"Nat.mul_succ"}, 1),
        (
            "lemma my_lemma (hf : Continuous f) (hg : Continuous g) : Continuous fun x => f x + g x",
            {"Continuous.add"},
            10,
        ),
        ("example (x y : F) : |⟪x, y⟫_ℝ| ≤ ‖x‖ * ‖y‖ := by simp", {"abs_real_inner_le_norm"}, 10),
        # Formulas, whatever their variables are called.
        ("x + y = y + x", {"add_comm"}, 1),
        ("∀ n : ℕ, n + 0 = n", {"add_zero"}, 1),
        ("x * (y + z) = x * y + x * z", {"Nat.mul_add", "Nat.left_distrib"}, 2),
        ("k ≤ m → m ≤ n → k ≤ n", {"Nat.le_trans"}, 3),
        (r"$x \cdot y = y \cdot x$", {"mul_comm"}, 1),
        ("example (u v : List T) : (u ++ v).length = u.length + v.length := by simp", {"List.length_append"}, 1),
        ("Continuous fun t => u t + v t", {"Continuous.add", "Continuous.fun_add"}, 3),
        ("m n k : ℕ\nh : m ≤ n\nk : n ≤ k\n⊢ m ≤ k", {"Nat.le_trans"}, 3),
        ("xy = yx", {"mul_comm"}, 1),
        ("why is x + y = y + x?", {"add_comm"}, 1),
        ("x <= y and y <= z implies x <= z", {"Nat.le_trans"}, 3),
        # Names outside all namespaces, in other spellings.
        *((query, {"add_comm"}, 1) for query in ("add comm", "addcomm", "add-comm", "Add Comm")),
        ("mul assoc", {"mul_assoc"}, 1),
        # Other languages.
        ("théorème des valeurs intermédiaires", {"intermediate_value_univ", "intermediate_value_Icc"}, 5),
        ("Zwischenwertsatz", {"intermediate_value_univ", "intermediate_value_Icc"}, 5),
        ("théorème de Pythagore", PYTHAGORAS, 10),
        # LaTeX.
        (r"$\mathbb{R}$ is uncountable", {"Cardinal.instUncountableReal", "Cardinal.not_countable_real"}, 5),
        (r"$|\langle x, y\rangle| \le \|x\| \|y\|$", {"abs_real_inner_le_norm", "norm_inner_le_norm"}, 10),
        # A thousand words, among them the ones that matter.
        ("Cayley-Hamilton theorem " + "and so on with other words " * 166, CAYLEY_HAMILTON, 10),
    ],
)
async def test_what_people_type(engine: SearchEngine, query: str, wanted: set[str], k: int) -> None:
    found = await names(engine, query, k)
    assert wanted & set(found), found


@pytest.mark.parametrize("query", ["addition is continuous", "Cauchy-Schwarz inequality", "filter", "a", "group"])
async def test_nothing_auxiliary_comes_out(engine: SearchEngine, query: str) -> None:
    found = await names(engine, query, 50)
    assert len(found) == 50
    assert not [name for name in found if re.search(r"\._|_auxLemma|_private|match_\d|proof_\d", name)]
    assert not [name for name in found[:5] if "_aux" in name]


@pytest.mark.parametrize("letter", ["a", "A", "x", "ℝ", "π", "∑", "n"])
async def test_one_letter_is_answered(engine: SearchEngine, letter: str) -> None:
    assert await names(engine, letter)
