from __future__ import annotations

import numpy as np
import pytest

from sidecar.index.index import Index
from sidecar.select.locality import LocalityRanking, Place, PremisePlaces, namespace_of
from sidecar.select.request import LocalPremise


@pytest.fixture(scope="module")
def locality(index: Index) -> LocalityRanking:
    return LocalityRanking(index)


def premises(*entries: tuple[str, str | None]) -> PremisePlaces:
    return PremisePlaces([LocalPremise(name, f"theorem {name} : True", None, module) for name, module in entries])


def test_the_last_premise_of_the_file_is_the_nearest(index: Index, locality: LocalityRanking) -> None:
    places = premises(("a", None), ("b", None), ("c", "My.Own"))
    scores = locality.scores(Place((), "My.Own"), [places])[index.size :]
    assert scores[0] < scores[1] < scores[2] == 1


def test_the_file_comes_before_everything_else(index: Index, locality: LocalityRanking) -> None:
    place = Place(("Nat",), "Init.Data.Nat.New", ("Init.Data.Nat.Gcd",))
    scores = locality.scores(place, [premises(*(("far", None) for _ in range(3_000)))])
    assert scores[: index.size].max() <= scores[index.size :].min()
    assert scores.min() >= 0 and scores.max() <= 1


def test_shared_namespace_shared_module_path_and_direct_import_are_near(
    index: Index, locality: LocalityRanking
) -> None:
    def score(name: str, place: Place) -> float:
        row = index.row(name)
        assert row is not None
        return float(locality.scores(place)[row])

    nowhere = Place((), None)
    assert score("List.length_append", nowhere) == 0
    assert score("List.length_append", Place(("List",), None)) > score("Nat.gcd_comm", Place(("List",), None))
    beside = Place((), "Init.Data.Nat.New")
    assert score("Nat.gcd_comm", beside) > score("List.length_append", beside) > 0
    importing = Place((), None, (index.module(index.row("Nat.gcd_comm") or 0),))
    assert score("Nat.gcd_comm", importing) > score("List.length_append", importing) == 0


def test_in_the_file_of_a_known_theorem_the_lines_before_it_are_nearest(
    index: Index, locality: LocalityRanking
) -> None:
    row = index.row("Nat.gcd_comm")
    assert row is not None
    module = index.module(row)
    rows = np.flatnonzero(index.module_of == index.module_of[row])
    scores = locality.scores(Place(("Nat",), module, (), row))[rows]
    before, after = scores[rows < row], scores[rows > row]
    assert (np.diff(before) > 0).all() and (np.diff(after) < 0).all()
    assert before.min() > after.max()


def test_premises_of_other_modules_are_placed_by_name_module_and_import(
    index: Index, locality: LocalityRanking
) -> None:
    places = premises(("My.x", "My.Other"), ("Far.x", "Far.Away"), ("Far.y", "Far.Imported"))
    scores = locality.scores(Place(("My",), "My.Own", ("Far.Imported",)), [places])[index.size :]
    assert scores[0] > scores[1] == 0
    assert scores[2] > scores[1]


def test_names_are_taken_apart_outside_guillemets_only() -> None:
    assert namespace_of("Std.«term_...*»") == ("Std",)
    assert namespace_of("«a.b».c") == ("a.b",)
    assert namespace_of("alone") == ()
