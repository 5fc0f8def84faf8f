"""Names found by their spelling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.index.index import Index
from sidecar.search.names import Named, find_named
from sidecar.search.priors import Priors
from sidecar.search.slips import one_slip, two_slips
from sidecar.search.spelling import is_written_as_name, readings, without_lead

GROUPS = ("exact", "suffix", "whole", "loose", "near")


@pytest.fixture(scope="module")
def priors(index: Index) -> Priors:
    return Priors(index)


def named(index: Index, priors: Priors, query: str) -> dict[str, list[str]]:
    found = find_named(index, priors, query, np.ones(index.size, dtype=np.bool_))
    return {group: index.names(getattr(found, group)) for group in GROUPS}


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
        "theorem Nat.add_comm",
        "lemma Nat.add_comm",
        "lemma Nat.add_comm.",
        "protected theorem Nat.add_comm",
        "@[simp] theorem Nat.add_comm",
        "Nat.add_comm?",
        "Nat.add_comm ?",
        "Nat.add_comm!?",
        "`Nat.add_comm`?",
        "“Nat.add_comm”",
        "**Nat.add_comm**",
        "(Nat.add_comm)",
        ".Nat.add_comm",
        "← Nat.add_comm",
        "@Nat.add_comm.{u, v}",
        "#check @Nat.add_comm n m",
        "#print axioms Nat.add_comm",
        "#check `Nat.add_comm`.",
        "exact Nat.add_comm a b",
        "apply Nat.add_comm",
        "rw [Nat.add_comm]",
        "simp [Nat.add_comm]",
        "rw [← Nat.add_comm, Nat.succ_add]",
        "simp only [Nat.add_comm]",
        "theorem `Nat.add_comm`",
        "https://example.org/docs/Init/Data/Nat/Basic.html#Nat.add_comm",
        "Nat.add_comm (n m : ℕ) : n + m = m + n",
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
        found = named(index, priors, query)
        assert all("Nat.add_comm" not in found[group] for group in ("exact", "suffix", "whole", "loose"))


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
    rows = [row for group in found.groups for row in group]
    assert len(set(rows)) == len(rows)


def test_a_long_query_is_no_name(index: Index, priors: Priors) -> None:
    assert find_named(index, priors, "add_comm " * 200, np.ones(index.size, dtype=np.bool_)) == Named()


@pytest.mark.parametrize("query", ["add_comm", "Nat.succ", "primeIdeal", "map'", "inv₀", "T2Space", "«a b»"])
def test_written_as_a_name(query: str) -> None:
    assert is_written_as_name(query)


@pytest.mark.parametrize("query", ["filter", "Filter", "prime ideal", "Hausdorff space", "a", "", "Nat.add_comm of x"])
def test_plain_words(query: str) -> None:
    assert not is_written_as_name(query)


def likeliest(query: str) -> str:
    return next((reading.name for reading in readings(query)), "")


def test_what_people_put_around_names() -> None:
    assert likeliest(" `List.map`. ") == "List.map"
    assert likeliest("#check @List.map") == "List.map"
    assert likeliest("`List.map`?") == likeliest('"List.map"!') == "List.map"
    assert likeliest("List.head?") == likeliest("`List.head?`.") == likeliest("`List.head?`?") == "List.head?"
    assert likeliest("") == likeliest("`") == likeliest("@.") == ""
    assert [reading.name for reading in readings("List.head??")] == ["List.head??", "List.head?", "List.head"]


def test_a_question_mark_is_the_names_where_a_name_has_it(index: Index, priors: Priors) -> None:
    assert named(index, priors, "List.head?")["exact"] == ["List.head?"]
    assert named(index, priors, "List.head??")["exact"] == ["List.head?"]
    assert named(index, priors, "head?")["suffix"][0].endswith(".head?")


def test_a_kind_before_a_suffix_or_another_spelling(index: Index, priors: Priors) -> None:
    assert named(index, priors, "theorem add_comm")["exact"] == ["add_comm"]
    assert "Nat.add_comm" in named(index, priors, "lemma add_comm")["suffix"]
    assert named(index, priors, "theorem natAddComm")["whole"] == ["Nat.add_comm"]
    assert named(index, priors, "def filter")["whole"] == ["Filter"]
    assert named(index, priors, "rw [Filter]")["exact"] == ["Filter"]


def test_a_kind_before_a_plain_word_means_only_a_declaration_of_that_kind(index: Index, priors: Priors) -> None:
    assert named(index, priors, "class Group")["exact"] == ["Group"]
    assert named(index, priors, "structure Filter")["exact"] == ["Filter"]
    assert not any(named(index, priors, "theorem Filter").values())


def test_words_of_prose_are_no_commands() -> None:
    for prose in ("class group", "apply a function to a list", "field of fractions", "open set", "have a limit"):
        assert without_lead(prose) == prose
        assert all(reading.exact_only or reading.name == prose for reading in readings(prose)[-1:])
    assert without_lead("theorem Nat.add_comm.") == without_lead("#check @Nat.add_comm") == "Nat.add_comm"


@pytest.mark.parametrize(
    "query",
    [
        "Nat.add_com",
        "Nat.ad_comm",
        "Nat.addcom",
        "Nat.add_cmom",
        "Nta.add_comm",
        "Nat.addd_comm",
        "Nat.adf_comm",
        "Nat.ad_com",
        "theorem Nat.add_com",
        "`Nat.add_com`?",
    ],
)
def test_a_misspelled_name_is_the_name_that_it_is_near_to(index: Index, priors: Priors, query: str) -> None:
    found = named(index, priors, query)
    assert found["near"][0] == "Nat.add_comm"
    assert not any(found[group] for group in GROUPS[:-1])


def test_a_misspelled_end_of_a_name(index: Index, priors: Priors) -> None:
    assert named(index, priors, "add_com")["near"][:2] == ["add_comm", "Nat.add_comm"]
    assert named(index, priors, "tensorProdct")["near"] == ["TensorProduct", "Module.Basis.tensorProduct"]
    everything = np.ones(index.size, dtype=np.bool_)
    assert find_named(index, priors, "tensorProdct", everything).corrected == "TensorProduct"


def test_a_plain_word_is_misspelled_only_when_no_text_holds_it(index: Index, priors: Priors) -> None:
    assert named(index, priors, "contiuous")["near"][0] == "Continuous"
    assert not any(named(index, priors, "matrices").values())
    assert not any(named(index, priors, "tensor prodct").values())


def test_what_is_named_without_a_slip_is_not_corrected(index: Index, priors: Priors) -> None:
    for query in ("Nat.add_comm", "addComm", "filter", "prime ideal of a ring"):
        assert named(index, priors, query)["near"] == []


@given(st.text(alphabet="abcdé'0", min_size=5, max_size=12), st.data())
def test_every_single_slip_is_mended(key: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(key) - 1))
    kinds = [
        key[:place] + key[place + 1 :],
        key[:place] + "z" + key[place:],
        key[:place] + "z" + key[place + 1 :],
        key[:place] + key[place + 1 : place + 2] + key[place] + key[place + 2 :],
    ]
    slipped = data.draw(st.sampled_from(kinds))
    if slipped != key and len(slipped) >= 5 and key.isascii():
        found = [near for group in one_slip(slipped) for near in group]
        assert key in found
        assert len(set(found)) == len(found)
        assert slipped not in found


def test_short_and_long_keys_and_what_is_no_name_have_no_slips() -> None:
    for key in ("nat", "a" * 200, "a+b=b+a", ""):
        assert one_slip(key) == []
        assert two_slips(key) == []


@pytest.mark.parametrize(
    "prose", ["class of a Group", "field of Group", "structure Group (modules)", "axiom: Group", "theorem Group"]
)
def test_prose_that_begins_like_a_declaration_declares_nothing(index: Index, priors: Priors, prose: str) -> None:
    assert named(index, priors, prose)["exact"] == []


def test_a_pasted_declaration_names_nothing_but_itself(index: Index, priors: Priors) -> None:
    found = named(index, priors, "theorem filter (p : Nat → Bool) : x = y")
    assert not any(found.values())
