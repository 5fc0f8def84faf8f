"""Agents on Lean problems: what counts as a proof, what is kept, what is killed. `lake` is a script here."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.agents.__main__ import main
from benchmarks.agents.checking import Checked, judge, read_axioms, read_messages, with_axioms
from benchmarks.agents.problems import Problem, read_problems, without_comments
from benchmarks.agents.trials import TrialFile
from sidecar.errors import SidecarError
from sidecar.prove.process import Finished

TEXT = """import Mathlib
/-! Problems. -/
open Nat

/-- Even sums: not a `sorry`. -/
theorem Sums.even_add (a b : ℕ) (ha : Even a)
    (hb : Even b) : Even (a + b) := by
  sorry
"""
PROBLEM = Problem.of("even-add", "Sums.even_add", TEXT)
PROOF = TEXT.replace("  sorry\n", "  exact ha.add hb\n")


def message(data: str, line: int, severity: str = "information", kind: str = "[anonymous]") -> str:
    """A line as `lean --json` prints it (4.31 to 4.34)."""
    place = {"column": 0, "line": line}
    row = {"caption": "", "data": data, "endPos": place, "fileName": "P.lean", "isSilent": False}
    return json.dumps({**row, "keepFullRange": False, "kind": kind, "pos": place, "severity": severity}) + "\n"


SORRY = (
    '{"caption":"","data":"declaration uses `sorry`","endPos":{"column":18,"line":6},"fileName":"P.lean",'
    '"isSilent":false,"keepFullRange":false,"kind":"hasSorry","pos":{"column":8,"line":6},"severity":"warning"}\n'
)
OLD_SORRY = SORRY.replace("`sorry`", "'sorry'")
ERROR = message("unsolved goals\na : ℕ\n⊢ Even a", 8, "error", "Tactic.unsolvedGoals")
GOOD = message("'Sums.even_add' depends on axioms: [propext,\n Classical.choice,\n Quot.sound]", 11)
FREE = message("'Sums.even_add' does not depend on any axioms", 11)
WITH_SORRY = message("'Sums.even_add' depends on axioms: [propext, sorryAx]", 11)
NATIVE = message("'Sums.even_add' depends on axioms: [propext, Lean.ofReduceBool]", 11)


def finished(output: str, status: int = 0, end: str = "exit") -> Finished:
    return Finished(end, output, "", status, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("output", "status", "verdict"),
    [
        (GOOD, 0, "proved"),
        ("✔ [3/3] Built Mathlib\n" + message("unused variable `x`", 4, "warning") + FREE, 0, "proved"),
        (SORRY + GOOD, 0, "sorry"),
        (OLD_SORRY + GOOD, 0, "sorry"),
        (WITH_SORRY, 0, "sorry"),  # `set_option warn.sorry false`
        (NATIVE, 0, "axioms"),
        (ERROR + GOOD, 1, "error"),
        (message("'Sums.even_add' does not depend on any axioms", 9), 0, "unclear"),  # another line said so
        (message("'Sums.even_add' depends on axioms: [propext] and so on", 11), 0, "unclear"),
        ("", 1, "unclear"),
        ("", 0, "unclear"),
        (GOOD, 1, "unclear"),
        ('{"severity": "error"}\nnull\n[1]\n' + GOOD, 0, "proved"),
    ],
)
def test_what_lean_says_decides(output: str, status: int, verdict: str) -> None:
    assert judge(finished(output, status), 11).status == verdict


def test_details_of_verdicts() -> None:
    assert judge(finished(NATIVE), 11) == Checked("axioms", "Lean.ofReduceBool")
    assert judge(finished(ERROR), 11).detail.startswith("line 8: unsolved goals")
    assert judge(finished(GOOD, end="timeout"), 11).status == "timeout"
    assert judge(finished(GOOD, end="overflow"), 11).status == "unclear"
    assert read_axioms(read_messages(FREE), 11) == frozenset()
    assert read_axioms(read_messages(FREE), 12) is None


@pytest.mark.parametrize("text", [PROOF, PROOF.rstrip("\n"), "theorem x : True := trivial"])
def test_the_axioms_are_asked_for_on_the_last_line(text: str) -> None:
    whole, line = with_axioms(text, "Sums.even_add")
    assert whole.split("\n")[line - 1] == "#print axioms _root_.Sums.even_add"
    assert whole.endswith("even_add\n")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text, None),
        (lambda text: text + "\ntheorem later : True := trivial\n", None),
        (lambda text: text.replace("/-- Even", "lemma before : True := by\n  trivial\n\n/-- Even"), None),
        (lambda text: text.replace("(hb : Even b) :", "\n   -- said again\n (hb : Even b)   :"), None),
        (lambda text: text.replace(":= by\n  exact ha.add hb", ":= ha.add hb"), None),
        (
            lambda text: text.replace(
                "exact", '-- sorry, macro, axiom\n  /- /- sorry -/ #eval -/ have := "-- "\n  exact'
            ),
            None,
        ),
        (lambda text: text.replace("exact ha.add hb", "nlinarith [Nat.prefix.elab, macro']"), None),
        (lambda text: TEXT, "unchanged"),
        (lambda text: TEXT + "\n-- tried hard\n", "unchanged"),
        (lambda text: TEXT.replace("  sorry", "  constructor; sorry"), "sorry"),
        (lambda text: TEXT.replace("  sorry", "  admit"), "sorry"),
        (lambda text: text.replace("Even (a + b)", "Even (a + a)"), "changed: the statement"),
        (
            lambda text: text.replace("(b : ℕ)", "(b : ℕ) (h : False)").replace("(a b", "(h : False) (a b"),
            "changed: the statement",
        ),
        (lambda text: text.replace("open Nat", "open Real"), "changed: the header"),
        (lambda text: text.replace("import Mathlib", "import MathlibX"), "changed: the header"),
        (lambda text: "import Evil\n" + text, "changed: the header"),
        (lambda text: text.replace("/-- Even", "open Evil\n/-- Even"), "changed: open before the statement"),
        (
            lambda text: text.replace("/-- Even", "def Even (n : ℕ) := True\n/-- Even"),
            "changed: def before the statement",
        ),
        (lambda text: text.replace("/-- Even", 'local notation "Even" => id\n/-- Even'), "forbidden: notation"),
        (lambda text: text.replace("/-- Even", "axiom magic : False\n/-- Even"), "forbidden: axiom"),
        (lambda text: text + "#eval 1\n", "forbidden: #eval"),
        (lambda text: text + "#exit\n", "forbidden: #exit"),
        (lambda text: text.replace("exact", 'have := "--"; run_tac done\n  exact'), "forbidden: run_tac"),
        (
            lambda text: text.replace("exact", "set_option debug.skipKernelTC true in exact"),
            "forbidden: debug.skipKernelTC",
        ),
    ],
)
def test_a_solution_must_state_what_the_problem_states(change: object, fault: str | None) -> None:
    assert callable(change)
    assert PROBLEM.fault(change(PROOF)) == fault


def test_words_that_a_problem_holds_itself_are_allowed() -> None:
    text = TEXT.replace("open Nat", 'open Nat\nlocal notation "E" => Even')
    problem = Problem.of("p", "Sums.even_add", text)
    assert problem.fault(text.replace("sorry", "exact ha.add hb")) is None


def test_what_opens_a_namespace_for_the_statement_alone_belongs_to_it() -> None:
    text = "import Mathlib\nnamespace A\nopen Real in\n@[simp] theorem b : π > 3 := sorry\nend A\n"
    problem = Problem.of("p", "A.b", text)
    assert problem.header == "import Mathlib namespace A"
    assert problem.statement == "open Real in @[simp] theorem b : π > 3"
    moved = text.replace("open Real in\n", "open Real in\ntheorem c : True := trivial\n").replace(
        "sorry", "pi_gt_three"
    )
    assert problem.fault(moved) == "changed: the statement"
    before = text.replace("open Real in\n", "theorem c : True := trivial\nopen Real in\n").replace(
        "sorry", "pi_gt_three"
    )
    assert problem.fault(before) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("theorem a : True := trivial", "0 times `sorry`"),
        ("theorem a : True := sorry\ntheorem b : True := sorry", "2 times `sorry`"),
        ("theorem b : True := sorry", "nothing states a"),
        ("theorem a.b : True := sorry", "nothing states a"),
        ("theorem a : True := by simp; sorry", "does not stand before"),
        ("module\ntheorem a : True := sorry", "header `module`"),
    ],
)
def test_what_is_no_problem(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"id": "a", "theorem": "a", "text": text}) + "\n", encoding="utf-8")
    with pytest.raises(SidecarError, match=f"line 1.*{says}"):
        read_problems(file)


@given(st.text(alphabet="-/\"\\ax\n'", max_size=40))
def test_comments_are_cut_from_any_text(text: str) -> None:
    plain = without_comments(text)
    assert len(plain) <= len(text) + 1
    assert without_comments(f"/- {text.replace('/', '')} -/b").strip() == "b"


def test_comments_within_strings_and_characters() -> None:
    assert without_comments('a "-- b" c -- d\ne') == 'a "-- b" c  \ne'
    assert without_comments("a '\"' -- b") == "a '\"'  "
    assert without_comments("a' b' -- c") == "a' b'  "
    assert without_comments('x /- y /- z -/ " -/ w') == "x   w"
    assert without_comments('r#"a" -- b"# c') == 'r#"a" -- b"# c'


LAKE = """#!/bin/sh
# Says what Lean says: `env lean --version`, or `env lean --json FILE`.
if [ "$3" = --version ]; then echo "Lean (version 4.33.0)"; exit 0; fi
line=$(wc -l < "$4")
if grep -q 'decide' "$4"; then sleep 60; fi
if grep -q 'exact' "$4"; then
  echo '{"severity":"information","pos":{"line":'$line',"column":0},"data":"'"'T'"' depends on axioms: [propext]"}'
  exit 0
