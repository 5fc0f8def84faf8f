"""The import graph: what a file sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.corpus.imports import ImportGraph
from sidecar.corpus.records import Module
from sidecar.errors import SidecarError


def graph_of(edges: dict[str, tuple[str, ...]]) -> ImportGraph:
    return ImportGraph(Module(name, imports) for name, imports in edges.items())


def seen(graph: ImportGraph, *imports: str) -> set[str]:
    visible, _ = graph.visible(imports)
    assert visible.shape == (len(graph.names),)
    return {name for name, is_visible in zip(graph.names, visible, strict=True) if is_visible}


DIAMOND = {"Top": ("Left", "Right"), "Left": ("Base",), "Right": ("Base", "Elsewhere"), "Base": (), "Alone": ()}


def test_imports_and_everything_they_import_are_visible() -> None:
    graph = graph_of(DIAMOND)
    assert seen(graph, "Top") == {"Top", "Left", "Right", "Base"}
    assert seen(graph, "Left", "Alone", "Left") == {"Left", "Base", "Alone"}
    assert seen(graph) == set()
    assert graph.names == tuple(DIAMOND)
    assert [graph.number(name) for name in ("Top", "Alone", "Elsewhere")] == [0, 4, None]


def test_unknown_imports_are_named_once_in_order() -> None:
    visible, unknown = graph_of(DIAMOND).visible(["Zoo", "Base", "top", "Zoo", "Elsewhere"])
    assert unknown == ["Zoo", "top", "Elsewhere"]
    assert visible.sum() == 1


def test_every_module_of_a_cycle_sees_the_whole_cycle() -> None:
    graph = graph_of({"A": ("B",), "B": ("C",), "C": ("A", "Base"), "Base": (), "Self": ("Self",)})
    for name in "ABC":
        assert seen(graph, name) == {"A", "B", "C", "Base"}
    assert seen(graph, "Base") == {"Base"}
    assert seen(graph, "Self") == {"Self"}


def test_of_two_modules_with_one_name_the_first_counts() -> None:
    graph = ImportGraph([Module("A", ("B",)), Module("B"), Module("C"), Module("A", ("C",))])
    assert graph.names == ("A", "B", "C")
    assert seen(graph, "A") == {"A", "B"}


def test_no_modules_at_all() -> None:
    visible, unknown = ImportGraph([]).visible(["Init"])
    assert (visible.shape, unknown) == ((0,), ["Init"])


@given(st.lists(st.lists(st.integers(0, 79), max_size=4), max_size=80), st.lists(st.integers(0, 79), max_size=300))
def test_visibility_is_reachability(edges: list[list[int]], imports: list[int]) -> None:
    names = [f"«M.{number}»" for number in range(len(edges))]
    known = {f"«M.{number}»": tuple(f"«M.{target}»" for target in targets) for number, targets in enumerate(edges)}
    reached: set[str] = set()
    waiting = [name for number in imports if (name := f"«M.{number}»") in known]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [target for target in known[name] if target in known]
    graph = graph_of(known)
    assert seen(graph, *(f"«M.{number}»" for number in imports)) == reached
    assert list(graph.names) == names


def test_a_long_chain_needs_no_recursion() -> None:
    length = 3_000
    graph = ImportGraph(Module(f"M{number}", (f"M{number + 1}",)) for number in range(length))
    assert len(seen(graph, "M0")) == length
    assert len(seen(graph, *(f"M{number}" for number in range(length)))) == length


def test_a_saved_graph_answers_as_before(tmp_path: Path) -> None:
    graph = graph_of(DIAMOND)
    graph.save(tmp_path / "imports")
    again = ImportGraph.load(tmp_path / "imports")
    assert again.names == graph.names
    assert seen(again, "Right") == seen(graph, "Right")
    assert again.number("Base") == 3
    assert [file.name for file in tmp_path.iterdir()] == ["imports"]


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "imports"
    with pytest.raises(SidecarError) as caught:
        ImportGraph.load(file)
    assert caught.value.code == "not_found"
    graph_of(DIAMOND).save(file)
    whole = file.read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2], whole[:-30], whole.replace(b'"Top"', b'"Tap"')):
        file.write_bytes(content)
        with pytest.raises(SidecarError, match="damaged") as caught:
            ImportGraph.load(file)
        assert caught.value.code == "conflict"
