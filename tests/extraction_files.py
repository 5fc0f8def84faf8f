"""Writes a module as the extraction would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_module(
    folder: Path, name: str, imports: Sequence[str], docstring: str, declarations: Sequence[dict[str, Any]]
) -> None:
    head = {
        "row": "module",
        "format": 1,
        "module": name,
        "imports": imports,
        "docstring": docstring,
        "source": None,
        "package": "made",
        "revision": "abc",
        "toolchain": "leanprover/lean4:v4.33.0",
    }
    end = {"row": "end", "declarations": len(declarations), "examples": 0}
    lines = [json.dumps(row, ensure_ascii=False) for row in (head, *declarations, end)]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
