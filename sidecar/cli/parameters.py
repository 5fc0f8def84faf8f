"""What a parameter must hold that may not be empty.

In: what a person or a script gave. Out: a path or a text. An empty one, as a variable that is not set leaves it, is an
error: as a path it would be the current folder, and as a text it would pass for an option that was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sidecar.errors import SidecarError


def a_path(name: str) -> Callable[[str], Path]:
    """Reads the path of a file or folder; for the parameter of that name."""

    def path(given: str) -> Path:
        return Path(_given(given, name, "name a file or folder"))

    return path


def a_text(name: str) -> Callable[[str], str]:
    """Reads a text; for the parameter of that name."""

    def text(given: str) -> str:
        return _given(given, name, "give a value")

    return text


def _given(given: str, name: str, way_out: str) -> str:
    if not given.strip():
        raise SidecarError("bad_request", f"{given!r} is empty", field=name, hint=f"{way_out}, or leave it out")
    return given
