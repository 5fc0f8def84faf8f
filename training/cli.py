"""`python -m training`: the commands that make a model.

In: options. Out: a run's folder; errors that name the option and the way out.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from sidecar.encoder.threads import use_quiet_threads
from sidecar.errors import SidecarError
from training.search.cli import search
from training.tower.cli import tower

application = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
application.add_typer(search, name="search")
application.command()(tower)


@application.callback()
def _everything() -> None:
    """Train models for the sidecar, and judge them."""


@application.command()
def premises(
    preset: Annotated[str, typer.Option(help="static, small, medium, large, an encoder's folder, or hub:owner/model")],
    data: Annotated[Path, typer.Option(help="folder of pairs, of LeanDojo's benchmark, or of an extraction")],
    output: Annotated[Path, typer.Option(help="folder of the run")],
    corpus: Annotated[Path | None, typer.Option(help="the corpus; by default `declarations` beside DATA")] = None,
    cache: Annotated[Path | None, typer.Option(help="folder for texts and tokens that later runs use again")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the newest checkpoint in OUTPUT")] = False,
    split: Annotated[str, typer.Option(help="module, random, or LeanDojo's novel_premises")] = "module",
    naive: Annotated[
        bool, typer.Option("--naive", help="ablation: named premises of tactic proofs, source text")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="longer texts are cut")] = None,
    layers: Annotated[int | None, typer.Option(help="keep so many layers, from the bottom")] = None,
    phrases: Annotated[
        int | None, typer.Option(help="a token table learns pairs of words in so many premises; 0 for words alone")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="by default the model's own")] = None,
    batch: Annotated[int | None, typer.Option(help="pairs of a batch, over all ranks")] = None,
    negatives: Annotated[int, typer.Option(help="sampled negatives a pair; 0 for the ablation")] = 3,
    hard_negatives: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="file that `mine` wrote")
    ] = None,
    hard_share: Annotated[float, typer.Option(help="part of the negatives that is drawn from HARD_NEGATIVES")] = 0.5,
    mask: Annotated[bool, typer.Option(help="mask known positives; --no-mask for the ablation")] = True,
    learning_rate: Annotated[float | None, typer.Option(help="highest learning rate")] = None,
    passes: Annotated[float | None, typer.Option(help="how often the run goes through all pairs")] = None,
    steps: Annotated[int | None, typer.Option(help="batches, in place of --passes")] = None,
    chunk: Annotated[int | None, typer.Option(help="texts that are embedded at one time")] = None,
    gradient_cache: Annotated[bool, typer.Option(help="embed twice instead of keeping all activations")] = True,
    bfloat16: Annotated[bool, typer.Option(help="multiply in bfloat16")] = True,
    question_share: Annotated[float, typer.Option(help="part of a batch that is questions, for search")] = 0.0,
    questions: Annotated[
        list[Path] | None, typer.Option(help="file of questions with answers, beside the corpus's docstrings")
    ] = None,
    evaluation_queries: Annotated[
        list[Path] | None, typer.Option(help="file of queries that will be evaluated on: kept out of the questions")
    ] = None,
    pairs: Annotated[int | None, typer.Option(help="use so many training states, drawn at random")] = None,
    seed: Annotated[int, typer.Option()] = 0,
    probe_goals: Annotated[int, typer.Option(help="goals of the probe; 0 for none")] = 300,
    probe_premises: Annotated[int, typer.Option(help="premises of the probe; 0 for all")] = 8_000,
    probe_every: Annotated[int, typer.Option(help="steps between two probes")] = 100,
    log_every: Annotated[int, typer.Option(help="steps between two lines of metrics")] = 10,
    save_every: Annotated[int, typer.Option(help="steps between two checkpoints")] = 100,
) -> None:
    """Train a premise selector."""
    from training.premises.presets import find_preset
    from training.premises.record import file_hash
    from training.premises.run import Places, Watching, run
    from training.premises.settings import RunSettings

    chosen = find_preset(preset)
    settings = RunSettings(
        preset=preset,
        split=split,
        naive=naive,
        max_tokens=max_tokens or chosen.max_tokens,
        layers=layers,
        phrases=chosen.phrases if phrases is None else phrases,
        dropout=dropout,
        batch=batch or chosen.batch,
        negatives=negatives,
        hard_negatives="" if hard_negatives is None else file_hash(hard_negatives),
        hard_share=hard_share,
        mask_known=mask,
        learning_rate=learning_rate or chosen.learning_rate,
        passes=passes or chosen.passes,
        steps=steps,
        chunk=chunk or chosen.chunk,
        gradient_cache=gradient_cache and not chosen.static,
        bfloat16=bfloat16 and not chosen.static,
        question_share=question_share,
        pairs=pairs,
        seed=seed,
    )
    if question_share and not evaluation_queries:
        raise SidecarError(
            "bad_request",
            "questions are trained on, and nothing says which must not be",
            field="evaluation_queries",
            hint="give the file of the queries that the model will be evaluated on",
        )
    run(
        settings,
        Places(
            corpus or data.parent / "declarations",
            data,
            output,
            cache or output.parent / "cache",
            hard_negatives,
            tuple(questions or ()),
            tuple(evaluation_queries or ()),
        ),
        watching=Watching(probe_goals, probe_premises, probe_every, log_every, save_every),
        resume=resume,
    )


@application.command()
def mine(
    model: Annotated[str, typer.Option(help="the encoder that ranks: a run's `model` folder, static, small")],
    data: Annotated[Path, typer.Option(help="as for `premises`")],
    output: Annotated[Path, typer.Option(help="file to write, .npz")],
    corpus: Annotated[Path | None, typer.Option(help="as for `premises`")] = None,
    cache: Annotated[Path | None, typer.Option(help="as for `premises`")] = None,
    split: Annotated[str, typer.Option(help="as for `premises`")] = "module",
    depth: Annotated[int, typer.Option(min=1, help="premises kept for a state")] = 32,
    pairs: Annotated[int | None, typer.Option(min=1, help="as for `premises`: a few states, for a try")] = None,
    ray: Annotated[str | None, typer.Option(help="address of a Ray cluster, or local")] = None,
) -> None:
    """Find premises that a model ranks too high, for `premises --hard-negatives`."""
    from sidecar.spread import spread_over
    from training.premises import mining
    from training.premises.run import Places, TrainingData
    from training.premises.settings import RunSettings

    spread = spread_over(ray)
    places = Places(corpus or data.parent / "declarations", data, output, cache or output.parent / "cache")
    loaded = TrainingData.load(RunSettings(preset=model, split=split, pairs=pairs), places)
    written = mining.mine(model, loaded.pairs, loaded.premise_library, output, spread, depth=depth)
    typer.echo(f"{written} hard negatives of {len(loaded.pairs.examples)} states in {output}")


@application.command()
def proofs(
    data: Annotated[Path, typer.Option(help="as for `premises`")],
    output: Annotated[Path, typer.Option(help="file to write, .jsonl.gz")],
    split: Annotated[str, typer.Option(help="as for `premises`")] = "module",
) -> None:
    """Write what the proofs of the training part use, for `lean-sidecar index build --proofs`."""
    from training.data.proofs import write_proofs
    from training.data.sources import ExampleSource

    written = write_proofs(ExampleSource.open(data, split), output)
    typer.echo(f"{written.kept} examples with {written.kept_pairs} premises in {output}")


@application.command()
def fusion(
    index: Annotated[Path, typer.Option(help="index made with the encoder whose scores are weighed")],
    data: Annotated[Path, typer.Option(help="as for `premises`; its validation part is fitted on")],
    output: Annotated[Path, typer.Option(help="file to write: `fusion.json` in the encoder's folder")],
    corpus: Annotated[Path | None, typer.Option(help="as for `premises`")] = None,
    split: Annotated[str, typer.Option(help="as for `premises`")] = "module",
    goals: Annotated[int, typer.Option(min=1, help="goals drawn from the validation part")] = 1_500,
    threads: Annotated[int, typer.Option(help="of the encoder; 0 for half the cores")] = 0,
) -> None:
    """Learn how to weigh the scores of the methods."""
    from training.data.sources import ExampleSource, sample
    from training.premises.fusion import learn

    chosen = sample(ExampleSource.open(data, split).read("valid"), goals)
    learned = learn(index, corpus or data.parent / "declarations", chosen, threads=threads)
    output.parent.mkdir(parents=True, exist_ok=True)
    learned.write(output)
    for way, figures in learned.record["held_out"]["figures"].items():
        typer.echo(f"{way:<12}" + "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    typer.echo(f"written: {output}")


@application.command()
def check(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="folders with run.json; by default the models of the package")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="the examples of the runs: check them too")] = None,
    corpus: Annotated[Path | None, typer.Option(help="the corpus of the runs: check the very pairs too")] = None,
    cache: Annotated[Path | None, typer.Option(help="as for `premises`")] = None,
) -> None:
    """Check that nothing which models are evaluated on was trained on."""
    from training import check as checking

    found = folders if folders else checking.shipped_records()
    faulty = False
    for folder in found:
        faults = checking.check(folder, data, corpus, cache)
        counted = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
        typer.echo(f"{folder}: {counted if faults else 'nothing evaluated was trained on'}")
        for fault in faults[:20]:
            typer.echo(f"  {fault}")
        faulty = faulty or bool(faults)
    if not found:
        typer.echo("no model of the package has a record")
    if faulty:
        raise SystemExit(1)


def main() -> None:
    """Entry point."""
    use_quiet_threads()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        application()
    except SidecarError as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(error.exit_status) from None
