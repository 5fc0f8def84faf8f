"""`lean-sidecar`: the commands and how they end.

In: the command line. Out: answers on stdout, messages on stderr, and an exit status: 0 success, 1 a check that ran and
found faults, otherwise `sidecar.errors.EXIT_STATUS`.
"""

from __future__ import annotations

import sys

import typer

from sidecar import __version__
from sidecar.cli import corpus, index, questions, service
from sidecar.errors import SidecarError

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
        typer.echo(f"lean-sidecar {__version__}")
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


def main() -> None:
    """Run the command line and leave with its exit status."""
    # Threads that spin would take the cores away from Lean; this must be said before torch is loaded.
    from sidecar.encoder.threads import use_quiet_threads

    use_quiet_threads()
    try:
        app()
    except SidecarError as error:
        from sidecar.cli.output import fail

        fail(error, as_json="--json" in sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader of our answer (head, less) has seen enough; say nothing, and let nothing be flushed again.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
