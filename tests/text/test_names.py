from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.text.names import components, constant_words, loose_name, name_words
from tests.text.strategies import ANY_TEXT, PATIENT


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Nat.add_comm", ("Nat", "add_comm")),
        ("Std.«term_...*»", ("Std", "term_...*")),
        ("Lean.«term∃__,_»", ("Lean", "term∃__,_")),
        ("quot.sound", ("quot", "sound")),
        ("«quot.sound»", ("quot.sound",)),
        ("a.«b.c».d", ("a", "b.c", "d")),
    ],
)
def test_dots_inside_guillemets_do_not_split(name: str, parts: tuple[str, ...]) -> None:
    assert components(name) == parts


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("IsOpenMap", "is open map"),
        ("Norm.norm", "norm"),
        ("T2Space", "t 2 space"),
        ("𝒰S", "u s"),
        ("Lean.«term∃__,_»", "lean term exists"),
        ("HAdd.hAdd", "add"),
    ],
)
def test_names_are_split_into_words(name: str, spelled: str) -> None:
    assert name_words(name) == spelled.split()


def test_styles_of_one_name_give_the_same_words() -> None:
    assert name_words("addComm") == name_words("add_comm") == name_words("Add.comm") == name_words("ADD_COMM")
    assert name_words("inv₀") == name_words("inv_0") and name_words("map₂'") == name_words("map₂")


def test_long_namespaces_are_not_repeated_at_every_mention() -> None:
    assert constant_words("CategoryTheory.Limits.HasLimit") == name_words("Limits.HasLimit")
    assert constant_words("Finset.sum") == name_words("Finset.sum")


def test_loose_names_meet_whatever_the_spelling() -> None:
    assert loose_name("addComm") == loose_name("add_comm") == loose_name("Add.comm") == loose_name("«add».COMM ")
    assert loose_name("inv₀") == loose_name("inv0") and loose_name("hölder") == loose_name("Holder")
    assert loose_name("add_comm'") != loose_name("add_comm")


@given(ANY_TEXT)
@PATIENT
def test_any_name_can_be_spelled(name: str) -> None:
    assert all(word and not any(character.isspace() for character in word) for word in name_words(name))
    loose_name(name).encode()
    assert all(components(name))


@given(st.lists(st.text("abcXY₁'_é𝒰", min_size=1, max_size=5), min_size=1, max_size=4))
@PATIENT
def test_components_join_to_the_name(parts: list[str]) -> None:
    assert components(".".join(parts)) == tuple(parts)
    assert components(".".join(f"«{part}»" for part in parts)) == tuple(parts)
