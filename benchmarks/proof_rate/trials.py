"""What `lake exe proof_rate` prints, read.

In: its output, or files with its results. Out: `Trial` records and the stage at which a failed one failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.errors import SidecarError

MARK: Final = "proof-rate "
"""Start of a line that holds a result; the file that is elaborated may print, too."""

_ENGINE_LINE: Final = re.compile(
    r"^\s+(?P<engine>[\w+ ]+?): (?P<outcome>not run|no proof|timed out|stopped, another engine was faster|error)"
    r"(?: \((?P<milliseconds>\d+) ms\))?(?:: (?P<detail>.*))?$"
)

_UNREADABLE: Final = re.compile(r"the tactic `.*` does not parse: ", re.DOTALL)
_UNSTATED: Final = ("the goal mentions `", "nothing stands in front of", "the environment in front of")


@dataclass(frozen=True, slots=True)
class Trial:
    """One call of the tactic, on the statement of a theorem or at a step of a proof.

    Attributes:
        theorem: The theorem; at a step, the declaration that the proof belongs to.
        module: Its module.
        line: Line of its proof, or of the step, from 1.
        column: Column in that line, from 0.
        closed: Whether the tactic closed the statement, or the goal of the step.
        milliseconds: How long the call took.
        message: What the tactic said when it failed.
    """

    theorem: str
    module: str
    line: int
    column: int
    closed: bool
    milliseconds: int
    message: str


def read_output(text: str, module: str) -> list[Trial]:
    """The results among the lines that the program printed.

    Raises:
        SidecarError: `bad_request` when a marked line holds no result.
    """
    marked = (line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK))
    return [_trial(line, module, f"output for {module}") for line in marked]


def read_results(folder: Path) -> Iterator[Trial]:
    """The results of one setting, as the runner wrote them: one file a module.

    Raises:
        SidecarError: `bad_request` when a line holds no result.
    """
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield _trial(line, file.stem, str(file))


def failures(trial: Trial) -> dict[str, str]:
    """Where a failed trial failed: engine → how it ended.

    When no engine was run, the one entry is `hammer`: `not tried` when the goal cannot be stated in front of its own
    command or the text of the tactic cannot be read, `selection` when premises could not be had, `goals left` when the
    tactic ended with goals, and `error` for anything else.
    """
    if trial.closed:
        return {}
    found = {
        match["engine"]: match["outcome"] for match in map(_ENGINE_LINE.match, trial.message.splitlines()) if match
    }
    if found:
        return found
    if unreadable(trial) or trial.message.startswith(_UNSTATED):
        return {"hammer": "not tried"}
    if trial.message == "goals are left":
        return {"hammer": "goals left"}
    return {"hammer": "selection" if "sidecar" in trial.message or "premise" in trial.message else "error"}


def unreadable(trial: Trial) -> bool:
    """Whether the text of the tactic could not be read."""
    return _UNREADABLE.match(trial.message) is not None


def _trial(line: str, module: str, place: str) -> Trial:
    try:
        row: dict[str, Any] = json.loads(line)
        return Trial(
            theorem=row["theorem"],
            module=module,
            line=row["line"],
            column=row["column"],
            closed=row["closed"],
            milliseconds=row["milliseconds"],
            message=row["message"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SidecarError(
            "bad_request", f"{place}: {type(error).__name__} {error} in {line[:80]!r}", field=place, hint="run it again"
        ) from error
