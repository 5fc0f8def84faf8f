"""`python -m sidecar.server`: what a bridge starts when no server runs.

In: the environment (see `sidecar.settings`) and a few options. Out: a server on a free port of this machine, published
in the runtime folder, and an exit status; the last line on stderr says why it failed.
"""

from __future__ import annotations

import argparse
import sys

from sidecar.errors import SidecarError
from sidecar.settings import Settings


def main() -> int:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m sidecar.server")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--idle-seconds", type=int, default=0, help="stop after this long without a request")
    parser.add_argument("--grace-seconds", type=float, default=10.0, help="time for requests to end in when stopping")
    parser.add_argument("--encoder", default=None, help="encoder; the index's own when left out")
    parser.add_argument("--log", choices=("text", "json"), default="text", help="style of the log")
    options = parser.parse_args()
    try:
        from sidecar.server.run import Listen, serve

        listen = Listen(
            port=options.port,
            idle_seconds=options.idle_seconds,
            grace_seconds=options.grace_seconds,
            log=options.log,
            for_bridges=True,
        )
        return serve(Settings(), encoder=options.encoder, listen=listen)
    except SidecarError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
