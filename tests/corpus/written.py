"""Extractions and doc-gen4 pages written for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidecar.corpus.records import Declaration


def module_row(module: str, imports: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    return {
        "row": "module",
        "format": 1,
        "module": module,
        "imports": list(imports),
        "docstring": "",
        "source": None,
        "package": None,
        "revision": None,
        "toolchain": None,
    } | changes


def declaration_row(name: str, kind: str = "theorem", **changes: Any) -> dict[str, Any]:
    return {
        "row": "declaration",
        "name": name,
        "kind": kind,
        "signature": f"{kind} {name} : True",
        "display": f"{kind} {name} : True",
        "docstring": "",
        "constants": ["True"],
        "conclusion_count": 1,
        "attributes": [],
        "line": 3,
        "end_line": 4,
        "parent": None,
        "has_equations": False,
    } | changes


def example_row(theorem: str, premises: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    return {
        "row": "example",
        "theorem": theorem,
        "proof": "tactic",
        "state": "n : Nat\n⊢ True",
        "line": 3,
        "column": 4,
        "premises": [{"name": name, "from": ["explicit"]} for name in premises],
    } | changes


def end_row(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    kinds = [row.get("row") for row in rows]
    return {"row": "end", "declarations": kinds.count("declaration"), "examples": kinds.count("example")}


def lines(rows: Sequence[dict[str, Any]], *, spaced: bool = False) -> bytes:
    separators = None if spaced else (",", ":")
    return "".join(json.dumps(row, ensure_ascii=False, separators=separators) + "\n" for row in rows).encode()


def write(folder: Path, *rows: dict[str, Any], name: str = "file.jsonl", spaced: bool = False) -> Path:
    """Write the rows and the end row that belongs to them."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(lines([*rows, end_row(rows)], spaced=spaced))
    return file


def declared(name: str, kind: str = "theorem", **changes: Any) -> Declaration:
    fields: dict[str, Any] = {"module": "Library.Basic", "signature": f"{kind} {name} : True"}
    return Declaration(name=name, kind=kind, **(fields | changes))


def page(module: str, body: str, imports: Sequence[str] = ()) -> str:
    """A doc-gen4 page around the markup of its declarations."""
    links = "".join(f'<li><a href="./{name}.html">{name}</a></li>' for name in imports)
    source = f"https://github.com/someone/library/blob/0123abcd/{module.replace('.', '/')}.lean"
    return (
        f'<html lang="en"><head><meta charset="UTF-8"></meta><title>{module}</title>'
        f'<script>const MODULE_NAME="{module}";</script></head><body><nav class="internal_nav">'
        f'<p class="gh_nav_link"><a href="{source}">source</a></p>'
        f'<div class="imports"><details><summary>Imports</summary><ul>{links}</ul></details>'
        '<details><summary>Imported by</summary><ul class="imported-by-list"></ul></details></div></nav>'
        f"<main>\n{body}</main></body></html>\n"
    )


def displayed(kind: str, name: str, *, binders: str = "", type_: str = "", rest: str = "", before: str = "") -> str:
    """A declaration as doc-gen4 shows it; binders and type are markup."""
    return (
        f'<div class="decl" id="{name}"><div class="{kind}"><div class="gh_link">'
        f'<a href="https://github.com/someone/library/blob/0123abcd/Library.lean#L7-L9">source</a></div>{before}'
        f'<div class="decl_header"><span class="decl_kind">{kind}</span>\n<span class="decl_name">'
        f'<a class="break_within" href="./Library.html#{name}"><span class="name">{name}</span></a></span>{binders}'
        f'<span class="decl_args"> :</span><div class="decl_type">{type_}</div></div>{rest}</div></div>'
    )


def linked(constant: str, text: str | None = None) -> str:
    return f'<a href="./Somewhere.html#{constant}">{constant if text is None else text}</a>'


def explicit(markup: str) -> str:
    return f'<span class="decl_args">\n<span class="fn">({markup})</span></span>'
