"""The rewriter's table as it is learned: what becomes a pair, what does not, and what an evaluation keeps out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sidecar.corpus.source import EXAMPLE_FOLDER, example_corpus
from sidecar.search.vocabulary import Vocabulary
from training.cli import application
from training.data.queries import SearchExample
from training.data.questions import Forbidden
from training.search.vocabulary import Learned, Text, VocabularySettings, collect, learn, likelihood_ratio, table

SETTINGS = VocabularySettings(together=3, modules=2, likelihood=5.0)


def texts(said: str, names: list[str]) -> list[Text]:
    return [
        Text(tuple(f"{said} {word}".split()), name, f"M{place % 3}")
        for place, (name, word) in enumerate(zip(names, ("ring", "field", "module", "group"), strict=False))
    ]


ELSE = texts("something quite different", ["A.norm", "B.trace", "C.rank", "D.card"]) * 5
LIMITS = texts("least upper bound of a", ["IsLUB.ring", "IsLUB.field", "IsLUB.module", "IsLUB.group"])


def learned(some: list[Text], settings: VocabularySettings = SETTINGS) -> dict[str, str]:
    return {pair.phrase: pair.term for pair in learn(some, settings)}


def test_other_words_for_a_name() -> None:
    found = learned(LIMITS + ELSE)
    # The shorter phrase implies the longer one; all three phrases of two words are as sure.
    assert set(found.values()) == {"lub"}
    assert Vocabulary([*table(learn(LIMITS + ELSE, SETTINGS), {}).splitlines()]).rewrite("the least upper bound") != ""


def test_the_words_of_the_name_itself_teach_nothing() -> None:
    assert learned(texts("least upper bound of a", [f"LeastUpper.{end}" for end in "abcd"]) + ELSE) == {}
    assert learned(texts("lub of a", [f"IsLUB.{end}" for end in "abcd"]) + ELSE) == {}
    # A text that says both is about the term, and no other word for it.
    assert "least" not in learned(texts("lub least upper bound", [f"IsLUB.{end}" for end in "abcd"]) + ELSE)


@pytest.mark.parametrize("stricter", [{"together": 5}, {"modules": 4}, {"likelihood": 1e3}, {"phrase_share": 1.1}])
def test_thresholds(stricter: dict[str, float]) -> None:
    assert learned(LIMITS + ELSE, replace(SETTINGS, **stricter)) == {}  # type: ignore[arg-type]


def test_a_phrase_that_mostly_means_something_else() -> None:
    other = texts("least upper bound of a", ["Weird.one", "Weird.two", "Weird.three", "Weird.four"])
    assert "lub" in learned(LIMITS + other + ELSE, replace(SETTINGS, term_share=0.5)).values()
    assert "lub" not in learned(LIMITS + other * 2 + ELSE, replace(SETTINGS, term_share=0.5)).values()


def test_the_likelihood_ratio_by_hand() -> None:
    # Independent events say nothing; events that always come together say all of their entropy: 2 · 8 · log 2.
    assert likelihood_ratio(2, 4, 4, 8) == pytest.approx(0.0, abs=1e-9)
    assert likelihood_ratio(4, 4, 4, 8) == pytest.approx(16 * math.log(2))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_a_likelihood_ratio_is_never_below_zero(both: int, first: int, second: int, neither: int) -> None:
    total = both + first + second + neither
    assert likelihood_ratio(both, both + first, both + second, max(total, 1)) >= -1e-6


def test_the_table_is_one_that_the_rewriter_reads() -> None:
    pairs = [Learned("least upper bound", "lub", 9, 9, 9, 80.0), Learned("supremum of", "lub", 5, 5, 9, 60.0)]
    text = table(pairs, {"corpus": "abc"})
    assert '#  "corpus": "abc"' in text
    assert Vocabulary(text.splitlines()).rewrite("Least upper bounds of sets") == "lub of sets"


def test_what_an_evaluation_asks_or_wants_is_left_out() -> None:
    corpus = example_corpus()
    everything = collect(corpus, [], Forbidden([]))
    assert everything.forbidden == 0
    one = next(text for text in everything.texts if len(text.words) > 4)
    asked = SearchExample(" ".join(reversed(one.words)), ("No.such",), "dev", "short")
    wanted = SearchExample("unlike anything else here", (everything.texts[-1].name,), "dev", "short")
    less = collect(corpus, [], Forbidden([asked, wanted]))
    assert less.forbidden >= 2
    assert one not in less.texts
    assert everything.texts[-1].name not in {text.name for text in less.texts}
    examples = [SearchExample("appending lists", (one.name,), "given", "short"), replace(wanted, query="else")]
    more = collect(corpus, examples, Forbidden([wanted]))
    assert Text(("appending", "lists"), one.name, one.module) in more.texts
    assert more.forbidden == 2  # its docstring, and the given question with the same answer


def test_the_command(tmp_path: Path) -> None:
    queries = tmp_path / "dev.jsonl"
    queries.write_text(json.dumps({"query": "x y", "gold": ["absurd"], "kind": "short", "set": "test"}) + "\n")
    output = tmp_path / "learned.txt"
    arguments = ["vocabulary", EXAMPLE_FOLDER, "--output", output, "--evaluation", queries, "--likelihood", "1"]
    result = CliRunner().invoke(application, ["search", *map(str, [*arguments, "--together", "2", "--modules", "1"])])
    assert result.exit_code == 0, result.output
    text = output.read_text()
    Vocabulary(text.splitlines())
    record = json.loads("\n".join(line[2:] for line in text.splitlines()[2:] if line.startswith("#")))
    assert record["corpus"] == example_corpus().fingerprint()
    assert record["settings"]["together"] == 2
    assert set(record["evaluation"]) == {"dev.jsonl"}
