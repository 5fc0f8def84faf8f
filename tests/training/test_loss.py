"""The masked contrastive loss, against a case computed by hand and against the loss without gradient caching."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from training.premises.loss import MaskedContrastiveLoss, pack_labels


class TinyEncoder(nn.Module):
    """A real two-layer network with dropout over token numbers, in the shape that the loss expects of a model."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.table = nn.Embedding(50, 16)
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.3), nn.Tanh(), nn.Linear(16, 8))

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.layers(self.table(features["input_ids"]).mean(dim=1))}


def _columns(rows: int, width: int) -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(3)
    return [{"input_ids": torch.randint(0, 50, (rows, 5), generator=generator)} for _ in range(width)]


def _unit(*angles: float) -> Tensor:
    return torch.tensor([[math.cos(a), math.sin(a)] for a in angles])


def test_a_case_computed_by_hand() -> None:
    # Two states, one negative each. State 0 also knows premise 11 (the positive of state 1), so it is masked.
    loss = MaskedContrastiveLoss(nn.Identity(), temperature=0.5)
    states, positives, negatives = _unit(0.0, 1.0), _unit(0.2, 1.1), _unit(2.0, 0.3)
    labels = pack_labels(torch.tensor([[10, 20], [11, 21]]), [[10, 11], [11]])
    value = float(loss.calculate_loss([[states], [positives], [negatives]], labels))

    def score(a: float, b: float) -> float:
        return math.exp(math.cos(a - b) / 0.5)

    first = -math.log(score(0.0, 0.2) / (score(0.0, 0.2) + score(0.0, 2.0) + score(0.0, 0.3)))
    everything = score(1.0, 0.2) + score(1.0, 1.1) + score(1.0, 2.0) + score(1.0, 0.3)
    second = -math.log(score(1.0, 1.1) / everything)
    assert value == pytest.approx((first + second) / 2, rel=1e-6)


def test_a_duplicate_text_of_the_positive_is_masked_but_not_the_positive_itself() -> None:
    loss = MaskedContrastiveLoss(nn.Identity(), temperature=0.5)
    vectors = _unit(0.0, 1.0)
    same = pack_labels(torch.tensor([[10], [10]]), [[10], [10]])
    # Each row keeps only its own column, so the loss of a row with nothing to compare against is 0.
    assert float(loss.calculate_loss([[vectors], [vectors]], same)) == pytest.approx(0.0, abs=1e-7)
    unmasked = MaskedContrastiveLoss(nn.Identity(), temperature=0.5, mask_known=False)
    assert float(unmasked.calculate_loss([[vectors], [vectors]], same)) > 0.1


def test_a_state_without_other_positives_pads_nothing() -> None:
    labels = pack_labels(torch.tensor([[1, 2], [3, 4]]), [[1], [3, 5, 6]])
    assert labels.tolist() == [[1, 2, 1, -1, -1], [3, 4, 3, 5, 6]]
    assert pack_labels(torch.tensor([[1, 2]]), [[]]).tolist() == [[1, 2]]


