"""What declarations are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidecar.index.labels import NAME, SENTENCE, TITLE, LabelTable, write_labels

ROWS = [
    ("Group", "A group is a monoid with an inverse."),
    ("Units.group", ""),
    ("Nat.add_comm", ""),
    ("add_comm", "**Alias** of `AddCommMagma.add_comm`."),
    ("abs_inner_le_norm", "**Cauchy–Schwarz inequality** with norm. See also **triangle inequality**."),
    ("Matrix.det", "The determinant of a matrix."),
    ("Ideal.IsPrime", "An ideal `P` of a ring `R` is prime if `P ≠ R` and `xy ∈ P → x ∈ P ∨ y ∈ P` and so on and on."),
    ("LE.le", ""),
    ("_", ""),
    ("«a b».c", ""),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LabelTable:
    folder = tmp_path_factory.mktemp("labels")
    write_labels(folder, ROWS)
    return LabelTable(folder, len(ROWS))


def spelled(table: LabelTable, spelling: str) -> list[tuple[str, bool]]:
    rows, whole = table.spelled(spelling)
    return [(ROWS[row][0], bool(each)) for row, each in zip(rows, whole, strict=True)]


def test_spellings_of_whole_names_and_of_their_ends(table: LabelTable) -> None:
    assert spelled(table, "GROUP") == [("Group", True), ("Units.group", False)]
    for spelling in ("addComm", "add_comm", "add comm", "Add.Comm"):
        assert spelled(table, spelling) == [("Nat.add_comm", False), ("add_comm", True)]
    assert spelled(table, "nat.addcomm") == [("Nat.add_comm", True)]
    assert spelled(table, "ab.c") == [("«a b».c", True)]
    assert spelled(table, "comm") == spelled(table, "oup") == spelled(table, "") == []


def agreeing(table: LabelTable, words: str) -> dict[str, float]:
    rows = table.agreement(words.split()).rows
    return {ROWS[row][0]: float(rows[row]) for row in np.flatnonzero(rows)}


def test_the_same_words_agree_fully_whatever_order_and_inflection(table: LabelTable) -> None:
    assert agreeing(table, "prime ideals")["Ideal.IsPrime"] == pytest.approx(1)
    assert agreeing(table, "the determinants of matrices")["Matrix.det"] == pytest.approx(1)
    assert agreeing(table, "cauchy schwarz inequality")["abs_inner_le_norm"] == pytest.approx(1)


def test_agreement_is_shared_by_the_weight_of_both_sides(table: LabelTable) -> None:
    alone, more = agreeing(table, "group"), agreeing(table, "group unknownword")
    assert alone["Group"] == pytest.approx(1)
    assert 0 < alone["Units.group"] < 1
    assert more["Group"] < alone["Group"]
    assert agreeing(table, "unknownword of the") == {}
    assert agreeing(table, "") == {}


def test_agreement_says_where_it_comes_from(table: LabelTable) -> None:
    def source(words: str, name: str) -> int:
        return table.source(table.agreement(words.split()), [name for name, _ in ROWS].index(name))

    assert source("cauchy schwarz", "abs_inner_le_norm") == TITLE
    assert source("triangle inequality", "abs_inner_le_norm") == TITLE
    assert source("inner norm", "abs_inner_le_norm") == NAME
    assert source("monoid with inverse", "Group") == SENTENCE
    assert source("prime ideal", "Ideal.IsPrime") == NAME


def test_an_alias_is_not_called_what_it_stands_for(table: LabelTable) -> None:
    assert "add_comm" not in agreeing(table, "alias magma")


def test_long_first_sentences_are_no_labels(table: LabelTable) -> None:
    assert table.agreement(["ring"]).rows[[name for name, _ in ROWS].index("Ideal.IsPrime")] == 0


def test_nothing_at_all(tmp_path: Path) -> None:
    write_labels(tmp_path, [])
    table = LabelTable(tmp_path, 0)
    assert len(table) == 0
    assert table.spelled("a")[0].tolist() == []
    assert table.agreement(["a"]).rows.tolist() == []


def test_without_docstrings(tmp_path: Path) -> None:
    write_labels(tmp_path, [("up.down", ""), ("down", "")])
    table = LabelTable(tmp_path, 2)
    longer, same = table.agreement(["down"]).rows.tolist()
    assert 0 < longer < same == pytest.approx(1)
