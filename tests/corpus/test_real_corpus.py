"""The readers and the table on the published declarations of Mathlib and everything it imports."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from sidecar.corpus.imports import ImportGraph
from sidecar.corpus.source import Corpus, open_corpus
from sidecar.errors import SidecarError
from tests.corpus.conftest import Real

pytestmark = pytest.mark.shared_data


def test_every_declaration_and_module_is_read_once(shared: Path, real: Real) -> None:
    counts = json.loads((shared / "data" / "declarations" / "counts.json").read_text())
    assert real.corpus.format == "declarations"
    assert len(real.modules) == counts["misc"]["modules"]
    assert dict(real.kinds) == dict(counts["kind"])
    assert len(real.roles) == real.kinds.total()
    assert real.corpus.revisions()["leanprover-community/mathlib4"].startswith("fabf563a")


def test_reading_keeps_memory_flat(shared: Path) -> None:
    corpus = open_corpus(shared / "data" / "declarations")
    declarations = corpus.declarations()
    next(declarations)
    tracemalloc.start()
    try:
        first = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for _ in islice(declarations, 10_000):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The names that went by are kept, a hundred bytes each; the records are a hundred times as much.
    assert peak - first < 4_000_000


def cited_premises(shared: Path) -> Counter[str]:
    """Names that the premise pairs cite, with the number of theorems; only that field of the rows is decoded."""
    cited: Counter[str] = Counter()
    decoder = json.JSONDecoder()
    for file in sorted((shared / "data" / "premises").glob("pairs-*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                start = line.index('"premises": ') + len('"premises": ')
                cited.update(decoder.raw_decode(line, start)[0])
    return cited


def test_premises_that_proofs_cite_are_premises(shared: Path, real: Real) -> None:
    cited = cited_premises(shared)
    missed = [name for name in cited if not real.roles[name].premise]
    share = 1 - len(missed) / len(cited)
    print(f"{len(cited)} cited premises, {share:.5%} are premises by the table; missed:")
    for name in missed:
        print(f"  {name}: {real.roles[name].reason}")
    assert share >= 0.9999


def test_answers_to_real_questions_are_search_targets(shared: Path, real: Real) -> None:
    lines = (shared / "data" / "queries" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {name for line in lines for name in json.loads(line)["gold"]} & real.roles.keys()
    assert len(answers) > 500
    assert [name for name in answers if not real.roles[name].target] == []


def test_only_names_that_lean_made_are_hidden(real: Real) -> None:
    hidden = {name for name, its in real.roles.items() if its.hidden}
    assert {name.rpartition(".")[2] for name in hidden} == {"injEq", "sizeOf_spec", "congr"}
    assert all(".match_1." in name for name in hidden if name.endswith(".congr"))
    assert len(hidden) == 9


def test_roles_are_spread_as_the_table_says(real: Real) -> None:
    premises = sum(its.premise for its in real.roles.values())
    targets = sum(its.target for its in real.roles.values())
    assert 300_000 < premises < 330_000
    assert targets > 0.98 * len(real.roles)
    assert real.roles["CategoryTheory.Category.assoc"].premise
    assert not real.roles["CategoryTheory.CategoryStruct.comp"].premise
    assert real.roles["List.Perm.trans"].premise
    assert not real.roles["sorryAx"].premise
    assert not real.roles["Lean.Elab.Tactic.run"].premise
    assert real.roles["Lean.Elab.Tactic.run"].target


def test_every_deprecation_is_understood(real: Real) -> None:
    assert len(real.deprecations) == real.deprecated > 5_000
    named = [its.replacement for its in real.deprecations.values() if its.replacement is not None]
    assert len(named) > 4_900
    assert sum(name in real.roles for name in named) / len(named) > 0.999
    assert all(its.since for its in real.deprecations.values())


@pytest.mark.parametrize(
    "names",
    [
        ("Std.«term_...*»",),
        ("Lean.«term∃__,_»",),
        ("spectrum.inv₀_mem_iff",),
        ("Quotient.map₂'",),
        ("AlgebraicGeometry.ExistsHomHomCompEqCompAux.𝒰S", "AlgebraicGeometry.ExistsHomHomCompEqCompAux.h𝒰S"),
        ("List.Lex", "List.lex"),
        ("Std.Rcc.mem_of_mem_roc", "Std.Rcc.mem_of_mem_Roc"),
        ("List.zipWith₃", "List.zipWith3"),
        ("«term¬_»", "«term￢_»"),
        ("CategoryTheory.Limits.IndObjectPresentation.I", "CategoryTheory.Limits.IndObjectPresentation.ℐ"),
    ],
)
def test_names_stay_as_they_are(real: Real, names: tuple[str, ...]) -> None:
    assert [name for name in names if name not in real.roles] == []


def test_a_cut_off_file_is_refused_by_name_and_line(shared: Path, tmp_path: Path) -> None:
    for file in (shared / "data" / "declarations").glob("*-000.jsonl.gz"):
        content = file.read_bytes()
        (tmp_path / file.name).write_bytes(content[:500_000] if file.name.startswith("declarations") else content)
    with pytest.raises(SidecarError, match=r"declarations-000\.jsonl\.gz:\d+: the file is cut off here"):
        for _ in open_corpus(tmp_path).declarations():
            pass


def test_visibility_is_everything_that_is_imported(real: Real) -> None:
    graph = ImportGraph(real.modules)
    imports = {module.name: module.imports for module in real.modules}
    assert len(graph.names) == 10_931
    choice = random.Random(0)
    for name in ["Mathlib", "Init.Prelude", *choice.sample(sorted(imports), 40)]:
        visible, unknown = graph.visible(imports[name])
        reached: set[str] = set()
        waiting = [target for target in imports[name] if target in imports]
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached.add(module)
                waiting += [target for target in imports[module] if target in imports]
        assert {graph.names[number] for number in visible.nonzero()[0]} == reached
        assert unknown == [target for target in imports[name] if target not in imports]


FIELDS = (
    "kind",
    "module",
    "signature",
    "display",
    "docstring",
    "constants",
    "conclusion_count",
    "attributes",
    "line",
    "end_line",
    "parent",
    "has_equations",
)


def test_pages_and_published_declarations_agree_field_by_field(real: Real, pages: Corpus) -> None:
    """Everything agrees but one docstring of 4,495.

    `Lean.guardMsgsPositions` has a code block inside a list item. The published declarations put such blocks at the
    margin, out of the list; the reader of pages keeps them in their item.
    """
    from_pages = {declaration.name: declaration for declaration in pages.declarations()}
    extra = from_pages.keys() - real.documented.keys()
    assert real.documented.keys() - from_pages.keys() == set()
    assert all(name.startswith("_private.") for name in extra)
    differing = {
        name: [
            declaration.name
            for declaration in real.documented.values()
            if getattr(declaration, name) != getattr(from_pages[declaration.name], name)
        ]
        for name in FIELDS
    }
    total = len(real.documented)
    for name, names in differing.items():
        print(f"{name}: {1 - len(names) / total:.3%} of {total} agree")
    assert differing == {name: [] for name in FIELDS} | {"docstring": ["Lean.guardMsgsPositions"]}
    assert [name for name in from_pages if name not in extra and from_pages[name].module == "Init.Prelude"] == [
        name for name, declaration in real.documented.items() if declaration.module == "Init.Prelude"
    ]


def test_pages_and_published_modules_agree_field_by_field(real: Real, pages: Corpus) -> None:
    published = {module.name: module for module in real.modules}
    modules = list(pages.modules())
    assert len(modules) == 23
    assert modules == [published[module.name] for module in modules]
