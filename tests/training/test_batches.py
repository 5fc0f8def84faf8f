"""From examples to batches: what is a positive, what may be a negative, and what the loss is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sidecar.corpus.source import open_corpus
from sidecar.errors import SidecarError
from tests.training.made_up import LEMMAS, lemma, write_library
from training.data.examples import Positive, PremiseExample
from training.data.premise_library import PremiseLibrary
from training.data.token_rows import TokenRows
from training.premises.batches import Batches
from training.premises.negatives import NegativeSampler
from training.premises.pairs import TrainingPairs, order
from training.premises.questions import Questions


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> PremiseLibrary:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder)
    return PremiseLibrary.build(open_corpus(folder))


def _example(theorem: str, *premises: str, module: str = "Train", line: int | None = 1) -> PremiseExample:
    return PremiseExample(theorem, module, line, "⊢ x", "", tuple(Positive(name) for name in premises))


def _batches(library: PremiseLibrary, pairs: TrainingPairs, *, negatives: int = 3) -> Batches:
    generator = np.random.default_rng(0)
    states, premises = (
        TokenRows.from_rows([generator.integers(1, 9, generator.integers(1, 6)).tolist() for _ in range(count)])
        for count in (len(pairs.examples), len(library))
    )
    return Batches(pairs, library, Questions.none(), states, premises, NegativeSampler(pairs, library, negatives), 7)


def _items(numbers: Sequence[int]) -> list[dict[str, int]]:
    return [{"pair": number, "place": place} for place, number in enumerate(numbers)]


def test_two_names_with_one_statement_are_one_group(library: PremiseLibrary) -> None:
    one, twin, other = (library.row(name) for name in (lemma(0), "Lemmas.twin", lemma(1)))
    assert one is not None and twin is not None and other is not None
    assert library.group[one] == library.group[twin] != library.group[other]


def test_what_cannot_be_seen_is_no_pair_but_stays_known(library: PremiseLibrary) -> None:
    pairs = TrainingPairs.from_examples(
        [
            _example("Train.use0", lemma(1)),
            _example("Train.use1", lemma(2), "Hidden.lemma", "Gone.lemma", line=11),
            _example("Train.use2", "Hidden.lemma", line=21),
            _example("Train.use3", "Train.use3", "Train.use4", "Train.use2", line=31),
            _example("Other.use", lemma(1), module="Other"),
        ],
        library,
    )
    assert [example.theorem for example in pairs.examples] == ["Train.use0", "Train.use1", "Train.use3"]
    assert len(pairs) == 3
    left = pairs.left
    assert (left.not_a_premise, left.not_visible, left.states, left.modules) == (1, 4, 1, 1)
    hidden = library.row("Hidden.lemma")
    assert library.group[hidden] in pairs.never_negative(1, library)
    # Of its own file a theorem sees what stands before it.
    assert [library.names[row] for row in pairs.premise_of] == [lemma(1), lemma(2), "Train.use2"]


def test_nothing_to_train_on_is_an_error(library: PremiseLibrary) -> None:
    with pytest.raises(SidecarError, match="no example has a visible premise"):
        TrainingPairs.from_examples([_example("Train.use2", "Hidden.lemma")], library)


def test_negatives_are_visible_and_never_a_positive_nor_its_twin_nor_the_theorem(library: PremiseLibrary) -> None:
    pairs = TrainingPairs.from_examples([_example("Train.use9", lemma(0), lemma(5), line=91)], library)
    sampler = NegativeSampler(pairs, library, 400)
    drawn = {library.names[row] for row in sampler.draw(0, np.random.default_rng(0))}
    assert not drawn & {lemma(0), lemma(5), "Lemmas.twin", "Train.use9", "Hidden.lemma", "Train.use10", "Valid.use0"}
    assert {lemma(1), "Train.use0", "Train.use8"} <= drawn


def test_two_states_that_share_a_premise_are_told_so(library: PremiseLibrary) -> None:
    pairs = TrainingPairs.from_examples(
        [_example("Train.use0", lemma(0), lemma(3)), _example("Train.use1", "Lemmas.twin", line=11)], library
    )
    batch = _batches(library, pairs, negatives=0)(_items([0, 2]))
    first, second = batch["number"].tolist()
    assert first == second
    assert all(first in known for known in batch["known"].tolist())
    assert sorted(batch["own"].tolist()) == [0, 1]


def test_a_batch_says_where_each_state_s_own_premise_is(library: PremiseLibrary) -> None:
    examples = [_example(f"Train.use{n}", lemma(n), lemma(n + 5), line=10 * n + 1) for n in range(8)]
    pairs = TrainingPairs.from_examples(examples, library)
    batches = _batches(library, pairs)
    for numbers in (range(16), [3], [5, 6, 7]):
        batch = batches(_items(numbers))
        rows = len(numbers)
        assert batch["premise_input_ids"].shape[0] == batch["number"].shape[0] == 4 * rows
        lengths = batch["premise_attention_mask"].sum(dim=1)
        assert lengths.tolist() == sorted(lengths.tolist())
        own = batch["number"][batch["own"]].tolist()
        assert sorted(own) == sorted(library.group[pairs.premise_of[list(numbers)]].tolist())
        # A state's own premise is among those that are never its negatives; what was drawn for it is not.
        assert all(number in known for number, known in zip(own, batch["known"].tolist(), strict=True))
    one, two, three = (batches(items) for items in (_items([1, 2]), _items([1, 2]), _items([0, 1, 2])[1:]))
    assert one["number"].tolist() == two["number"].tolist()
    assert one["number"].tolist() != three["number"].tolist()


def test_a_state_that_sees_nothing_else_repeats_its_own_premise(library: PremiseLibrary) -> None:
    everything = [library.names[row] for row in np.flatnonzero(library.visible(library.graph.number("Train") or 0, 1))]
    assert len(everything) == LEMMAS + 1
    pairs = TrainingPairs.from_examples([_example("Train.use0", *everything)], library)
    batch = _batches(library, pairs)(_items([0]))
    assert set(batch["number"].tolist()) == {int(library.group[pairs.premise_of[0]])}


def test_every_pass_goes_through_all_pairs(library: PremiseLibrary) -> None:
    whole = order(10, 4, 2.5, 0)
    assert len(whole) == 25
    assert sorted(whole[:10]) == sorted(whole[10:20]) == list(range(10))
    assert whole[:10].tolist() != whole[10:20].tolist()
    assert len(order(3, 8, 0.1, 0)) == 3


def test_a_saved_library_is_read_back_and_a_damaged_one_made_again(tmp_path: Path) -> None:
    write_library(tmp_path / "corpus")
    corpus = open_corpus(tmp_path / "corpus")
    made = PremiseLibrary.open(corpus, tmp_path / "cache")
    (file,) = (tmp_path / "cache").glob("library-*.npz")
    for content in (file.read_bytes(), b"PK\x03\x04 cut"):
        file.write_bytes(content)
        again = PremiseLibrary.open(corpus, tmp_path / "cache")
        assert (again.names, again.texts) == (made.names, made.texts)
        assert np.array_equal(again.group, made.group)
    source = PremiseLibrary.open(corpus, tmp_path / "cache", source_text=True)
    assert source.texts[0].startswith("theorem ")
    assert source.fingerprint != made.fingerprint


def test_tokens_are_made_once(tmp_path: Path) -> None:
    made = 0

    def make() -> list[list[int]]:
        nonlocal made
        made += 1
        return [[5, 6], [], [7]]

    for parts in (["a"], ["a"], ["b"]):
        rows = TokenRows.cached(tmp_path, parts, make)
        matrix, mask = rows.padded(np.array([1, 0]))
        assert matrix.tolist() == [[0, 0], [5, 6]]
        assert mask.tolist() == [[1, 0], [1, 1]]
    assert made == 2
    (tmp_path / next(iter(tmp_path.glob("tokens-*.npz"))).name).write_bytes(b"cut")
    TokenRows.cached(tmp_path, ["a"], make)
    TokenRows.cached(tmp_path, ["b"], make)
    assert made == 3
