"""Questions beside goals: which are asked, what is kept out for an evaluation, and what the loss is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.source import Corpus, open_corpus
from sidecar.text.query import query_text
from tests.corpus.written import declaration_row, module_row, write
from tests.training.made_up import lemma, write_library
from training.cli import application
from training.data.examples import Positive, PremiseExample
from training.data.premise_library import PremiseLibrary
from training.data.queries import SearchExample
from training.data.token_rows import TokenRows
from training.premises.batches import PADDING, Batches
from training.premises.negatives import NegativeSampler
from training.premises.pairs import TrainingPairs
from training.premises.questions import Questions, mixed_order


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder)
    write(
        folder,
        module_row("Docs", ["Lemmas"]),
        declaration_row("Docs.swap", docstring="Addition may be swapped. More is said here.", line=1, end_line=1),
        declaration_row(
            "Docs.Magma",
            kind="structure",
            signature="structure Docs.Magma : Type",
            docstring="A set with one operation",
            line=2,
            end_line=2,
        ),
        declaration_row("Docs.asked", docstring="What the evaluation wants", line=3, end_line=3),
        name="Docs.jsonl",
    )
    return open_corpus(folder)


@pytest.fixture(scope="module")
def library(corpus: Corpus) -> PremiseLibrary:
    return PremiseLibrary.build(corpus)


@pytest.fixture(scope="module")
def questions(corpus: Corpus, library: PremiseLibrary) -> Questions:
    extra = [
        SearchExample("swap the two summands", ("Docs.swap", "Not.there"), "made up", "short"),
        SearchExample("a forbidden text", ("Docs.Magma",), "made up", "short"),
    ]
    evaluation = [SearchExample("A forbidden text!", ("Docs.asked",), "dev", "short")]
    return Questions.read(corpus, library, extra, evaluation)


def test_docstrings_and_given_questions_are_asked_and_what_an_evaluation_wants_is_not(questions: Questions) -> None:
    assert set(questions.queries) == {
        query_text(text)
        for text in (
            "Addition may be swapped.",
            "Addition may be swapped. More is said here.",
            "swap the two summands",
            "A set with one operation",
        )
    }
    assert questions.left_out == 2
    assert set(questions.names) == {"Docs.swap", "Docs.Magma"}
    assert not any("evaluation" in answer for answer in questions.answers)


def test_a_docstring_is_not_part_of_its_own_answer(questions: Questions) -> None:
    for query, answer in zip(questions.queries, questions.answers, strict=True):
        # The given question is asked of the whole text, that from a docstring of the rest.
        assert ("swapped" in answer) == (query == query_text("swap the two summands"))


def test_an_answer_that_is_a_premise_is_of_its_group_and_another_one_of_its_own(
    questions: Questions, library: PremiseLibrary
) -> None:
    row = library.row("Docs.swap")
    assert row is not None and library.row("Docs.Magma") is None
    groups = dict(zip(questions.queries, questions.group.tolist(), strict=True))
    assert groups[query_text("swap the two summands")] == library.group[row]
    assert groups[query_text("A set with one operation")] >= len(library)


def test_a_batch_of_both_kinds_masks_what_a_question_is_answered_by(
    questions: Questions, library: PremiseLibrary
) -> None:
    goals = [
        PremiseExample("Train.use9", "Train", 91, "⊢ x", "", (Positive(lemma(0)), Positive(lemma(5)))),
        PremiseExample("Docs.asked", "Docs", 3, "⊢ y", "", (Positive("Docs.swap"),)),
    ]
    pairs = TrainingPairs.from_examples(goals, library)
    # One token a text, its own number, so that a batch shows which texts it holds.
    states = TokenRows.from_rows([[1 + n] for n in range(len(goals) + len(questions))])
    premises = TokenRows.from_rows([[1 + n] for n in range(len(library) + len(questions))])
    batches = Batches(pairs, library, questions, states, premises, NegativeSampler(pairs, library, 2), 7)
    numbers = [*range(len(pairs) + len(questions))]
    batch = batches([{"pair": number, "place": place} for place, number in enumerate(numbers)])
    shown = batch["premise_input_ids"][:, 0].numpy() - 1
    assert len(shown) == 3 * len(numbers)
    asked = batch["state_input_ids"][:, 0].numpy() - 1
    swapped = library.group[library.row("Docs.swap")]
    for row, state in enumerate(asked):
        own = int(batch["own"][row])
        known = {int(group) for group in batch["known"][row] if group != PADDING}
        assert int(batch["number"][own]) in known
        if state >= len(goals):
            question = int(state) - len(goals)
            assert shown[own] == len(library) + question
            assert known == {int(questions.group[question])}
    # The premise of the goal in Docs answers questions too: one group, so neither is told to keep away from it.
    of_goal = [row for row, state in enumerate(asked) if state == 1]
    assert int(batch["number"][int(batch["own"][of_goal[0]])]) == swapped
    assert swapped in questions.group


@given(
    st.integers(1, 200),
    st.integers(0, 90),
    st.integers(2, 32),
    st.floats(0, 0.9),
    st.floats(0.1, 3),
)
def test_every_batch_has_its_share_of_questions(
    goals: int, questions: int, batch: int, share: float, passes: float
) -> None:
    asked = min(round(batch * share), batch - 1) if questions else 0
    numbers = mixed_order(goals, questions, batch, share, passes, 3)
    assert numbers.min() >= 0 and numbers.max() < goals + questions
    for start in range(0, len(numbers), batch):
        part = numbers[start : start + batch]
        assert np.count_nonzero(part >= goals) == asked
    again = mixed_order(goals, questions, batch, share, passes, 3)
    assert np.array_equal(numbers, again)


def test_questions_without_the_evaluation_queries_are_refused(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    answer = CliRunner().invoke(
        application,
        ["premises", "--preset", "static", "--data", str(tmp_path), "--output", str(tmp_path), "--question-share", "1"],
    )
    assert answer.exit_code != 0
    assert "question_share" in str(answer.exception)
    answer = CliRunner().invoke(
        application,
        [
            "premises",
            "--preset",
            "static",
            "--data",
            str(tmp_path),
            "--output",
            str(tmp_path),
            "--question-share",
            ".2",
        ],
    )
    assert "evaluation_queries" in str(answer.exception)
