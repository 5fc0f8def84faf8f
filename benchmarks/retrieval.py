"""How well declarations are found for questions with known answers, by any number of systems in one run.

Usage: `python -m benchmarks.retrieval --index [LABEL=]FOLDER[@ENCODER] [--index …] --queries FILE [--rewriter NAME]…
[--reranker NAME] [--run FOLDER]… [--compare SYSTEM SYSTEM] [--output FOLDER] [--add] [--record]`.

Systems: `bm25` (words alone), and for each index its encoder alone by its name or LABEL (`static`, `small`), the search
as it is served without a rewriter (`fused static`), and with each rewriter (`fused static + vocabulary`). Rewriters are
`off`, `vocabulary` and `MODEL@ADDRESS` of an endpoint; the first two by default. ENCODER is a query tower that was
trained for the index, in place of its own encoder. With `--reranker` each search is also judged with a cross-encoder.

Measures: nDCG@1/5/10, recall@10/50/100 (any right answer counts) and MRR, with 95 % bootstrap intervals, for all
queries of the file, each of its sets, short and long ones, and those whose targets training has seen or not. What it
has seen is what the runs named by `--run` wrote down (of several, all together); without `--run` every target counts as
unseen, and the tables say so.

Writes, in OUTPUT, `<queries>.md` (tables, and each system against every other one, paired on the same queries),
`<queries>-ranks.json` (from which `--add` shows the systems of an earlier run beside these) and plots; `--record`
appends to benchmarks/results/retrieval.jsonl, and what `--compare` shows to differences.jsonl. Rules:
`training/evaluation/metrics.py`. Premises of goals are judged by `benchmarks.premises`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.record import record
from sidecar.search.rewriters import OFF, VOCABULARY
from training.data.queries import SearchExample, read_queries
from training.data.seen import read_targets
from training.evaluation.metrics import Interval
from training.evaluation.plots import bars
from training.search import figures as judging
from training.search.figures import Figures, Groups
from training.search.systems import Wanted, open_systems

COMPARED: Final = "ndcg@10"
"""The measure of the comparison of systems."""

PLOTTED: Final = ("ndcg@1", "ndcg@10", "recall@10", "recall@100", "mrr")

Ranks = dict[str, list[int]]
"""System → see `training.search.figures.Ranks`."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", action="append", required=True, help="[LABEL=]FOLDER[@ENCODER]; may be given again")
    parser.add_argument("--queries", type=Path, required=True, help="file of queries with known answers")
    parser.add_argument("--rewriter", action="append", help="off, vocabulary or MODEL@ADDRESS; may be given again")
    parser.add_argument("--reranker", help="cross-encoder: its folder, or hub:owner/model")
    parser.add_argument("--prompt", type=Path, help="instruction for a model that rewrites")
    parser.add_argument("--run", type=Path, action="append", help="run of a retriever, for seen and unseen targets")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of tables and plots")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/retrieval.jsonl")
    parser.add_argument("--add", action="store_true", help="show the systems of an earlier run in OUTPUT beside these")
    parser.add_argument("--compare", nargs=2, metavar="SYSTEM", help="two systems, set by set; recorded as differences")
    parser.add_argument("--threads", type=int, default=2, help="of encoders and indexes")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    queries = list(read_queries(options.queries))
    title = f"queries/{options.queries.stem}"
    stored = options.output / f"{title.replace('/', '-')}-ranks.json"
    earlier = read_ranks(stored, queries) if options.add else {}
    wanted = [
        replace(
            Wanted.read(said),
            words=number == 0 and "bm25" not in earlier,
            rewriters=tuple(dict.fromkeys(options.rewriter or (OFF, VOCABULARY))),
            reranker=options.reranker,
            prompt=options.prompt,
            replies=options.output / "replies",
            threads=options.threads,
        )
        for number, said in enumerate(options.index)
    ]
    now = asyncio.run(measure(wanted, queries))
    found = {**earlier, **now}
    groups = judging.groups_of(title, read_targets(options.run or ()))
    figures = {system: judging.figures(queries, ranks, groups) for system, ranks in found.items()}
    text = report(title, queries, found, figures, groups, bool(options.run))
    pair = f"{options.compare[0]} − {options.compare[1]}" if options.compare else ""
    apart = judging.differences(queries, *map(found.__getitem__, options.compare), groups, COMPARED) if pair else {}
    if pair:
        rows = [f"| {on} | {one.n} | {_difference(ratio, one)} |" for on, (ratio, one) in apart.items()]
        text += "\n".join([f"\n## {COMPARED}: {pair}\n", "| set | n | difference |", "|---|---|---|", *rows, ""])
    print(text)
    write_ranks(stored, queries, found)
    (options.output / f"{title.replace('/', '-')}.md").write_text(text, encoding="utf-8")
    for on in dict.fromkeys((title, "queries/undergrad+overview", f"{title}, short", f"{title}, long")):
        shown = {system: sets[on] for system, sets in figures.items() if on in sets}
        if shown:
            file = on.replace("/", "-").replace("+", "-").replace(", ", "-") + ".png"
            bars(options.output / file, f"{on} (n = {_count(shown)})", shown, PLOTTED)
    print(f"written: {options.output}")
    if options.record:
        for system in now:
            for on, values in figures[system].items():
                for measure_, interval in values.items():
                    record("retrieval", on, system, measure_, interval.mean, interval.n, interval.low, interval.high)
        for on, (_, one) in apart.items():
            record("differences", on, pair, COMPARED, one.mean, one.n, one.low, one.high)


