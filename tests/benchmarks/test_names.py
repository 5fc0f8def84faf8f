"""The searches that the measurement of names makes, and what it counts as right."""

from __future__ import annotations

import random

from benchmarks.names import make_cases

NAMES = ["Nat.add_comm", "Finset.sum_congr", "Std.«term_...*»", "id", "List.head?"]


def test_the_name_itself_is_right_however_it_was_asked_for() -> None:
    for seed in range(20):
        for case in make_cases(NAMES, random.Random(seed)):
            assert any(case.right(name) for name in NAMES), case


def test_other_names_are_wrong() -> None:
    for case in make_cases(["Nat.add_comm"], random.Random(0)):
        assert not case.right("Nat.mul_comm")
        assert not case.right("Nat.add_comm'")
        if case.system in ("exact name", "name in other signs"):
            assert not case.right("Dyadic.add_comm")
            assert not case.right("Foo.Nat.add_comm")


def test_an_end_may_belong_to_many_names() -> None:
    end = next(case for case in make_cases(["Nat.add_comm"], random.Random(0)) if case.system == "end of a name")
    assert end.query == "add_comm"
    assert end.right("Dyadic.add_comm")
    assert not end.right("add_comm.foo")


def test_every_way_of_asking_is_there_for_a_plain_long_name_and_the_sample_is_the_same_again() -> None:
    cases = list(make_cases(["Finset.sum_congr"], random.Random(3)))
    assert [case.system for case in cases] == [
        "exact name",
        "name in other signs",
        "end of a name",
        "loose spelling",
        "one slip",
    ]
    assert [case.query for case in cases] == [case.query for case in make_cases(["Finset.sum_congr"], random.Random(3))]
