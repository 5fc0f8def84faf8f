"""Blind side-by-side comparison of search systems.

    python -m benchmarks.side_by_side prepare --index [LABEL=]FOLDER[@ENCODER] … --queries FILE --output FOLDER
    python -m benchmarks.side_by_side judge FOLDER --judge MODEL@ADDRESS [--judge MODEL@ADDRESS]
    python -m benchmarks.side_by_side page FOLDER
    python -m benchmarks.side_by_side report FOLDER [--download FILE]…

`prepare` asks every system (those of `benchmarks.retrieval`; `--system` chooses) and writes what is to be compared.
`judge` asks models; with one of them it judges twice, the second time with the sides turned, so that there are always
two judges whose agreement is reported. It goes on where it stopped. `page` writes FOLDER/page.html, on which a person
does the same; `report` reads what people downloaded from it, and prints and writes FOLDER/report.md.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.side_by_side.comparisons import compare_all, read_comparisons, write_comparisons
from benchmarks.side_by_side.judging import ModelJudge, judge_all
from benchmarks.side_by_side.page import write_page
from benchmarks.side_by_side.report import report
from benchmarks.side_by_side.verdicts import VerdictFile, read_downloads
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from sidecar.search.rewriters import OFF, VOCABULARY
from training.data.queries import SearchExample, read_queries
from training.search.judges import make_endpoint
from training.search.systems import Wanted, open_systems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare", help="ask every system")
    prepare.add_argument("--index", action="append", required=True, help="[LABEL=]FOLDER[@ENCODER]; may be given again")
    prepare.add_argument("--queries", type=Path, required=True, help="file of queries")
    prepare.add_argument("--output", type=Path, required=True, help="folder of the comparison")
    prepare.add_argument("--rewriter", action="append", help="off, vocabulary or MODEL@ADDRESS; may be given again")
    prepare.add_argument("--reranker", help="cross-encoder: its folder, or hub:owner/model")
    prepare.add_argument("--system", action="append", help="name of a system; all when not given")
    prepare.add_argument("-k", type=int, default=5, help="declarations of an answer that are shown")
    prepare.add_argument("--sample", type=int, help="so many queries, drawn at random")
    prepare.add_argument("--seed", type=int, default=0, help="of the sample")
    prepare.add_argument("--threads", type=int, default=2, help="of encoders and indexes")
    judge = commands.add_parser("judge", help="ask models")
    judge.add_argument("folder", type=Path)
    judge.add_argument("--judge", action="append", required=True, help="MODEL@ADDRESS; may be given again")
    judge.add_argument("--per-minute", type=float, default=0.0, help="most requests a minute; 0 for no limit")
    judge.add_argument("--seed", type=int, default=0, help="of the shuffle")
    page = commands.add_parser("page", help="write the page for a person")
    page.add_argument("folder", type=Path)
    page.add_argument("--seed", type=int, default=0, help="of the shuffle; another one for another person")
    page.add_argument("--output", type=Path, help="the file; FOLDER/page.html when not given")
    tables = commands.add_parser("report", help="print and write the tables")
    tables.add_argument("folder", type=Path)
    tables.add_argument("--download", type=Path, action="append", help="file of a person; may be given again")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        run(options)
    except SidecarError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def run(options: argparse.Namespace) -> None:
    """Do what a command line asks for."""
    if options.command == "prepare":
        asyncio.run(prepare(options))
        return
    comparisons = read_comparisons(options.folder)
    if options.command == "judge":
        kept = VerdictFile(options.folder)
        asked = [make_endpoint(name, options.folder, per_minute=options.per_minute) for name in options.judge]
        asked = asked if len(asked) > 1 else asked * 2
        judges = [ModelJudge(chat, options.seed, turned=bool(place % 2)) for place, chat in enumerate(asked)]

        async def ask() -> None:
            for judge in judges:
                await judge_all(judge, comparisons, kept)

        asyncio.run(ask())
        print(report(comparisons, kept.verdicts))
    elif options.command == "page":
        file: Path = options.output or options.folder / "page.html"
        print(f"{file}: {write_page(file, comparisons, f'page {options.seed}')} comparisons")
    else:
        people = read_downloads(options.download or (), comparisons)
        text = report(comparisons, [*VerdictFile(options.folder).verdicts, *people])
        (options.folder / "report.md").write_text(text, encoding="utf-8")
        print(text)


async def prepare(options: argparse.Namespace) -> None:
    """Ask the systems, and write the comparisons."""
    queries = list(read_queries(options.queries))
    if options.sample is not None and options.sample < len(queries):
        queries = random.Random(options.seed).sample(queries, options.sample)
    answers: dict[str, Sequence[Sequence[str]]] = {}
    declarations: dict[str, Declaration] = {}
    known: list[str] = []
    for number, said in enumerate(options.index):
        wanted = replace(
            Wanted.read(said),
            words=number == 0,
            rewriters=tuple(dict.fromkeys(options.rewriter or (OFF, VOCABULARY))),
            reranker=options.reranker,
            replies=options.output / "rewrites",
            threads=options.threads,
        )
        async with open_systems(wanted) as (index, systems):
            known += [system.name for system in systems]
            for system in systems:
                if options.system is None or system.name in options.system:
                    answers[system.name] = await system.answer([one.query for one in queries], options.k)
            names = {name for found in answers.values() for answer in found for name in answer} - declarations.keys()
            rows = [row for name in sorted(names) if (row := index.row(name)) is not None]
            declarations.update((one.name, one) for one in index.declarations(rows))
    write(options.output, queries, answers, declarations, options.k, known)


def write(
    folder: Path,
    queries: Sequence[SearchExample],
    answers: Mapping[str, Sequence[Sequence[str]]],
    declarations: Mapping[str, Declaration],
    k: int,
    known: Sequence[str],
) -> None:
    """Write the comparisons, if there are two systems to compare."""
    if len(answers) < 2:
        raise SidecarError(
            "bad_request", f"{len(answers)} systems were chosen", field="system", hint=f"there are {', '.join(known)}"
        )
    comparisons = compare_all(queries, answers, declarations, k)
    write_comparisons(folder, comparisons)
    alike = sum(one.alike for one in comparisons)
    print(f"{folder}: {len(comparisons)} comparisons of {', '.join(answers)}; {alike} of equal answers")


if __name__ == "__main__":
    sys.exit(main())
