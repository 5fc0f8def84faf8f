from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import SidecarError
from sidecar.text import words
from sidecar.text.goal import Goal, Hypothesis, cap_goal, goal_text, identifiers, parse_goal
from tests.text.strategies import (
    ANY_TEXT,
    FORMAL_TEXT,
    HYPOTHESES,
    PATIENT,
    QUOTED,
    TARGETS,
    THOROUGH,
    TYPES,
    goal_lines,
)

WIDE = 1 << 20


def count_words(texts: Sequence[str]) -> list[int]:
    """Two special tokens, and one a word."""
    return [len(text.split()) + 2 for text in texts]


def text_of(goal: str) -> str:
    return goal_text(goal, WIDE, count_words).text


@given(HYPOTHESES, TARGETS)
@PATIENT
def test_a_goal_comes_apart_as_it_was_put_together(hypotheses: list[tuple[list[str], str]], target: str) -> None:
    goal = parse_goal("\n".join([*goal_lines(hypotheses), f"⊢ {target}"]))
    assert goal == Goal(tuple(Hypothesis(tuple(names), type_text) for names, type_text in hypotheses), target)


@given(HYPOTHESES, TARGETS, st.data())
@PATIENT
def test_how_a_goal_is_broken_into_lines_makes_no_difference(
    hypotheses: list[tuple[list[str], str]], target: str, data: st.DataObject
) -> None:
    lines = [*goal_lines(hypotheses), f"⊢ {target}"]
    margin = data.draw(st.sampled_from(["", "  ", "\t", "\u00a0\u00a0\u00a0\u00a0"]))
    broken = []
    for line in lines:
        # The printer breaks only behind the first word of a line, never inside the names.
        head, separator, rest = line.partition(" : ") if not line.startswith("⊢") else ("⊢", " ", line[2:])
        words = rest.split(" ")
        gaps = [data.draw(st.sampled_from([" ", f"\r\n{margin}    "])) for _ in words[1:]]
        tail = words[0] + "".join(gap + word for gap, word in zip(gaps, words[1:], strict=True))
        broken.append(margin + head + separator + tail)
    line_end = data.draw(st.sampled_from(["\n", "\r\n", "\r", "\u2028"]))
    assert parse_goal(line_end.join(broken)) == parse_goal("\n".join(lines))


@given(HYPOTHESES, TARGETS, st.sampled_from(["\u200b", "\ufeff", "\ud800"]))
@PATIENT
def test_what_cannot_be_seen_makes_no_difference(
    hypotheses: list[tuple[list[str], str]], target: str, invisible: str
) -> None:
    goal = "\n".join([*goal_lines(hypotheses), f"⊢ {target}"])
    assert parse_goal(invisible.join(goal)) == parse_goal(goal)
    assert text_of(invisible.join(goal)) == text_of(goal)


@given(st.lists(TYPES, max_size=5), TARGETS)
@PATIENT
def test_a_goal_joined_into_one_line_keeps_its_words(types: list[str], target: str) -> None:
    rows = [([f"h{number}", f"k{number}"][: 1 + number % 2], type_text) for number, type_text in enumerate(types)]
    lines = [*goal_lines(rows), f"⊢ {target}"]
    joined, separate = parse_goal(" ".join(lines)), parse_goal("\n".join(lines))
    assert joined.target == separate.target
    kept = " ".join(" ".join([*entry.names, entry.type]) for entry in joined.hypotheses)
    assert kept.split() == " ".join(" ".join([*names, type_text]) for names, type_text in rows).split()


def test_a_goal_joined_into_one_line_comes_apart() -> None:
    goal = parse_goal("α : Type* n m : ℕ a b : ℤ h : ∀ x : ℕ, x ≤ n → x < m hab : a = b k : ℕ := 5 ⊢ n ≤ m")
    assert [entry.names for entry in goal.hypotheses] == [("α",), ("n", "m"), ("a", "b"), ("h",), ("hab",), ("k",)]
    assert goal.hypotheses[3].type == "∀ x : ℕ, x ≤ n → x < m" and goal.hypotheses[5].value == "5"
    assert goal.target == "n ≤ m"


