"""`python -m training tower`: train a query tower.

In: options. Out: a run's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tower(
    index: Annotated[Path, typer.Option(help="the index whose documents the tower is for")],
    data: Annotated[Path, typer.Option(help="folder of pairs, of LeanDojo's benchmark, or of an extraction")],
    output: Annotated[Path, typer.Option(help="folder of the run")],
    base: Annotated[str, typer.Option(help="encoder whose first layers are taken: a tier, a folder, hub:…")] = "small",
    layers: Annotated[int, typer.Option(help="how many of them")] = 2,
    documents: Annotated[
        int | None, typer.Option(help="documents of a step, drawn at random; by default every one")
    ] = None,
    question_share: Annotated[
        float, typer.Option(help="part of the queries that are questions and Lean expressions")
    ] = 0.25,
    questions: Annotated[
        list[Path] | None, typer.Option(help="file of questions with answers, beside the index's docstrings")
    ] = None,
    evaluation_queries: Annotated[
        list[Path] | None, typer.Option(help="file of queries that will be evaluated on: kept out of the questions")
    ] = None,
    role: Annotated[str, typer.Option(help="whose vectors of the index: premises or search")] = "premises",
    cache: Annotated[Path | None, typer.Option(help="folder for tokens that later runs use again")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the newest checkpoint in OUTPUT")] = False,
    split: Annotated[str, typer.Option(help="module, random, or LeanDojo's novel_premises")] = "module",
    goal_prompt: Annotated[str | None, typer.Option(help="text before goals; by default the base's own")] = None,
    question_prompt: Annotated[
        str | None, typer.Option(help="text before questions; by default the base's own")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="longer texts are cut; by default the base's limit")] = None,
    dropout: Annotated[float, typer.Option(help="probability of dropout")] = 0.0,
    batch: Annotated[int, typer.Option(help="queries of a batch, over all ranks")] = 64,
    temperature: Annotated[float, typer.Option(help="τ of the softmax")] = 0.05,
    teacher_temperature: Annotated[float, typer.Option(help="τ of the document model's own query side")] = 0.05,
    distillation: Annotated[float, typer.Option(help="weight of the divergence from it; 0 for the ablation")] = 1.0,
    alone: Annotated[float, typer.Option(help="part of the goals that are shown without hypotheses")] = 0.25,
    learning_rate: Annotated[float, typer.Option(help="highest learning rate")] = 3e-4,
    passes: Annotated[float, typer.Option(help="how often the run goes through all states")] = 1.0,
    steps: Annotated[int | None, typer.Option(help="batches, in place of --passes")] = None,
    states: Annotated[int | None, typer.Option(help="use so many training states, drawn at random")] = None,
    bfloat16: Annotated[bool, typer.Option(help="multiply in bfloat16")] = True,
    seed: Annotated[int, typer.Option()] = 0,
    probe_goals: Annotated[int, typer.Option(help="goals of the probe; 0 for none")] = 200,
    probe_every: Annotated[int, typer.Option(help="steps between two probes")] = 100,
    log_every: Annotated[int, typer.Option(help="steps between two lines of metrics")] = 10,
    save_every: Annotated[int, typer.Option(help="steps between two checkpoints")] = 100,
) -> None:
    """Train a query tower for an index: a fast encoder of goals and questions; documents keep their vectors."""
    from training.tower.data import TowerPlaces
    from training.tower.run import TowerWatching, run
    from training.tower.settings import TowerSettings

    settings = TowerSettings(
        base=base,
        layers=layers,
        role=role,
        split=split,
        goal_prompt=goal_prompt,
        question_prompt=question_prompt,
        max_tokens=max_tokens,
        dropout=dropout,
        batch=batch,
        documents=documents,
        temperature=temperature,
        teacher_temperature=teacher_temperature,
        distillation=distillation,
        alone=alone,
        question_share=question_share,
        learning_rate=learning_rate,
        passes=passes,
        steps=steps,
        states=states,
        bfloat16=bfloat16,
        seed=seed,
    )
    places = TowerPlaces(
        index, data, output, cache or output.parent / "cache", tuple(questions or ()), tuple(evaluation_queries or ())
    )
    run(settings, places, watching=TowerWatching(probe_goals, probe_every, log_every, save_every), resume=resume)
