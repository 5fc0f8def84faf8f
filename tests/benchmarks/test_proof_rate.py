"""Proof rates: settings, the program's output, tables and the picture."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.proof_rate import report
from benchmarks.proof_rate.report import (
    effective_count,
    failures_table,
    interval,
    picture,
    rate,
    rates_table,
    read_all,
)
from benchmarks.proof_rate.run import Plan, command, environment, known_premises, run_module
from benchmarks.proof_rate.settings import ENGINES, PREMISES, Setting, all_settings, setting_named
from benchmarks.proof_rate.trials import Trial, failures, read_output, read_results
from sidecar.errors import SidecarError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "extraction"

FAILURE = """no engine closed the goal
  aesop: no proof (812 ms): made no progress
  auto: timed out (10000 ms)
  duper: not run: no facts
  grind: error (3 ms): deterministic: timeout"""


def row(theorem: str, line: int, column: int, message: str | None, milliseconds: int) -> str:
    """A result as the Lean program writes it: a mark, and the fields in its order without blanks between them."""
    fields = {"theorem": theorem, "line": line, "column": column, "closed": message is None}
    fields |= {"milliseconds": milliseconds, "message": message or ""}
    return f"proof-rate {json.dumps(fields, ensure_ascii=False, separators=(',', ':'))}"


OUTPUT = f"""a line that the file printed

{row("A.b", 7, 3, None, 1500)}

{row("A.c", 9, 0, FAILURE, 10250)}
"""

# Two steps of one proof, the same step at two goals, and a step whose goal has a definition of its own command.
STEPS = f"""{row("A.b", 8, 2, FAILURE, 10250)}
{row("A.b", 9, 2, None, 1200)}
{row("A.«odd name».c", 12, 4, None, 40)}
{row("A.«odd name».c", 12, 4, "goals are left", 60)}
{row("A.d", 20, 2, "the goal mentions `A.d.match_1`, which its own command declares", 0)}
"""


def trial(closed: bool, milliseconds: int = 100, message: str = "", theorem: str = "t") -> Trial:
    return Trial(theorem, "M", 1, 0, closed, milliseconds, message)


def test_every_combination_is_a_setting() -> None:
    settings = all_settings()
    assert len({setting.name for setting in settings}) == len(settings) == len(PREMISES) * len(ENGINES)
    assert setting_named("fused-full") == Setting("fused", "full")
    with pytest.raises(KeyError):
        setting_named("fused-everything")


def test_the_tactic_says_where_premises_come_from() -> None:
    assert "(premises := 0)" in Setting("none", "auto").tactic
    assert "{known}" not in Setting("none", "auto").tactic
    assert Setting("truth", "aesop").tactic.endswith("{known}")
    neural = Setting("neural", "aesop+auto", 20).tactic
    assert 'set_option hammer.method "neural" in' in neural
    assert '(mode := "aesop+auto")' in neural
    assert "(timeout := 20)" in neural


def test_results_are_found_among_other_lines() -> None:
    first, second = read_output(OUTPUT, "A")
    assert (first.theorem, first.module, first.closed, first.milliseconds) == ("A.b", "A", True, 1500)
    assert not second.closed


def test_a_broken_result_is_refused() -> None:
    with pytest.raises(SidecarError, match="output for A"):
        read_output('proof-rate {"theorem": "A.b"}\n', "A")


def test_failures_are_told_by_engine_and_stage() -> None:
    (_, failed) = read_output(OUTPUT, "A")
    assert failures(failed) == {"aesop": "no proof", "auto": "timed out", "duper": "not run", "grind": "error"}
    assert failures(trial(True)) == {}
    assert failures(trial(False, message="goals are left")) == {"hammer": "goals left"}
    assert failures(trial(False, message="the sidecar did not answer")) == {"hammer": "selection"}
    assert failures(trial(False, message="maximum recursion depth has been reached")) == {"hammer": "error"}


def test_the_lean_program_writes_what_is_read_here() -> None:
    folder = Path(report.__file__).parent / "ProofRate"
    trial_text, steps_text = ((folder / name).read_text(encoding="utf-8") for name in ("Trial.lean", "Steps.lean"))
    written = re.findall(r'^ +\("(\w+)", Json\.', trial_text, re.MULTILINE)
    assert written == list(json.loads(row("t", 1, 0, None, 1).removeprefix("proof-rate ")))
    for message in ("goals are left", "the goal mentions `{name}`, which", "the tactic `{text}` does not parse: "):
        assert message in trial_text
    for message in ("nothing stands in front of", "the environment in front of", "proof_rate_trial ", '" with "'):
        assert message in steps_text


def test_what_was_not_tried_is_told_apart() -> None:
    *_, own = read_output(STEPS, "A")
    assert failures(own) == {"hammer": "not tried"}
    unread = trial(False, message="the tactic `hammer [a\n b]` does not parse: <input>:1:3: expected term")
    assert failures(unread) == {"hammer": "not tried"}


def test_steps_have_a_place_of_their_own() -> None:
    steps = read_output(STEPS, "A")
    assert [(step.line, step.column, step.closed) for step in steps[:4]] == [
        (8, 2, False),
        (9, 2, True),
        (12, 4, True),
        (12, 4, False),
    ]
    assert steps[2].theorem == "A.«odd name».c"


def test_rates_over_time_only_grow() -> None:
    trials = [trial(True, 500), trial(True, 4000), trial(False, 10)]
    assert rate(trials) == pytest.approx(2 / 3)
    assert rate(trials, 1) == pytest.approx(1 / 3)
    assert rate([]) == 0
    low, high = interval(2 / 3, 3)
    assert 0 < low < 2 / 3 < high < 1


def test_steps_of_one_proof_count_for_less_when_they_are_alike() -> None:
    apart = [trial(number % 2 == 0, theorem=f"t{number}") for number in range(40)]
    alike = [trial(number % 20 < 10, theorem=f"t{number // 10}") for number in range(40)]
    mixed = [trial(number % 2 == 0, theorem=f"t{number // 10}") for number in range(40)]
    assert effective_count(apart) == pytest.approx(40)
    assert effective_count(alike) < 5
    assert effective_count(mixed) == 40
    assert effective_count([trial(True, theorem=f"t{number // 10}") for number in range(40)]) == 4
    assert effective_count([]) == 0
    assert interval(0.5, effective_count(alike))[0] < interval(0.5, effective_count(apart))[0]


def test_tables_and_picture(tmp_path: Path) -> None:
    for name, text in (("fused-full", OUTPUT), ("none-aesop", OUTPUT)):
        (tmp_path / name).mkdir()
        rows = [line.removeprefix("proof-rate ") for line in text.splitlines() if line.startswith("proof-rate ")]
        (tmp_path / name / "Mathlib.A.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    results = read_all(tmp_path)
    assert list(results) == ["none-aesop", "fused-full"]
    table = rates_table("statements", results)
    assert "| none-aesop | 2 | 50.0% |" in table
    assert "| fused-full | aesop | no proof | 1 |" in failures_table(results)
    picture(tmp_path / "rates.png", "statements", results)
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_known_premises_are_those_of_the_root() -> None:
    known = known_premises(GOLDEN)
    assert sorted(known["Num.add_comm"]) == ["Num.add_succ", "Num.add_zero", "Num.succ_add", "Num.zero_add"]
    plan = Plan("statements", Path("out"), 5, Path("known.json"))
    assert "--known" in command("A", Setting("truth", "full"), plan)
    assert "--known" not in command("A", Setting("fused", "full"), plan)


def test_the_hook_gets_the_tactic_by_the_environment() -> None:
    plan = Plan("steps", Path("out"), 5, Path('/a "b"/known.json'))
    fused, truth = Setting("fused", "full"), Setting("truth", "full")
    assert command("A", fused, plan) == ["lake", "exe", "proof_rate", "A", "--fraction", "5", "--steps"]
    variables = environment(fused, plan)
    assert variables["TRY_AT_EACH_STEP_LABEL"] == "fused-full"
    literal = variables["TRY_AT_EACH_STEP_TACTIC"].removeprefix("proof_rate_trial ")
    # Quotation marks inside a Lean text are escaped as in JSON.
    assert json.loads(literal) == fused.tactic
    assert environment(truth, plan)["TRY_AT_EACH_STEP_TACTIC"].endswith(r' with "/a \"b\"/known.json"')
    statements = environment(fused, Plan("statements", Path("out")))
    assert "TRY_AT_EACH_STEP_TACTIC" not in statements


def fake_lake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in front of `lake` that prints what a script says."""
    lake = folder / "bin" / "lake"
    lake.parent.mkdir(exist_ok=True)
    lake.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    lake.chmod(0o755)
    monkeypatch.setenv("PATH", str(lake.parent), prepend=":")


