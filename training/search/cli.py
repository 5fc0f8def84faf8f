"""`python -m training search`: the commands of short-query search.

In: options. Out: folders of runs, indexes, figures. Every command shows progress. `rounds` given again skips what is
done and begins a stage anew whose inputs have changed. `retriever`, `generator` and `write` given again go on in their
folder, and do not look whether their options and inputs are the same: give other ones another folder.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from training.search.arms import Arm, Start

if TYPE_CHECKING:
    from sidecar.encoder.base import Encoder
    from sidecar.index.index import Index
    from training.data.queries import SearchExample
    from training.data.questions import Forbidden
    from training.search.scoring import Scorer

logger = logging.getLogger(__name__)

search = typer.Typer(no_args_is_help=True, help="Short-query search: generate queries, train on them, judge.")

_CORPUS = typer.Argument(help="the corpus, in any format that `lean-sidecar index build` reads")
_GIVEN = typer.Option(help="file of queries with right answers to train on; may be given again")
_EVALUATION = typer.Option(help="file of queries to judge by; nothing of theirs is trained on; may be given again")
_KEPT_OUT = typer.Option(
    help="file of queries to judge by; nothing of theirs is trained on; may be given again; "
    "without one nothing is kept out, and no evaluation of what is trained means anything"
)
_OUTPUT = typer.Option(help="folder of the run")
_JUDGE = typer.Option(help="words, the folder of a language model, or MODEL@ADDRESS of an endpoint")
_GENERATOR = typer.Option(help="standin, or a language model: a folder, or hub:owner/model")
_PER_MINUTE = typer.Option(help="most requests a minute to an endpoint; 0 for no limit")
_VLLM = typer.Option(help="sample with vLLM; by default where there is a GPU and vLLM is installed")
_INDEX = typer.Option(help="index of the current retriever")


@search.command()
def rounds(
    corpus: Annotated[Path, _CORPUS],
    output: Annotated[Path, _OUTPUT],
    evaluation: Annotated[list[Path], _EVALUATION],
    given: Annotated[list[Path] | None, _GIVEN] = None,
    rounds: Annotated[int, typer.Option(min=0, help="rounds after round 0")] = 2,
    preset: Annotated[str, typer.Option(help="retriever: static, small, …, a folder, or hub:owner/model")] = "static",
    generator: Annotated[str, _GENERATOR] = "standin",
    judge: Annotated[str, _JUDGE] = "words",
    per_minute: Annotated[float, _PER_MINUTE] = 0.0,
    arm: Annotated[
        list[Arm] | None, typer.Option(help="what the reward looks at; may be given again: round 0 is one for all")
    ] = None,
    start: Annotated[
        Start, typer.Option(help="what later generators begin with; frozen: the first one writes again")
    ] = Start.PREVIOUS,
    per: Annotated[int, typer.Option(min=1, help="queries about each declaration")] = 1,
    declarations: Annotated[int | None, typer.Option(help="write about so many, drawn at random")] = None,
    steps: Annotated[int | None, typer.Option(help="steps of a generator")] = None,
    retriever_steps: Annotated[int | None, typer.Option(help="steps of a retriever, in place of one pass")] = None,
    batch: Annotated[int | None, typer.Option(help="pairs of a retriever's batch")] = None,
    lora: Annotated[int, typer.Option(help="rank of LoRA for the retriever; 0 trains all weights")] = 0,
    margin: Annotated[float, typer.Option(help="candidates so much nearer than the answer are no negatives")] = 0.1,
    vllm: Annotated[bool | None, _VLLM] = None,
    base: Annotated[Path | None, typer.Option(help="an index of the corpus, whose tables are used")] = None,
    search: Annotated[bool, typer.Option(help="judge the search as it is served, too")] = True,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Round 0, then generator against retriever; stages that are done are skipped."""
    from sidecar.corpus.source import open_corpus
    from training.search.retrieval import RetrievalSettings
    from training.search.rounds import Rounds, RoundsSettings
    from training.search.rounds_report import report
    from training.search.standin_run import StandinSettings

    grpo: dict[str, Any] = {"seed": seed, "vllm": vllm}
    standin: dict[str, Any] = {"seed": seed}
    if steps is not None:
        grpo["steps"] = standin["steps"] = steps
    settings = RoundsSettings(
        rounds=rounds,
        retrieval=RetrievalSettings(
            preset, batch=batch, steps=retriever_steps, margin=margin, lora_rank=lora, seed=seed
        ),
        generator=generator,
        judge=judge,
        per_minute=per_minute,
        arms=tuple(dict.fromkeys(arm or (Arm.BOTH,))),
        start=start,
        per=per,
        declarations=declarations,
        search=search,
        standin=StandinSettings(**standin),
        grpo=grpo,
        seed=seed,
    )
    queries = _queries(evaluation)
    ranks = Rounds(open_corpus(corpus), _queries(given or ()), queries, output, settings, base).run()
    typer.echo(report(queries, ranks).text())


