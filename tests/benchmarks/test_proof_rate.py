"""Proof rates: settings, the program's output, tables and the picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.proof_rate.report import failures_table, interval, picture, rate, rates_table, read_all
from benchmarks.proof_rate.run import command, known_premises, run_module
from benchmarks.proof_rate.settings import ENGINES, PREMISES, Setting, all_settings, setting_named
from benchmarks.proof_rate.trials import Trial, failures, read_output, read_results
from sidecar.errors import SidecarError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "extraction"

FAILURE = """no engine closed the goal
  aesop: no proof (812 ms): made no progress
  auto: timed out (10000 ms)
  duper: not run: no facts
  grind: error (3 ms): deterministic: timeout"""

OUTPUT = f"""a line that the file printed
proof-rate {json.dumps({"theorem": "A.b", "line": 7, "closed": True, "milliseconds": 1500, "message": ""})}
proof-rate {json.dumps({"theorem": "A.c", "line": 9, "closed": False, "milliseconds": 10250, "message": FAILURE})}
"""


def trial(closed: bool, milliseconds: int = 100, message: str = "") -> Trial:
    return Trial("t", "M", 1, closed, milliseconds, message)


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


def test_rates_over_time_only_grow() -> None:
    trials = [trial(True, 500), trial(True, 4000), trial(False, 10)]
    assert rate(trials) == pytest.approx(2 / 3)
    assert rate(trials, 1) == pytest.approx(1 / 3)
    assert rate([]) == 0
    low, high = interval(2 / 3, 3)
    assert 0 < low < 2 / 3 < high < 1


def test_tables_and_picture(tmp_path: Path) -> None:
    for name, text in (("fused-full", OUTPUT), ("none-aesop", OUTPUT)):
        (tmp_path / name).mkdir()
        rows = [line.removeprefix("proof-rate ") for line in text.splitlines()[1:]]
        (tmp_path / name / "Mathlib.A.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    results = read_all(tmp_path)
    assert list(results) == ["none-aesop", "fused-full"]
    table = rates_table(results)
    assert "| none-aesop | 2 | 50.0% |" in table
    assert "| fused-full | aesop | no proof | 1 |" in failures_table(results)
    picture(tmp_path / "rates.png", results)
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_known_premises_are_those_of_the_root() -> None:
    known = known_premises(GOLDEN)
    assert sorted(known["Num.add_comm"]) == ["Num.add_succ", "Num.add_zero", "Num.succ_add", "Num.zero_add"]
    assert "--known" in command("A", Setting("truth", "full"), 5, Path("known.json"))


def test_a_module_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "bin" / "lake"
    lake.parent.mkdir()
    lake.write_text(f"#!/bin/sh\ncat <<'END'\n{OUTPUT}END\n", encoding="utf-8")
    lake.chmod(0o755)
    monkeypatch.setenv("PATH", str(lake.parent), prepend=":")
    setting = Setting("fused", "full")
    assert run_module("A", setting, tmp_path, 1, None) is None
    written = list(read_results(tmp_path / setting.name))
    assert [result.closed for result in written] == [True, False]
    lake.write_text("#!/bin/sh\necho broken >&2\nexit 1\n", encoding="utf-8")
    assert run_module("A", setting, tmp_path, 1, None) is None
    assert "broken" in (run_module("B", setting, tmp_path, 1, None) or "")
