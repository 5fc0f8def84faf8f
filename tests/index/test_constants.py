from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sidecar.index.constants import MOST_READINGS, ConstantTable, write_constants
from sidecar.index.sparse import SparseRows, offsets_of

ROWS: list[tuple[bool, int, list[str]]] = [
    # (premise, constants of the conclusion, constants)
    (True, 2, ["Eq", "HAdd.hAdd", "Nat"]),
    (True, 1, ["BoxIntegral.Box", "Eq"]),
    (False, 1, ["Eq", "BoxIntegral.TaggedPrepartition.IsSubordinate"]),
    (True, 0, []),
    (True, 1, ["WithOne.forall", "«quot.sound»", "quot.sound"]),
    (True, 5, [f"Space{i}.common" for i in range(MOST_READINGS + 1)]),
    (True, 2, ["A.rare", "B.rare"]),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ConstantTable:
    folder: Path = tmp_path_factory.mktemp("constants")
    names = list(dict.fromkeys(name for _, _, constants in ROWS for name in constants))
    write_constants(
        folder,
        names,
        SparseRows(
            offsets_of(np.array([len(constants) for _, _, constants in ROWS])),
            np.array([names.index(name) for _, _, constants in ROWS for name in constants], dtype=np.int32),
        ),
        np.array([count for _, count, _ in ROWS], dtype=np.int32),
        np.array([premise for premise, _, _ in ROWS], dtype=np.bool_),
    )
    return ConstantTable(folder)


def test_rows_and_constants_lead_to_each_other(table: ConstantTable) -> None:
    for row, (_, conclusion, constants) in enumerate(ROWS):
        assert table.names(table.of_rows[row]) == constants
        assert table.conclusion_counts[row] == conclusion
        for number in table.of_rows[row]:
            assert row in table.rows_of[int(number)]
    assert sum(len(table.rows_of[number]) for number in range(len(table))) == sum(len(c) for _, _, c in ROWS)


def test_frequencies_count_premises_only(table: ConstantTable) -> None:
    number = table.number("Eq")
    assert number is not None
    assert table.rows_of[number].tolist() == [0, 1, 2]
    assert table.document_frequencies[number] == 2
    hidden = table.number("BoxIntegral.TaggedPrepartition.IsSubordinate")
    assert hidden is not None and table.document_frequencies[hidden] == 0


@pytest.mark.parametrize(
    ("identifier", "constants"),
    [
        ("Eq", ["Eq"]),
        ("Box", ["BoxIntegral.Box"]),  # printed short inside its namespace
        ("TaggedPrepartition.IsSubordinate", ["BoxIntegral.TaggedPrepartition.IsSubordinate"]),
        ("π.IsSubordinate", ["BoxIntegral.TaggedPrepartition.IsSubordinate"]),  # said of a local variable
        ("rare", ["A.rare", "B.rare"]),
        ("common", []),  # could mean anything
        ("x.common", []),
        ("ox", []),  # not a whole component
        ("BoxIntegral.rare", []),  # its first component is a namespace, not a variable
        ("WithOne.«forall»", ["WithOne.forall"]),
        ("quot.sound", ["quot.sound"]),
        ("«quot.sound»", ["«quot.sound»"]),
        ("sound", ["quot.sound"]),
        ("unheard", []),
        ("", []),
        (".", []),
        ("«", []),
    ],
)
def test_what_an_identifier_can_mean(table: ConstantTable, identifier: str, constants: Sequence[str]) -> None:
    assert table.names(table.resolve(identifier)) == list(constants)


def test_an_unknown_constant_has_no_number(table: ConstantTable) -> None:
    assert table.number("Unheard.of") is None