@search.command()
def retriever(
    index: Annotated[Path, typer.Option(help="any index of the corpus; statements and docstrings come from it")],
    output: Annotated[Path, _OUTPUT],
    preset: Annotated[str, typer.Option(help="static, small, …, a folder, or hub:owner/model")] = "small",
    given: Annotated[list[Path] | None, _GIVEN] = None,
    generated: Annotated[
        list[Path] | None, typer.Option(help="folder of generated queries; may be given again")
    ] = None,
    evaluation: Annotated[list[Path] | None, _KEPT_OUT] = None,
    arm: Annotated[Arm, typer.Option(help="which generated queries are kept")] = Arm.BOTH,
    max_tokens: Annotated[int | None, typer.Option(help="longer texts are cut")] = None,
    batch: Annotated[int | None, typer.Option(help="pairs of a batch, over all ranks")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="highest learning rate")] = None,
    passes: Annotated[float, typer.Option(help="how often the run goes through all pairs")] = 1.0,
    steps: Annotated[int | None, typer.Option(help="batches, in place of --passes")] = None,
    lora: Annotated[int, typer.Option(help="rank of LoRA; 0 trains all weights")] = 0,
    margin: Annotated[float, typer.Option(help="candidates so much nearer than the answer are no negatives")] = 0.1,
    dimension: Annotated[list[int] | None, typer.Option(help="shorter vectors that shall be good, too")] = None,
    serve: Annotated[int | None, typer.Option(help="the one of them that the trained encoder gives")] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="KIND=TEXT put before queries: question, restatement (of over 20 words), docstring"),
    ] = None,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Train a retriever on docstrings, given and generated queries; under torchrun on several GPUs."""
    from itertools import chain

    from sidecar.index.index import Index
    from training.data.questions import allowed
    from training.search.pairs import first_pairs, kept_pairs
    from training.search.retrieval import RetrievalSettings, read_prompts, train

    settings = RetrievalSettings(
        preset,
        max_tokens=max_tokens,
        batch=batch,
        learning_rate=learning_rate,
        passes=passes,
        steps=steps,
        margin=margin,
        dimensions=tuple(dimension or ()),
        served_dimension=serve,
        lora_rank=lora,
        prompts=read_prompts(prompt),
        seed=seed,
    )
    with Index.open(index) as opened:
        found = chain(first_pairs(opened, _queries(given or ())), kept_pairs(generated or (), opened, arm))
        pairs, dropped = allowed(found, _kept_out(evaluation))
        typer.echo(f"{len(pairs)} pairs; {dropped} that an evaluation asks or wants were left out")
        train(settings, pairs, opened, output)


@search.command()
def figures(
    index: Annotated[Path, _INDEX],
    evaluation: Annotated[list[Path], _EVALUATION],
) -> None:
    """Judge an index: its vectors alone, and the search as it is served."""
    from training.search.figures import as_json, measure

    with _open(index) as (opened, encoder):
        _show(str(index), as_json(measure(opened, encoder, _queries(evaluation))))


@search.command()
def generator(
    index: Annotated[Path, _INDEX],
    output: Annotated[Path, _OUTPUT],
    generator: Annotated[str, _GENERATOR] = "standin",
    judge: Annotated[str, _JUDGE] = "words",
    per_minute: Annotated[float, _PER_MINUTE] = 0.0,
    arm: Annotated[Arm, typer.Option(help="what the reward looks at")] = Arm.BOTH,
    given: Annotated[list[Path] | None, _GIVEN] = None,
    evaluation: Annotated[list[Path] | None, _KEPT_OUT] = None,
    steps: Annotated[int | None, typer.Option(help="steps")] = None,
    vllm: Annotated[bool | None, _VLLM] = None,
    then_write: Annotated[bool, typer.Option("--write/--train-only", help="write queries when it is trained")] = True,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Train one generator against an index, and let it write about every declaration into OUTPUT/queries.

    Under torchrun the generator is trained on several GPUs; the first of them writes.
    """
    from training.search import standin_run

    given_queries = _queries(given or ())
    with _scoring(index, judge, per_minute, arm, evaluation, output / "samples", judge_all=False) as scoring:
        scorer, forbidden, names = scoring
        some = {} if steps is None else {"steps": steps}
        if generator == "standin":
            standin_run.train(scorer, names, output, standin_run.StandinSettings(seed=seed, **some))
        else:
            from training.search import grpo

            real = [example for example in given_queries if not forbidden.forbids_example(example)]
            grpo.train(generator, scorer, names, real, output, grpo.GrpoSettings(seed=seed, vllm=vllm, **some))
    if then_write and not _rank():
        write(index, str(output), output / "queries", judge, per_minute, arm, evaluation, seed=seed)


