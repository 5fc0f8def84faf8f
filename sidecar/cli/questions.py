"""`lean-sidecar premises` and `lean-sidecar search`: the two questions, asked of a server.

In: a goal or a query. Out: a table, or the server's answer as JSON. The server is the one that `--url` or the settings
name, or the user's local one, which is started if need be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from sidecar.cli.parameters import a_text
from sidecar.errors import SidecarError

URL_HELP = "Server to ask; the settings' or the local one when left out."


def register(app: typer.Typer) -> None:
    """Add the commands to the root of the command line."""
    app.command(short_help="Rank premises for a goal.")(premises)
    app.command(short_help="Find declarations for a question.")(search)


def premises(
    goal: str = typer.Argument(
        "-", help="Goal text (hypotheses one a line, then ⊢ or |-, and target); `-` reads stdin."
    ),
    k: int = typer.Option(32, "-k", help="How many premises."),
    imports: str | None = typer.Option(None, help="Directly imported modules, comma-separated; all when left out."),
    method: str = typer.Option("fused", help="fused, neural, symbolic or locality."),
    theorem: str | None = typer.Option(None, help="Name of the theorem being proved; never offered."),
    module: str | None = typer.Option(None, help="Module that the goal stands in."),
    namespace: str | None = typer.Option(None, help="Namespace that is open at the goal."),
    exclude: str | None = typer.Option(
        None, help="Names to leave out, comma-separated; their proofs tell nothing either."
    ),
    url: str | None = typer.Option(None, parser=a_text("url"), help=URL_HELP),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Rank the premises that are visible by how likely they help to close a goal."""
    from sidecar.cli.output import print_json

    params = {
        "imports": _commas(imports, "imports"),
        "method": method,
        "theorem": _name(theorem, "theorem"),
        "module": _name(module, "module"),
        "namespace": _name(namespace, "namespace"),
        "exclude": _commas(exclude, "exclude"),
    }
    with _client(url) as client:
        answer = client.premises(_text(goal, "goal"), k, **params)
        _about_index(client)
    if as_json:
        print_json(answer)
    else:
        show_premises(answer)


def search(
    query: str = typer.Argument(help="A question, a name, or a Lean statement; `-` reads stdin."),
    k: int = typer.Option(10, "-k", help="How many declarations."),
    module: list[str] | None = typer.Option(None, help="Only modules below this one; may be given again."),
    kind: list[str] | None = typer.Option(None, help="Only this kind of declaration; may be given again."),
    imports: str | None = typer.Option(None, help="Only what these modules make visible, comma-separated."),
    rewrite: bool = typer.Option(True, help="Let the server rewrite the query, if it has a rewriter."),
    rerank: bool = typer.Option(False, "--rerank", help="Let the server's reranker read the best results again."),
    url: str | None = typer.Option(None, parser=a_text("url"), help=URL_HELP),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Find declarations by what they say, by their words, or by their names."""
    from sidecar.cli.output import print_json

    params = {
        "modules": [_name(name, "module") for name in module or ()] or None,
        "kinds": kind or None,
        "imports": _commas(imports, "imports"),
        "rewrite": rewrite,
        "rerank": rerank or None,
    }
    with _client(url) as client:
        answer = client.search(_text(query, "query"), k, **params)
        _about_index(client)
    if as_json:
        print_json(answer)
    else:
        show_results(answer)


def show_premises(answer: Mapping[str, Any], title: str = "premises") -> None:
    """Print the answer of `premises` as a table, warnings beside it."""
    from sidecar.cli.output import print_table

    print_table(
        title,
        ["", "premise", "kind", "module", "score", "found by"],
        [
            (
                rank,
                premise["name"],
                premise.get("kind") or premise["origin"],
                premise.get("module"),
                f"{premise['score']:.3f}",
                ", ".join(f"{method} {place}" for method, place in premise["ranks"].items()),
            )
            for rank, premise in enumerate(answer["premises"], start=1)
        ],
    )
    _remarks(answer)


def show_results(answer: Mapping[str, Any], title: str = "declarations") -> None:
    """Print the answer of `search` as a table, warnings beside it."""
    from sidecar.cli.output import note, print_table

    if answer.get("rewritten"):
        note(f"also searched for: {answer['rewritten']}")
    print_table(
        title,
        ["", "declaration", "why"],
        [
            (rank, _entry(result), "\n".join(reason["detail"] for reason in result["why"]))
            for rank, result in enumerate(answer["results"], start=1)
        ],
    )
    _remarks(answer)


def _entry(result: Mapping[str, Any]) -> str:
    lines = [result["signature"]]
    if result.get("docstring"):
        summary = result["docstring"].split("\n\n")[0]
        lines.append(summary if len(summary) <= 200 else summary[:199] + "…")
    lines.append(result["module"])
    return "\n".join(lines)


def _remarks(answer: Mapping[str, Any]) -> None:
    from sidecar.cli.output import note

    for warning in answer.get("warnings", ()):
        note(f"warning: {warning['message']}")
    timings: Mapping[str, float] = answer.get("timings", {})
    if timings:
        note("ms: " + ", ".join(f"{stage} {milliseconds:.1f}" for stage, milliseconds in timings.items()))


def _about_index(client: Any) -> None:
    """Say so when answers come from the example library."""
    from sidecar.cli.output import note
    from sidecar.client import about_example

    try:
        about = about_example(client.status()["index"])
    except SidecarError:
        return  # what was asked has been answered
    if about is not None:
        note(f"warning: {about}")


def _commas(text: str | None, field: str) -> Sequence[str] | None:
    """The names in a list; a part that is empty is passed over, and said to be."""
    from sidecar.cli.output import note

    typed = _name(text, field)
    if typed is None:
        return None
    parts = [part.strip() for part in typed.split(",")]
    names = [part for part in parts if part]
    if not names:
        raise _empty(field, typed)
    if len(names) < len(parts):
        note(f"warning: {field}: an empty part of {typed!r} is passed over")
    return names


def _name(text: str | None, field: str) -> str | None:
    """A name, without the spaces around it."""
    typed = _typed(text, field)
    if typed is not None and not typed.strip():
        raise _empty(field, typed)
    return typed if typed is None else typed.strip()


def _empty(field: str, typed: str) -> SidecarError:
    return SidecarError(
        "bad_request", f"{typed!r} names nothing", field=field, hint=f"give a name, or leave --{field} out"
    )


def _text(argument: str, field: str) -> str:
    if argument != "-":
        return _typed(argument, field) or ""
    if sys.stdin.isatty():
        sys.stderr.write("reading from the keyboard; end with Ctrl-D\n")
    content = sys.stdin.buffer.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_text(field, f"{error.reason} at byte {error.start}") from None


def _typed(argument: str | None, field: str) -> str | None:
    """What a person typed: UTF-8 whatever the locale, or else the locale's letters."""
    if argument is None:
        return None
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError as error:
        if not any("\ud800" <= letter <= "\udfff" for letter in argument):
            return argument
        raise _not_text(field, str(error)) from None


def _not_text(field: str, detail: str) -> SidecarError:
    return SidecarError("bad_request", f"is not UTF-8: {detail}", field=field, hint="write text as UTF-8")


def _client(url: str | None) -> Any:
    from sidecar.client import Client, LocalClient
    from sidecar.settings import Settings

    settings = Settings()
    return Client(url, settings.token) if url else LocalClient(settings)
