"""Searches as a user makes them, on a small real index."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.encoder.batcher import MicroBatcher
from sidecar.errors import SidecarError
from sidecar.index.index import Index
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchAnswer, SearchRequest


async def names(engine: SearchEngine, query: str, k: int = 10, **filters: Any) -> list[str]:
    answer = await engine.search(SearchRequest(query, k=k, **filters))
    return [result.name for result in answer.results]


def reasons(answer: SearchAnswer, name: str) -> list[str]:
    return [reason.detail for result in answer.results if result.name == name for reason in result.why]


async def test_exact_then_suffix_then_other_spellings(engine: SearchEngine) -> None:
    assert (await names(engine, "add_comm"))[:4] == ["add_comm", "Nat.add_comm", "Int.add_comm", "Dyadic.add_comm"]
    assert (await names(engine, "addComm"))[:4] == ["add_comm", "Nat.add_comm", "Int.add_comm", "Dyadic.add_comm"]
    for query in ("Nat.add_comm", "Nat.AddComm", "nat add comm", "`Nat.add_comm`?", "#check @Nat.add_comm"):
        assert (await names(engine, query))[0] == "Nat.add_comm"


async def test_plain_words_find_the_definition_before_what_happens_to_end_in_them(engine: SearchEngine) -> None:
    assert (await names(engine, "filter"))[0] == "Filter"
    assert "List.filter" in (await names(engine, "filter"))[:5]
    assert (await names(engine, "group"))[0] == "Group"
    assert (await names(engine, "tensor product"))[0] == "TensorProduct"
    assert (await names(engine, "continuous"))[0] == "Continuous"


async def test_words_of_the_name_titles_and_first_sentences(engine: SearchEngine) -> None:
    assert "Continuous.add" in (await names(engine, "addition is continuous"))[:3]
    for query in ("Cayley-Hamilton", "cayley hamilton theorem", "CAYLEY–HAMILTON THEOREM"):
        answer = await engine.search(SearchRequest(query))
        assert answer.results[0].name == "Matrix.aeval_self_charpoly"
        assert "its docstring gives it this title" in reasons(answer, "Matrix.aeval_self_charpoly")
    assert (await names(engine, "determinant of a matrix"))[0] == "Matrix.det"
    assert (await names(engine, "law of excluded middle"))[0] == "Classical.em"


async def test_lean_latex_and_prose_find_the_same(engine: SearchEngine) -> None:
    for query in (
        "(a + b) % n = ((a % n) + (b % n)) % n",
        r"$(a + b) \mod n = ((a \mod n) + (b \mod n)) \mod n$",
        "theorem foo (a b n : ℕ) : (a + b) % n = ((a % n) + (b % n)) % n := by simp",
    ):
        assert {"Nat.add_mod", "Int.add_emod"} & set((await names(engine, query))[:5]), query


async def test_a_result_tells_what_it_is_and_why(engine: SearchEngine) -> None:
    answer = await engine.search(SearchRequest("Nat.add_comm", k=3))
    first = answer.results[0].as_wire()
    assert first["name"] == "Nat.add_comm"
    assert (first["kind"], first["module"]) == ("theorem", "Init.Data.Nat.Basic")
    assert "n + m = m + n" in str(first["signature"])
    assert str(first["link"]).endswith("mathlib4_docs/Init/Data/Nat/Basic.html#Nat.add_comm")
    assert first["deprecated"] is False
    why = first["why"]
    assert isinstance(why, list)
    assert why[0] == {"method": "name", "rank": 1, "detail": "exact name"}
    assert {"words", "meaning"} <= {each["method"] for each in why}
    assert any("words matched" in each["detail"] and "nat" in each["detail"] for each in why)
    wire = answer.as_wire()
    assert set(wire) == {"results", "rewritten", "warnings", "revision", "timings"}
    assert {"names", "words", "encode", "meaning", "fuse", "results", "total"} <= set(answer.timings)


async def test_scores_fall_and_no_row_comes_twice(engine: SearchEngine, index: Index) -> None:
    for query in ("add_comm", "filter", "sum", "a", "reverse of a list", "Nat.old_sum"):
        answer = await engine.search(SearchRequest(query, k=60))
        scores = [result.score for result in answer.results]
        assert scores == sorted(scores, reverse=True)
        found = [result.name for result in answer.results]
        assert len(set(found)) == len(found)


async def test_deprecated_ones_are_marked_and_stand_behind_their_replacement(engine: SearchEngine) -> None:
    for query in ("sum", "old sum", "nat old sum", "sum n = n", "oldSum"):
        found = await names(engine, query, k=50)
        assert found.index("Nat.new_sum") < found.index("Nat.old_sum"), query
    answer = await engine.search(SearchRequest("nat old sum", k=50))
    marked = {result.name: result.deprecated for result in answer.results}
    assert marked["Nat.old_sum"] == "Nat.new_sum"
    assert marked["Nat.lost_sum"] is None
    assert marked["Nat.new_sum"] is False
    assert "deprecated: use Nat.new_sum" in reasons(answer, "Nat.old_sum")
    assert any("replaces Nat.old_sum" in reason for reason in reasons(answer, "Nat.new_sum"))


async def test_the_exact_name_of_a_deprecated_one_shows_it_and_then_its_replacement(engine: SearchEngine) -> None:
    assert await names(engine, "Nat.old_sum", k=2) == ["Nat.old_sum", "Nat.new_sum"]


async def test_meta_programming_ranks_below_mathematics_unless_named(engine: SearchEngine) -> None:
    found = await names(engine, "a continuous function", k=20)
    assert found.index("Continuous") < found.index("Lean.Elab.continuousFunction")
    answer = await engine.search(SearchRequest("a continuous function", k=20))
    assert any("meta-programming" in reason for reason in reasons(answer, "Lean.Elab.continuousFunction"))
    assert (await names(engine, "Lean.Elab.continuousFunction"))[0] == "Lean.Elab.continuousFunction"
    assert (await names(engine, "continuousFunction"))[0] == "Lean.Elab.continuousFunction"


async def test_auxiliary_names_never_appear(engine: SearchEngine) -> None:
    for query in ("_auxLemma", "Nat._auxLemma.1", "True"):
        assert not [name for name in await names(engine, query, k=1_000) if "_auxLemma" in name]


async def test_module_prefixes_are_whole_components(engine: SearchEngine) -> None:
    found = await engine.search(SearchRequest("filter", k=1_000, modules=("Mathlib.Order",)))
    assert {result.module for result in found.results} == {"Mathlib.Order.Filter"}
    assert len(found.results) == 19
    several = await engine.search(SearchRequest("filter", k=1_000, modules=("Mathlib.OrderX", "Odd.«a-b»")))
    assert {result.name for result in several.results} == {"OrderX.filter_mono", "Odd.thing"}


async def test_a_prefix_that_is_no_module_is_said(engine: SearchEngine) -> None:
    answer = await engine.search(SearchRequest("filter", modules=("Mathlib.Ord", "mathlib.order")))
    assert answer.results == ()
    assert [warning.code for warning in answer.warnings] == ["no_such_module", "no_such_module", "nothing_visible"]
    assert "Mathlib.Order" in answer.warnings[1].message


async def test_kinds(engine: SearchEngine) -> None:
    answer = await engine.search(SearchRequest("group", k=100, kinds=("class", "instance")))
    assert {result.kind for result in answer.results} <= {"class", "instance"}
    assert {"Group", "Units.group", "Pi.group"} <= {result.name for result in answer.results}
    assert await names(engine, "add_comm", kinds=("lemma",)) == await names(engine, "add_comm", kinds=("theorem",))


async def test_imports_decide_what_is_visible(engine: SearchEngine) -> None:
    answer = await engine.search(SearchRequest("filter", k=1_000, imports=("Mathlib.Order.Filter",)))
    modules = {result.module for result in answer.results}
    assert {"Mathlib.Order.Filter", "Mathlib.Algebra.Defs", "Init.Prelude"} <= modules
    assert not {"Mathlib.OrderX.Filter", "Mathlib.Topology.Basic", "Lean.Meta.Basic"} & modules
    assert await names(engine, "filter", imports=()) == []
    unknown = await engine.search(SearchRequest("filter", imports=("Mathlib.Order.Filter", "No.Such")))
    assert [warning.code for warning in unknown.warnings] == ["unknown_imports"]
    assert "No.Such" in unknown.warnings[0].message
    assert unknown.results


async def test_k_results_whenever_there_are_k(engine: SearchEngine, index: Index) -> None:
    targets = int(np.count_nonzero(index.target))
    assert len(await names(engine, "continuous functions", k=300)) == 300
    assert len(await names(engine, "continuous functions", k=4_096)) == targets
    for kind in ("structure", "def"):
        within = [each for each in index.all_declarations() if each.kind == kind and index.target[index.row(each.name)]]  # type: ignore[index]
        assert len(await names(engine, "continuous", k=4_096, kinds=(kind,))) == len(within)


async def test_a_smaller_k_gives_the_first_of_them(engine: SearchEngine) -> None:
    for query in ("add_comm", "a continuous function", "Nat.old_sum"):
        many = await names(engine, query, k=40)
        assert await names(engine, query, k=1) == many[:1]
        assert await names(engine, query, k=7) == many[:7]


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\u200b\u200d\ufeff", "\u00a0 \u2003", "\x00\x1b"])
async def test_nothing_visible_is_a_bad_request(engine: SearchEngine, query: str) -> None:
    with pytest.raises(SidecarError) as caught:
        await engine.search(SearchRequest(query))
    assert (caught.value.code, caught.value.field) == ("bad_request", "query")


async def test_bad_k_and_bad_kinds_are_named(engine: SearchEngine) -> None:
    for k in (0, -1):
        with pytest.raises(SidecarError) as caught:
            await engine.search(SearchRequest("a", k=k))
        assert (caught.value.code, caught.value.field) == ("bad_request", "k")
    with pytest.raises(SidecarError) as caught:
        await engine.search(SearchRequest("a", kinds=("theorem", "lemon")))
    assert (caught.value.code, caught.value.field) == ("bad_request", "kinds[1]")
    assert "lemon" in caught.value.message


@pytest.mark.parametrize(
    "query",
    [
        "%2F",
        "%zz",
        "{}",
        "()",
        "a",
        "∀",
        "𝒰S",
        "AND OR NOT NEAR",
        'a AND (b OR "c*" NEAR/3 ^d) -e name:f',
        '"',
        "'",
        "((((((((",
        "x; DROP TABLE declarations; --",
        "*",
        "^",
        "-",
        "«",
        "»",
        "\\frac{",
        r"\mathbb{R}^{n} \to \mathbb{R}",
        "théorème des valeurs intermédiaires",
        "連続関数の和は連続である",
        "непрерывная функция",
        "🙂🙂",
        "\ud800 lone",
        "word " * 1_000,
        " ".join(f"word{number}" for number in range(1_000)),
        "x" * 65_536,
        "a." * 2_000,
        "n : ℕ\nh : 0 < n\n⊢ n ≠ 0",
    ],
)
async def test_no_query_fails(engine: SearchEngine, query: str) -> None:
    answer = await engine.search(SearchRequest(query, k=5))
    assert answer.revision
    assert answer.results or [warning.code for warning in answer.warnings] == ["nothing_found"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_answered_or_refused_by_name(engine: SearchEngine, query: str) -> None:
    async def once() -> SearchAnswer | None:
        try:
            return await engine.search(SearchRequest(query, k=3))
        except SidecarError as error:
            assert (error.code, error.field) == ("bad_request", "query")
            return None

    answer = asyncio.run(once())
    if answer is not None:
        assert len(answer.results) <= 3


async def test_concurrent_searches_equal_single_ones(engine: SearchEngine) -> None:
    queries = ["add_comm", "filter", "addition is continuous", "a ≤ b → b ≤ c → a ≤ c", "reverse of a list"] * 6
    single = {query: await names(engine, query) for query in set(queries)}
    together = await asyncio.gather(*(names(engine, query) for query in queries))
    assert list(together) == [single[query] for query in queries]


async def test_a_cancelled_search_leaves_nothing_behind(engine: SearchEngine, index: Index) -> None:
    search = asyncio.create_task(engine.search(SearchRequest("continuous")))
    await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert await names(engine, "Nat.add_comm", k=1) == ["Nat.add_comm"]


async def test_another_encoder_than_the_index_was_made_with_is_refused(index: Index) -> None:
    class Other:
        name, fingerprint, dimension = "other", "other", 384

    with pytest.raises(SidecarError) as caught:
        SearchEngine(index, MicroBatcher(Other()))  # type: ignore[arg-type]
    assert caught.value.code == "conflict"
