"""Lines of a JSON-lines file, plain or gzipped, streamed.

In: a path. Out: numbered lines as bytes. A file that was cut off while it was written or copied is noticed and named.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sidecar.errors import SidecarError

_BUFFER_BYTES: Final = 1 << 20


def read_lines(path: Path, *, ended: bool = True) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their 1-based numbers, blank ones left out.

    Args:
        path: A file; `.gz` is unpacked on the way.
        ended: Whether the format ends every line; otherwise a last one that holds a whole object needs no end.

    Raises:
        SidecarError: `not_found` when it cannot be opened; `bad_request` naming file and line when the last line has no
            end and needs one, or the compressed data stops early.
    """
    number = 0
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n") and (ended or not (line.isspace() or _whole(line))):
                    raise cut_off(path, number)
                if not line.isspace():
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise cut_off(path, number + 1) from error
    except OSError as error:
        raise SidecarError("not_found", f"{path} cannot be read: {error.strerror or error}", field=str(path)) from error


def _opened(path: Path) -> BinaryIO:
    # A larger buffer than gzip's own makes reading lines a third faster.
    return io.BufferedReader(gzip.GzipFile(path), _BUFFER_BYTES) if path.suffix == ".gz" else path.open("rb")


def _whole(line: bytes) -> bool:
    """Whether a line holds a whole object: no part of one that leaves its end out is one."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def cut_off(path: Path, line: int) -> SidecarError:
    """The error for a file that ends too early."""
    return SidecarError(
        "bad_request",
        f"{path}:{line}: the file is cut off here",
        field=str(path),
        hint="write or fetch the file again",
    )
