"""The masked contrastive loss, against a case computed by hand and against the loss without gradient caching."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from training.premises.loss import MaskedContrastiveLoss

Labels = dict[str, Tensor]


class TinyEncoder(nn.Module):
    """A real two-layer network with dropout over token numbers, in the shape that the loss expects of a model."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.table = nn.Embedding(50, 16)
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.3), nn.Tanh(), nn.Linear(16, 8))

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.layers(self.table(features["input_ids"]).mean(dim=1))}


def _texts(*rows: int) -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(3)
    return [{"input_ids": torch.randint(0, 50, (count, 5), generator=generator)} for count in rows]


def _labels(own: Sequence[int], number: Sequence[int], known: Sequence[Sequence[int]]) -> Labels:
    width = max(len(row) for row in known)
    padded = [[*row, *[-1] * (width - len(row))] for row in known]
    return {"own": torch.tensor(own), "number": torch.tensor(number), "known": torch.tensor(padded)}


def _unit(*angles: float) -> Tensor:
    return torch.tensor([[math.cos(a), math.sin(a)] for a in angles])


def test_a_case_computed_by_hand() -> None:
    # Two states, one negative each. State 0 also knows premise 11 (the positive of state 1), so it is masked.
    loss = MaskedContrastiveLoss(nn.Identity(), temperature=0.5)
    states, premises = _unit(0.0, 1.0), _unit(0.2, 1.1, 2.0, 0.3)
    value = float(loss.calculate_loss([[states], [premises]], _labels([0, 1], [10, 11, 20, 21], [[10, 11], [11]])))

    def score(a: float, b: float) -> float:
        return math.exp(math.cos(a - b) / 0.5)

    first = -math.log(score(0.0, 0.2) / (score(0.0, 0.2) + score(0.0, 2.0) + score(0.0, 0.3)))
    everything = score(1.0, 0.2) + score(1.0, 1.1) + score(1.0, 2.0) + score(1.0, 0.3)
    second = -math.log(score(1.0, 1.1) / everything)
    assert value == pytest.approx((first + second) / 2, rel=1e-6)


def test_two_states_that_share_their_positive_are_no_negatives_of_each_other() -> None:
    # Equal numbers say: one premise, or two that say the same. A row keeps only its own place, so the loss of a row
    # with nothing to compare against is 0.
    loss = MaskedContrastiveLoss(nn.Identity(), temperature=0.5)
    vectors = _unit(0.0, 1.0)
    labels = _labels([0, 1], [10, 10], [[10], [10]])
    assert float(loss.calculate_loss([[vectors], [vectors]], labels)) == pytest.approx(0.0, abs=1e-7)
    unmasked = MaskedContrastiveLoss(nn.Identity(), temperature=0.5, mask_known=False)
    assert float(unmasked.calculate_loss([[vectors], [vectors]], labels)) > 0.1


def test_the_order_of_the_premises_does_not_matter() -> None:
    loss = MaskedContrastiveLoss(nn.Identity(), temperature=0.5)
    states, premises = _unit(0.0, 1.0), _unit(0.2, 1.1, 2.0, 0.3)
    one = loss.calculate_loss([[states], [premises]], _labels([0, 1], [10, 11, 20, 21], [[10, 11], [11]]))
    turned = loss.calculate_loss([[states], [premises.flip(0)]], _labels([3, 2], [21, 20, 11, 10], [[10, 11], [11]]))
    assert float(one) == pytest.approx(float(turned), rel=1e-6)


@pytest.mark.parametrize("rows", [16, 7])
def test_pieces_of_any_size_give_one_loss(rows: int) -> None:
    columns = [torch.randn(count, 8, generator=torch.Generator().manual_seed(count)) for count in (rows, 3 * rows)]
    labels = _labels(
        range(rows), [number % 11 for number in range(3 * rows)], [[i % 11, (i + 1) % 11] for i in range(rows)]
    )
    values = []
    for size in (1, 4, 16):
        loss = MaskedContrastiveLoss(nn.Identity(), mini_batch_size=size)
        values.append(float(loss.calculate_loss([list(column.split(size)) for column in columns], labels)))
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)