@pytest.mark.parametrize(
    ("goal", "target", "names"),
    [
        ("a = b", "a = b", []),
        ("⊢ a = b", "a = b", []),
        ("case succ\nn : ℕ\n⊢ p\n\ncase zero\n⊢ q", "p", [("n",)]),
        ("2 goals\n\nx : ℕ\n⊢ p\n\ny : ℕ\n⊢ q", "p", [("x",)]),
        ("x : ℕ\n⊢ p\ny : ℕ\n⊢ q", "p", [("x",)]),
        ("h : P ⊢ₛ Q\n⊢ P ⊢ₛ R", "P ⊢ₛ R", [("h",)]),
        ("x :\n  ℕ\n⊢ a +\n    b = c", "a + b = c", [("x",)]),
        ("f : (ℕ →\nℕ)\n⊢ p", "p", [("f",)]),
        ("x : ℕ\n    h : p\n    ⊢ q", "q", [("x",), ("h",)]),
        ("x✝¹ inst✝ : ℕ\n⊢ p", "p", [("x✝¹", "inst✝")]),
        ("«a b» : ℕ\n⊢ p", "p", [("«a b»",)]),
        ("something odd\n⊢ p", "p", [()]),
        ("", "", []),
        ("⊢", "", []),
    ],
)
def test_shapes_of_goals(goal: str, target: str, names: list[tuple[str, ...]]) -> None:
    parsed = parse_goal(goal)
    assert parsed.target == target and [entry.names for entry in parsed.hypotheses] == names


@given(QUOTED, HYPOTHESES)
@PATIENT
def test_whatever_stands_in_a_quoted_name_takes_no_goal_apart(
    name: str, hypotheses: list[tuple[list[str], str]]
) -> None:
    lines = [*goal_lines(hypotheses), f"{name} k : ℕ", f"h : {name} < f {name}", f"s : Set ℕ := {name}"]
    goal = parse_goal("\n".join([*lines, f"⊢ {name} ∈ s", "", f"case {name}", "⊢ False"]))
    known = [Hypothesis(tuple(names), type_text) for names, type_text in hypotheses]
    assert list(goal.hypotheses) == [
        *known,
        Hypothesis((name, "k"), "ℕ"),
        Hypothesis(("h",), f"{name} < f {name}"),
        Hypothesis(("s",), "Set ℕ", name),
    ]
    assert goal.target == f"{name} ∈ s"


@given(QUOTED)
@PATIENT
def test_a_quoted_local_name_is_no_constant(name: str) -> None:
    assert identifiers(f"{name} : Finset ℕ\n⊢ ∀ n ∈ {name}, n < {name}.card") == identifiers(
        "x : Finset ℕ\n⊢ ∀ n ∈ x, n < x.card"
    )


def test_a_turnstile_in_a_quoted_name_is_none() -> None:
    goal = parse_goal("«a ⊢ b» : ℕ\nh : «x ⊢ y» = «a ⊢ b»\n⊢ P «⊢ c»")
    assert [entry.names for entry in goal.hypotheses] == [("«a ⊢ b»",), ("h",)]
    assert goal.target == "P «⊢ c»"
    joined = parse_goal("«a ⊢ b» : ℕ h : «x ⊢ y» = 0 ⊢ P «⊢ c»")
    assert [entry.names for entry in joined.hypotheses] == [("«a ⊢ b»",), ("h",)] and joined.target == "P «⊢ c»"


def test_values_of_lets_are_kept_apart_from_their_types() -> None:
    goal = parse_goal("s : { x : ℕ // x = (y := 2) } := f (a := 1)\n⊢ p")
    assert goal.hypotheses == (Hypothesis(("s",), "{ x : ℕ // x = (y := 2) }", "f (a := 1)"),)


def test_the_target_comes_first_and_the_nearest_hypothesis_next() -> None:
    spelled = text_of("h₁ : first\nh₂ : second\n⊢ target")
    assert spelled.split() == ["target", "second", "first"]


def test_types_are_not_spelled_but_what_is_said_of_them_is() -> None:
    assert text_of("α : Type u_1\ninst✝ : Group α\n⊢ True") == "true group alpha"


@given(HYPOTHESES, TARGETS.filter(lambda target: "." not in target), st.integers(0, 60))
@THOROUGH
def test_whole_hypotheses_are_dropped_earliest_first_and_never_the_target(
    hypotheses: list[tuple[list[str], str]], target: str, budget: int
) -> None:
    goal = "\n".join([*goal_lines(hypotheses), f"⊢ {target}"])
    short = goal_text(goal, budget, count_words)
    kept = goal_lines(hypotheses)[short.hypotheses_dropped :]
    assert short.hypotheses == len(hypotheses)
    assert short.text.startswith(text_of(f"⊢ {target}"))
    assert short.text == text_of("\n".join([*kept, f"⊢ {target}"]))
    assert short.target_cut == (count_words([text_of(f"⊢ {target}")])[0] > budget)
    if not short.target_cut:
        assert count_words([short.text])[0] <= budget
    else:
        assert short.hypotheses_dropped == len(hypotheses)


def test_goals_that_differ_only_behind_600_tokens_of_hypotheses_stay_different() -> None:
    hypotheses = "\n".join(f"h{number} : f {number} + g {number} = k {number}" for number in range(200))
    one = goal_text(f"{hypotheses}\n⊢ Continuous f", 256, count_words)
    other = goal_text(f"{hypotheses}\n⊢ Monotone g", 256, count_words)
    assert one.text != other.text and one.hypotheses_dropped == other.hypotheses_dropped > 0
    assert one.text.startswith("continuous f ") and other.text.startswith("monotone g ")


