from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from sidecar.text.names import constant_words
from sidecar.text.symbols import CONSTANTS_OF, LETTERS, READINGS, SPELLED_ATOMS
from sidecar.text.words import mentioned, words

INFIX = [
    ("+", "HAdd.hAdd"),
    ("*", "HMul.hMul"),
    ("-", "HSub.hSub"),
    ("/", "HDiv.hDiv"),
    ("%", "HMod.hMod"),
    ("^", "HPow.hPow"),
    ("•", "HSMul.hSMul"),
    ("=", "Eq"),
    ("≠", "Ne"),
    ("≤", "LE.le"),
    ("<", "LT.lt"),
    ("∣", "Dvd.dvd"),
    ("⊆", "HasSubset.Subset"),
    ("∪", "Union.union"),
    ("∩", "Inter.inter"),
    ("⊔", "Max.max"),
    ("⊓", "Min.min"),
    ("∧", "And"),
    ("∨", "Or"),
    ("↔", "Iff"),
    ("∘", "Function.comp"),
    ("×", "Prod"),
    ("≃", "Equiv"),
    ("⟶", "Quiver.Hom"),
    ("≫", "CategoryTheory.CategoryStruct.comp"),
    ("++", "HAppend.hAppend"),
    ("::", "List.cons"),
    ("&&", "Bool.and"),
    ("||", "Bool.or"),
    ("==", "BEq.beq"),
]


@pytest.mark.parametrize(("symbol", "constant"), INFIX)
def test_an_infix_is_spelled_like_its_constant(symbol: str, constant: str) -> None:
    assert sorted(words(f"a {symbol} b").split()) == sorted(words(f"{constant} a b").split())
    assert constant in list(mentioned(f"a {symbol} b"))


@pytest.mark.parametrize(
    ("symbol", "constant"),
    [
        ("ℕ", "Nat"),
        ("ℤ", "Int"),
        ("ℝ", "Real"),
        ("ℝ≥0∞", "ENNReal"),
        ("ℕ∞", "ENat"),
        ("⊤", "Top.top"),
        ("⊥", "Bot.bot"),
    ],
)
def test_a_symbol_that_stands_alone_is_spelled_like_its_constant(symbol: str, constant: str) -> None:
    assert words(symbol) == words(constant) != ""
    assert list(mentioned(symbol)) == [constant]


@pytest.mark.parametrize(
    ("arrow", "constant"),
    [
        (f"M {atom}N" if atom.endswith("[") else f"M {atom} N", constants[0])
        for atom, constants in CONSTANTS_OF.items()
        if atom[0] in "→≃↪"
    ],
)
def test_every_arrow_is_read_whole(arrow: str, constant: str) -> None:
    assert (
        next(iter(mentioned(arrow.replace("N", "R] N") if "[" in arrow else arrow, {"M": "", "N": "", "R": ""})))
        == constant
    )


def test_words_come_from_constants_alone() -> None:
    for atom, readings in READINGS.items():
        assert atom not in SPELLED_ATOMS
        assert all(constant.isascii() and constant for reading in readings for constant in reading)
    assert all(word.isascii() and word == word.lower() for word in (*LETTERS.values(), *SPELLED_ATOMS.values()))
    assert all(
        word.isascii() and word.isalnum()
        for constants in CONSTANTS_OF.values()
        for constant in constants
        for word in constant_words(constant)
    )


def real_signatures(shared: Path) -> list[str]:
    """Every 100th signature of the real corpus."""
    signatures = []
    for file in sorted((shared / "data" / "declarations").glob("declarations-*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % 100 == 0:
                    row = json.loads(line)
                    signatures.append(row.get("signature_fq") or row["signature"])
    return signatures


@pytest.mark.shared_data
def test_the_table_covers_the_symbols_of_the_real_corpus(shared: Path) -> None:
    known = {character for atom in (*READINGS, *SPELLED_ATOMS, *LETTERS) for character in atom}
    found = Counter(
        character for signature in real_signatures(shared) for character in signature if not character.isascii()
    )
    unknown = {character: count for character, count in found.items() if character not in known}
    assert sum(unknown.values()) <= found.total() / 1000, unknown


@pytest.mark.shared_data
def test_canonical_texts_of_the_real_corpus_hold_nothing_that_a_vocabulary_lacks(shared: Path) -> None:
    strange = Counter(
        word for signature in real_signatures(shared) for word in words(signature).split() if not word.isascii()
    )
    assert not strange