async def measure(wanted: Sequence[Wanted], queries: Sequence[SearchExample]) -> Ranks:
    """The ranks of every system of these indexes.

    Raises:
        SystemExit: When two systems have one name.
    """
    found: Ranks = {}
    for one in wanted:
        async with open_systems(one) as (_, systems):
            for system in systems:
                if system.name in found:
                    raise SystemExit(f"two systems are called {system.name}: give --index LABEL=FOLDER")
                answers = await system.answer([example.query for example in queries], judging.DEPTH)
                found[system.name] = judging.ranks(queries, answers)
                for code, count in system.warnings.items():
                    print(f"{system.name}: {count} answers with the warning {code}")
    return found


def report(
    title: str,
    queries: Sequence[SearchExample],
    found: Mapping[str, Sequence[int]],
    figures: Figures,
    groups: Groups,
    recorded: bool,
) -> str:
    """Markdown: a table for each set, and the comparison of every two systems.

    Args:
        title: What stands for all queries.
        queries, found, figures, groups: The queries, and what came out.
        recorded: Whether runs said which targets they had seen.
    """
    parts = [f"# {title}\n"]
    if not recorded:
        parts.append("No run said what it was trained to find: every target counts as unseen.\n")
    for on in next(iter(figures.values()), {}):
        shown = {system: sets[on] for system, sets in figures.items()}
        parts.append(f"## {on} (n = {_count(shown)})\n\n{judging.table(shown)}")
    if len(found) > 1:
        for on in dict.fromkeys((title, "queries/undergrad+overview")):
            if on in next(iter(figures.values())):
                parts.append(f"## {COMPARED} against one another: {on}\n\n{_comparison(queries, found, groups, on)}")
    return "\n".join(parts)


def _comparison(queries: Sequence[SearchExample], found: Mapping[str, Sequence[int]], groups: Groups, on: str) -> str:
    lines = [f"| {COMPARED} | over " + " | over ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for system, ranks in found.items():
        cells = []
        for other, against in found.items():
            if other == system:
                cells.append("")
                continue
            cells.append(_difference(*judging.differences(queries, ranks, against, groups, COMPARED)[on]))
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _difference(ratio: float, difference: Interval) -> str:
    factor = "–" if ratio != ratio else f"× {ratio:.2f}"
    return f"{factor}, {difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


def write_ranks(file: Path, queries: Sequence[SearchExample], found: Mapping[str, Sequence[int]]) -> None:
    """Keep the ranks, so that later systems can stand beside these."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"queries": _digest(queries), "systems": {name: list(ranks) for name, ranks in found.items()}}
    file.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_ranks(file: Path, queries: Sequence[SearchExample]) -> Ranks:
    """The systems of an earlier run on the same queries."""
    if not file.is_file():
        raise SystemExit(f"{file} is not there: leave out --add, or name the --output of the earlier run")
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["queries"] != _digest(queries):
        raise SystemExit(f"{file} holds ranks of other queries: leave out --add")
    systems: Ranks = content["systems"]
    return systems


def _digest(queries: Sequence[SearchExample]) -> str:
    rows = json.dumps([(example.query, sorted(example.gold)) for example in queries], ensure_ascii=True)
    return hashlib.sha256(rows.encode()).hexdigest()


def _count(shown: Mapping[str, Mapping[str, Interval]]) -> int:
    return next(iter(next(iter(shown.values())).values())).n


if __name__ == "__main__":
    main()
