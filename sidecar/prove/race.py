"""The race: every chosen prover on one problem at once, until one has a proof.

In: TPTP text and a limit of time. Out: the verdict, the winner, and the names of the formulas that its proof used.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sidecar.encoder.threads import usable_cores
from sidecar.prove.output import read_output
from sidecar.prove.problem import Problem, read_problem
from sidecar.prove.process import run_bounded
from sidecar.prove.provers import Prover, choose, find_provers

OUTPUT_BYTES = 16 * 1024 * 1024
"""Largest output of one prover; a proof that is longer is of no use to anybody."""

DETAIL_CHARACTERS = 300

RunStatus = Literal["theorem", "counter_satisfiable", "timeout", "gave_up", "error", "stopped"]
"""How one prover ended: our five verdicts, or stopped because another one was faster."""

Status = Literal["theorem", "counter_satisfiable", "timeout", "gave_up", "no_prover"]


@dataclass(frozen=True, slots=True)
class Run:
    """One prover's part in a race.

    Attributes:
        name: The prover.
        status: How it ended.
        milliseconds: How long it ran.
        detail: What it complained about, when it ended with an error.
    """

    name: str
    status: RunStatus
    milliseconds: float
    detail: str | None = None

    def as_wire(self) -> dict[str, object]:
        """The map of this run in an answer."""
        wire: dict[str, object] = {
            "name": self.name,
            "status": self.status,
            "milliseconds": round(self.milliseconds, 1),
        }
        if self.detail is not None:
            wire["detail"] = self.detail
        return wire


@dataclass(frozen=True, slots=True)
class ProofAnswer:
    """How a race ended.

    Attributes:
        status: The best that any prover said.
        prover: Who said so; None where nobody said anything of use.
        used: Names of the formulas that a proof rests on; empty without a proof.
        used_from: `proof` where the prover printed its proof; `problem` where it did not, and `used` is therefore
            every premise of the problem; None without a proof.
        runs: One entry for each prover that ran.
    """

    status: Status
    prover: str | None
    used: tuple[str, ...]
    used_from: Literal["proof", "problem"] | None
    runs: tuple[Run, ...]

    def as_wire(self) -> dict[str, object]:
        """The answer of `prove`."""
        return {
            "status": self.status,
            "prover": self.prover,
            "used": list(self.used),
            "used_from": self.used_from,
            "provers": [run.as_wire() for run in self.runs],
        }


class ProofRace:
    """Runs races, a bounded number at a time.

    Args:
        find: Which provers are installed.
        at_once: Races that run at the same time; more wait within their own deadlines. 0 chooses the number of usable
            cores.
    """

    def __init__(self, find: Callable[[], tuple[Prover, ...]] = find_provers, at_once: int = 0) -> None:
        self._find = find
        self._slots = asyncio.Semaphore(at_once or usable_cores())

    async def run(self, text: str, seconds: float, names: tuple[str, ...] | None = None) -> ProofAnswer:
        """Race provers on a problem.

        Args:
            text: The problem in TPTP.
            seconds: Wall clock limit, the wait for a slot included.
            names: Provers to use; None for all that are installed.

        Raises:
            SidecarError: `bad_request`, see `read_problem` and `choose`.
        """
        until = time.monotonic() + seconds
        problem = read_problem(text)
        provers = choose(await asyncio.to_thread(self._find), names)
        if not provers:
            return ProofAnswer("no_prover", None, (), None, ())
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            return ProofAnswer("timeout", None, (), None, ())
        try:
            return await _race(problem, provers, until)
        finally:
            self._slots.release()


async def _race(problem: Problem, provers: tuple[Prover, ...], until: float) -> ProofAnswer:
    with tempfile.TemporaryDirectory(prefix="lean-sidecar-") as name:
        folder = Path(name)
        file = folder / "problem.p"
        await asyncio.to_thread(file.write_text, problem.text, "utf-8")
        began = time.monotonic()
        tasks = {asyncio.create_task(_run(prover, file, until - began), name=prover.name): prover for prover in provers}
        results: dict[str, tuple[Run, frozenset[str] | None]] = {}
        try:
            for finished in asyncio.as_completed(tasks):
                run, used = await finished
                results[run.name] = (run, used)
                if run.status == "theorem" or (run.status == "counter_satisfiable" and problem.first_order):
                    break
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for prover in provers:
            stopped = Run(prover.name, "stopped", 1000 * (time.monotonic() - began))
            results.setdefault(prover.name, (stopped, None))
    return _judge(problem, [results[prover.name] for prover in provers])


async def _run(prover: Prover, file: Path, seconds: float) -> tuple[Run, frozenset[str] | None]:
    """Let one prover work on the problem, and read what it says."""
    whole_seconds = max(1, math.ceil(seconds))
    command = prover.command(file.name, whole_seconds)
    try:
        done = await run_bounded(command, folder=file.parent, seconds=seconds, output_bytes=OUTPUT_BYTES)
    except OSError as error:
        return Run(prover.name, "error", 0.0, str(error)), None
    said = read_output(done.output)
    milliseconds = 1000 * done.seconds
    if said.verdict is not None and said.verdict != "error":
        return Run(prover.name, said.verdict, milliseconds), said.used
    if done.end == "timeout":
        return Run(prover.name, "timeout", milliseconds), None
    if done.end == "overflow":
        detail = f"printed more than {OUTPUT_BYTES} bytes"
    else:
        words = done.errors.strip() or done.output.strip() or f"exit status {done.exit_status}, nothing printed"
        detail = words[:DETAIL_CHARACTERS]
    return Run(prover.name, "error", milliseconds, detail), None


def _judge(problem: Problem, results: list[tuple[Run, frozenset[str] | None]]) -> ProofAnswer:
    """The best verdict of a race: a proof, else a refutation, else that time ran out, else nothing."""
    runs = tuple(run for run, _ in results)
    for status in ("theorem", "counter_satisfiable", "timeout"):
        for run, used in results:
            if run.status != status:
                continue
            if status != "theorem":
                return ProofAnswer(run.status, run.name, (), None, runs)
            if used is None:
                return ProofAnswer("theorem", run.name, problem.premises, "problem", runs)
            names = tuple(name for name in problem.premises if name in used)
            return ProofAnswer("theorem", run.name, names, "proof", runs)
    return ProofAnswer("gave_up", None, (), None, runs)
