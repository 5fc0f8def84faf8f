"""Reader of source-derived (theorem, premises) pairs: gzipped JSON lines, one theorem a line.

In: a folder with `pairs-<split>-NNN.jsonl.gz`. Out: `PremiseExample` rows. These pairs hold explicit citations only,
so every positive has the origin `explicit`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidecar.errors import SidecarError
from training.data.examples import Positive, PremiseExample

SPLITS = ("train", "valid", "test")


def pair_files(folder: Path, split: str) -> list[Path]:
    """The files of one split, in order.

    Raises:
        SidecarError: When the split is unknown or has no file.
    """
    if split not in SPLITS:
        raise SidecarError("bad_request", f"{split!r} is not one of {', '.join(SPLITS)}", field="split")
    files = sorted(folder.glob(f"pairs-{split}-*.jsonl.gz"))
    if not files:
        raise SidecarError(
            "not_found", f"no pairs-{split}-*.jsonl.gz in {folder}", field="data", hint="give the folder of the pairs"
        )
    return files


def read_pairs(folder: Path, split: str, *, include_weak: bool = True) -> Iterator[PremiseExample]:
    """Stream one module split.

    Args:
        folder: Folder with the files.
        split: `train`, `valid` or `test` (by module).
        include_weak: Keep premises that only the two weaker resolution rules found (1 % of them).

    Raises:
        SidecarError: When a file is cut off or a line is not what it should be; names file and line.
    """
    for path in pair_files(folder, split):
        number = 0
        try:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for number, line in enumerate(file, start=1):  # noqa: B007 - the handlers below name it
                    example = _example(json.loads(line), include_weak)
                    if example.positives:
                        yield example
        except (EOFError, gzip.BadGzipFile) as error:
            raise SidecarError(
                "bad_request",
                f"{path.name} is cut off after line {number}: {error}",
                field="data",
                hint="copy the file again",
            ) from error
        except UnicodeDecodeError as error:
            raise SidecarError(
                "bad_request",
                f"{path.name}, after line {number}: {error}",
                field="data",
                hint="copy the file again",
            ) from error
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise SidecarError(
                "bad_request",
                f"{path.name}, line {number}: {type(error).__name__} {error}",
                field="data",
                hint="copy the file again",
            ) from error


def _example(row: dict[str, Any], include_weak: bool) -> PremiseExample:
    for field, kind in (("name", str), ("module", str), ("statement", str), ("premises", list)):
        if not isinstance(row[field], kind):
            raise TypeError(f"{field} is {row[field]!r:.80}, not a {'text' if kind is str else 'list'}")
    state = row.get("state_fq") or row["state"]
    if not isinstance(state, str) or not all(isinstance(name, str) for name in row["premises"]):
        raise TypeError("the state, or one of the premises, is not a text")
    weak = set() if include_weak else set(row.get("weak", ()))
    names = dict.fromkeys(name for name in row["premises"] if name not in weak and name != row["name"])
    return PremiseExample(
        theorem=row["name"],
        module=row["module"],
        line=row.get("line"),
        state=state,
        signature=row["statement"],
        positives=tuple(Positive(name) for name in names),
        proof="tactic" if row["tactics"] else "term",
        generated="gen" in row,
        random_split=row.get("rsplit"),
    )
