"""The embedded library states what Lean states, and its questions can be answered from it."""

from __future__ import annotations

from collections import Counter

import pytest

from sidecar.corpus.example_questions import ExampleGoal, ExampleQuestion, example_questions
from sidecar.corpus.imports import ImportGraph
from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import example_corpus
from sidecar.text.declaration import parse_premise, premise_text
from sidecar.text.goal import parse_goal

DECLARATIONS: dict[str, Declaration] = {
    declaration.name: declaration for declaration in example_corpus().declarations()
}
GOALS, QUESTIONS = example_questions()

_UNTOLD = "alpha beta list nat int bool cons nil option function std decidable negative subtract infimum supremum"
UNTOLD = set(_UNTOLD.split())
"""Words on which the two prints of a statement may differ: types of bound names, which only notation shows; owners of
short names (`max`, `decide`) and of fields of terms, which it does not; `[a]`; minus of minus."""


def spelled(text: str) -> Counter[str]:
    """Words of a statement without those of its name and of variables."""
    statement = parse_premise(text)
    return Counter(word for word in premise_text(text.replace(statement.name, "_", 1)).split() if len(word) > 1)


def test_there_is_enough_of_everything() -> None:
    assert 400 <= len(DECLARATIONS) <= 500 and len(GOALS) == 40 and len(QUESTIONS) == 20
    modules = list(example_corpus().modules())
    assert all(module.docstring for module in modules) and len(modules) > 30
    described = sum(bool(declaration.docstring) for declaration in DECLARATIONS.values())
    assert described > 0.9 * len(DECLARATIONS)


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=lambda declaration: declaration.name)
def test_signatures_say_without_notation_what_is_displayed(declaration: Declaration) -> None:
    assert not set(declaration.signature.replace("=>", "")) & set("=≤<≥≠∣∈∧∨¬↔∃+*/%^∘×⊕!|&")
    shown, plain = spelled(declaration.display), spelled(declaration.signature)
    assert set((shown - plain) | (plain - shown)) <= UNTOLD | set(declaration.module.lower().split("."))


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=lambda declaration: declaration.name)
def test_constants_are_those_of_the_signature_in_its_order(declaration: Declaration) -> None:
    statement = parse_premise(declaration.signature)
    places = [f" {statement.type} ".replace("(", " ").find(f"{name}") for name in declaration.constants]
    conclusion = places[: declaration.conclusion_count]
    assert all(place >= 0 for place in conclusion)
    assert declaration.conclusion_count <= len(declaration.constants)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: parse_goal(goal.goal).target)
def test_goals_can_be_closed_by_what_they_import(goal: ExampleGoal) -> None:
    graph = ImportGraph(example_corpus().modules())
    visible, unknown = graph.visible(goal.imports)
    propositional = propositional_constants(DECLARATIONS.values())
    assert not unknown
    assert parse_goal(goal.goal).target
    for name in goal.premises:
        number = graph.number(DECLARATIONS[name].module)
        assert number is not None and visible[number]
        assert role(DECLARATIONS[name], propositional).premise
        # By its name, or by its last part behind a dot, or as what `.1`, `.mp` and the like stand for.
        assert name.rpartition(".")[2] in goal.proof or name in {"And.left", "Iff.mp"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.query)
def test_answers_are_in_the_library(question: ExampleQuestion) -> None:
    assert question.answers and all(answer in DECLARATIONS for answer in question.answers)