@search.command()
def write(
    index: Annotated[Path, _INDEX],
    generator: Annotated[str, typer.Option(help="folder of a trained generator, or MODEL@ADDRESS of an endpoint")],
    output: Annotated[Path, typer.Option(help="folder of the queries")],
    judge: Annotated[str, _JUDGE] = "words",
    per_minute: Annotated[float, _PER_MINUTE] = 0.0,
    arm: Annotated[Arm, typer.Option(help="what the reward looks at")] = Arm.BOTH,
    evaluation: Annotated[list[Path] | None, _KEPT_OUT] = None,
    per: Annotated[int, typer.Option(min=1, help="queries about each declaration")] = 1,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Let a trained generator write about every declaration; every query is judged and recorded."""
    from training.search.writing import make_writer, write_all

    with _scoring(index, judge, per_minute, arm, evaluation, output, judge_all=True) as (scorer, _, names):
        write_all(make_writer(generator, scorer.retriever, seed), scorer, names, output, per=per)


@search.command()
def gepa(
    index: Annotated[Path, _INDEX],
    samples: Annotated[Path, typer.Option(help="folder of generated queries; no other queries are used")],
    rewriter: Annotated[str, typer.Option(help="MODEL@ADDRESS of the model that rewrites")],
    output: Annotated[Path, _OUTPUT],
    per_minute: Annotated[float, _PER_MINUTE] = 0.0,
    reflection: Annotated[str | None, typer.Option(help="MODEL@ADDRESS of the model that reflects")] = None,
    training: Annotated[int, typer.Option(help="queries to improve on")] = 300,
    validation: Annotated[int, typer.Option(help="queries to choose by")] = 300,
    calls: Annotated[int, typer.Option(help="most rewrites that are ranked")] = 6_000,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Optimise the rewriter's instruction; the result is OUTPUT/prompt.txt, for LEAN_SIDECAR_REWRITER_PROMPT."""
    from sidecar.search.endpoint_rewriter import read_instruction
    from training.search.gepa import GepaSettings, endpoint_reflection, endpoint_rewriting, optimise
    from training.search.judges import make_endpoint
    from training.search.retriever import Retriever

    with _open(index) as (opened, encoder):
        optimise(
            samples,
            Retriever(opened, encoder),
            endpoint_rewriting(make_endpoint(rewriter, output / "replies", per_minute=per_minute)),
            endpoint_reflection(make_endpoint(reflection or rewriter, output / "replies", per_minute=per_minute)),
            read_instruction(None),
            output,
            GepaSettings(training=training, validation=validation, calls=calls, seed=seed),
        )


@search.command()
def vocabulary(
    corpus: Annotated[Path, _CORPUS],
    output: Annotated[Path, typer.Option(help="file of the table")],
    evaluation: Annotated[list[Path], _EVALUATION],
    given: Annotated[list[Path] | None, typer.Option(help="file of queries to learn from, too")] = None,
    together: Annotated[int, typer.Option(help="least texts that hold a phrase where the name holds the term")] = 6,
    modules: Annotated[int, typer.Option(help="least modules that these come from")] = 3,
    term_share: Annotated[float, typer.Option(help="least share of texts with the phrase whose names say it so")] = 0.5,
    phrase_share: Annotated[float, typer.Option(help="least share of names with the term whose texts say it so")] = 0.2,
    likelihood: Annotated[float, typer.Option(help="least likelihood ratio")] = 50.0,
) -> None:
    """Learn everyday words for the words of names: the local rewriter's table."""
    from sidecar.corpus.source import open_corpus
    from training.data.questions import Forbidden
    from training.search.vocabulary import VocabularySettings, collect, learn, made_from, table

    settings = VocabularySettings(
        together=together,
        modules=modules,
        term_share=term_share,
        phrase_share=phrase_share,
        likelihood=likelihood,
    )
    opened = open_corpus(corpus)
    texts = collect(opened, _queries(given or ()), Forbidden(_queries(evaluation)))
    pairs = learn(texts.texts, settings)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(table(pairs, made_from(opened, texts, pairs, settings, evaluation)), encoding="utf-8")
    typer.echo(f"{len(pairs)} phrases from {len(texts.texts)} texts; {texts.forbidden} left out for the evaluation")


@search.command()
def tiny(
    corpus: Annotated[Path, _CORPUS],
    output: Annotated[Path, typer.Option(help="folder of the model")],
) -> None:
    """Make a tiny random language model, to try the other commands where no model can be fetched."""
    from itertools import islice

    from sidecar.corpus.source import open_corpus
    from training.search.tiny import write_tiny_model

    declarations = islice(open_corpus(corpus).declarations(), 2_000)
    write_tiny_model(output, (declaration.shown for declaration in declarations))


@contextmanager
def _open(folder: Path) -> Iterator[tuple[Index, Encoder]]:
    """An index with the encoder that made its vectors for search."""
    from sidecar.encoder.load import load_encoder
    from sidecar.index.index import Index

    with Index.open(folder) as index:
        yield index, load_encoder(index.manifest.vector_entry("search").encoder)


@contextmanager
def _scoring(
    index: Path,
    judge: str,
    per_minute: float,
    arm: Arm,
    evaluation: Sequence[Path] | None,
    samples: Path,
    *,
    judge_all: bool,
) -> Iterator[tuple[Scorer, Forbidden, list[str]]]:
    """What gives rewards, what an evaluation forbids, and the declarations that are written about."""
    from training.search.judges import make_judge
    from training.search.retriever import Retriever
    from training.search.samples import SampleWriter
    from training.search.scoring import Scorer
    from training.search.writing import targets

    forbidden = _kept_out(evaluation)
    with _open(index) as (opened, encoder), SampleWriter(samples, _rank()) as writer:
        asked = make_judge(judge, opened, samples.parent / "judge", per_minute=per_minute)
        scorer = Scorer(Retriever(opened, encoder), asked, arm, writer, judge_all=judge_all)
        yield scorer, forbidden, [name for name in targets(opened) if name not in forbidden.names]


def _kept_out(evaluation: Sequence[Path] | None) -> Forbidden:
    """What an evaluation forbids; a warning where none is given."""
    from training.data.questions import Forbidden

    if not evaluation:
        logger.warning("no --evaluation is given: nothing is kept out, so what is trained may have seen any query set")
    return Forbidden(_queries(evaluation or ()))


def _rank() -> int:
    """Number of this process among those that torchrun started."""
    return int(os.environ.get("RANK", "0"))


def _queries(files: Sequence[Path]) -> list[SearchExample]:
    from training.data.queries import read_queries

    return [example for file in files for example in read_queries(file)]


def _show(title: str, systems: dict[str, Any]) -> None:
    for system, sets in systems.items():
        typer.echo(f"\n{title}, {system}")
        for on, values in sets.items():
            cells = "  ".join(
                f"{name} {one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" for name, one in values.items()
            )
            typer.echo(f"  {on} (n = {next(iter(values.values()))['n']}): {cells}")