def test_more_states_than_are_masked_at_one_time_give_the_mean_over_all() -> None:
    rows = 300
    states, premises = (torch.randn(rows, 8, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    labels = _labels(range(rows), range(rows), [[row] for row in range(rows)])
    value = float(MaskedContrastiveLoss(nn.Identity()).calculate_loss([[states], [premises]], labels))
    scores = nn.functional.normalize(states, dim=1) @ nn.functional.normalize(premises, dim=1).T / 0.05
    assert value == pytest.approx(float(nn.functional.cross_entropy(scores, torch.arange(rows))), rel=1e-5)


@pytest.mark.parametrize("mini_batch_size", [1, 4, 16])
def test_cached_gradients_equal_uncached_ones_with_dropout_on(mini_batch_size: int) -> None:
    rows = 16
    labels = _labels(range(rows), range(3 * rows), [[i, (i + 1) % rows] for i in range(rows)])
    texts = _texts(rows, 3 * rows)
    values, models = [], []
    for cached in (True, False):
        model = TinyEncoder().train()
        models.append(model)
        torch.manual_seed(11)
        value = MaskedContrastiveLoss(model, mini_batch_size=mini_batch_size, cached=cached)(texts, labels)
        value.backward()
        values.append(value.item())
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.allclose(one.grad, other.grad, atol=1e-5)


def test_accumulating_four_batches_of_sixteen_is_not_one_of_sixty_four() -> None:
    # Negatives come from the batch, so accumulation sees fewer of them: documented as different, and it is.
    states, premises = (torch.randn(64, 8, generator=torch.Generator().manual_seed(i)) for i in (1, 2))
    loss = MaskedContrastiveLoss(nn.Identity())
    whole = float(loss.calculate_loss([[states], [premises]], _labels(range(64), range(64), [[i] for i in range(64)])))
    parts = [
        float(
            loss.calculate_loss(
                [[states[i : i + 16]], [premises[i : i + 16]]], _labels(range(16), range(16), [[i] for i in range(16)])
            )
        )
        for i in range(0, 64, 16)
    ]
    assert whole > sum(parts) / 4 + 0.5


@pytest.mark.parametrize("column", ["state", "premise"])
def test_a_vector_that_is_not_finite_names_its_row(column: str) -> None:
    states = _unit(0.0, 1.0, 2.0)
    premises = states.clone()
    (states if column == "state" else premises)[2, 1] = float("nan")
    labels = _labels([0, 1, 2], [1, 2, 3], [[1], [2], [3]])
    with pytest.raises(ValueError, match=f"{column}: the embedding of row 2 is not finite"):
        MaskedContrastiveLoss(nn.Identity()).calculate_loss([[states], [premises]], labels)


def test_labels_that_do_not_fit_are_refused() -> None:
    labels = _labels([0, 1, 2], [1, 2, 3], [[1], [2], [3]])
    with pytest.raises(ValueError, match="do not fit 2 states and 2 premises"):
        MaskedContrastiveLoss(nn.Identity()).calculate_loss([[_unit(0, 1)], [_unit(0, 1)]], labels)
    with pytest.raises(ValueError, match="needs labels"):
        MaskedContrastiveLoss(nn.Identity()).calculate_loss([[_unit(0, 1)], [_unit(0, 1)]])
    with pytest.raises(ValueError, match="temperature"):
        MaskedContrastiveLoss(nn.Identity(), temperature=0.0)
    with pytest.raises(ValueError, match="mini_batch_size"):
        MaskedContrastiveLoss(nn.Identity(), mini_batch_size=0)


def _sixteen() -> tuple[list[dict[str, Tensor]], Labels]:
    """Sixteen states with two premises each: those of a state follow one another."""
    known = [[2 * i, 2 * ((i + 9) % 16)] for i in range(16)]
    return _texts(16, 32), _labels([2 * i for i in range(16)], range(32), known)


def _two_ranks(rank: int, address: str, folder: str) -> None:
    patience = timedelta(seconds=120)
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2, timeout=patience)
    (states, premises), labels = _sixteen()
    mine, of_mine = slice(rank * 8, rank * 8 + 8), slice(rank * 16, rank * 16 + 16)
    model = nn.parallel.DistributedDataParallel(TinyEncoder().eval())
    loss = MaskedContrastiveLoss(model, mini_batch_size=4, gather_across_devices=True)
    texts = [{"input_ids": states["input_ids"][mine]}, {"input_ids": premises["input_ids"][of_mine]}]
    own = labels["own"][mine] - rank * 16
    value = loss(texts, {"own": own, "number": labels["number"][of_mine], "known": labels["known"][mine]})
    value.backward()
    gradients = [parameter.grad for parameter in model.module.parameters()]
    torch.save({"value": value.item(), "gradients": gradients}, Path(folder) / f"{rank}.pt")
    # The group is not taken down: its destructor waits, with Python's lock held, for a thread of gloo that may just
    # be waiting for that lock to let go of the last all-reduce of the backward pass (torch 2.13).
    os._exit(0)


def test_two_processes_give_the_gradient_of_one_batch(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_two_ranks, args=(f"file://{tmp_path}/meet", str(tmp_path)), nprocs=2)
    results = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)]

    model = TinyEncoder().eval()
    value = MaskedContrastiveLoss(model, mini_batch_size=4)(*_sixteen())
    value.backward()
    assert sum(result["value"] for result in results) / 2 == pytest.approx(value.item(), rel=1e-5)
    for result in results:
        for gradient, parameter in zip(result["gradients"], model.parameters(), strict=True):
            assert parameter.grad is not None
            assert torch.allclose(gradient, parameter.grad, atol=1e-5)
