"""The command line, run as a person runs it: real processes, real index, real server."""

from __future__ import annotations

import inspect
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from sidecar.cli.main import app
from sidecar.encoder.static import StaticEncoder
from tests.running import ROOT, alive, eventually
from tests.running import run_command as run

EXAMPLE = ROOT / "sidecar" / "corpus" / "example"


@pytest.fixture(scope="module")
def index(user: dict[str, str]) -> Path:
    """The user's default index, of the example library, made by the command."""
    done = run(user, "index", "build", str(EXAMPLE), "--encoder", "static")
    assert done.returncode == 0, done.stderr
    return Path(user["LEAN_SIDECAR_DATA"]) / "default"


def test_an_index_has_an_encoder_for_each_role(user: dict[str, str], tmp_path: Path) -> None:
    def encoders(*options: str) -> list[str]:
        folder = tmp_path / "-".join(("i", *options))
        done = run(user, "index", "build", str(EXAMPLE), "--output", str(folder), *options)
        assert done.returncode == 0, done.stderr
        updated = run(user, "index", "update", str(folder), str(EXAMPLE), "--json")
        assert json.loads(updated.stdout)["encoded"] == 0
        body = json.loads((folder / "manifest.json").read_bytes())
        return [body["vectors"][body["roles"][role]]["encoder"] for role in ("premises", "search")]

    assert encoders() == ["static", "small"]
    assert encoders("--encoder", "static") == ["static", "static"]
    assert encoders("--search-encoder", "static") == ["static", "static"]


def error_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert "Traceback" not in done.stderr
    wire: dict[str, str] = json.loads(done.stdout)["error"]
    return wire


