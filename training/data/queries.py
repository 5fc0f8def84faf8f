"""Reader of search queries with known answers: JSON lines.

In: a file of rows `{"query", "gold": [names], "kind", "set", …}`. Out: `SearchExample` rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sidecar.errors import SidecarError


@dataclass(frozen=True, slots=True)
class SearchExample:
    """One query with the names of declarations that answer it.

    Attributes:
        query: What a person typed.
        gold: Names of right answers, at least one; there may be more right answers than these.
        set: Where the query comes from (`mathlib_docs_undergrad`).
        style: `short` (at most 20 words) or `long`.
    """

    query: str
    gold: tuple[str, ...]
    set: str
    style: str


def read_queries(path: Path) -> Iterator[SearchExample]:
    """Stream a file of queries.

    Raises:
        SidecarError: When the file is absent, cut off, or a row is not what it should be; names file and line.
    """
    if not path.is_file():
        raise SidecarError("not_found", f"{path} is not a file", field="queries", hint="give a JSON lines file")
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                example = SearchExample(row["query"], tuple(dict.fromkeys(row["gold"])), row["set"], row["kind"])
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                raise SidecarError(
                    "bad_request",
                    f"{path.name}, line {number}: {type(error).__name__} {error}",
                    field="queries",
                    hint="copy the file again",
                ) from error
            if not example.query.strip() or not example.gold:
                raise SidecarError("bad_request", f"{path.name}, line {number}: no query or no gold", field="queries")
            yield example
