"""Whether Lean accepts a solution.

In: a solution's text. Out: a verdict, from the messages of `lake env lean --json`.

The axioms that the theorem rests on decide: `#print axioms` is put on a line of its own behind the solution, and only a
message from that line counts, so that nothing in the solution can speak in its place. The warning about `sorry` can be
turned off, the axiom `sorryAx` cannot.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.errors import SidecarError
from sidecar.prove.process import Finished, run_bounded

ALLOWED: Final = frozenset({"propext", "Classical.choice", "Quot.sound"})
"""Axioms of Lean's core that every proof may use."""

OUTPUT_BYTES: Final = 16 * 1024 * 1024
PROBE_SECONDS: Final = 600.0
"""How long the first call may take: it may fetch a toolchain."""

_SORRY: Final = re.compile(r"declaration uses ['`\"]sorry")
_DEPENDS: Final = re.compile(r"^['`](?P<name>.+?)['`] depends on axioms: \[(?P<axioms>[^\]]*)\]$", re.DOTALL)
_FREE: Final = re.compile(r"^['`](?P<name>.+?)['`] does not depend on any axioms$")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of Lean.

    Attributes:
        severity: `error`, `warning` or `information`.
        line: 1-based.
        data: What it says.
    """

    severity: str
    line: int
    data: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Lean's verdict.

    Attributes:
        status: `proved`, `error`, `sorry`, `axioms`, `timeout`, or `unclear` when Lean ended without saying enough.
        detail: The first error, or the axioms.
    """

    status: str
    detail: str = ""


def with_axioms(solution: str, theorem: str) -> tuple[str, int]:
    """The text that is checked, and the line that asks for the axioms."""
    text = solution if solution.endswith("\n") else solution + "\n"
    return f"{text}\n#print axioms _root_.{theorem}\n", text.count("\n") + 2


def read_messages(output: str) -> list[Message]:
    """The messages among the lines that were printed."""
    found = []
    for line in output.splitlines():
        try:
            row = json.loads(line)
            found.append(Message(row["severity"], row["pos"]["line"], row["data"]))
        except (ValueError, KeyError, TypeError):
            continue  # lake says something, too
    return found


def read_axioms(messages: Iterable[Message], line: int) -> frozenset[str] | None:
    """The axioms that the message from a line names; None when there is none."""
    for message in messages:
        if message.line != line or message.severity not in ("information", "info"):
            continue
        if _FREE.match(message.data.strip()):
            return frozenset()
        depends = _DEPENDS.match(message.data.strip())
        if depends:
            return frozenset(name.strip() for name in depends["axioms"].split(",") if name.strip())
    return None


def judge(finished: Finished, line: int) -> Checked:
    """The verdict of a run that checked a solution whose axioms are asked for on a line."""
    if finished.end != "exit":
        return Checked("timeout" if finished.end == "timeout" else "unclear", f"ended by {finished.end}")
    messages = read_messages(finished.output)
    errors = [message for message in messages if message.severity == "error"]
    if errors:
        return Checked("error", f"line {errors[0].line}: {errors[0].data[:500]}")
    axioms = read_axioms(messages, line)
    if (axioms is not None and "sorryAx" in axioms) or any(_SORRY.search(message.data) for message in messages):
        return Checked("sorry")
    if finished.exit_status != 0 or axioms is None:
        said = (finished.errors or finished.output).strip()[-500:]
        return Checked("unclear", f"exit status {finished.exit_status}: {said}")
    if axioms - ALLOWED:
        return Checked("axioms", ", ".join(sorted(axioms - ALLOWED)))
    return Checked("proved")


class Checker:
    """Checks solutions in a Lake project.

    Args:
        project: Its folder.
        seconds: How long one check may take.
    """

    def __init__(self, project: Path, seconds: float) -> None:
        self._project = project.resolve()
        self._seconds = seconds

    async def require_lean(self) -> str:
        """Lean's version.

        Raises:
            SidecarError: `not_found` when there is no toolchain or no project; `unreachable` when Lean does not start.
        """
        if shutil.which("lake") is None:
            raise SidecarError(
                "not_found",
                "no `lake` on PATH: proofs cannot be checked without a Lean toolchain",
                field="lake",
                hint="install elan (https://github.com/leanprover/elan), then give the command again",
            )
        if not any((self._project / name).is_file() for name in ("lakefile.lean", "lakefile.toml")):
            raise SidecarError(
                "not_found", f"{self._project} has no lakefile", field="project", hint="give a Lake project's folder"
            )
        finished = await self._run("--version", seconds=PROBE_SECONDS)
        if finished.end != "exit" or finished.exit_status != 0:
            raise SidecarError(
                "unreachable",
                f"`lake env lean --version` failed in {self._project}: {finished.errors.strip()[-500:]}",
                field="project",
                hint="build the project with `lake build` first",
            )
        return finished.output.strip()

    async def check(self, solution: str, theorem: str, file: Path) -> Checked:
        """Check one solution.

        Args:
            solution: Its text.
            theorem: Full name of what it must prove.
            file: Where the text that is checked is written.
        """
        text, line = with_axioms(solution, theorem)
        file.write_text(text, encoding="utf-8")
        return judge(await self._run("--json", str(file.resolve()), seconds=self._seconds), line)

    async def _run(self, *options: str, seconds: float) -> Finished:
        command = ["lake", "env", "lean", *options]
        return await run_bounded(command, folder=self._project, seconds=seconds, output_bytes=OUTPUT_BYTES)
