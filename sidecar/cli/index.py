"""`lean-sidecar index`: make, look at, check and refresh an index.

In: a corpus and an encoder. Out: an index folder (see `sidecar.index`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import typer

from sidecar.cli.parameters import a_path, a_text

app = typer.Typer(help="Build, inspect, verify and update an index.", no_args_is_help=True)

ENCODER_HELP = (
    "small, static, a folder with a model, or hub:owner/model for a model on a hub. When left out, static selects "
    "premises and small searches."
)
PROOFS_HELP = "What proofs use, where the corpus does not say: an extraction, or JSON lines with name and premises."


@app.command(short_help="Build an index.")
def build(
    source: Path | None = typer.Argument(
        None, parser=a_path("source"), help="Corpus folder; the embedded example library when left out."
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        parser=a_path("output"),
        help="Folder to write; the default index of the user when left out.",
    ),
    encoder: str | None = typer.Option(None, parser=a_text("encoder"), help=ENCODER_HELP),
    search_encoder: str | None = typer.Option(
        None, parser=a_text("search_encoder"), help="Another encoder for search."
    ),
    format_: str = typer.Option("auto", "--format", help="auto, extraction, declarations or docgen."),
    proofs: Path | None = typer.Option(None, parser=a_path("proofs"), help=PROOFS_HELP),
    threads: int = typer.Option(0, min=0, help="Threads of the model; 0 uses all cores that are usable."),
    device: str = typer.Option("auto", parser=a_text("device"), help="auto, cpu, cuda or cuda:N."),
    ray: str | None = typer.Option(
        None, parser=a_text("ray"), help="Address of a Ray cluster that encodes, or local; none is needed."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Build an index. An interrupted build goes on where it stopped when the same command is given again."""
    from sidecar.cli.output import note, print_json, print_pairs
    from sidecar.corpus.source import example_corpus, open_corpus
    from sidecar.encoder.load import DEFAULTS, load_encoder
    from sidecar.encoder.threads import usable_cores
    from sidecar.errors import SidecarError
    from sidecar.index.build import build_index
    from sidecar.settings import Settings

    folder = output or Settings().data_folder / "default"
    if source is None and proofs is not None:
        raise SidecarError(
            "bad_request", "the example library takes no proofs", field="proofs", hint="name a corpus before --proofs"
        )
    corpus = example_corpus() if source is None else open_corpus(source, format_, proofs)
    names = (encoder or DEFAULTS["premises"], search_encoder or encoder or DEFAULTS["search"])
    loaded = {name: load_encoder(name, threads=threads or usable_cores(), device=device) for name in set(names)}
    if ray is not None:
        from sidecar.encoder.spread import SpreadEncoder
        from sidecar.spread import spread_over

        spread = spread_over(ray)
        loaded = {name: SpreadEncoder(each, spread) for name, each in loaded.items()}
    with _kept_when_interrupted():
        manifest = build_index(corpus, folder, loaded[names[0]], search_encoder=loaded[names[1]])
    _serve_now(folder)
    if proofs is not None and not manifest.counts["proofs"]:
        note(f"{proofs} tells nothing: no proof in it is of a theorem of the index and uses one of its premises")
    summary = {"folder": str(folder), **manifest.summary()}
    if as_json:
        print_json(summary)
    else:
        print_pairs("index built", summary)


@app.command(short_help="Show what an index holds.")
def info(
    folder: Path | None = typer.Argument(
        None, parser=a_path("folder"), help="Index folder; the one that would be served when left out."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show what an index holds and what it was made from."""
    from sidecar.cli.output import print_json, print_pairs
    from sidecar.index.manifest import Manifest

    chosen = _chosen(folder)
    summary = {"folder": str(chosen), **Manifest.read(chosen).summary()}
    if as_json:
        print_json(summary)
    else:
        print_pairs("index", summary)


@app.command(short_help="Check every byte of an index.")
def verify(
    folder: Path | None = typer.Argument(
        None, parser=a_path("folder"), help="Index folder; the one that would be served when left out."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Read every byte of an index and check it; exit status 1 when something is wrong."""
    from sidecar.cli.output import note, print_json, print_line
    from sidecar.index.verify import verify_index

    chosen = _chosen(folder)
    faults = verify_index(chosen)
    if as_json:
        print_json({"folder": str(chosen), "faults": faults})
    else:
        for fault in faults:
            note(f"fault: {fault}")
        print_line(f"{chosen}: " + (f"{len(faults)} fault{'s' * (len(faults) > 1)}" if faults else "all checks passed"))
    if faults:
        raise typer.Exit(1)


@app.command(short_help="Bring an index up to date with a corpus.")
def update(
    folder: Path = typer.Argument(parser=a_path("folder"), help="Index folder."),
    source: Path = typer.Argument(parser=a_path("source"), help="Corpus folder, in any format that `build` reads."),
    format_: str = typer.Option("auto", "--format", help="auto, extraction, declarations or docgen."),
    proofs: Path | None = typer.Option(None, parser=a_path("proofs"), help=PROOFS_HELP),
    threads: int = typer.Option(0, min=0, help="Threads of the model; 0 uses all cores that are usable."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Bring an index up to date with a corpus; only what changed is encoded."""
    from sidecar.cli.output import note, print_json, print_pairs
    from sidecar.corpus.source import open_corpus
    from sidecar.encoder.load import load_encoder
    from sidecar.encoder.threads import usable_cores
    from sidecar.index.build import update_index
    from sidecar.index.manifest import Manifest

    manifest = Manifest.read(folder)
    names = (manifest.encoder_name, manifest.vector_entry("search").encoder)
    loaded = {name: load_encoder(name, threads=threads or usable_cores()) for name in set(names)}
    with _kept_when_interrupted():
        report = update_index(
            folder, open_corpus(source, format_, proofs), loaded[names[0]], search_encoder=loaded[names[1]]
        )
    _serve_now(folder)
    if manifest.counts["proofs"] and not report.manifest.counts["proofs"]:
        note("the index knows no proofs any more: give --proofs, or an extraction with examples, to have them again")
    if as_json:
        print_json(report.as_wire())
    else:
        print_pairs("index updated", report.as_wire())


def _serve_now(folder: Path) -> None:
    """Let a local server that serves this folder load the new index before the command ends, and say so."""
    import asyncio

    from sidecar.cli.output import note
    from sidecar.client import Client
    from sidecar.errors import SidecarError
    from sidecar.launch import find_server
    from sidecar.settings import Settings

    settings = Settings()
    try:
        found = asyncio.run(find_server(settings))
        if found is None or not found[1].ready:
            return
        with Client(found[0].url, found[0].token) as client:
            index = client.status()["index"]
            if index["example"] or Path(index["folder"]).resolve() == folder.resolve():
                client.reload()
                if Path(client.status()["index"]["folder"]).resolve() == folder.resolve():
                    note("the running server answers from this index now")
    except SidecarError as error:
        note(f"warning: the running server may go on with the index before: {error}")


@contextlib.contextmanager
def _kept_when_interrupted() -> Iterator[None]:
    from sidecar.cli.output import note

    try:
        yield
    except KeyboardInterrupt:
        note("interrupted; what is done is kept, and the same command goes on from there")
        raise


def _chosen(folder: Path | None) -> Path:
    from sidecar.settings import Settings

    settings = Settings()
    return folder or settings.index or settings.data_folder / "default"