fi
echo '{"severity":"error","pos":{"line":2,"column":0},"data":"unsolved goals"}'
exit 1
"""

AGENT = """#!/bin/sh
# Edits the file as its name tells; asks the search tool first.
"$2" "how to prove $1" | grep -q found && proof='exact trivial' || proof='nonsense'
case "$1" in
  *hang*) sleep 600 & echo $! > "$1.child"; wait ;;
  *delete*) rm "$1" ;;
  *slow*) sed -i "s/sorry/decide/" "$1" ;;
  *lazy*) ;;
  *) sed -i "s/sorry/$proof/" "$1" ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, an agent, a search tool, problems, and a `lake` on PATH."""
    for name, text in (("lake", LAKE), ("agent", AGENT), ("tool", "#!/bin/sh\necho found: $1\n")):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "lakefile.toml").write_text('name = "p"\n')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    write_problems(tmp_path, "plain", "lazy", "delete")
    return tmp_path


def write_problems(world: Path, *ids: str) -> None:
    rows = [{"id": one, "theorem": "T", "text": "theorem T : True := by\n  sorry\n"} for one in ids]
    (world / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(world: Path, *options: str) -> int:
    agent = f"{shlex.quote(str(world / 'bin' / 'agent'))} {{problem}} {{search}}"
    command = [str(world / "problems.jsonl"), "--project", str(world / "project"), "--agent", agent]
    command += ["--output", str(world / "out"), "--search", "ours=tool", "--search", "none=false", *options]
    return main(command)


def statuses(world: Path) -> dict[tuple[str, str], str]:
    return {(trial.arm, trial.problem): trial.status for trial in TrialFile(world / "out").trials}


def test_arms_differ_by_their_search_tool(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world, "--jobs", "2") == 0
    assert statuses(world) == {
        ("ours", "plain"): "proved",
        ("none", "plain"): "error",
        **{(arm, "lazy"): "unchanged" for arm in ("ours", "none")},
        **{(arm, "delete"): "gone" for arm in ("ours", "none")},
    }
    said = capsys.readouterr().out
    assert "| ours | 3 | 3 | 1 | 0.333 [" in said
    assert said.count("| 1.0 |") == 2  # each agent searched once
    assert "| ours : none | 3 | +0.333 [" in said
    assert (world / "out" / "report.md").read_text() == said.rstrip("\n") + "\n"
    assert (world / "out" / "ours" / "plain" / "Checked.lean").read_text().endswith("#print axioms _root_.T\n")


def test_what_is_done_is_left_out_and_a_cut_line_done_again(world: Path) -> None:
    assert run(world) == 0
    file = world / "out" / "trials.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]) + lines[3][:20])
    (world / "out" / "ours" / "plain" / "agent.log").unlink()
    assert run(world) == 0
    assert len(file.read_text().splitlines()) == 6
    assert not (world / "out" / "ours" / "plain" / "agent.log").exists()
    assert run(world, "--repeat", "2") == 0
    assert len(file.read_text().splitlines()) == 12


def test_another_agent_does_not_take_the_folder(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world) == 0
    assert run(world, "--seconds", "5") != 0
    assert "name another --output" in capsys.readouterr().err


def test_an_agent_that_hangs_is_killed_with_its_children(world: Path) -> None:
    write_problems(world, "hang")
    assert run(world, "--seconds", "1") == 0
    (one, _) = TrialFile(world / "out").trials
    assert (one.end, one.status) == ("timeout", "unchanged")
    child = int((world / "out" / "ours" / "hang" / "Problem.lean.child").read_text())
    stat = Path(f"/proc/{child}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_check_that_takes_too_long_is_no_proof(world: Path) -> None:
    write_problems(world, "slow")
    assert run(world, "--check-seconds", "1") == 0
    assert set(statuses(world).values()) == {"timeout"}


def test_without_a_toolchain_it_says_so(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert run(world) != 0
    said = capsys.readouterr().err
    assert "no `lake` on PATH" in said
    assert "elan" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--project", "/"), "has no lakefile"),
        (("--agent", "agent"), "does not name the problem"),
        (("--search", "ours=again"), "one name"),
        (("--search", "nothing"), "NAME=COMMAND"),
        (("--search", "a/b=x"), "NAME=COMMAND"),
    ],
)
def test_wrong_options_are_named(
    world: Path, change: tuple[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(world, *change) != 0
    assert says in capsys.readouterr().err


def test_a_lake_that_fails_is_told(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "bin" / "lake").write_text("#!/bin/sh\necho error: no toolchain >&2\nexit 1\n")
    assert run(world) != 0
    assert "error: no toolchain" in capsys.readouterr().err


def test_an_address_is_given_as_it_is(world: Path) -> None:
    write_problems(world, "lazy")
    (world / "bin" / "agent").write_text('#!/bin/sh\necho "asked $2"\n')
    assert run(world, "--search", "web=http://127.0.0.1:1/search") == 0
    assert "asked http://127.0.0.1:1/search" in (world / "out" / "web" / "lazy" / "agent.log").read_text()
    assert next(trial for trial in TrialFile(world / "out").trials if trial.arm == "web").searches is None
