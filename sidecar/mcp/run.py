"""`lean-sidecar mcp`: serve an agent on stdin and stdout until it goes.

In: the settings, and JSON-RPC messages of the Model Context Protocol on stdin. Out: answers on stdout; everything for a
person goes to stderr.
"""

from __future__ import annotations

import logging
import sys

from sidecar.errors import SidecarError
from sidecar.settings import Settings


def run_mcp(settings: Settings) -> None:
    """Serve until stdin ends.

    Raises:
        SidecarError: `not_found` when the extra `mcp` is not installed.
    """
    try:
        from sidecar.mcp.tools import START_SECONDS, make_server
    except ImportError as error:
        raise SidecarError(
            "not_found",
            f"the package mcp, version 2, is needed for this: {error}",
            hint=f"install the extra: `{sys.executable} -m pip install 'mcp>=2,<3'`",
        ) from None
    from sidecar.client import LocalClient

    # The SDK logs each call, and what an agent asks is nobody else's business.
    logging.getLogger("mcp").setLevel(logging.WARNING)
    with LocalClient(settings, start_seconds=START_SECONDS) as client:
        make_server(client).run("stdio")
