"""Reader of extractions: what `lake exe extract` writes, one JSON-lines file a module.

In: a folder in the format of `sidecar/corpus/extraction_format.md`. Out: `PremiseExample` rows, one for each state that
some premise closes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidecar.corpus.extraction import decoded, extraction_files
from sidecar.corpus.extraction_rows import Row, RowOrder, faults
from sidecar.corpus.lines import cut_off, read_lines
from sidecar.errors import SidecarError
from training.data.examples import Positive, PremiseExample


def read_extraction(path: Path, *, include_instances: bool = False) -> Iterator[PremiseExample]:
    """Stream the examples of an extraction, file by file in order of their paths.

    Args:
        path: The folder, searched for `*.jsonl` at any depth, or one file of it.
        include_instances: Keep premises that nothing but instance search found; no selector is asked for them.

    Raises:
        SidecarError: `not_found` when there is no file; `bad_request` naming file and line when a row breaks the
            format, a file is cut off, or an example is of a theorem that its file does not declare.
    """
    files = extraction_files(path)
    if not files:
        raise SidecarError(
            "not_found", f"{path} has no *.jsonl file", field="data", hint="run `lake exe extract` first"
        )
    for file in files:
        yield from _examples(file, include_instances)


def _examples(file: Path, include_instances: bool) -> Iterator[PremiseExample]:
    order = RowOrder()
    module = ""
    declared: dict[str, Row] = {}
    number = 0
    for number, line in read_lines(file):
        row = _row(file, number, line)
        _stop_at(file, number, order.follow(row["row"]))
        if row["row"] == "module":
            module = row["module"]
        elif row["row"] == "declaration":
            declared[row["name"]] = row
        elif row["row"] == "example":
            theorem = declared.get(row["theorem"])
            if theorem is None:
                _stop_at(file, number, f"example of {row['theorem']}, which this file does not declare")
                continue
            example = _example(row, theorem, module, include_instances)
            if example.positives:
                yield example
        else:
            _stop_at(file, number, order.miscounted(row))
    if not order.complete:
        raise cut_off(file, number + 1)


def _example(row: Row, theorem: Row, module: str, include_instances: bool) -> PremiseExample:
    return PremiseExample(
        theorem=row["theorem"],
        module=module,
        line=theorem["line"],
        state=row["state"],
        signature=theorem["signature"],
        positives=tuple(
            Positive(premise["name"], tuple(premise["from"]))
            for premise in row["premises"]
            if premise["name"] != row["theorem"] and (include_instances or not _found_by_instance_search(premise))
        ),
        proof=row["proof"],
        # Only a proof that an attribute made stands nowhere in the source.
        generated=row["line"] is None,
    )


def _found_by_instance_search(premise: dict[str, Any]) -> bool:
    return bool(premise["from"] == ["instance"])


def _row(file: Path, number: int, line: bytes) -> Row:
    try:
        row = decoded(line)
    except ValueError as error:
        _stop_at(file, number, f"not a row of JSON: {error}")
        raise
    for fault in faults(row):
        _stop_at(file, number, fault)
    return row


def _stop_at(file: Path, number: int, fault: str | None) -> None:
    if fault is not None:
        raise SidecarError(
            "bad_request",
            f"{file}:{number}: {fault}",
            field="data",
            hint=f"`lean-sidecar corpus check {file.parent}` shows every fault",
        )
