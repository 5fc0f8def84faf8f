"""Gives an agent Lean problems and a search tool, and counts the proofs that Lean accepts. Needs a Lean toolchain.

Usage: `python -m benchmarks.agents PROBLEMS --project FOLDER --agent COMMAND --search NAME=TOOL… --output FOLDER`.

PROBLEMS is JSON lines `{"id", "theorem", "text"}`: the full name of a theorem and a Lean file that states it with one
`sorry`. COMMAND is a line for the shell; in it `{problem}` stands for the file, which the agent edits in place, and
`{search}` for the search tool. TOOL is a command (`lean-sidecar search`) or an address; each `--search` is one arm, and
every arm gets every problem. A command is given as a script that counts its calls. The agent runs in the project's
folder, in a process group of its own that is killed when its time is up. Afterwards the solution must state what the
problem states (`problems.py` says what is allowed), compile under `lake env lean`, and rest on no axiom beyond
`propext`, `Classical.choice` and `Quot.sound`.

Every trial is a line of FOLDER/trials.jsonl; what is there already is left out, so an interrupted run goes on. The
solution, the text that was checked and the agent's output stay in FOLDER/<arm>/<problem>. Tables: FOLDER/report.md.

    python -m benchmarks.agents minif2f.jsonl --project ../mathlib --output results --seconds 600 \\
        --agent 'my-agent --edit {problem} --tool {search}' \\
        --search 'ours=lean-sidecar search' --search 'nothing=false'
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.agents.checking import Checker
from benchmarks.agents.problems import Problem, read_problems
from benchmarks.agents.trials import Trial, TrialFile, report
from sidecar.errors import SidecarError
from sidecar.progress import Progress
from sidecar.prove.process import Finished, run_bounded

AGENT_OUTPUT_BYTES: Final = 64 * 1024 * 1024
"""An agent that prints more is stopped."""

_ARM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Arm:
    """One search tool.

    Attributes:
        name: Its name in tables; safe as a folder.
        tool: A command line, or an address.
    """

    name: str
    tool: str

    @classmethod
    def read(cls, said: str) -> Arm:
        """Read `NAME=TOOL`.

        Raises:
            SidecarError: `bad_request` when it is none.
        """
        name, mark, tool = said.partition("=")
        if not mark or not tool.strip() or not _ARM.fullmatch(name):
            raise SidecarError(
                "bad_request", f"{said!r} is no search tool", field="search", hint="give NAME=COMMAND or NAME=ADDRESS"
            )
        return cls(name, tool.strip())

    @property
    def is_address(self) -> bool:
        """Whether the tool is an address."""
        return self.tool.startswith(("http://", "https://"))


class Agents:
    """Runs trials.

    Args:
        agent: The command line, with `{problem}` and `{search}`.
        checker: Checks solutions.
        project: Folder that the agent runs in.
        output: Folder of the run.
        seconds: Time limit of the agent.

    Raises:
        SidecarError: `bad_request` for a command line that does not name the problem.
    """

    def __init__(self, agent: str, checker: Checker, project: Path, output: Path, seconds: float) -> None:
        if "{problem}" not in agent:
            raise SidecarError(
                "bad_request", f"{agent!r} does not name the problem", field="agent", hint="put {problem} into it"
            )
        self._agent = agent
        self._checker = checker
        self._project = project.resolve()
        self._output = output.resolve()
        self._seconds = seconds

    def settings(self, arm: Arm, problem: Problem) -> str:
        """Hash of everything that decides a trial, chance aside."""
        said = json.dumps([self._agent, arm.tool, self._seconds, problem.digest])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    async def run(self, arm: Arm, problem: Problem, repetition: int) -> Trial:
        """Run the agent on a problem, and check what it made."""
        folder = self._output / arm.name / (problem.id if repetition == 0 else f"{problem.id}+{repetition}")
        folder.mkdir(parents=True, exist_ok=True)
        file, calls = folder / "Problem.lean", folder / "searches.log"
        file.write_text(problem.text, encoding="utf-8")
        calls.write_bytes(b"")
        tool = arm.tool if arm.is_address else str(_counting(folder / "search", arm.tool, calls))
        line = self._agent.replace("{problem}", shlex.quote(str(file))).replace("{search}", shlex.quote(tool))
        finished = await run_bounded(
            ["/bin/sh", "-c", line],
            folder=self._project,
            seconds=self._seconds,
            output_bytes=AGENT_OUTPUT_BYTES,
        )
        (folder / "agent.log").write_text(_log(line, finished), encoding="utf-8")
        status, detail = await self._judge(problem, file)
        return Trial(
            arm=arm.name,
            problem=problem.id,
            repetition=repetition,
            settings=self.settings(arm, problem),
            status=status,
            detail=detail,
            end=finished.end,
            exit_status=finished.exit_status,
            seconds=round(finished.seconds, 3),
            searches=None if arm.is_address else calls.read_bytes().count(b"\n"),
        )

    async def _judge(self, problem: Problem, file: Path) -> tuple[str, str]:
        try:
            solution = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return "gone", f"{type(error).__name__}: {error}"
        fault = problem.fault(solution)
        if fault is not None:
            status, _, detail = fault.partition(": ")
            return status, detail
        checked = await self._checker.check(solution, problem.theorem, file.with_name("Checked.lean"))
        return checked.status, checked.detail


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything that is not done yet; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path, help="file of problems")
    parser.add_argument("--project", type=Path, required=True, help="Lake project in which problems compile")
    parser.add_argument("--agent", required=True, help="command line with {problem} and {search}")
    parser.add_argument("--search", action="append", required=True, help="NAME=COMMAND or NAME=ADDRESS, one an arm")
    parser.add_argument("--output", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of the agent")
    parser.add_argument("--check-seconds", type=float, default=300.0, help="time limit of a check")
    parser.add_argument("--repeat", type=int, default=1, help="trials of each arm on each problem")
    parser.add_argument("--jobs", type=int, default=1, help="trials at the same time")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        print(asyncio.run(work(options)))
    except SidecarError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


async def work(options: argparse.Namespace) -> str:
    """Run all trials; their tables."""
    problems = read_problems(options.problems)
    arms = [Arm.read(said) for said in options.search]
    if len({arm.name for arm in arms}) < len(arms):
        raise SidecarError("bad_request", "two search tools have one name", field="search")
    checker = Checker(options.project, options.check_seconds)
    agents = Agents(options.agent, checker, options.project, options.output, options.seconds)
    kept = TrialFile(options.output)
    waiting = [
        (arm, problem, repetition)
        for repetition in range(options.repeat)
        for problem in problems
        for arm in arms
        if not kept.done(arm.name, problem.id, repetition, agents.settings(arm, problem))
    ]
    logging.getLogger(__name__).info("%s", await checker.require_lean())
    left_over = iter(waiting)
    with Progress("trials", len(waiting)) as progress:

        async def job() -> None:
            for arm, problem, repetition in left_over:
                kept.add(await agents.run(arm, problem, repetition))
                progress.advance()

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, options.jobs)):
                group.create_task(job())
    # In the order of the command line, then what earlier runs had besides.
    places = {arm.name: place for place, arm in enumerate(arms)}
    text = report(sorted(kept.trials, key=lambda trial: places.get(trial.arm, len(places))))
    (options.output / "report.md").write_text(text, encoding="utf-8")
    return text


def _counting(script: Path, command: str, calls: Path) -> Path:
    """A script that runs a command line with what it is given, and writes a line for each call."""
    script.write_text(f'#!/bin/sh\necho >>{shlex.quote(str(calls))}\n{command} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def _log(line: str, finished: Finished) -> str:
    head = f"$ {line}\n{finished.end}, status {finished.exit_status}, {finished.seconds:.1f} s\n"
    return f"{head}\n--- output\n{finished.output}\n--- errors\n{finished.errors}\n"


if __name__ == "__main__":
    sys.exit(main())