def test_help_and_version_load_no_model(user: dict[str, str]) -> None:
    code = (
        "import sys; sys.argv = ['lean-sidecar', '--help']\n"
        "from sidecar.__main__ import main\n"
        "try: main()\nexcept SystemExit as done: assert not done.code\n"
        "heavy = {'torch', 'numpy', 'transformers', 'faiss', 'aiohttp', 'lxml', 'rich', 'pydantic', 'sqlite3', 'json',"
        " 'asyncio', 'logging', 'http', 'ssl'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in ("serve", "bridge", "mcp", "premises", "search", "index", "corpus", "status", "stop", "demo"):
        assert command in done.stdout
    assert run(user, "--version").stdout.startswith("lean-sidecar 0.")


def test_the_bridge_starts_without_what_reads_options(user: dict[str, str]) -> None:
    code = (
        "import sys; sys.argv = ['lean-sidecar', 'bridge']\n"
        "from sidecar.__main__ import main\n"
        "try: main()\nexcept SystemExit as done: assert not done.code\n"
        "heavy = {'typer', 'click', 'rich', 'numpy', 'aiohttp'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=user
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "frames" in run(user, "bridge", "--help").stdout
    assert run(user, "bridge", "--no-such-option").returncode == 2


def test_status_without_a_server_says_so_and_starts_none(user: dict[str, str]) -> None:
    alone = {**user, "LEAN_SIDECAR_RUNTIME": user["LEAN_SIDECAR_RUNTIME"] + "-alone"}
    done = run(alone, "status", "--json")
    assert done.returncode == 6
    assert error_of(done)["code"] == "unreachable"
    assert run(alone, "status").returncode == 6


def test_index_info_and_verify(user: dict[str, str], index: Path) -> None:
    info = json.loads(run(user, "index", "info", "--json").stdout)
    assert info["counts"]["declarations"] == 459
    assert info["encoders"]["premises"]["name"] == "static"
    verified = run(user, "index", "verify")
    assert verified.returncode == 0
    assert "all checks passed" in verified.stdout


def test_a_flipped_byte_is_found(user: dict[str, str], index: Path, tmp_path: Path) -> None:
    copy = tmp_path / "index"
    shutil.copytree(index, copy)
    largest = max((path for path in copy.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(bytes(data))
    done = run(user, "index", "verify", str(copy), "--json")
    assert done.returncode == 1
    assert any(largest.name in fault for fault in json.loads(done.stdout)["faults"])


def test_an_update_encodes_only_what_changed(user: dict[str, str], index: Path, tmp_path: Path) -> None:
    copy, library = tmp_path / "index", tmp_path / "library"
    shutil.copytree(index, copy)
    shutil.copytree(EXAMPLE, library)
    module = next(path for path in library.glob("*.jsonl") if '"Bool.xor_self"' in path.read_text(encoding="utf-8"))
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("Exclusive or of a value with itself is false.", "A value differs not from itself."))
    done = run(user, "index", "update", str(copy), str(library), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["changed"] == 1
    assert report["encoded"] == 1


def test_proofs_are_given_to_an_index_and_missed_when_they_are_gone(
    user: dict[str, str], index: Path, tmp_path: Path
) -> None:
    copy, proofs = tmp_path / "index", tmp_path / "proofs.jsonl"
    shutil.copytree(index, copy)
    proofs.write_text('{"name": "Nat.gcd_comm", "premises": ["Nat.dvd_antisymm"]}\n')
    done = run(user, "index", "update", str(copy), str(EXAMPLE), "--proofs", str(proofs), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) | {"revision": ""} == {
        **dict.fromkeys(("added", "changed", "removed", "encoded"), 0),
        **{name: json.loads(done.stdout)[name] for name in ("unchanged", "reused")},
        "proofs": 1,
        "revision": "",
    }
    assert json.loads(run(user, "index", "info", str(copy), "--json").stdout)["counts"]["proofs"] == 1
    assert run(user, "index", "verify", str(copy)).returncode == 0
    done = run(user, "index", "update", str(copy), str(EXAMPLE))
    assert done.returncode == 0 and "knows no proofs any more" in done.stderr
    proofs.write_text('{"name": "Of.another", "premises": ["Library.altogether"]}\n')
    words = ["--encoder", "static", "--output", str(tmp_path / "other"), "--proofs", str(proofs)]
    done = run(user, "index", "build", str(EXAMPLE), *words)
    assert done.returncode == 0 and f"{proofs} tells nothing" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "field"),
    [
        (["index", "info", "/no/such/folder"], 4, "index"),
        (["index", "build", "--proofs", "/no/such/file"], 2, "proofs"),
        (["index", "build", str(EXAMPLE), "--proofs", "/no/such/file"], 4, "/no/such/file"),
        (["index", "build", "/no/such/folder", "--output", "/tmp/never"], 4, None),
        (["premises", "⊢ True", "-k", "0"], 2, "k"),
        (["search", "x", "--kind", "lemmma"], 2, "kinds"),
        (["search", ""], 2, "query"),
        (["premises", "⊢ True", "--method", "magic"], 2, "method"),
        (["status", "--url", "nonsense"], 2, "url"),
    ],
)
def test_bad_input_names_the_field_and_ends_with_its_status(
    user: dict[str, str], index: Path, words: list[str], status: int, field: str | None
) -> None:
    done = run(user, *words, "--json")
    wire = error_of(done)
    assert done.returncode == status, wire
    if field is not None:
        assert field in wire["field"]
    plain = run(user, *words)
    assert plain.returncode == status
    assert plain.stderr.strip().splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    "words",
    [
        ["premises", "⊢ True", "--imports", ""],
        ["premises", "⊢ True", "--imports", " , "],
        ["premises", "⊢ True", "--exclude", ""],
        ["premises", "⊢ True", "--theorem", " "],
        ["premises", "⊢ True", "--module", ""],
        ["search", "x", "--imports", ""],
        ["search", "x", "--module", ""],
    ],
)
def test_an_option_that_names_nothing_is_refused(user: dict[str, str], words: list[str]) -> None:
    error = error_of(run(user, *words, "--json"))
    assert (error["code"], error["field"]) == ("bad_request", words[2].removeprefix("--"))
    assert "names nothing" in error["message"] and "out" in error["hint"]


def test_a_list_of_proofs_is_checked_before_a_build(user: dict[str, str], tmp_path: Path) -> None:
    proofs = tmp_path / "proofs.jsonl"
    check = ["corpus", "check", str(EXAMPLE), "--proofs", str(proofs)]
    proofs.write_text('{"name": "Nat.gcd_comm", "premises": ["Nat.dvd_antisymm", "Of.another"]}')
    done = run(user, *check)
    assert done.returncode == 0, done.stderr
    assert "theorems whose proofs an index uses" in done.stdout
    assert f"warning: {proofs}:1: premise Of.another is not in the corpus" in done.stderr
    proofs.write_text('{"name": "Nat.gcd_comm", "premises": []}\n{"name": "Nat.gcd_comm"}\n')
    done = run(user, *check, "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["faults"] == [f"{proofs}:2: premises is None, it must be a list of names"]
    assert report["counts"]["proofs"] == 1
    assert run(user, *check[:-1], "/no/such/file").returncode == 4


def parameters() -> Iterator[tuple[str, str]]:
    """Every command with the name of every parameter that takes a path."""

    def below(commands: typer.Typer, path: str) -> Iterator[tuple[str, str]]:
        for command in commands.registered_commands:
            assert command.callback is not None
            name = command.name or command.callback.__name__
            for parameter in inspect.signature(command.callback).parameters.values():
                if "Path" in str(parameter.annotation):
                    yield f"{path} {name}".strip(), parameter.name
        for group in commands.registered_groups:
            assert group.typer_instance is not None
            yield from below(group.typer_instance, f"{path} {group.name}".strip())

    return below(app, "")


@pytest.mark.parametrize(("command", "parameter"), [*parameters()])
def test_an_empty_path_is_an_error_and_not_the_current_folder(
    command: str, parameter: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from sidecar.__main__ import main

    monkeypatch.chdir(tmp_path)
    option = [f"--{parameter}", ""]
    if parameter in ("source", "folder"):
        option = ["FOLDER", ""] if (command, parameter) == ("index update", "source") else [""]
    more = {"index build": ["FOLDER"], "index update": ["FOLDER", "CORPUS"], "corpus check": ["FOLDER"]}
    words = option if parameter in ("source", "folder") else [*more.get(command, []), *option]
    words = [*words, "CORPUS"] if (command, parameter) == ("index update", "folder") else words
    monkeypatch.setattr(sys, "argv", ["lean-sidecar", *command.split(), *words])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr()
    assert said.err == f"error: {parameter}: '' is empty — name a file or folder, or leave it out\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--encoder", ""],
        ["serve", "--host", ""],
        ["serve", "--reranker", " "],
        ["index", "build", "--device", ""],
        ["index", "build", "--ray", ""],
        ["premises", "x", "--url", ""],
        ["search", "x", "--url", ""],
        ["status", "--url", ""],
    ],
)
def test_an_empty_text_does_not_pass_for_an_option_that_was_left_out(user: dict[str, str], words: list[str]) -> None:
    done = run(user, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {words[-2].removeprefix('--')}: ") and "is empty" in done.stderr


def test_empty_parts_of_a_list_of_names_are_passed_over_and_said_to_be(user: dict[str, str], index: Path) -> None:
    goal = ["premises", "⊢ True", "--json"]
    done = run(user, *goal, "--imports", "Init.Core,, Init.Data.Nat.Gcd")
    assert "an empty part of 'Init.Core,, Init.Data.Nat.Gcd'" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["warnings"] == []
    plain = run(user, *goal, "--imports", "Init.Core,Init.Data.Nat.Gcd")
    assert (plain.stderr, json.loads(plain.stdout)["premises"]) == ("", answer["premises"])


def test_a_text_without_a_goal_is_said_to_have_none(user: dict[str, str], index: Path) -> None:
    assert "warning: there is no goal" in run(user, "premises", "no goals").stderr


def test_an_interrupted_build_says_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sidecar.__main__ import main

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StaticEncoder, "encode", interrupt)
    command = ["lean-sidecar", "index", "build", str(EXAMPLE), "--encoder", "static", "--output", str(tmp_path / "i")]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert "the same command goes on from there" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["lean-sidecar", "index", "info", str(tmp_path / "i")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 4
    assert "was never finished" in capsys.readouterr().err


def test_stop_ends_the_server_that_a_command_started(user: dict[str, str], index: Path) -> None:
    alone = {**user, "LEAN_SIDECAR_RUNTIME": user["LEAN_SIDECAR_RUNTIME"] + "-stop"}
    nobody = run(alone, "stop")
    assert (nobody.returncode, nobody.stdout) == (0, "no local server runs\n")
    assert run(alone, "search", "x").returncode == 0
    pid = json.loads(run(alone, "status", "--json").stdout)["pid"]
    assert alive(pid)
    done = run(alone, "stop", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"stopped": True, "pid": pid})
    assert not alive(pid)
    assert run(alone, "status").returncode == 6
    assert json.loads(run(alone, "stop", "--json").stdout) == {"stopped": False, "pid": None}