def test_a_target_over_the_budget_is_reported_and_kept_whole() -> None:
    goal = goal_text("h : p\n⊢ " + " + ".join(["x"] * 100), 50, count_words)
    assert goal.target_cut and goal.hypotheses_dropped == 1 and goal.text.split().count("x") == 100


def test_identifiers_are_the_targets_first_and_leave_local_names_out() -> None:
    found = identifiers("s t : Finset ℕ\nh : s ⊆ t\n⊢ ∀ x, s.card ≤ Finset.card t + x")
    assert found == ["Finset.card", "LE.le", "HAdd.hAdd", "HasSubset.Subset", "Finset", "Nat"]


@given(ANY_TEXT | FORMAL_TEXT)
@THOROUGH
def test_any_text_is_a_goal(text: str) -> None:
    goal = parse_goal(text)
    spelled = goal_text(text, 20, count_words)
    assert spelled.hypotheses == len(goal.hypotheses) >= spelled.hypotheses_dropped
    spelled.text.encode()
    found = identifiers(text)
    assert len(found) == len(set(found)) and all(found)


@given(st.lists(st.text("ab: ⊢𝕜", max_size=8), max_size=8), st.integers(1, 60))
@PATIENT
def test_the_wire_cap_keeps_the_end_of_the_hypotheses_and_the_start_of_the_target(lines: list[str], limit: int) -> None:
    goal = "\n".join(lines)
    capped, dropped = cap_goal(goal, limit)
    assert len(capped) <= limit
    target = next((number for number, line in enumerate(lines) if line.startswith("⊢")), 0)
    assert dropped <= target
    rest = "\n".join(lines[dropped:])
    assert rest.startswith(capped)
    assert capped == rest or dropped == target
    if dropped:
        assert len("\n".join(lines[dropped - 1 :])) > limit
    assert cap_goal(capped, limit) == (capped, 0)


def test_a_cap_below_one_character_is_refused() -> None:
    with pytest.raises(SidecarError) as caught:
        cap_goal("⊢ p", 0)
    assert caught.value.code == "bad_request" and caught.value.field == "limit"


@pytest.mark.parametrize(
    "piece",
    [
        "a : b ",
        "a : b\n",
        "a\n\n",
        "(\n",
        "⊢ ",
        " : ",
        "a := ",
        "x.y ",
        "{",
        "case a\n",
        "a b c : d e ",
        "\r",
        "∀ x : ",
    ],
)
def test_long_goals_of_one_piece_take_linear_time(piece: str) -> None:
    # Quadratic time would take minutes here.
    goal = piece * (40_000 // len(piece))
    goal_text(goal, 256, count_words)
    identifiers(f"x : {goal}\n⊢ {goal}")
    cap_goal(goal, 1_000)


def test_every_name_is_looked_at_as_often_however_many_hypotheses_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    plain = words._plain

    def counting(name: str) -> str:
        nonlocal looked
        looked += 1
        return plain(name)

    monkeypatch.setattr(words, "_plain", counting)
    costs = []
    for number in (100, 200):
        looked = 0
        lines = [f"h{index} : p q{index}" for index in range(number)]
        assert len(identifiers("\n".join([*lines, "⊢ p h1"]))) == number + 1
        costs.append(looked)
    assert costs[1] < 2.5 * costs[0]


@pytest.mark.parametrize(
    "text",
    ["a b : Nat |- a + b = b + a", "a b : Nat\n|- a + b = b + a", "a b : Nat\n  |-   a + b =\n    b + a"],
)
def test_a_turnstile_of_ascii_is_one(text: str) -> None:
    assert parse_goal(text) == parse_goal("a b : Nat\n⊢ a + b = b + a")


@pytest.mark.parametrize("text", ["x : Real\n⊢ y ≤ |- x|", "|-x| = |x|", "x ≤ ‖|-x|‖"])
def test_an_absolute_value_is_no_turnstile(text: str) -> None:
    assert parse_goal(text).target.endswith(text.removeprefix("x : Real\n⊢ "))


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("⊢ p\n\n⊢ q", True),
        ("⊢ p\n⊢ q", True),
        ("2 goals\ncase a\nx : Nat\n⊢ p\n\ncase b\n⊢ q", True),
        ("x : Nat\n⊢ p\ny : Nat\n⊢ q", True),
        ("x : Nat\n⊢ p\n", False),
        ("x : Nat\n⊢ p →\n    T\n    ⊢ q\n", False),
        ("x : Nat\n⊢ p\n\nand that is all", False),
    ],
)
def test_goals_behind_the_first_are_noticed(text: str, followed: bool) -> None:
    goal = parse_goal(text)
    assert goal.followed == followed
    assert goal.target.startswith("p")
    assert not followed or "q" not in goal.target
