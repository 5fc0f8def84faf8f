"""Trains the stand-in generator against the current retriever.

In: declarations, a scorer. Out: `generator.json`, `metrics.jsonl`, and every sampled query where the scorer writes.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sidecar.progress import Progress
from training.search.reward import group_advantages
from training.search.scoring import Scorer
from training.search.standin import Policy, Source, described, write_query
from training.search.words import word_rarity

logger = logging.getLogger(__name__)

GENERATOR: Final = "generator.json"
METRICS: Final = "metrics.jsonl"


@dataclass(frozen=True, slots=True)
class StandinSettings:
    """How the stand-in learns.

    Attributes:
        steps: Steps of the policy.
        declarations: Declarations of a step.
        group: Queries about each; advantages are taken within them.
        rate: Length of a step.
        entropy: How much an even choice counts.
        seed: Decides everything that is drawn.
        save_every: Steps between two checkpoints.
    """

    steps: int = 200
    declarations: int = 64
    group: int = 8
    rate: float = 2.0
    entropy: float = 0.01
    seed: int = 0
    save_every: int = 10


def train(
    scorer: Scorer, names: Sequence[str], output: Path, settings: StandinSettings, start: Policy | None = None
) -> Policy:
    """Train a policy; goes on from the newest checkpoint in `output`.

    Args:
        scorer: Gives rewards.
        names: Declarations to draw from.
        output: Folder of the run.
        settings: How.
        start: Where to begin, instead of even choices.
    """
    file = output / GENERATOR
    done, samples = _reached(file)
    scorer.writer.set_aside_after(samples)
    policy = Policy.read(file) if done else start or Policy.untrained()
    _forget_after(output / METRICS, done)
    rarity = word_rarity(scorer.retriever.index)
    with Progress("generator steps", settings.steps, done) as progress:
        for step in range(done + 1, settings.steps + 1):
            metrics = _step(policy, scorer, names, settings, step, rarity)
            with (output / METRICS).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"step": step, **metrics}) + "\n")
            progress.advance()
            if step % settings.save_every == 0 or step == settings.steps:
                scorer.writer.flush()
                policy.write(file, {"step": step, "samples": scorer.writer.number})
    return policy


def _step(
    policy: Policy,
    scorer: Scorer,
    names: Sequence[str],
    settings: StandinSettings,
    step: int,
    rarity: Callable[[str], float],
) -> dict[str, float]:
    # What a step draws depends on its number alone, so a run that was interrupted goes on as it would have.
    generator = np.random.default_rng((settings.seed, step))
    drawn = generator.choice(len(names), min(settings.declarations, len(names)), replace=False)
    chosen = [names[int(place)] for place in drawn for _ in range(settings.group)]
    sources = [Source.of(declaration) for declaration in scorer.retriever.declarations(chosen[:: settings.group])]
    by_query = [source for source in sources for _ in range(settings.group)]
    choices = [policy.draw(source.kind, generator) for source in by_query]
    chance = random.Random(f"{settings.seed} {step}")
    queries = [write_query(s, choice, rarity, chance) for s, choice in zip(by_query, choices, strict=True)]
    samples = scorer.score(
        queries, chosen, scorer.retriever.tokens(queries), step=step, choices=list(map(described, choices))
    )
    rewards = np.array([sample.reward for sample in samples]).reshape(len(sources), settings.group)
    advantages = group_advantages(rewards)
    policy.learn(
        [source.kind for source in by_query],
        choices,
        advantages.values.ravel(),
        rate=settings.rate,
        entropy=settings.entropy,
    )
    return {
        "reward": float(rewards.mean()),
        "equal_groups": advantages.equal / len(sources),
        "tokens": float(np.mean([sample.tokens for sample in samples])),
        **{f"entropy/{site}": round(value, 4) for site, value in policy.entropies().items()},
    }


def _reached(file: Path) -> tuple[int, int]:
    """The step of a checkpoint, and the number of the newest file of samples that it holds."""
    if not file.is_file():
        return 0, 0
    Policy.read(file)  # says so when the file is no generator
    reached = json.loads(file.read_text(encoding="utf-8")).get("reached", {})
    return int(reached.get("step", 0)), int(reached.get("samples", 0))


def _forget_after(file: Path, step: int) -> None:
    """Drop the lines of steps that a checkpoint does not hold."""
    if not file.is_file():
        return
    rows: list[dict[str, Any]] = []
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            rows.append(json.loads(line))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows if row["step"] <= step), encoding="utf-8")