def test_pages_of_a_library_are_linked_where_its_user_says(user: dict[str, str], index: Path) -> None:
    alone = {
        **user,
        "LEAN_SIDECAR_RUNTIME": user["LEAN_SIDECAR_RUNTIME"] + "-links",
        "LEAN_SIDECAR_DOCUMENTATION": "Init=https://me.example/docs Init.Data.List=https://other.example",
    }

    def links(*words: str) -> list[str]:
        answer = json.loads(run(alone, "search", *words, "-k", "1", "--json").stdout)
        return [result["link"] for result in answer["results"]]

    assert links("Nat.add_comm") == ["https://me.example/docs/Init/Data/Nat/Basic.html#Nat.add_comm"]
    assert run(alone, "stop").returncode == 0
    command = [sys.executable, "-m", "sidecar", "serve", "--port", "0", "--documentation", "Init.Data.Nat="]
    with subprocess.Popen(command, env=alone, stderr=subprocess.DEVNULL) as server:
        eventually(lambda: run(alone, "status").returncode == 0, "the server is ready")
        assert links("Nat.add_comm") == [None]
        assert links("List.length_append")[0].startswith("https://other.example/Init/Data/List/")
        assert run(alone, "stop").returncode == 0
        assert server.wait() == 0


@pytest.mark.parametrize("entry", ["Init", "=https://me.example", "Init=javascript:alert(1)"])
def test_an_address_of_documentation_that_is_none_is_refused(user: dict[str, str], entry: str) -> None:
    done = run(user, "serve", "--documentation", entry)
    assert done.returncode == 2
    assert done.stderr.startswith("error: documentation: ")
    done = run({**user, "LEAN_SIDECAR_DOCUMENTATION": entry}, "status")
    assert done.returncode == 2
    assert done.stderr.startswith("error: LEAN_SIDECAR_DOCUMENTATION: ")


