"""Batches of token numbers, and all that the loss must know about them.

In: numbers of pairs. Out: tensors: the states and questions, the premises of all of them (positives and negatives,
sorted by length so that little is padded), and who is whose positive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from training.data.premise_library import PremiseLibrary
from training.data.token_rows import TokenRows
from training.premises.negatives import NegativeSampler
from training.premises.pairs import TrainingPairs
from training.premises.questions import Questions

IntArray = npt.NDArray[np.int64]

PADDING = -1
"""Fills rows of group numbers that are shorter than the longest of a batch."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Makes a batch of pairs into tensors; what `torch.utils.data` calls a collate function.

    Which negatives are drawn depends on the seed and on the place of the batch in the run, and on nothing else, so that
    a run that was interrupted goes on with the batches that it would have seen.

    Attributes:
        pairs, premise_library, questions: What the numbers mean: those of the pairs come first, then the questions'.
        states, premises: Token numbers of states and then questions; of premises and then the questions' answers.
        negatives: Draws negatives.
        seed: The run's.
        valid_label_columns: Asked for by sentence-transformers; the labels here are no columns of a data set.
    """

    pairs: TrainingPairs
    premise_library: PremiseLibrary
    questions: Questions
    states: TokenRows
    premises: TokenRows
    negatives: NegativeSampler
    seed: int
    valid_label_columns: tuple[str, ...] = ()

    def __call__(self, items: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Collate.

        Args:
            items: `pair`, the number of a pair or, behind all pairs, of a question; and `place`, its place in the run.

        Returns:
            `state_input_ids`, `state_attention_mask` of shape (B, tokens); the same for `premise`, (P, tokens); `own`
            (B,), the place of each state's positive among the premises; `number` (P,), the group of each premise; and
            `known` (B, K), the groups that are never negatives of a state, filled with `PADDING`.
        """
        import torch

        pairs, library = self.pairs, self.premise_library
        numbers = np.array([item["pair"] for item in items])
        asked = np.maximum(numbers - len(pairs), 0)
        of_goals = numbers < len(pairs)
        held = np.where(of_goals, numbers, 0)
        states = np.where(of_goals, pairs.state_of[held], len(pairs.examples) + asked)
        positives = np.where(of_goals, pairs.premise_of[held], len(library) + asked)
        # Neighbours of like length make little padding.
        order = np.argsort(self.states.lengths[states], kind="stable")
        states, positives = states[order], positives[order]
        known = [self._never_negative(int(state)) for state in states]
        generator = np.random.default_rng((self.seed, items[0]["place"]))
        rows = [positives]
        for state, positive, groups in zip(states, positives, known, strict=True):
            if state < len(pairs.examples):
                negatives = self.negatives.draw(int(state), generator)
            else:
                negatives = self.negatives.draw_any(groups, generator)
            # A state that sees nothing but its positives repeats its own positive, which is masked for it, so that
            # every rank of a distributed run holds as many premises.
            missing = self.negatives.count - len(negatives)
            rows += [negatives, np.full(missing, positive)]
        drawn = np.concatenate(rows)
        by_length = np.argsort(self.premises.lengths[drawn], kind="stable")
        place = np.empty_like(by_length)
        place[by_length] = np.arange(len(by_length))
        padded = np.full((len(known), max(map(len, known))), PADDING, dtype=np.int64)
        for row, groups in enumerate(known):
            padded[row, : len(groups)] = groups
        batch: dict[str, Any] = {}
        for name, tokens, wanted in (("state", self.states, states), ("premise", self.premises, drawn[by_length])):
            matrix, mask = tokens.padded(wanted)
            batch[f"{name}_input_ids"] = torch.from_numpy(matrix)
            batch[f"{name}_attention_mask"] = torch.from_numpy(mask)
        batch["own"] = torch.from_numpy(place[: len(positives)].copy())
        batch["number"] = torch.from_numpy(self._groups(drawn[by_length]))
        batch["known"] = torch.from_numpy(padded)
        return batch

    def _never_negative(self, state: int) -> IntArray:
        question = state - len(self.pairs.examples)
        if question < 0:
            return self.pairs.never_negative(state, self.premise_library)
        return self.questions.group[question : question + 1]

    def _groups(self, rows: IntArray) -> IntArray:
        """Groups of premises and, behind all of them, of the answers of questions."""
        of_premises = rows < len(self.premise_library)
        groups = self.premise_library.group[np.where(of_premises, rows, 0)].astype(np.int64)
        groups[~of_premises] = self.questions.group[rows[~of_premises] - len(self.premise_library)]
        return groups
