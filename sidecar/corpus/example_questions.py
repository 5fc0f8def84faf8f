"""Goals and questions with known answers about the embedded example library.

In: `example/questions.json`. Out: typed rows, for the demo and for tests.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExampleGoal:
    """A goal of the example library.

    Attributes:
        goal: Goal text as Lean prints it.
        imports: Modules under which it is asked.
        premises: What closes it.
        proof: How they close it.
    """

    goal: str
    imports: tuple[str, ...]
    premises: tuple[str, ...]
    proof: str


@dataclass(frozen=True, slots=True)
class ExampleQuestion:
    """A question about the example library; each of `answers` is a right answer."""

    query: str
    answers: tuple[str, ...]


def example_questions() -> tuple[list[ExampleGoal], list[ExampleQuestion]]:
    """All goals and all questions."""
    path = Path(__file__).parent / "example" / "questions.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    goals = [
        ExampleGoal(row["goal"], tuple(row["imports"]), tuple(row["premises"]), row["proof"]) for row in raw["goals"]
    ]
    questions = [ExampleQuestion(row["query"], tuple(row["answers"])) for row in raw["questions"]]
    return goals, questions
