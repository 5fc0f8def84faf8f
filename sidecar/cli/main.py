"""The commands, put together.

In: the modules of this room. Out: the application that `sidecar.__main__` runs.
"""

from __future__ import annotations

import sys

import typer

from sidecar import __version__
from sidecar.cli import corpus, index, questions, service

app = typer.Typer(
    help="Premise selection and search for Lean 4. Options also come from LEAN_SIDECAR_* variables (see README.md).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: loading rich to draw boxes would take longer than everything else that `--help` does.
    rich_markup_mode=None,
)
service.register(app)
questions.register(app)
app.add_typer(index.app, name="index")
app.add_typer(corpus.app, name="corpus")


def _version(wanted: bool) -> None:
    if wanted:
        from sidecar.cli.output import print_line

        print_line(f"lean-sidecar {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Log what happens, on stderr."),
) -> None:
    import logging

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s"
    )
    for chatty in ("httpx", "urllib3", "transformers", "sentence_transformers", "faiss"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
