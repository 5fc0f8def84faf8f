from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.records import KINDS, Declaration
from sidecar.text.declaration import (
    Binder,
    declaration_text,
    parse_premise,
    premise_identifiers,
    premise_text,
    wire_text,
)
from sidecar.text.names import name_words
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, PATIENT, QUOTED, THOROUGH


def declaration(signature: str, docstring: str = "") -> Declaration:
    kind, name, _ = f"{signature} ".split(" ", 2)
    return Declaration(name=name, kind=kind, module="M", signature=signature, docstring=docstring)


def test_the_raw_text_is_the_docstring_and_one_line() -> None:
    assert wire_text(declaration("theorem a : p")) == "theorem a : p"
    assert wire_text(declaration("theorem a :\n  p", " Says p. \r\n")) == "/-- Says p. -/\ntheorem a : p"


def test_name_conclusion_binders_docstring_stand_in_this_order() -> None:
    text = premise_text("/-- documented -/\ntheorem named {α : Type u} [instanced α] (h : hypothesised) : concluded")
    assert text == "named concluded instanced alpha hypothesised documented"


def test_a_premise_comes_apart() -> None:
    raw = (
        "/-- Doc with `x : y` and /- a comment -/. -/\n"
        "theorem A.«b c».{u, v} {α : Type u} [inst : Foo α] [Bar α] ⦃x y : α⦄ (h : x = y := by simp) : p (q : r)"
    )
    statement = parse_premise(raw)
    assert (statement.kind, statement.name, statement.type) == ("theorem", "A.«b c»", "p (q : r)")
    assert statement.docstring == "Doc with `x : y` and /- a comment -/."
    assert statement.binders == (
        Binder(("α",), "Type u"),
        Binder(("inst",), "Foo α"),
        Binder((), "Bar α"),
        Binder(("x", "y"), "α"),
        Binder(("h",), "x = y"),
    )


@pytest.mark.parametrize("kind", [*KINDS, "lemma"])
def test_every_kind_is_known(kind: str) -> None:
    statement = parse_premise(f"{kind} a.b (x : y) : z")
    assert (statement.kind, statement.name, statement.type) == (kind, "a.b", "z")


def test_parents_of_structures_are_kept() -> None:
    statement = parse_premise("class Ring (R : Type u) extends Semiring R, AddCommGroup R : Type u")
    assert statement.extends == "extends Semiring R, AddCommGroup R" and statement.type == "Type u"
    assert premise_identifiers("class Ring (R : Type u) extends Semiring R, AddCommGroup R : Type u") == [
        "Semiring",
        "AddCommGroup",
    ]


def test_both_prints_of_a_premise_give_the_same_words() -> None:
    shown = premise_text("theorem Nat.add_comm (n m : ℕ) : n + m = m + n")
    plain = premise_text("theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)")
    assert sorted(shown.split()) == sorted(plain.split())
    assert shown.split()[:3] == plain.split()[:3] == name_words("Nat.add_comm")


def test_names_that_are_alike_keep_their_own_texts() -> None:
    assert parse_premise("theorem «quot.sound» : p").name == "«quot.sound»"
    assert parse_premise("theorem quot.sound : p").name == "quot.sound"
    assert parse_premise("def Std.«term_...*» : Lean.ParserDescr").name == "Std.«term_...*»"
    assert parse_premise("theorem foo.«a : b (c» (x : y) : z").name == "foo.«a : b (c»"


def test_constants_of_the_conclusion_come_first() -> None:
    found = premise_identifiers("theorem a {s : Set ℕ} (h : Set.Finite s) (n : ℕ) : ∃ m, s.ncard ≤ m + n")
    assert found == ["Exists", "Set.ncard", "LE.le", "HAdd.hAdd", "Set", "Nat", "Set.Finite"]


@given(ANY_TEXT | FORMAL_TEXT)
@THOROUGH
def test_any_text_is_a_premise(text: str) -> None:
    spelled = premise_text(text)
    assert spelled == " ".join(spelled.split()) == spelled.lower()
    spelled.encode()
    found = premise_identifiers(text)
    assert len(found) == len(set(found)) and all(found)


