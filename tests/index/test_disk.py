"""A disk that takes no more, by whatever words a library says so."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from sidecar.errors import SidecarError
from sidecar.index.build import _disk_errors


def _full_database() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA max_page_count = 2")
    connection.execute("CREATE TABLE texts (text)")
    connection.execute("INSERT INTO texts VALUES (zeroblob(1000000))")


def _cut_short() -> None:
    raise OSError("48768 requested and 46064 written")  # numpy's words, without a number


def _read_only() -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize(("fails", "room"), [(_full_database, True), (_cut_short, True), (_read_only, False)])
def test_what_cannot_be_written_says_the_way_out(fails: object, room: bool, tmp_path: Path) -> None:
    assert callable(fails)
    with pytest.raises(SidecarError) as caught, _disk_errors(tmp_path / "i"):
        fails()
    assert (caught.value.code, caught.value.field) == ("forbidden", "output")
    assert caught.value.hint is not None
    assert ("room" in caught.value.hint) == room


def test_another_error_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Error reading"), _disk_errors(tmp_path / "i"):
        raise OSError("Error reading file")
    with pytest.raises(sqlite3.OperationalError), _disk_errors(tmp_path / "i"):
        sqlite3.connect(":memory:").execute("SELECT nothing")
