"""Names found by their spelling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.index.index import Index
from sidecar.search.names import Named, find_named, spelled_name, written_as_name
from sidecar.search.priors import Priors


@pytest.fixture(scope="module")
def priors(index: Index) -> Priors:
    return Priors(index)


def named(index: Index, priors: Priors, query: str) -> dict[str, list[str]]:
    found = find_named(index, priors, query, np.ones(index.size, dtype=np.bool_))
    return {group: index.names(getattr(found, group)) for group in ("exact", "suffix", "whole", "loose")}


@pytest.mark.parametrize(
    "query",
    [
        "Nat.add_comm",
        "«Nat».add_comm",
        "`Nat.add_comm`",
        "@Nat.add_comm",
        "#check Nat.add_comm",
        "_root_.Nat.add_comm",
        "Nat.add_comm.",
        "theorem Nat.add_comm (n m : ℕ) : n + m = m + n",
        "theorem Nat.add_comm : ∀ n m : ℕ, n + m = m + n",
        "@[simp] protected lemma Nat.add_comm.{u} {α : Type u} : x",
    ],
)
def test_exact(index: Index, priors: Priors, query: str) -> None:
    assert named(index, priors, query)["exact"] == ["Nat.add_comm"]


def test_the_root_name_is_exact_and_others_are_suffixes_by_how_much_their_namespace_is_used(
    index: Index, priors: Priors
) -> None:
    found = named(index, priors, "add_comm")
    assert found["exact"] == ["add_comm"]
    assert found["suffix"] == ["Nat.add_comm", "Int.add_comm", "Dyadic.add_comm"]
    assert found["whole"] == found["loose"] == []


@pytest.mark.parametrize(
    "query", ["Nat.AddComm", "nat add comm", "natAddComm", "nat_add_comm", "NAT.ADD_COMM", "Nat-Add-Comm"]
)
def test_another_spelling_of_the_whole_name(index: Index, priors: Priors, query: str) -> None:
    found = named(index, priors, query)
    assert found["exact"] == found["suffix"] == []
    assert found["whole"] == ["Nat.add_comm"]


@pytest.mark.parametrize("query", ["addComm", "add comm", "AddComm", "ADD_COMM"])
def test_another_spelling_of_the_last_components(index: Index, priors: Priors, query: str) -> None:
    found = named(index, priors, query)
    assert found["exact"] == found["suffix"] == []
    assert found["whole"] == ["add_comm"]
    assert found["loose"] == ["Nat.add_comm", "Int.add_comm", "Dyadic.add_comm"]


def test_suffixes_are_whole_components(index: Index, priors: Priors) -> None:
    for query in ("comm", "at.add_comm", "d_comm"):
        assert all("Nat.add_comm" not in group for group in named(index, priors, query).values())


def test_both_spellings_of_a_name_with_a_dot_inside(index: Index, priors: Priors) -> None:
    plain, quoted = named(index, priors, "quot.sound"), named(index, priors, "«quot.sound»")
    assert (plain["exact"], plain["whole"]) == (["quot.sound"], ["«quot.sound»"])
    assert (quoted["exact"], quoted["whole"]) == (["«quot.sound»"], ["quot.sound"])
    assert named(index, priors, "WithOne.«forall»")["exact"] == ["WithOne.forall"]


@pytest.mark.parametrize(
    "name", ["Std.«term_...*»", "inv₀", "𝒰S", "map₂'", "ContinuousMap.coe_injective'", "Odd.thing"]
)
def test_odd_names(index: Index, priors: Priors, name: str) -> None:
    assert named(index, priors, name)["exact"][0] == name


def test_every_name_of_the_index_is_found_by_itself(index: Index, priors: Priors) -> None:
    for name in index.names(range(index.size)):
        assert named(index, priors, name)["exact"][0] == name


def test_what_is_no_search_target_is_found_by_its_exact_name_only(index: Index, priors: Priors) -> None:
    rows = np.flatnonzero(~index.target)
    assert len(rows)
    for name in index.names(rows):
        assert named(index, priors, name)["exact"][0] == name
        assert all(name not in group for group in named(index, priors, name.swapcase()).values())


def test_masked_rows_are_not_found(index: Index, priors: Priors) -> None:
    nothing = np.zeros(index.size, dtype=np.bool_)
    assert find_named(index, priors, "Nat.add_comm", nothing) == Named()


@given(st.text(max_size=60))
def test_any_text_is_looked_up(index: Index, priors: Priors, query: str) -> None:
    found = find_named(index, priors, query, np.ones(index.size, dtype=np.bool_))
    rows = [*found.exact, *found.suffix, *found.whole, *found.loose]
    assert len(set(rows)) == len(rows)


def test_a_long_query_is_no_name(index: Index, priors: Priors) -> None:
    assert find_named(index, priors, "add_comm " * 200, np.ones(index.size, dtype=np.bool_)) == Named()


@pytest.mark.parametrize("query", ["add_comm", "Nat.succ", "primeIdeal", "map'", "inv₀", "T2Space", "«a b»"])
def test_written_as_a_name(query: str) -> None:
    assert written_as_name(query)


@pytest.mark.parametrize("query", ["filter", "Filter", "prime ideal", "Hausdorff space", "a", "", "Nat.add_comm of x"])
def test_plain_words(query: str) -> None:
    assert not written_as_name(query)


def test_what_people_put_around_names() -> None:
    assert spelled_name(" `List.map`. ") == "List.map"
    assert spelled_name("#check @List.map") == "List.map"
    assert spelled_name("`List.map`?") == spelled_name('"List.map"!') == "List.map"
    assert spelled_name("List.head?") == spelled_name("`List.head?`.") == spelled_name("`List.head?`?") == "List.head?"
    assert spelled_name("") == ""


@pytest.mark.parametrize(
    "prose", ["class of a Group", "field of Group", "structure Group (modules)", "axiom: Group", "theorem Group"]
)
def test_prose_that_begins_like_a_declaration_declares_nothing(index: Index, priors: Priors, prose: str) -> None:
    assert named(index, priors, prose)["exact"] == []


def test_a_pasted_declaration_names_nothing_but_itself(index: Index, priors: Priors) -> None:
    found = named(index, priors, "theorem filter (p : Nat → Bool) : x = y")
    assert found == {"exact": [], "suffix": [], "whole": [], "loose": []}
