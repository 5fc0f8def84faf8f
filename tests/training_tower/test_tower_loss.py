"""The loss of a tower: against sums done by hand, whatever is drawn, in pieces and whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from training.tower import loss as losses
from training.tower.loss import Answers, FrozenSoftmaxLoss, tower_loss
from training.tower.queries import run_order

TAU, TEACHER_TAU, WEIGHT = 0.5, 0.25, 0.7

DOCUMENTS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0], [0.8, -0.6]])


def _answers(
    positives: Sequence[Sequence[int]],
    excluded: Sequence[Sequence[int]],
    teacher: Tensor,
    *,
    allowed: Sequence[bool] = (True,) * 5,
    documents: Sequence[int] | None = None,
    weight: Sequence[float] | None = None,
) -> Answers:
    return Answers(
        documents=None if documents is None else np.array(documents),
        weight=None if weight is None else torch.tensor(weight),
        positives=[np.array(rows, dtype=np.int64) for rows in positives],
        excluded=[np.array(rows, dtype=np.int64) for rows in excluded],
        teacher=teacher,
        kind=np.zeros(len(positives), dtype=np.int64),
        masks=torch.tensor([allowed]),
    )


def _by_hand(
    query: Sequence[float],
    teacher: Sequence[float],
    positives: set[int],
    allowed: set[int],
    weights: dict[int, float] | None = None,
) -> float:
    """The formula of the module, with plain numbers."""
    weights = weights or {}

    def cosine(vector: Sequence[float], row: int) -> float:
        document = DOCUMENTS[row].tolist()
        return sum(a * b for a, b in zip(vector, document, strict=True))

    def grown(row: int) -> float:
        return weights.get(row, 1.0) * math.exp(cosine(query, row) / TAU)

    others = sum(grown(row) for row in allowed - positives)
    softmax = [-math.log(grown(row) / (grown(row) + others)) for row in positives]
    wanted = {row: weights.get(row, 1.0) * math.exp(cosine(teacher, row) / TEACHER_TAU) for row in allowed}
    found = {row: grown(row) for row in allowed}
    apart = sum(
        wanted[row]
        / sum(wanted.values())
        * math.log(wanted[row] / sum(wanted.values()) / (found[row] / sum(found.values())))
        for row in allowed
    )
    return sum(softmax) / len(softmax) + WEIGHT * apart


def _loss(queries: Tensor, answers: Answers, documents: Tensor = DOCUMENTS) -> float:
    return float(
        tower_loss(queries, documents, answers, temperature=TAU, teacher_temperature=TEACHER_TAU, distillation=WEIGHT)
    )


QUERIES = torch.tensor([[0.6, 0.8], [0.0, -1.0]])
TEACHER = torch.tensor([[0.8, 0.6], [-0.6, -0.8]])


def test_the_loss_is_the_sum_done_by_hand() -> None:
    answers = _answers([[0, 2], [4]], [[], [1]], TEACHER)
    wanted = [
        _by_hand(QUERIES[0].tolist(), TEACHER[0].tolist(), {0, 2}, {0, 1, 2, 3, 4}),
        _by_hand(QUERIES[1].tolist(), TEACHER[1].tolist(), {4}, {0, 2, 3, 4}),
    ]
    assert _loss(QUERIES, answers) == pytest.approx(sum(wanted) / 2, rel=1e-5)


def test_what_a_query_may_not_find_counts_nowhere_unless_it_is_right() -> None:
    answers = _answers([[0]], [[]], TEACHER[:1], allowed=(False, True, True, False, True))
    wanted = _by_hand(QUERIES[0].tolist(), TEACHER[0].tolist(), {0}, {0, 1, 2, 4})
    assert _loss(QUERIES[:1], answers) == pytest.approx(wanted, rel=1e-5)


def test_a_drawn_document_stands_for_those_that_were_left_out() -> None:
    answers = _answers([[0]], [[]], TEACHER[:1], documents=(0, 2, 3), allowed=(True,) * 3, weight=(1.0, 2.0, 2.0))
    wanted = _by_hand(QUERIES[0].tolist(), TEACHER[0].tolist(), {0}, {0, 2, 3}, {2: 2.0, 3: 2.0})
    assert _loss(QUERIES[:1], answers, DOCUMENTS[[0, 2, 3]]) == pytest.approx(wanted, rel=1e-5)


def test_a_tower_that_is_its_teacher_has_no_divergence() -> None:
    answers = _answers([[2]], [[]], QUERIES[:1])
    same = {"temperature": TAU, "teacher_temperature": TAU}
    alone = tower_loss(QUERIES[:1], DOCUMENTS, answers, distillation=0.0, **same)
    assert float(tower_loss(QUERIES[:1], DOCUMENTS, answers, distillation=5.0, **same)) == pytest.approx(float(alone))


class _Table(nn.Module):
    """Gives each query a vector of its own."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors.clone())

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.vectors[features["input_ids"][:, 0]]}


