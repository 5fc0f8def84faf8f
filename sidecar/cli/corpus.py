"""`lean-sidecar corpus`: look at what a corpus holds, and check what the extractor wrote, or lists of proofs beside it.

In: a folder in any format that `open_corpus` reads. Out: counts, or faults with file and line.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import typer

from sidecar.cli.parameters import a_path

app = typer.Typer(help="Look at a corpus; check an extraction, or a list of proofs.", no_args_is_help=True)


@app.command(short_help="Count what a corpus holds.")
def info(
    source: Path = typer.Argument(
        parser=a_path("source"), help="Extraction folder, declarations JSONL folder or doc-gen4 HTML folder."
    ),
    format_: str = typer.Option("auto", "--format", help="auto, extraction, declarations or docgen."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Count what a corpus holds, by kind and by what it may serve as."""
    from sidecar.cli.output import print_json, print_pairs, print_table
    from sidecar.corpus.policy import propositional_constants, role
    from sidecar.corpus.source import open_corpus

    corpus = open_corpus(source, format_)
    propositional = propositional_constants(corpus.declarations())
    kinds: Counter[str] = Counter()
    roles: dict[str, Counter[str]] = {"premise": Counter(), "target": Counter(), "hidden": Counter()}
    for declaration in corpus.declarations():
        kinds[declaration.kind] += 1
        its = role(declaration, propositional)
        roles["premise"][declaration.kind] += its.premise
        roles["target"][declaration.kind] += its.target
        roles["hidden"][declaration.kind] += its.hidden
    modules = sum(1 for _ in corpus.modules())
    totals = {
        "format": corpus.format,
        "modules": modules,
        "declarations": kinds.total(),
        "premises": roles["premise"].total(),
        "search targets": roles["target"].total(),
        "hidden": roles["hidden"].total(),
        **{f"revision of {package}": revision for package, revision in corpus.revisions().items()},
    }
    if as_json:
        print_json({**totals, "kinds": dict(kinds), "roles": {name: dict(counts) for name, counts in roles.items()}})
        return
    print_pairs(str(source), totals)
    print_table(
        "by kind",
        ["kind", "declarations", "premises", "search targets", "hidden"],
        [
            (kind, count, *(roles[name][kind] for name in ("premise", "target", "hidden")))
            for kind, count in kinds.most_common()
        ],
    )


@app.command(short_help="Check an extraction, or a list of proofs.")
def check(
    folder: Path = typer.Argument(
        parser=a_path("folder"), help="Folder that `lake exe extract` wrote; with --proofs any corpus."
    ),
    proofs: Path | None = typer.Option(
        None,
        parser=a_path("proofs"),
        help="What `index build --proofs` would be given, to be checked against the corpus.",
    ),
    format_: str = typer.Option("auto", "--format", help="auto, extraction, declarations or docgen; with --proofs."),
    rows: int = typer.Option(10, min=0, help="Random rows of the extraction to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check every row of an extraction against the format; exit status 1 when there are faults.

    With --proofs every row of that list is checked instead, and the names in it against the corpus.
    """
    from sidecar.cli.output import note, print_json, print_line, print_pairs
    from sidecar.corpus.check import check_extraction
    from sidecar.corpus.check_proofs import check_proofs
    from sidecar.corpus.source import open_corpus

    if proofs is None:
        report = check_extraction(folder, sample=rows)
    else:
        report = check_proofs(proofs, open_corpus(folder, format_))
    if as_json:
        print_json(report.as_wire())
    else:
        print_pairs(str(folder if proofs is None else proofs), report.counts)
        for row in report.sample:
            print_line(row)
        for warning in report.warnings:
            note(f"warning: {warning}")
        for fault in report.faults:
            note(f"fault: {fault}")
    if report.faults:
        raise typer.Exit(1)