@given(FORMAL_TEXT, FORMAL_TEXT)
@PATIENT
def test_the_text_of_a_record_is_that_of_its_raw_text(signature: str, docstring: str) -> None:
    record = declaration(f"theorem a : {signature}", docstring)
    assert declaration_text(record) == premise_text(wire_text(record))
    wire_text(record).encode()


@given(st.lists(st.tuples(st.sampled_from(["()", "{}", "[]", "⦃⦄"]), st.sampled_from(["x", "x y"]), FORMAL_TEXT)))
@PATIENT
def test_the_conclusion_is_found_behind_any_binders(binders: list[tuple[str, str, str]]) -> None:
    inside = [
        (brackets, names, "".join(character for character in text if character not in "()[]{}⦃⦄⟨⟩«»").split())
        for brackets, names, text in binders
    ]
    raw = (
        "theorem a " + "".join(f"{b[0]}{names} : {' '.join(text)}{b[1]} " for b, names, text in inside) + ": conclusion"
    )
    statement = parse_premise(raw)
    assert statement.type == "conclusion" and len(statement.binders) == len(binders)


@pytest.mark.parametrize("piece", ["(", "(a : b) ", "[", "{a} ", "«", "_ ", "/-- ", "-/\n", "a.", ": ", "⟨(", "x.y "])
def test_long_premises_of_one_piece_take_linear_time(piece: str) -> None:
    # Quadratic time would take minutes here.
    text = piece * (20_000 // len(piece))
    for raw in (text, f"theorem a {text}", f"/-- {text}", f"/-- a -/\ntheorem a (x : {text}) : {text}"):
        premise_text(raw)
        premise_identifiers(raw)


def real_rows(shared: Path) -> list[dict[str, Any]]:
    """Every 150th declaration of the real corpus."""
    rows = []
    for file in sorted((shared / "data" / "declarations").glob("declarations-*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows += [json.loads(line) for number, line in enumerate(lines) if number % 150 == 0]
    return rows


@given(QUOTED)
@PATIENT
def test_whatever_stands_in_a_quoted_name_takes_no_statement_apart(name: str) -> None:
    statement = parse_premise(f"theorem Foo.{name} ({name} k : ℕ) [inst : Add {name}] : {{{name}}} = s")
    assert statement.name == f"Foo.{name}"
    assert statement.binders == (Binder((name, "k"), "ℕ"), Binder(("inst",), f"Add {name}"))
    assert statement.type == f"{{{name}}} = s"
    assert premise_identifiers(f"theorem foo ({name} : ℕ) : {{{name}}} = s") == premise_identifiers(
        "theorem foo (x : ℕ) : {x} = s"
    )


@pytest.mark.shared_data
def test_real_signatures_come_apart_into_kind_name_and_constants(shared: Path) -> None:
    wanted = found = common = 0
    for row in real_rows(shared):
        signature = row.get("signature_fq") or row["signature"]
        statement = parse_premise(signature)
        assert (statement.kind, statement.name) == (row["kind"], row["name"])
        known = {*row["type_consts"], *row.get("notation_consts", [])}
        guessed = set(premise_identifiers(signature))
        wanted, found, common = wanted + len(known), found + len(guessed), common + len(known & guessed)
    # What is left are fields of terms, whose types only Lean knows, and coercions.
    assert common > 0.92 * wanted and common > 0.9 * found


@pytest.mark.shared_data
def test_names_printed_short_or_in_full_give_nearly_the_same_words(shared: Path) -> None:
    same = total = 0
    for row in real_rows(shared):
        if "signature_fq" in row and row["kind"] == "theorem":
            short, full = set(premise_text(row["signature"]).split()), set(premise_text(row["signature_fq"]).split())
            same, total = same + len(short & full), total + len(short | full)
    assert same > 0.9 * total