def _gradient(answers: Answers) -> tuple[float, Tensor]:
    table = _Table(3 * QUERIES)
    loss = FrozenSoftmaxLoss(
        table,
        DOCUMENTS,
        lambda numbers, place: answers,
        temperature=TAU,
        teacher_temperature=TEACHER_TAU,
        distillation=WEIGHT,
    )
    labels = {"number": torch.tensor([0, 1]), "place": torch.tensor([0, 1])}
    value = loss([{"input_ids": torch.tensor([[0], [1]])}], labels)
    value.backward()
    assert table.vectors.grad is not None
    return value.item(), table.vectors.grad


def test_in_pieces_the_loss_has_the_value_and_the_gradient_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = _answers([[0, 2], [4]], [[], [1]], TEACHER)
    whole = _gradient(answers)
    assert whole[0] == pytest.approx(_loss(QUERIES, answers), rel=1e-6)
    monkeypatch.setattr(losses, "SCORES", 1)
    pieces = _gradient(answers)
    assert pieces[0] == pytest.approx(whole[0], rel=1e-6)
    assert torch.allclose(pieces[1], whole[1], atol=1e-6)
    # The gradient itself, by a small step along each component.
    step = 1e-3
    for row, column in ((0, 0), (1, 1)):
        moved = 3 * QUERIES.clone()
        moved[row, column] += step
        ahead = _loss(nn.functional.normalize(moved, dim=1), answers)
        moved[row, column] -= 2 * step
        behind = _loss(nn.functional.normalize(moved, dim=1), answers)
        assert float(whole[1][row, column]) == pytest.approx((ahead - behind) / (2 * step), abs=2e-3)


def test_documents_are_never_trained() -> None:
    loss = FrozenSoftmaxLoss(
        _Table(QUERIES),
        DOCUMENTS,
        lambda numbers, place: _answers([[0]], [[]], TEACHER),
        temperature=TAU,
        teacher_temperature=TEACHER_TAU,
        distillation=WEIGHT,
    )
    assert [name for name, _ in loss.named_parameters()] == ["model.vectors"]


def test_a_query_without_a_finite_vector_is_named() -> None:
    table = _Table(torch.tensor([[1.0, 0.0], [float("nan"), 0.0]]))
    loss = FrozenSoftmaxLoss(
        table,
        DOCUMENTS,
        lambda numbers, place: _answers([[0], [0]], [[], []], TEACHER),
        temperature=TAU,
        teacher_temperature=TEACHER_TAU,
        distillation=WEIGHT,
    )
    labels = {"number": torch.tensor([0, 1]), "place": torch.tensor([0, 1])}
    with pytest.raises(ValueError, match="query 1 of the batch"):
        loss([{"input_ids": torch.tensor([[0], [1]])}], labels)


def test_the_order_goes_through_all_goals_before_one_comes_again() -> None:
    order = run_order(10, 6, 80, alone=0.3, share=0.25, seed=1)
    assert len(order) == 80
    goals = [int(number) % 10 for number in order if number < 20]
    assert sorted(goals[:10]) == list(range(10))
    assert sorted(goals[10:20]) == list(range(10))
    assert set(order[order >= 20].tolist()) == set(range(20, 26))
    assert any(10 <= number < 20 for number in order.tolist())
    assert run_order(10, 6, 80, alone=0.3, share=0.25, seed=1).tolist() == order.tolist()
    assert run_order(0, 6, 5, alone=0.3, share=0.25, seed=1).min() >= 0
    assert run_order(10, 0, 50, alone=0.0, share=0.5, seed=1).max() < 10