def test_a_goal_from_a_pipe(user: dict[str, str], index: Path) -> None:
    done = run(user, "premises", "-", "-k", "8", "--json", stdin="a b c : Nat\n⊢ a + b + c = a + (b + c)\n")
    assert done.returncode == 0, done.stderr
    assert "Nat.add_assoc" in [premise["name"] for premise in json.loads(done.stdout)["premises"]]


@pytest.mark.parametrize("encoding", [None, "ascii", "latin-1"])
def test_what_is_written_and_read_is_utf8_whatever_the_locale(
    user: dict[str, str], index: Path, encoding: str | None
) -> None:
    changes = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    other = {**user, **({"PYTHONIOENCODING": encoding} if encoding else changes)}

    def run_bytes(*words: str | bytes) -> bytes:
        command = [sys.executable, "-m", "sidecar", *words]
        done = subprocess.run(command, env=other, capture_output=True, cwd=ROOT, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    answer = json.loads(run_bytes("search", "∀ as : List α", "-k", "3", "--json"))
    assert any("α" in result["signature"] for result in answer["results"])
    assert "α" in run_bytes("search", "List.append", "-k", "1").decode()
    assert "⊢" in run_bytes("premises", "--help").decode()
    answer = json.loads(run_bytes("premises", "a b : Nat\n⊢ a ∣ b * a", "--theorem", "«ℕ»", "-k", "3", "--json"))
    assert "Nat.dvd_mul_left" in [premise["name"] for premise in answer["premises"]]


@pytest.mark.parametrize("words", [["search", b"\xff\xfe"], ["premises", "-"], ["search", "x", "--module", b"\xff"]])
def test_bytes_that_are_no_text_are_refused(user: dict[str, str], index: Path, words: list[str | bytes]) -> None:
    command = [sys.executable, "-m", "sidecar", *words, "--json"]
    done = subprocess.run(command, env=user, input=b"\xe2\x8a", capture_output=True, cwd=ROOT, timeout=120)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "bad_request"
    assert error["field"] in ("query", "goal", "module")
    assert done.stderr.decode().count("Traceback") == 0


def test_a_message_names_a_path_once(user: dict[str, str]) -> None:
    assert run(user, "corpus", "info", "/no/such").stderr.count("/no/such") == 1


def test_a_table_for_people_and_filters(user: dict[str, str], index: Path) -> None:
    done = run(user, "search", "greatest common divisor", "--module", "Init.Data.Nat", "--kind", "def", "-k", "2")
    assert done.returncode == 0, done.stderr
    assert "Nat.gcd" in done.stdout
    status = run(user, "status")
    assert status.returncode == 0
    assert "459" in status.stdout
    assert "True" not in status.stdout and "False" not in status.stdout
    assert run(user, "search", "x", "--module", "No.Such").stdout == "declarations: none\n"


@pytest.mark.parametrize("words", [[], ["index"], ["corpus"]])
def test_every_command_is_described_in_full(user: dict[str, str], words: list[str]) -> None:
    listed = run(user, *words, "--help").stdout.partition("Commands:")[2]
    assert listed and "..." not in listed


def test_corpus_info_and_check(user: dict[str, str], tmp_path: Path) -> None:
    info = json.loads(run(user, "corpus", "info", str(EXAMPLE), "--json").stdout)
    assert info["declarations"] == 459
    assert info["roles"]["premise"]["theorem"] == info["kinds"]["theorem"]
    assert run(user, "corpus", "check", str(EXAMPLE)).returncode == 0
    broken = tmp_path / "broken"
    shutil.copytree(EXAMPLE, broken)
    victim = broken / "Init.Classical.jsonl"
    victim.write_bytes(victim.read_bytes()[:-40])
    done = run(user, "corpus", "check", str(broken))
    assert done.returncode == 1
    assert "Init.Classical.jsonl" in done.stderr


LOST = "error: stdout: the answer cannot be written: No space left on device — make room, or send it elsewhere\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--version"], 3, ""),
        (["--help"], 3, ""),
        (["corpus", "info", str(EXAMPLE)], 3, ""),
        (["corpus", "info", str(EXAMPLE), "--json"], 3, ""),
        (["index", "info", "/no/such/folder", "--json"], 4, "error: index: "),
    ],
)
def test_an_answer_that_does_not_fit_is_said_to_be_lost(
    user: dict[str, str], words: list[str], status: int, said: str, buffered: str
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sidecar", *words],
            env=user | {"PYTHONUNBUFFERED": buffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == status, done.stderr
    assert done.stderr.endswith(LOST) and done.stderr.startswith(said or LOST)


@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["index", "info", "/no/such/folder"], 4)])
def test_a_closed_stdout_takes_everything(user: dict[str, str], words: list[str], status: int) -> None:
    command = shlex.join([sys.executable, "-m", "sidecar", *words])
    done = subprocess.run(f"{command} >&-", shell=True, env=user, capture_output=True, text=True, timeout=120)
    assert done.returncode == status and "Traceback" not in done.stderr


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("words", ["--version", "--help", f"corpus info {EXAMPLE} --json"])
def test_a_reader_that_went_away_changes_no_status(user: dict[str, str], words: str, buffered: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m sidecar {words} | true"
    environment = user | {"PYTHONUNBUFFERED": buffered}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_that_grows_too_large_is_not_mistaken_for_stdout(user: dict[str, str], tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-m", "sidecar", "index", "build", str(EXAMPLE), "--encoder", "static"])
    limited = f"ulimit -f 200; {command} --output {tmp_path / 'i'}"
    done = subprocess.run(["bash", "-c", limited], env=user, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert f"error: output: the index {tmp_path / 'i'} cannot be written: File too large" in done.stderr
    assert "make room, or choose another folder" in done.stderr


def test_an_answer_into_a_closed_pipe_ends_quietly(user: dict[str, str]) -> None:
    done = subprocess.run(
        f"{sys.executable} -m sidecar corpus check {EXAMPLE} --rows 400 | head -n 1",
        shell=True,
        env=user,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