def test_a_module_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_lake(tmp_path, monkeypatch, f"cat <<'END'\n{OUTPUT}END\n")
    setting, plan = Setting("fused", "full"), Plan("statements", tmp_path)
    assert run_module("A", setting, plan) is None
    written = list(read_results(tmp_path / "statements" / setting.name))
    assert [result.closed for result in written] == [True, False]
    fake_lake(tmp_path, monkeypatch, "echo broken >&2\nexit 1\n")
    assert run_module("A", setting, plan) is None
    assert "broken" in (run_module("B", setting, plan) or "")


def test_statements_and_steps_are_kept_and_reported_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = Setting("fused", "full")
    fake_lake(tmp_path, monkeypatch, f"cat <<'END'\n{OUTPUT}END\n")
    assert run_module("A", setting, Plan("statements", tmp_path)) is None
    fake_lake(tmp_path, monkeypatch, f"cat <<'END'\n{STEPS}END\n")
    assert run_module("A", setting, Plan("steps", tmp_path)) is None
    monkeypatch.setattr("sys.argv", ["report", str(tmp_path)])
    report.main()
    statements, steps = capsys.readouterr().out.split("## At the steps")
    assert "## At the statements" in statements
    assert "| fused-full | 2 | 50.0% |" in statements
    assert "| fused-full | 5 | 40.0% |" in steps
    assert "| fused-full | hammer | not tried | 1 |" in steps
    assert {file.name for file in tmp_path.glob("*.png")} == {"statements.png", "steps.png"}


def test_a_tactic_that_never_parses_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unread = row("A.b", 7, 3, "the tactic `hammre` does not parse: <input>:1:1: expected tactic", 0)
    fake_lake(tmp_path, monkeypatch, f"cat <<'END'\n{unread}\nEND\n")
    assert "does not parse" in (run_module("A", Setting("fused", "full"), Plan("steps", tmp_path)) or "")
    assert not list(tmp_path.glob("steps/**/*.jsonl"))
