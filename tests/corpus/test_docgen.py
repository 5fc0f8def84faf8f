"""The reader of doc-gen4 pages, on small pages of the same make."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sidecar.corpus.docgen_page import split_attributes
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import open_corpus
from sidecar.errors import SidecarError
from tests.corpus.written import displayed, explicit, linked, page

IMPLICIT_GROUP = (
    '<span class="impl_arg"><span class="decl_args">\n'
    '<span class="fn">{<span class="fn">G</span> : Type}</span></span>\n</span>'
)

SEMIGROUP = displayed(
    "class",
    "Semigroup",
    binders=explicit('<span class="fn">G</span> : <a href="./foundational_types.html">Type</a> u')
    + f'\n<span class="decl_extends">extends</span> <span id="Semigroup.toMul">{linked("Mul")} G</span>',
    type_='<a href="./foundational_types.html">Type</a> u',
    rest=(
        "<p>A type with an associative\n<code>*</code>.</p>"
        '<ul class="structure_fields" id="Semigroup.mk">'
        '<li class="structure_field inherited_field"><div class="structure_field_info">'
        f"{linked('Mul.mul', 'mul')} : G → G → G</div></li>"
        '<li id="Semigroup.mul_assoc" class="structure_field"><div class="structure_field_info">mul_assoc'
        f"{explicit('a b c : G')}\n : a {linked('HMul.hMul', '*')} b {linked('Eq', '=')} c</div>"
        '<div class="structure_field_doc"><p>Associative.</p></div></li></ul>'
    ),
)

SIGMA = displayed(
    "structure",
    "Sigma",
    binders=IMPLICIT_GROUP.replace("G", "α") + explicit("β : α → Type"),
    type_="Type",
    rest=(
        '<ul class="structure_ext"><li class="structure_ext_ctor">pair :: (</li><ul class="structure_ext_fields">'
        '<li id="Sigma.fst" class="structure_field"><div class="structure_field_info">fst : α</div></li>'
        '<li id="Sigma.snd" class="structure_field"><div class="structure_field_info">snd : β '
        f'<span class="fn">self</span>.{linked("Sigma.fst", "fst")}</div></li></ul>'
        '<li class="structure_ext_ctor">)</li></ul>'
    ),
)

NAT = displayed(
    "inductive",
    "Nat",
    type_="Type",
    rest=(
        '<ul class="constructors"><li class="constructor" id="Nat.zero">zero : '
        f'{linked("Nat")}<div class="inductive_ctor_doc"><p>The smallest.</p></div></li>'
        f'<li class="constructor" id="Nat.succ">succ{explicit("n : " + linked("Nat"))}\n : {linked("Nat")}</li></ul>'
    ),
)


def read(folder: Path, body: str) -> dict[str, Declaration]:
    (folder / "Library.html").write_text(page("Library", body), encoding="utf-8")
    return {declaration.name: declaration for declaration in open_corpus(folder, "docgen").declarations()}


def test_a_statement_is_displayed_and_in_full(tmp_path: Path) -> None:
    body = displayed(
        "theorem",
        "Filter.mem_map",
        binders=f"{IMPLICIT_GROUP}{explicit('s : ' + linked('Filter.Set.Large', 'Set.Large') + ' G')}",
        type_=(
            f"a {linked('Membership.mem', '∈')} {linked('Filter.map', 'map')} f "
            f"{linked('Iff', '↔')} x.{linked('Filter.small', 'small')}"
        ),
        before='<div class="attributes">@[simp, deprecated Filter.new (since := &quot;2026-01-01&quot;)]</div>\n',
        rest="<p>Membership.</p>",
    )
    declaration = read(tmp_path, body)["Filter.mem_map"]
    assert declaration.display == "theorem Filter.mem_map {G : Type} (s : Set.Large G) : a ∈ map f ↔ x.small"
    assert declaration.signature == (
        "theorem Filter.mem_map {G : Type} (s : Filter.Set.Large G) : a ∈ Filter.map f ↔ x.small"
    )
    assert declaration.constants == ("Membership.mem", "Filter.map", "Iff", "Filter.small", "Filter.Set.Large")
    assert declaration.conclusion_count == 4
    assert declaration.attributes == ("simp", 'deprecated Filter.new (since := "2026-01-01")')
    assert (declaration.line, declaration.end_line, declaration.parent) == (7, 9, None)
    assert declaration.docstring == "Membership."


def test_a_class_shows_its_members(tmp_path: Path) -> None:
    found = read(tmp_path, SEMIGROUP)
    assert list(found) == ["Semigroup", "Semigroup.toMul", "Semigroup.mul_assoc", "Semigroup.mk"]
    assert found["Semigroup"].signature == "class Semigroup (G : Type u) extends Mul G : Type u"
    assert found["Semigroup"].docstring == "A type with an associative `*`."
    assert found["Semigroup.toMul"].signature == (
        "parent_proj Semigroup.toMul {G : Type u} [self : Semigroup G] : Mul G"
    )
    assert found["Semigroup.mul_assoc"].signature == (
        "field Semigroup.mul_assoc {G : Type u} [self : Semigroup G] (a b c : G) : a * b = c"
    )
    assert found["Semigroup.mul_assoc"].docstring == "Associative."
    assert found["Semigroup.mk"].signature == (
        "ctor Semigroup.mk {G : Type u} (toMul : Mul G) (mul_assoc : ∀ (a b c : G), a * b = c) : Semigroup G"
    )
    assert found["Semigroup.mk"].constants == ("Semigroup", "Mul", "HMul.hMul", "Eq")
    assert {declaration.parent for name, declaration in found.items() if "." in name} == {"Semigroup"}
    assert found["Semigroup.mul_assoc"].line == 7


def test_a_structure_with_a_named_constructor(tmp_path: Path) -> None:
    found = read(tmp_path, SIGMA)
    assert list(found) == ["Sigma", "Sigma.fst", "Sigma.snd", "Sigma.pair"]
    assert found["Sigma.snd"].signature == "field Sigma.snd {α : Type} {β : α → Type} (self : Sigma β) : β self.fst"
    assert found["Sigma.pair"].signature == (
        "ctor Sigma.pair {α : Type} {β : α → Type} (fst : α) (snd : β fst) : Sigma β"
    )


def test_an_inductive_shows_its_constructors(tmp_path: Path) -> None:
    found = read(tmp_path, NAT)
    assert found["Nat.zero"].signature == "ctor Nat.zero : Nat"
    assert found["Nat.zero"].docstring == "The smallest."
    assert found["Nat.succ"].signature == "ctor Nat.succ (n : Nat) : Nat"
    assert found["Nat.succ"].parent == "Nat"


@pytest.mark.parametrize(
    ("shown", "kind", "equation", "has_equations"),
    [
        ("def", "def", "f x = 0", True),
        ("noncomputable def", "def", None, True),
        ("partial def", "def", None, False),
        ("instance", "instance", None, False),
        ("instance", "instance", "f x = 0", True),
        ("unsafe axiom", "axiom", None, False),
        ("lemma", "theorem", None, False),
    ],
)
def test_kinds_modifiers_and_equations(
    tmp_path: Path, shown: str, kind: str, equation: str | None, has_equations: bool
) -> None:
    item = f'<li class="equation"><span>{equation}</span></li>' if equation else '<li class="equation">Too large.</li>'
    rest = f'<details><summary>Equations</summary><ul class="equations">{item}</ul></details>'
    declaration = read(tmp_path, displayed(shown, "f", type_="Nat", rest=rest))["f"]
    assert (declaration.kind, declaration.has_equations) == (kind, has_equations)
    assert declaration.docstring == ""


def test_a_kind_of_a_newer_lean_is_kept_as_opaque_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path, displayed("coinductive", "Stream", type_="Type"))["Stream"].kind == "opaque"
    assert "'coinductive'" in caplog.text


def test_unlinked_notation_stands_for_its_constants(tmp_path: Path) -> None:
    body = displayed("theorem", "a", type_="∑ x ∈ s, f x") + displayed("theorem", "b", type_="∃ x ∉ s, ⇑f x")
    found = read(tmp_path, body)
    assert found["a"].constants == ("Finset.sum",)
    assert found["b"].constants == ("Exists", "Not", "Membership.mem", "DFunLike.coe")
    assert found["b"].conclusion_count == 0


def test_names_are_opaque(tmp_path: Path) -> None:
    names = ["Std.«term_...*»", "Lean.«term∃__,_»", "inv₀", "𝒰S", "map₂'", "quot.sound", "«quot.sound»", "a&lt;b"]
    found = read(tmp_path, "".join(displayed("theorem", name, type_="True") for name in names))
    assert list(found) == [*names[:-1], "a<b"]
    assert found["«quot.sound»"].signature == "theorem «quot.sound» : True"


def test_docstrings_become_light_markdown(tmp_path: Path) -> None:
    docs = (
        '<h1 id="T" class="markdown-heading">Title <a class="hover-link" href="#T">#</a></h1>'
        f"<p>See <code>{linked('Nat.add')} x</code>,\n<strong>bold</strong> <em>it</em> and "
        '<a href="https://example.org/a?b&amp;c">there</a>  or <a href="https://example.org">https://example.org</a>, '
        f"{linked('Nat')}.</p>"
        '<pre><code class="language-lean">example\n\n  := by simp\n</code></pre><p>After.</p><hr>\n'
        "<ul><li>one\nline</li><li>two<ul><li>inner</li></ul></li></ul>"
        "<ol><li>first</li><li>second</li></ol><blockquote><p>said</p></blockquote>"
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    declaration = read(tmp_path, displayed("theorem", "a", type_="True", rest=docs))["a"]
    assert declaration.docstring == (
        "# Title\n\n"
        "See `Nat.add x`, **bold** *it* and [there](https://example.org/a?b&c)  or https://example.org, Nat.\n\n"
        "```\nexample\n\n  := by simp\n```\n\nAfter.\n\n---\n\n"
        "- one line\n- two\n\n  - inner\n\n1. first\n2. second\n\n> said\n\n| a | b |\n| 1 | 2 |"
    )


def test_modules_come_with_imports_docstrings_and_source(tmp_path: Path) -> None:
    (tmp_path / "Deep").mkdir()
    body = '<div class="mod_doc"><p>One.</p></div><div class="mod_doc"><h2 class="markdown-heading">Two</h2></div>'
    (tmp_path / "Deep" / "Er.html").write_text(page("Deep.Er", body, ["Init", "Library"]), encoding="utf-8")
    (tmp_path / "Library.html").write_text(page("Library", NAT), encoding="utf-8")
    (tmp_path / "index.html").write_text("<html><body>Welcome</body></html>")
    corpus = open_corpus(tmp_path)
    deep, library = corpus.modules()
    assert corpus.format == "docgen"
    assert (deep.name, deep.imports, deep.docstring) == ("Deep.Er", ("Init", "Library"), "One.\n\n## Two")
    assert deep.source == "https://github.com/someone/library/blob/0123abcd/Deep/Er.lean"
    assert (library.name, library.imports) == ("Library", ())
    assert corpus.revisions() == {"someone/library": "0123abcd"}
    assert [declaration.module for declaration in corpus.declarations()] == ["Library"] * 3


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.999])
def test_a_page_that_is_cut_off_is_refused_by_name_and_line(tmp_path: Path, keep: float) -> None:
    whole = page("Library", SEMIGROUP)
    (tmp_path / "Library.html").write_text(whole[: int(len(whole) * keep)], encoding="utf-8")
    with pytest.raises(SidecarError, match=r"Library\.html:\d+: the page ends before </html>"):
        list(open_corpus(tmp_path).declarations())


def test_a_page_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Library.html").write_bytes(page("Library", NAT).encode() + b"\xff")
    with pytest.raises(SidecarError, match=r"Library\.html: not UTF-8"):
        list(open_corpus(tmp_path).declarations())


def test_a_declaration_without_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"Library\.html:2: declaration odd has no header"):
        read(tmp_path, '<div class="decl" id="odd"><div class="def"></div></div>')


def test_attributes_are_split_at_their_own_commas_only() -> None:
    assert split_attributes('simp, deprecated "a, b" (since := "1, 2"), specialize #[1, 2], x «y, z»') == (
        "simp",
        'deprecated "a, b" (since := "1, 2")',
        "specialize #[1, 2]",
        "x «y, z»",
    )
    assert split_attributes("") == ()
