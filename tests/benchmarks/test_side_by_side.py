"""Blind comparisons: what judges see, what is kept, what is counted."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from benchmarks.side_by_side.__main__ import main, write
from benchmarks.side_by_side.comparisons import Comparison, read_comparisons
from benchmarks.side_by_side.judging import read_answer
from benchmarks.side_by_side.report import agreement, kappa, report
from benchmarks.side_by_side.verdicts import VerdictFile
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from tests.browser import eventually, open_browser
from tests.endpoint import Endpoint, Said
from tests.running import small_index
from training.data.queries import SearchExample

NAMES = [f"Lib.fact_{number}" for number in range(12)]
DECLARATIONS = {
    name: Declaration(name, "theorem", "Lib", f"theorem {name} : </script> {name} < 2", docstring=f"About *{name}*.")
    for name in NAMES
}
QUERIES = [
    SearchExample(f"query {number} <b>", ("x",), "set a" if number < 4 else "set b", "short") for number in range(8)
]
GOOD, BAD = NAMES[:3], NAMES[5:8]
ANSWERS = {
    "very-good-engine": [GOOD] * 8,
    "very-bad-engine": [GOOD if number == 7 else BAD for number in range(8)],
}


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.chat.FIRST_WAIT_SECONDS", 0.01)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "c", QUERIES, ANSWERS, DECLARATIONS, 3, list(ANSWERS))
    return tmp_path / "c"


def parts(body: dict[str, Any]) -> tuple[str, str, str]:
    query, first, second, _ = body["messages"][1]["content"].split("\n\n")
    return query, first, second


def honest(body: dict[str, Any]) -> Said:
    """A judge that likes facts with small numbers, wherever they stand."""
    _, first, _ = parts(body)
    return Said(json.dumps({"reason": "r", "better": "A" if "fact_0" in first else "B"}))


def judge(folder: Path, endpoint: Endpoint, *options: str) -> int:
    return main(["judge", str(folder), "--judge", f"gpt@{endpoint.url}", *options])


def test_a_model_judges_in_both_orders_and_the_better_system_wins(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Endpoint(honest) as endpoint:
        assert judge(folder, endpoint) == 0
    assert len(endpoint.requests) == 14  # seven queries, two orders; on the eighth both answers are alike
    shown = [parts(body) for body in endpoint.requests]
    assert sum("fact_0" in first for _, first, _ in shown) == 7
    for query in {query for query, _, _ in shown}:
        (one,), (other,) = (
            [("fact_0" in first) for q, first, _ in shown[place : place + 7] if q == query] for place in (0, 7)
        )
        assert one != other
    said = capsys.readouterr().out
    assert "8 comparisons, 1 of them of equal answers" in said
    rows = [line for line in said.splitlines() if line.startswith("| very-good-engine : very-bad-engine |")]
    assert [row.split(" | ")[2:5] for row in rows[:3]] == [["8", "0.875 [0.625, 1.000]", "0.125 [0.000, 0.375]"]] * 3
    (agreed,) = (line for line in said.splitlines() if " : gpt at" in line)
    assert agreed.endswith("| 7 | 1.000 [1.000, 1.000] | – |")  # chance alone explains two judges who say one thing
    assert "## Wins on set b" in said


def test_names_of_systems_reach_no_judge(folder: Path) -> None:
    with Endpoint(honest) as endpoint:
        judge(folder, endpoint)
    text = json.dumps(endpoint.requests)
    assert "engine A" not in text.replace("Which engine is called A", "")
    assert not re.search("very-good|very-bad", text)


def test_a_judge_that_looks_at_the_place_alone_is_found_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Endpoint(lambda body: Said('{"better": "A", "reason": ""}')) as endpoint:
        judge(folder, endpoint)
    said = capsys.readouterr().out
    assert len(re.findall(r"\| 1\.000 \[1\.000, 1\.000\] \|\n", said)) == 2  # always left
    (agreed,) = (line for line in said.splitlines() if " : gpt at" in line)
    assert "| 7 | 0.000 [0.000, 0.000] | -" in agreed
    together = next(line for line in said.splitlines() if "| all judges |" in line)
    assert together.split(" | ")[4] == "1.000 [1.000, 1.000]"  # a tie throughout


def test_refusals_are_counted_and_are_no_ties(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def moody(body: dict[str, Any]) -> Said:
        query, _, _ = parts(body)
        if "query 1" in query:
            return Said(None, refusal="I would rather not")
        return Said("both are nice") if "query 2" in query else honest(body)

    with Endpoint(moody) as endpoint:
        judge(folder, endpoint)
    said = capsys.readouterr().out
    assert re.search(r"\| gpt at \S+, shuffle 0 \| 7 \| 1 \| 1 \|", said)
    row = next(line for line in said.splitlines() if line.startswith("| very-good-engine : very-bad-engine |"))
    assert row.split(" | ")[2] == "6"
    assert row.endswith("| 2 |")
    kept = VerdictFile(folder).verdicts
    assert {verdict.reason for verdict in kept if verdict.missing == "refused"} == {"I would rather not"}
    assert {verdict.reason for verdict in kept if verdict.missing == "unreadable"} == {"both are nice"}


def test_it_goes_on_where_it_stopped_and_asks_nothing_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget = [5]

    def dying(body: dict[str, Any]) -> Said:
        budget[0] -= 1
        return honest(body) if budget[0] >= 0 else Said(status=401, raw=b'{"error": {"message": "paid up?"}}')

    with Endpoint(dying) as endpoint:
        assert judge(folder, endpoint) != 0
        assert "paid up?" in capsys.readouterr().err
        done = len(VerdictFile(folder).verdicts)
        assert done == 5
        with (folder / "verdicts.jsonl").open("a") as file:
            file.write('{"id": "killed within a li')
        budget[0] = 100
        before = len(endpoint.requests)
        assert judge(folder, endpoint) == 0
        asked = len(endpoint.requests)
        assert asked - before == 14 - done
        assert judge(folder, endpoint) == 0
        assert len(endpoint.requests) == asked
    assert len(VerdictFile(folder).verdicts) == 14


def test_equal_verdicts_come_from_the_disk(folder: Path) -> None:
    with Endpoint(honest) as endpoint:
        judge(folder, endpoint)
        (folder / "verdicts.jsonl").unlink()
        judge(folder, endpoint)
    assert len(endpoint.requests) == 14
    assert len(VerdictFile(folder).verdicts) == 14


def test_another_comparison_does_not_take_the_folder(folder: Path) -> None:
    write(folder, QUERIES, ANSWERS, DECLARATIONS, 3, [])
    with pytest.raises(SidecarError, match="other comparisons"):
        write(folder, QUERIES[:3], ANSWERS, DECLARATIONS, 3, [])
    with pytest.raises(SidecarError, match="1 systems"):
        write(folder, QUERIES, {"one": [GOOD] * 8}, DECLARATIONS, 3, ["one", "two"])


def test_systems_of_an_index_are_prepared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"query": query, "gold": ["x"], "kind": "short", "set": "s"} for query in ("Nat.add_comm", "reverse")]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["prepare", "--index", str(small_index()), "--queries", str(tmp_path / "q.jsonl"), "--threads", "1"]
    command += ["--output", str(tmp_path / "c"), "-k", "4"]
    assert main(command) == 0
    assert "12 comparisons of bm25, static, fused static, fused static + vocabulary" in capsys.readouterr().out
    comparisons = read_comparisons(tmp_path / "c")
    assert {len(answer) for one in comparisons for answer in one.answers} == {4}
    served = next(one for one in comparisons if one.systems == ("bm25", "fused static") and "add_comm" in one.query)
    assert served.answers[1][0].statement.startswith("theorem Nat.add_comm")
    assert main([*command, "--system", "nobody"]) != 0
    assert "there are bm25, static" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) != 0
    assert "prepare" in capsys.readouterr().err


def test_the_shuffle_is_even_and_depends_on_the_seed() -> None:
    comparisons = [Comparison(str(number), "", "", ("a", "b"), ((), ())) for number in range(2_000)]
    sides = {seed: [one.left(seed) for one in comparisons] for seed in ("1", "2")}
    for side in sides.values():
        assert 900 < sum(side) < 1_100
    assert 900 < sum(one != two for one, two in zip(sides["1"], sides["2"], strict=True)) < 1_100


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"reason": "r", "better": "A"}', ("left", "r")),
        ('```json\n{"better": "b"}\n```', ("right", "")),
        ('{"better": " Tie "}', ("tie", "")),
        ('{"better": "both"}', None),
        ('{"better": null}', None),
        ("A", None),
    ],
)
def test_reading_answers(text: str, read: tuple[str, str] | None) -> None:
    assert read_answer(text) == read


@given(st.lists(st.tuples(st.sampled_from([1, 0, -1]), st.sampled_from([1, 0, -1])), min_size=2, max_size=60))
def test_kappa_is_cohens(pairs: list[tuple[int, int]]) -> None:
    one, other = (list(side) for side in zip(*pairs, strict=True))
    if len(set(one) | set(other)) == 1:
        assert kappa(one, other) != kappa(one, other)
    else:
        assert kappa(one, other) == pytest.approx(cohen_kappa_score(one, other))


def test_agreement_comes_with_intervals() -> None:
    chance = random.Random(0)
    one = [chance.choice([1, 0, -1]) for _ in range(200)]
    other = [side if chance.random() < 0.7 else chance.choice([1, 0, -1]) for side in one]
    raw, agreed = agreement(one, other)
    assert raw.low < raw.mean < raw.high
    assert agreed.low < agreed.mean < agreed.high
    assert agreed.mean == pytest.approx(0.7, abs=0.12)
    assert agreement([], [])[1].n == 0


async def test_a_person_compares_in_a_real_browser(folder: Path, tmp_path: Path) -> None:
    assert main(["page", str(folder)]) == 0
    page_file = folder / "page.html"
    text = page_file.read_text(encoding="utf-8")
    assert not re.search(r"very-good|very-bad|https?://|set a", text)
    async with open_browser(tmp_path) as page:
        await page.open(page_file.as_uri())
        assert "1 of 7; 0 with a verdict" in await page.run("document.getElementById('count').textContent")
        assert "<b>" in await page.run("document.getElementById('query').textContent")
        left = "document.querySelector('#left').textContent"
        assert "</script>" in await page.run(left)
        assert await page.run("document.querySelectorAll('#left li').length") == 3
        # By keyboard and by mouse, always for the good facts; the last one is a tie, the sixth is taken back.
        for number in range(6):
            good_left = "fact_0" in await page.run(left)
            if number % 2:
                await page.press("1" if good_left else "3")
            else:
                await page.click(f"[data-verdict={'left' if good_left else 'right'}]")
        await page.press("p")
        pressed = "[...document.querySelectorAll('[aria-pressed=true]')].length"
        assert await page.run(pressed) == 1
        await page.press("ArrowDown")
        await page.press("2")
        await page.click("#person")
        await page.send("Input.insertText", text="Ada L. 1")
        # What was said is still there after the page was closed.
        await page.open(page_file.as_uri())
        assert "7 with a verdict" in await page.run("document.getElementById('count').textContent")
        await page.click("#download")
        wanted = tmp_path / "downloads" / "side-by-side-Ada-L-1.json"
        await eventually(wanted.is_file, "the file is there")
        assert [address for address in page.requested if not address.startswith(("file:", "blob:"))] == []
        assert page.errors == []
    assert main(["report", str(folder), "--download", str(wanted)]) == 0
    said = (folder / "report.md").read_text(encoding="utf-8")
    row = next(
        line for line in said.splitlines() if line.startswith("| very-good-engine : very-bad-engine | Ada L. 1 |")
    )
    # Five for the better one, two ties, and the tie of equal answers.
    assert [cell.split(" ")[0] for cell in row.split(" | ")[2:6]] == ["8", "0.625", "0.375", "0.000"]


def test_downloads_that_do_not_fit_are_named(folder: Path, tmp_path: Path) -> None:
    (mark, *_) = (comparison.id for comparison in read_comparisons(folder))
    good = {"format": 1, "page": "p", "shuffle": "page 0", "person": "Ada", "verdicts": {mark: "left"}}
    for change, message in (
        ({"verdicts": {"0" * 16: "left"}}, "is not in this folder"),
        ({"verdicts": {mark: "both"}}, "'both' is no verdict"),
        ({"format": 2}, "format 2"),
        ({"verdicts": 3}, "TypeError"),
    ):
        file = tmp_path / "download.json"
        file.write_text(json.dumps({**good, **change}))
        with pytest.raises(SidecarError, match=message):
            _read(file, folder)
    for name in ("a", "b"):
        (tmp_path / name).write_text(json.dumps(good))
    with pytest.raises(SidecarError, match="is of 'Ada', too"):
        _read(tmp_path / "a", folder, tmp_path / "b")


def _read(file: Path, folder: Path, *more: Path) -> None:
    from benchmarks.side_by_side.verdicts import read_downloads

    read_downloads([file, *more], read_comparisons(folder))


def test_a_report_without_verdicts(folder: Path) -> None:
    said = report(read_comparisons(folder), [])
    assert "8 comparisons" in said
