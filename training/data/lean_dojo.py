"""Reader of LeanDojo's benchmark: one JSON array of theorems a file.

In: the benchmark's folder, with `random/` and `novel_premises/`, each holding `train.json`, `val.json`, `test.json`.
Out: `PremiseExample` rows, one for each tactic that names a premise: the state before it, and what it names.

The format is that of "LeanDojo: Theorem Proving with Retrieval-Augmented Language Models" (Yang et al. 2023): a theorem
has `file_path`, `full_name`, `start` ([line, column], lines from 1) and `traced_tactics`; a tactic has `tactic`,
`state_before` and `annotated_tactic`, the text with marks and a list of premises (`full_name`, `def_path`, …). The
benchmark tells neither statements nor what automation used, so signatures are empty and positives are those of the one
tactic. What is visible follows from module and line, as for every other source.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sidecar.errors import SidecarError
from training.data.examples import Positive, PremiseExample

SPLITS: Final = ("random", "novel_premises")
_FILES: Final = {"train": "train.json", "valid": "val.json", "test": "test.json"}

_REWRITES: Final = frozenset({"rw", "rwa", "erw", "simp_rw", "nth_rw", "nth_rewrite", "rewrite"})
_SIMPLIFIERS: Final = frozenset({"simp", "simp?", "simp!", "simpa", "simp_all", "dsimp", "field_simp"})
_UNFOLDERS: Final = frozenset({"unfold", "delta"})


def benchmark_file(folder: Path, split: str, part: str) -> Path:
    """The file of one part of a split.

    Raises:
        SidecarError: `bad_request` for a split or part that the benchmark has not, `not_found` without the file.
    """
    if split not in SPLITS or part not in _FILES:
        raise SidecarError(
            "bad_request",
            f"LeanDojo's benchmark has no part {part!r} of a split {split!r}",
            field="split",
            hint=f"give {' or '.join(SPLITS)}",
        )
    file = folder / split / _FILES[part]
    if not file.is_file():
        raise SidecarError("not_found", f"{file} is not a file", field="data", hint="give the benchmark's folder")
    return file


def read_lean_dojo(folder: Path, split: str, part: str) -> Iterator[PremiseExample]:
    """Stream one part of a split, theorem by theorem.

    Args:
        folder: The benchmark's folder.
        split: `random` or `novel_premises`.
        part: `train`, `valid` or `test`.

    Raises:
        SidecarError: When the file is cut off or a theorem is not what it should be; names file and line. Every
            theorem that stands whole before the fault has been given by then.
    """
    file = benchmark_file(folder, split, part)
    for line, theorem in _theorems(file):
        try:
            yield from _examples(theorem)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            raise _broken(file, line, f"{type(error).__name__} {error}") from error


def _theorems(file: Path) -> Iterator[tuple[int, Any]]:
    """The entries of the array with the line that each begins on."""
    text = file.read_text(encoding="utf-8")
    decoder = json.JSONDecoder()
    place, line, counted = _behind_space(text, 0), 1, 0
    if text[place : place + 1] != "[":
        raise _broken(file, 1, "not an array of theorems")
    place = _behind_space(text, place + 1)
    while text[place : place + 1] != "]":
        line, counted = line + text.count("\n", counted, place), place
        try:
            theorem, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise _broken(file, error.lineno, f"cut off or damaged: {error.msg}") from error
        yield line, theorem
        place = _behind_space(text, place)
        if text[place : place + 1] == ",":
            place = _behind_space(text, place + 1)
        elif text[place : place + 1] != "]":
            raise _broken(file, 1 + text.count("\n", 0, place), "cut off or damaged: no end of the array")


def _behind_space(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place


def _broken(file: Path, line: int, fault: str) -> SidecarError:
    return SidecarError("bad_request", f"{file}:{line}: {fault}", field="data", hint="copy the file again")


def _examples(theorem: dict[str, Any]) -> Iterator[PremiseExample]:
    name, module, line = theorem["full_name"], module_of(theorem["file_path"]), int(theorem["start"][0])
    for tactic in theorem["traced_tactics"]:
        cited = dict.fromkeys(premise["full_name"] for premise in tactic["annotated_tactic"][1])
        cited.pop(name, None)
        if not cited:
            continue
        origins = (_origin(tactic["tactic"]),)
        yield PremiseExample(
            theorem=name,
            module=module,
            line=line,
            state=tactic["state_before"],
            signature="",
            positives=tuple(Positive(premise, origins) for premise in cited),
        )


def _origin(tactic: str) -> str:
    words = tactic.replace("[", " ").split()
    first = words[0] if words else ""
    if first in _REWRITES:
        return "rw"
    if first in _SIMPLIFIERS:
        return "simp"
    return "definitional" if first in _UNFOLDERS else "explicit"


def module_of(path: str) -> str:
    """The module of a source file, whether of the library itself, of a package below it, or of Lean.

    Args:
        path: As LeanDojo writes it: `Mathlib/Logic/Basic.lean`, `.lake/packages/batteries/Batteries/Logic.lean`,
            `.lake/packages/lean4/src/lean/Init/Core.lean`.
    """
    parts = PurePosixPath(path).with_suffix("").parts
    if "packages" in parts:
        parts = parts[parts.index("packages") + 2 :]
    if parts[:2] == ("src", "lean"):
        parts = parts[2:]
    return ".".join(parts)
