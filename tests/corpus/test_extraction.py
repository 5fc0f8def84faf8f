"""The extraction format: what comes out, and what is refused by file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.check import check_extraction
from sidecar.corpus.extraction_rows import faults
from sidecar.corpus.policy import role
from sidecar.corpus.source import open_corpus
from sidecar.errors import SidecarError
from tests.corpus.written import declaration_row, end_row, example_row, lines, module_row, write

OPAQUE_NAMES = [
    "Std.«term_...*»",
    "Lean.«term∃__,_»",
    "inv₀",
    "inv0",
    "𝒰S",
    "US",
    "map₂'",
    "map₂",
    "quot.sound",
    "Quot.sound",
    "«quot.sound»",
    "ﬁber",
    "fiber",
    "K",
    "\u212a",
    "\u00e9",
    "e\u0301",
    "«a b».c",
]


def test_every_field_comes_out_as_it_stands(tmp_path: Path) -> None:
    write(
        tmp_path,
        module_row(
            "Nat.Basic",
            ["Init", "Nat.Defs"],
            docstring="# Numbers\n\ntext",
            source="https://example.org/Basic.lean",
            package="numbers",
            revision="abc123",
            toolchain="leanprover/lean4:v4.33.0",
        ),
        declaration_row(
            "Nat.add_comm",
            signature="theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)",
            display="theorem Nat.add_comm (n m : ℕ) : n + m = m + n",
            docstring="Addition commutes.\n\nAlways.",
            constants=["Eq", "HAdd.hAdd", "Nat"],
            conclusion_count=2,
            attributes=["simp", 'deprecated Nat.add_comm\' (since := "2026-01-31")'],
            line=12,
            end_line=14,
        ),
        declaration_row("Pair.fst", "field", parent="Pair", line=None, end_line=None),
        declaration_row("double", "def", has_equations=True),
        example_row("Nat.add_comm", ["Nat.add_succ"]),
    )
    corpus = open_corpus(tmp_path)
    (module,) = corpus.modules()
    theorem, field, definition = corpus.declarations()

    assert corpus.format == "extraction"
    assert (module.name, module.imports) == ("Nat.Basic", ("Init", "Nat.Defs"))
    assert (module.docstring, module.source) == ("# Numbers\n\ntext", "https://example.org/Basic.lean")
    assert (theorem.name, theorem.kind, theorem.module) == ("Nat.add_comm", "theorem", "Nat.Basic")
    assert theorem.signature == "theorem Nat.add_comm (n m : Nat) : Eq (HAdd.hAdd n m) (HAdd.hAdd m n)"
    assert theorem.shown == "theorem Nat.add_comm (n m : ℕ) : n + m = m + n"
    assert theorem.docstring == "Addition commutes.\n\nAlways."
    assert theorem.constants[: theorem.conclusion_count] == ("Eq", "HAdd.hAdd")
    assert theorem.attributes[0] == "simp"
    assert (theorem.line, theorem.end_line, theorem.parent, theorem.has_equations) == (12, 14, None, False)
    assert (field.parent, field.line) == ("Pair", None)
    assert definition.has_equations
    assert corpus.revisions() == {"numbers": "abc123", "toolchain": "leanprover/lean4:v4.33.0"}


def test_modules_and_declarations_come_in_module_order_whatever_the_files_are_called(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "er", module_row("A"), declaration_row("a2"), declaration_row("a1"), name="z.jsonl")
    write(tmp_path, module_row("B"), declaration_row("b"), name="a.jsonl")
    corpus = open_corpus(tmp_path)
    assert [module.name for module in corpus.modules()] == ["A", "B"]
    assert [declaration.name for declaration in corpus.declarations()] == ["a2", "a1", "b"]
    assert list(corpus.declarations()) == list(corpus.declarations())


def test_one_file_is_a_corpus_too(tmp_path: Path) -> None:
    file = write(tmp_path, module_row("A"), declaration_row("a"))
    assert [declaration.name for declaration in open_corpus(file).declarations()] == ["a"]


def test_names_stay_distinct_and_untouched(tmp_path: Path) -> None:
    write(tmp_path, module_row("«My Module».A"), *map(declaration_row, OPAQUE_NAMES))
    read = list(open_corpus(tmp_path).declarations())
    assert [declaration.name for declaration in read] == OPAQUE_NAMES
    assert {declaration.module for declaration in read} == {"«My Module».A"}


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, unique=True))
def test_any_name_survives(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    names = [name for name in names if name.strip()]
    folder = tmp_path_factory.mktemp("names")
    # Where a name itself holds line breaks, they are collapsed in the statement, as Lean's side does.
    statements = [f"theorem {' '.join(name.split())} : True" for name in names]
    rows = [
        declaration_row(name, signature=statement, display=statement)
        for name, statement in zip(names, statements, strict=True)
    ]
    write(folder, module_row("A"), *rows)
    assert [declaration.name for declaration in open_corpus(folder).declarations()] == names


ODD_NAMES = ["«a\nb»", "«tab\there»", "«bell\x07»", "«null\x00»", "«line\u2028end»", "«return\r»"]


@pytest.mark.parametrize("collapsed", [False, True], ids=["as it is", "collapsed"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_with_a_control_character_costs_nothing_but_itself(
    tmp_path: Path, name: str, collapsed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    statement = f"theorem {' '.join(name.split()) if collapsed else name} : True"
    write(
        tmp_path,
        module_row("A"),
        declaration_row(name, signature=statement, display=statement),
        declaration_row("about", constants=["True", name]),
        example_row("about", [name]),
    )
    with caplog.at_level("WARNING"):
        odd, about = open_corpus(tmp_path).declarations()
    assert (odd.name, about.constants) == (name, ("True", name))
    assert [role(each, frozenset()).hidden for each in (odd, about)] == [True, False]
    message = caplog.records[0].getMessage()
    assert "is hidden: its name holds a control character" in message
    assert message.isprintable()
    report = check_extraction(tmp_path)
    assert not report.faults
    assert [str(finding).isprintable() and "never surfaces" in str(finding) for finding in report.warnings] == [True]


def test_lemma_is_theorem(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), declaration_row("a", "lemma"))
    (declaration,) = open_corpus(tmp_path).declarations()
    assert (declaration.kind, declaration.signature) == ("theorem", "lemma a : True")


@pytest.mark.parametrize("spaced", [False, True])
def test_examples_are_passed_over_but_counted(tmp_path: Path, spaced: bool) -> None:
    rows = [module_row("A"), declaration_row("a"), example_row("a"), example_row("a")]
    write(tmp_path, *rows, spaced=spaced)
    assert [declaration.name for declaration in open_corpus(tmp_path).declarations()] == ["a"]

    (tmp_path / "file.jsonl").write_bytes(lines([*rows[:-1], end_row(rows)], spaced=spaced))
    with pytest.raises(SidecarError, match=r"file\.jsonl:4: the end row counts 1 declarations and 2 examples"):
        list(open_corpus(tmp_path).declarations())


def test_a_namesake_in_a_later_module_is_left_out_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, module_row("A"), declaration_row("same", docstring="first"), name="1.jsonl")
    write(tmp_path, module_row("B"), declaration_row("same"), declaration_row("other"), name="2.jsonl")
    read = list(open_corpus(tmp_path).declarations())
    assert [(declaration.name, declaration.docstring) for declaration in read] == [("same", "first"), ("other", "")]
    assert "same of B" in caplog.text


def test_unfinished_files_of_an_interrupted_run_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), declaration_row("a"))
    (tmp_path / "B.jsonl.tmp").write_text('{"row":"module"')
    assert [module.name for module in open_corpus(tmp_path).modules()] == ["A"]


def damaged(rows: list[dict[str, Any]], change: str) -> bytes:
    whole = lines([*rows, end_row(rows)])
    cut = whole.index(b"second") + 3
    return {
        "middle of a line": whole[:cut],
        "end of a line": whole[: whole.rindex(b"\n", 0, cut) + 1],
        "before the end row": lines(rows),
        "end row without its line break": whole[:-1],
        "after the module row": lines(rows[:1]),
    }[change]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("middle of a line", 3),
        ("end of a line", 3),
        ("before the end row", 4),
        ("end row without its line break", 4),
        ("after the module row", 2),
    ],
)
def test_a_cut_off_file_is_refused_by_name_and_line(tmp_path: Path, change: str, line: int) -> None:
    (tmp_path / "Cut.jsonl").write_bytes(
        damaged([module_row("A"), declaration_row("first"), declaration_row("second")], change)
    )
    with pytest.raises(SidecarError, match=rf"Cut\.jsonl:{line}: the file is cut off here") as caught:
        list(open_corpus(tmp_path).declarations())
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (declaration_row("a", kind="notion"), "\"kind\" must be one of theorem, .*, not 'notion'"),
        (declaration_row("a", kind=["def"]), '"kind" must be one of'),
        (declaration_row(""), '"name" must be a name'),
        (declaration_row("\n"), '"name" must be a name'),
        (declaration_row("a", signature="theorem a\n: True"), '"signature" must be a text on one line'),
        (declaration_row("a", display="theorem a\r: True"), '"display" must be a text on one line'),
        (declaration_row("a", constants="Nat"), '"constants" must be a list of names'),
        (declaration_row("a", constants=["Nat", "Nat"]), "without repeats"),
        (declaration_row("a", conclusion_count=2), '"conclusion_count" is 2, more than there are constants'),
        (declaration_row("a", conclusion_count=True), '"conclusion_count" must be a whole number'),
        (declaration_row("a", line=0), '"line" must be a line number'),
        (declaration_row("a", line=9), '"end_line" 4 does not follow "line" 9'),
        (declaration_row("a", "field"), '"parent" of a field must be a name'),
        (declaration_row("a", parent="b"), '"parent" of a theorem must be null'),
        (declaration_row("a", signature="theorem ab : True"), '"signature" must begin with "theorem a "'),
        (declaration_row("a", signature="theorem a.{u} : True"), '"signature" must begin with'),
        (declaration_row("a", docstring=None), '"docstring" must be a text'),
        (module_row("B"), "a module row cannot stand after the module row"),
        ({"row": "lemma"}, '"row" must be one of module, declaration, example, end'),
        ({"name": "a"}, '"row" must be one of'),
    ],
)
def test_a_faulty_row_is_refused_by_file_line_and_field(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    file = tmp_path / "Bad.jsonl"
    file.write_bytes(lines([module_row("A"), row, end_row([row])]))
    with pytest.raises(SidecarError, match=rf"Bad\.jsonl:2: .*{message}") as caught:
        list(open_corpus(tmp_path).declarations())
    assert "corpus check" in (caught.value.hint or "")


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    row = declaration_row("a")
    del row["display"]
    (tmp_path / "Bad.jsonl").write_bytes(lines([module_row("A"), row, end_row([row])]))
    with pytest.raises(SidecarError, match=r'Bad\.jsonl:2: declaration row: "display" is missing'):
        list(open_corpus(tmp_path).declarations())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"row":"declaration"', "not a row of JSON"),
        (b'"text"', "not a JSON object"),
        (b'{"row":"\xff"}', "not a row of JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (lines([declaration_row("a", docstring="x")])[:-1].replace(b'"x"', b'"\\ud835"'), "surrogate"),
    ],
)
def test_bytes_that_are_no_row_are_refused_by_file_and_line(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "Bad.jsonl").write_bytes(lines([module_row("A")]) + line + b"\n")
    with pytest.raises(SidecarError, match=rf"Bad\.jsonl:2: .*{message}"):
        list(open_corpus(tmp_path).declarations())


def test_a_surrogate_pair_is_one_letter(tmp_path: Path) -> None:
    row = json.dumps(declaration_row("𝒰S")).encode() + b"\n"
    (tmp_path / "A.jsonl").write_bytes(lines([module_row("A")]) + row + lines([end_row([declaration_row("𝒰S")])]))
    assert [declaration.name for declaration in open_corpus(tmp_path).declarations()] == ["𝒰S"]


def test_another_version_of_the_format_is_refused(tmp_path: Path) -> None:
    write(tmp_path, module_row("A", format=2))
    with pytest.raises(SidecarError, match=r'file\.jsonl:1: module row: "format" must be 1, not 2'):
        open_corpus(tmp_path)


def test_a_module_with_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, module_row("A"), name="old.jsonl")
    write(tmp_path, module_row("A"), name="new.jsonl")
    with pytest.raises(SidecarError, match=r"module A stands in both .*new\.jsonl and .*old\.jsonl"):
        open_corpus(tmp_path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
    st.data(),
)
def test_no_value_in_any_field_makes_the_schema_check_fail(value: Any, data: st.DataObject) -> None:
    row = data.draw(
        st.sampled_from([module_row("A"), declaration_row("a"), example_row("a", ["b"]), end_row([])]).map(dict)
    )
    row[data.draw(st.sampled_from(sorted(row)))] = value
    assert all(isinstance(fault, str) for fault in faults(row))


def test_what_is_no_corpus_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(SidecarError, match="is no corpus") as caught:
        open_corpus(tmp_path)
    assert caught.value.code == "not_found"
    with pytest.raises(SidecarError, match="does not exist"):
        open_corpus(tmp_path / "absent")
    with pytest.raises(SidecarError, match="'csv' is not a corpus format") as caught:
        open_corpus(tmp_path, "csv")
    assert (caught.value.field, caught.value.code) == ("format", "bad_request")
    for named in ("extraction", "declarations", "docgen"):
        with pytest.raises(SidecarError) as caught:
            open_corpus(tmp_path, named)
        assert caught.value.code == "not_found"


def test_the_fingerprint_follows_contents_and_names_only(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write(folder, module_row("A"), declaration_row("a"))
    assert open_corpus(first).fingerprint() == open_corpus(second).fingerprint()
    assert len(open_corpus(first).fingerprint()) == 64
    write(second, module_row("A"), declaration_row("a", docstring="new"))
    assert open_corpus(first).fingerprint() != open_corpus(second).fingerprint()
