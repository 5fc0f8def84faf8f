"""`lean-sidecar serve`, `bridge`, `mcp`, `status`, `stop` and `demo`: run the sidecar, look at it, and end it.

In: options. Out: a server, a bridge or an MCP server on stdin and stdout, or what the running server says of itself.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from sidecar.cli.parameters import a_path, a_text


class LogStyle(StrEnum):
    """How the server logs: lines for people, or one JSON object a request."""

    TEXT = "text"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the commands to the root of the command line."""
    app.command(short_help="Serve until stopped.")(serve)
    app.command(short_help="Speak frames with a Lean process.")(bridge)
    app.command(short_help="Serve an agent (MCP).")(mcp)
    app.command(short_help="Ask the server what it serves.")(status)
    app.command(short_help="Stop the local server.")(stop)
    app.command(short_help="Show the main job on the example library.")(demo)


def serve(
    index: Path | None = typer.Option(
        None, parser=a_path("index"), help="Index folder; the user's default or the example library's."
    ),
    encoder: str | None = typer.Option(
        None, parser=a_text("encoder"), help="Encoder; the one the index was made with when left out."
    ),
    host: str = typer.Option(
        "127.0.0.1", parser=a_text("host"), help="Address to bind; beyond loopback LEAN_SIDECAR_TOKEN must be set."
    ),
    port: int = typer.Option(8723, min=0, max=65_535, help="Port; 0 takes a free one."),
    allow_host: list[str] | None = typer.Option(None, help="One more name that requests may be addressed to."),
    idle: int = typer.Option(0, min=0, help="Stop after so many seconds without a request; 0 never."),
    grace: float = typer.Option(10.0, min=0, help="Seconds that running requests get when the server stops."),
    log: LogStyle = typer.Option(LogStyle.TEXT, help="Style of the log."),
    reranker: str | None = typer.Option(
        None, parser=a_text("reranker"), help="Cross-encoder for `search --rerank`: a folder, or hub:owner/model."
    ),
    documentation: list[str] | None = typer.Option(
        None,
        metavar="PREFIX=ADDRESS",
        help="Where the doc-gen4 pages of modules below a prefix are published; may be given again.",
    ),
) -> None:
    """Serve premise selection and search until stopped (SIGTERM, Ctrl-C); SIGHUP loads the index again."""
    from dataclasses import replace

    from sidecar.server.run import Listen, serve
    from sidecar.settings import Settings, documentation_addresses

    settings = Settings()
    addresses = documentation_addresses(documentation or (), "documentation")
    settings = replace(
        settings,
        documentation={**settings.documentation, **addresses},
        reranker=reranker or settings.reranker,
    )
    listen = Listen(
        host=host,
        port=port,
        allowed_hosts=tuple(allow_host or ()),
        idle_seconds=idle,
        grace_seconds=grace,
        log=log.value,
    )
    raise typer.Exit(serve(settings, index=index, encoder=encoder, listen=listen))


def bridge() -> None:
    """Speak frames on stdin and stdout for one Lean process; starts the local server if none runs.

    It ends with its stdin: what is not answered by then is cancelled, so keep stdin open until the answers are there.
    """
    from sidecar.bridge import run_bridge
    from sidecar.settings import Settings

    raise typer.Exit(run_bridge(Settings()))


def mcp() -> None:
    """Serve an agent by the Model Context Protocol on stdin and stdout; starts the local server if none runs."""
    from sidecar.mcp.run import run_mcp
    from sidecar.settings import Settings

    run_mcp(Settings())


def status(
    url: str | None = typer.Option(
        None, parser=a_text("url"), help="Server to ask; the settings' or the local one when left out."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Ask the server what it serves; exit status 6 when none runs. Never starts one."""
    import asyncio

    from sidecar.cli.output import print_json, print_pairs
    from sidecar.client import Client
    from sidecar.errors import SidecarError
    from sidecar.launch import find_server
    from sidecar.settings import Settings

    settings = Settings()
    address, token = url or settings.url, settings.token
    if address is None:
        found = asyncio.run(find_server(settings))
        if found is None:
            raise SidecarError("unreachable", "no local server runs", hint="`lean-sidecar serve` starts one")
        address, token = found[0].url, found[0].token
    with Client(address, token, timeout=30.0) as client:
        answer = client.status()
    if as_json:
        print_json({"url": address, **answer})
    else:
        print_pairs(address, answer)


def stop(
    timeout: float = typer.Option(30.0, min=0, help="Seconds that the server may take to finish what it does."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Stop the local server and wait until it is gone; requests that are under way may finish.

    Exit status: 0 when none runs any more, also when none ran; 6 when it hangs; 7 when it is still there after the
    timeout.
    """
    import asyncio

    from sidecar.cli.output import print_json, print_line
    from sidecar.launch import stop_server
    from sidecar.settings import Settings

    stopped = asyncio.run(stop_server(Settings(), timeout))
    if as_json:
        print_json({"stopped": stopped is not None, "pid": stopped.pid if stopped else None})
    elif stopped is None:
        print_line("no local server runs")
    else:
        print_line(f"stopped the server (version {stopped.version}, process {stopped.pid})")


def demo(
    picture: Path | None = typer.Option(
        None, parser=a_path("picture"), help="Also write what is shown as an SVG picture."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Build the example library's index, ask it through a bridge as the Lean plugin does, show the answers, stop."""
    from sidecar.cli.demo import run_demo

    raise typer.Exit(run_demo(picture, as_json=as_json))
