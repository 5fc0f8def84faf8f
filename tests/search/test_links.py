"""Links to documentation pages."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.search.links import DocumentationLinks

BASE = "https://leanprover-community.github.io/mathlib4_docs/"


@pytest.mark.parametrize(
    ("name", "module", "rest"),
    [
        ("Nat.add_comm", "Init.Data.Nat.Basic", "Init/Data/Nat/Basic.html#Nat.add_comm"),
        ("Std.«term_...*»", "Std.Notation", "Std/Notation.html#Std.%C2%ABterm_...%2A%C2%BB"),
        ("Filter.map₂'", "Mathlib.Order.Filter.Basic", "Mathlib/Order/Filter/Basic.html#Filter.map%E2%82%82%27"),
        (
            "Lean.«term∃__,_»",
            "Init.BinderPredicates",
            "Init/BinderPredicates.html#Lean.%C2%ABterm%E2%88%83__%2C_%C2%BB",
        ),
        ("«term_%_»", "Init.Prelude", "Init/Prelude.html#%C2%ABterm_%25_%C2%BB"),
        ("x", "Mathlib.«odd-name».A", "Mathlib/odd-name/A.html#x"),
    ],
)
def test_known_libraries(name: str, module: str, rest: str) -> None:
    assert DocumentationLinks().link(name, module) == BASE + rest


def test_nobody_is_known_to_document_other_libraries() -> None:
    assert DocumentationLinks().link("Foo.bar", "Foo.Bar") is None
    assert DocumentationLinks().link("Foo.bar", "MathlibExtra.Bar") is None


def test_bases_are_configurable_by_prefix_and_the_longest_decides() -> None:
    links = DocumentationLinks(
        {"Foo": "https://foo.example/docs", "Foo.Internal": "", "Mathlib": "http://localhost:8000/"}
    )
    assert links.link("Foo.bar", "Foo.Bar") == "https://foo.example/docs/Foo/Bar.html#Foo.bar"
    assert links.link("Foo.bar", "Foo.Internal.Bar") is None
    assert links.link("Foo.bar", "Foo.InternalX") == "https://foo.example/docs/Foo/InternalX.html#Foo.bar"
    assert links.link("a", "Mathlib.A") == "http://localhost:8000/Mathlib/A.html#a"
    assert links.link("a", "Std.A") == f"{BASE}Std/A.html#a"


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_the_fragment_decodes_to_the_name(name: str) -> None:
    link = DocumentationLinks().link(name, "Init.Core")
    assert link is not None
    assert link.isascii()
    parts = urlsplit(link)
    assert unquote(parts.fragment) == name
    assert parts.path == "/mathlib4_docs/Init/Core.html"


def test_a_lone_surrogate_breaks_nothing() -> None:
    assert DocumentationLinks().link("a\ud800", "Init.Core") == f"{BASE}Init/Core.html#a%3F"
