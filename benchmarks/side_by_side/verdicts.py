"""What judges said, and where it is kept.

In: verdicts of models as they come, files that people downloaded from the page. Out: `verdicts.jsonl`, and records.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.side_by_side.comparisons import Comparison
from sidecar.errors import SidecarError

logger = logging.getLogger(__name__)

FILE: Final = "verdicts.jsonl"
PAGE_FORMAT: Final = 1

Side = Literal["left", "right", "tie"]
Outcome = Literal[1, 0, -1]
"""The first system of a comparison is better, both are as good, the second is better."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said of one comparison.

    Attributes:
        id: The comparison.
        judge: Who said it.
        left: Which of the two systems stood on the left: 0 or 1.
        better: The side that is better; None where there is no verdict.
        reason: Why, in words.
        missing: Why there is no verdict, if so: the judge refused, or its answer could not be read.
    """

    id: str
    judge: str
    left: int
    better: Side | None
    reason: str = ""
    missing: Literal["refused", "unreadable"] | None = None

    @property
    def outcome(self) -> Outcome | None:
        """The verdict without sides."""
        if self.better is None:
            return None
        if self.better == "tie":
            return 0
        return 1 if (self.better == "left") == (self.left == 0) else -1


class VerdictFile:
    """The verdicts of models in one folder; each is on disk as soon as it is given.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.verdicts: list[Verdict] = []
        if self._file.is_file():
            raw = self._file.read_bytes()
            whole, _, rest = raw.rpartition(b"\n")
            if rest:
                # Killed while it wrote: the verdict is in the cache of replies, or is asked for again.
                logger.warning("%s ends within a line; the line is given up", self._file)
                self._file.write_bytes(whole + b"\n" if whole else b"")
            self.verdicts = [Verdict(**json.loads(line)) for line in whole.splitlines()]
        self._known = {(verdict.judge, verdict.id) for verdict in self.verdicts}

    def has(self, judge: str, comparison: Comparison) -> bool:
        """Whether a judge has said something about a comparison."""
        return (judge, comparison.id) in self._known

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
        self.verdicts.append(verdict)
        self._known.add((verdict.judge, verdict.id))


def read_downloads(files: Iterable[Path], comparisons: Iterable[Comparison]) -> list[Verdict]:
    """Verdicts of people, from files that they downloaded from the page.

    Args:
        files: The files.
        comparisons: The comparisons of the folder that the page was made from.

    Raises:
        SidecarError: `bad_request` for a file that is none, two files of one person, or verdicts on other comparisons.
    """
    known = {comparison.id: comparison for comparison in comparisons}
    found: list[Verdict] = []
    people: dict[str, Path] = {}
    for file in files:
        person, seed, verdicts = _read_download(file)
        if person in people:
            raise _fault(file, f"{people[person]} is of {person!r}, too", "change `person` in one of the files")
        people[person] = file
        for mark, side in verdicts.items():
            if mark not in known:
                raise _fault(file, f"comparison {mark} is not in this folder", "name the folder of the page")
            if side not in ("left", "right", "tie"):
                raise _fault(file, f"{side!r} is no verdict", "download the file again")
            found.append(Verdict(mark, person, known[mark].left(seed), side))
    return found


def _read_download(file: Path) -> tuple[str, str, Mapping[str, Any]]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != PAGE_FORMAT:
            raise ValueError(f"format {content['format']}")
        return str(content["person"]) or file.stem, str(content["shuffle"]), dict(content["verdicts"])
    except OSError as error:
        raise SidecarError("not_found", f"{file}: {error.strerror}", field="download") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _fault(file, f"{type(error).__name__} {error}", "download the file again") from error


def _fault(file: Path, message: str, hint: str) -> SidecarError:
    return SidecarError("bad_request", f"{file}: {message}", field="download", hint=hint)