@pytest.mark.parametrize("rows", [16, 7])
def test_pieces_of_any_size_give_one_loss(rows: int) -> None:
    columns = [torch.randn(rows, 8, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    labels = pack_labels(torch.arange(rows * 3).reshape(rows, 3) % 11, [[i % 11, (i + 1) % 11] for i in range(rows)])
    values = []
    for size in (1, 4, 16):
        loss = MaskedContrastiveLoss(nn.Identity(), mini_batch_size=size)
        values.append(float(loss.calculate_loss([list(column.split(size)) for column in columns], labels)))
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)


@pytest.mark.parametrize("mini_batch_size", [1, 4, 16])
def test_cached_gradients_equal_uncached_ones_with_dropout_on(mini_batch_size: int) -> None:
    rows, width = 16, 4
    labels = pack_labels(torch.arange(rows * 3).reshape(rows, 3), [[3 * i, 3 * ((i + 1) % rows)] for i in range(rows)])
    columns = _columns(rows, width)

    cached_model = TinyEncoder().train()
    cached = MaskedContrastiveLoss(cached_model, mini_batch_size=mini_batch_size)
    torch.manual_seed(11)
    cached_value = cached(columns, labels)
    cached_value.backward()

    plain_model = TinyEncoder().train()
    torch.manual_seed(11)
    embeddings = [
        [
            plain_model({"input_ids": column["input_ids"][begin : begin + mini_batch_size]})["sentence_embedding"]
            for begin in range(0, rows, mini_batch_size)
        ]
        for column in columns
    ]
    plain_value = MaskedContrastiveLoss(plain_model, mini_batch_size=rows).calculate_loss(embeddings, labels)
    plain_value.backward()

    assert cached_value.item() == pytest.approx(plain_value.item(), rel=1e-6)
    for one, other in zip(cached_model.parameters(), plain_model.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.allclose(one.grad, other.grad, atol=1e-5)


def test_accumulating_four_batches_of_sixteen_is_not_one_of_sixty_four() -> None:
    # Negatives come from the batch, so accumulation sees fewer of them: documented as different, and it is.
    states, premises = (torch.randn(64, 8, generator=torch.Generator().manual_seed(i)) for i in (1, 2))
    labels = pack_labels(torch.arange(64).unsqueeze(1), [[i] for i in range(64)])
    loss = MaskedContrastiveLoss(nn.Identity())
    whole = float(loss.calculate_loss([[states], [premises]], labels))
    parts = [
        float(loss.calculate_loss([[states[i : i + 16]], [premises[i : i + 16]]], labels[i : i + 16]))
        for i in range(0, 64, 16)
    ]
    assert whole > sum(parts) / 4 + 0.5


def test_a_vector_that_is_not_finite_names_its_row() -> None:
    states = _unit(0.0, 1.0, 2.0)
    premises = states.clone()
    premises[2, 1] = float("nan")
    labels = pack_labels(torch.tensor([[1], [2], [3]]), [[1], [2], [3]])
    with pytest.raises(ValueError, match="premise column 0: the embedding of row 2"):
        MaskedContrastiveLoss(nn.Identity()).calculate_loss([[states], [premises]], labels)


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 2 states with 1 premises"):
        MaskedContrastiveLoss(nn.Identity()).calculate_loss([[_unit(0, 1)], [_unit(0, 1)]], torch.zeros(3, 1))
    with pytest.raises(ValueError, match="temperature"):
        MaskedContrastiveLoss(nn.Identity(), temperature=0.0)


def _two_ranks(rank: int, address: str, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    try:
        rows, width = 8, 3
        columns = _columns(2 * rows, width)
        labels = pack_labels(
            torch.arange(2 * rows * 2).reshape(2 * rows, 2), [[2 * i, 2 * ((i + 9) % 16)] for i in range(2 * rows)]
        )
        mine = slice(rank * rows, (rank + 1) * rows)
        model = nn.parallel.DistributedDataParallel(TinyEncoder().eval())
        loss = MaskedContrastiveLoss(model, mini_batch_size=4, gather_across_devices=True)
        value = loss([{"input_ids": column["input_ids"][mine]} for column in columns], labels[mine])
        value.backward()
        gradients = [parameter.grad for parameter in model.module.parameters()]
        torch.save({"value": value.item(), "gradients": gradients}, Path(folder) / f"{rank}.pt")
    finally:
        torch.distributed.destroy_process_group()


def test_two_processes_give_the_gradient_of_one_batch_twice_as_large(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_two_ranks, args=(f"file://{tmp_path}/meet", str(tmp_path)), nprocs=2)
    results = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1)]

    rows, width = 16, 3
    labels = pack_labels(torch.arange(rows * 2).reshape(rows, 2), [[2 * i, 2 * ((i + 9) % 16)] for i in range(rows)])
    model = TinyEncoder().eval()
    value = MaskedContrastiveLoss(model, mini_batch_size=4)(_columns(rows, width), labels)
    value.backward()
    assert sum(result["value"] for result in results) / 2 == pytest.approx(value.item(), rel=1e-5)
    for result in results:
        for gradient, parameter in zip(result["gradients"], model.parameters(), strict=True):
            assert parameter.grad is not None
            assert torch.allclose(gradient, parameter.grad, atol=1e-5)
