"""From sampled queries to rewards: rank, verdict, reward, and the record of all of it.

In: queries, each with the name of its declaration. Out: rewards in order; every query is written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training.search.arms import Arm
from training.search.judge import Asked, Judge, Verdict
from training.search.retriever import Retriever
from training.search.reward import difficulty, reward
from training.search.samples import Sample, SampleWriter


@dataclass(slots=True)
class Counts:
    """What happened so far.

    Attributes:
        queries: Queries that were scored.
        judged: Those that the judge was asked about.
        refused, unreadable: Those for which it gave no verdict; they count as inconsistent.
    """

    queries: int = 0
    judged: int = 0
    refused: int = 0
    unreadable: int = 0


class Scorer:
    """Gives rewards.

    Args:
        retriever: Gives ranks.
        judge: Gives verdicts.
        arm: What the reward looks at.
        writer: Takes every sample.
        judge_all: Ask the judge also where its verdict cannot change the reward.
    """

    def __init__(
        self, retriever: Retriever, judge: Judge, arm: Arm, writer: SampleWriter, *, judge_all: bool = False
    ) -> None:
        self.retriever = retriever
        self.judge = judge
        self.arm = arm
        self.writer = writer
        self.judge_all = judge_all
        self.counts = Counts()

    def score(
        self,
        queries: Sequence[str],
        names: Sequence[str],
        tokens: Sequence[int],
        *,
        step: int,
        choices: Sequence[str] | None = None,
    ) -> list[Sample]:
        """Score queries.

        Args:
            queries: The queries.
            names: The declaration that each is about.
            tokens: Length of each in tokens of the model that wrote it; 0 for an empty one.
            step: Training step, for the record.
            choices: What the generator chose for each, for the record.

        Returns:
            A sample for each, in order.
        """
        ranks = self.retriever.ranks(queries, names)
        asks = [
            index
            for index, (rank, length) in enumerate(zip(ranks, tokens, strict=True))
            if self.judge_all or (length and self._matters(rank))
        ]
        declarations = self.retriever.declarations([names[index] for index in asks])
        asked = [Asked(queries[index], declaration) for index, declaration in zip(asks, declarations, strict=True)]
        verdicts: dict[int, Verdict] = dict(zip(asks, self.judge.judge(asked) if asked else [], strict=True))
        samples = []
        for index, (query, name, length, rank) in enumerate(zip(queries, names, tokens, ranks, strict=True)):
            verdict = verdicts.get(index)
            fits = verdict is not None and verdict.consistent
            samples.append(
                Sample(
                    step=step,
                    declaration=name,
                    query=query,
                    tokens=length,
                    rank=rank,
                    consistent=None if verdict is None else verdict.consistent,
                    reason="" if verdict is None else verdict.reason,
                    missing="" if verdict is None else verdict.missing or "",
                    reward=reward(rank, fits, length, self.arm),
                    choices="" if choices is None else choices[index],
                )
            )
        self.counts.queries += len(samples)
        self.counts.judged += len(verdicts)
        self.counts.refused += sum(verdict.missing == "refused" for verdict in verdicts.values())
        self.counts.unreadable += sum(verdict.missing == "unreadable" for verdict in verdicts.values())
        self.writer.add(samples)
        return samples

    def _matters(self, rank: int | None) -> bool:
        """Whether a verdict can change the reward."""
        return self.arm is Arm.CONSISTENCY or (self.arm is Arm.BOTH and difficulty(rank) > 0)
