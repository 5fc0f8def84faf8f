"""Reader of lists of proofs: which premises the proof of each theorem uses.

In: files of JSON lines beside a corpus that says nothing about proofs. Out: `Proof` records, streamed.

A row has `name`, the theorem, and `premises`, names of what its proof uses; other fields are passed over. An extraction
brings its proofs along and may also be given here, for a corpus that was read from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidecar.corpus.extraction import ExtractionReader, decoded, extraction_files
from sidecar.corpus.lines import read_lines
from sidecar.corpus.records import Proof
from sidecar.errors import SidecarError


class ProofLists:
    """Reads lists of proofs; every call of a method reads them again from the start.

    Args:
        path: A file `*.jsonl` or `*.jsonl.gz`, a folder of such files, or an extraction.

    Raises:
        SidecarError: `not_found` when there is no such file; `bad_request` for an extraction that is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.extraction = ExtractionReader(path) if _is_extraction(path) else None
        """The reader of the extraction; None for lists."""
        self.files = _files(path) if self.extraction is None else self.extraction.files
        """Every file that is read, in order."""

    def proofs(self) -> Iterator[Proof]:
        """The proofs, file by file; a theorem may come again.

        Raises:
            SidecarError: `bad_request` naming file and line when a row is not what it should be or a file is cut off.
        """
        if self.extraction is not None:
            yield from self.extraction.proofs()
            return
        for file in self.files:
            for number, line in read_lines(file, ended=False):
                try:
                    yield read_proof(line)
                except ValueError as error:
                    raise _unreadable(file, number, str(error)) from error


def read_proof(line: bytes) -> Proof:
    """The proof of one row.

    Raises:
        ValueError: Saying what is wrong.
    """
    try:
        row = decoded(line)
    except ValueError as error:
        raise ValueError(f"not a row of JSON: {error}") from error
    name, premises = row.get("name"), row.get("premises")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name is {_shown(name)}, it must be the name of a theorem")
    if not isinstance(premises, list) or not all(isinstance(premise, str) for premise in premises):
        raise ValueError(f"premises is {_shown(premises)}, it must be a list of names")
    return Proof(name, tuple(premises))


def _is_extraction(path: Path) -> bool:
    """Whether the first file begins as an extraction does; a folder with lists directly in it is none."""
    lists = _lists(path)
    for file in (lists or extraction_files(path))[:1]:
        try:
            for _, line in read_lines(file, ended=False):
                return bool(decoded(line).get("row") == "module")
        except ValueError:
            return False
        except SidecarError:
            # A list that cannot be read is met when it is read, with those beside it.
            if not lists:
                raise
    return False


def _lists(path: Path) -> list[Path]:
    candidates = [path] if path.is_file() else sorted(path.iterdir()) if path.is_dir() else []
    return [file for file in candidates if file.is_file() and file.name.endswith((".jsonl", ".jsonl.gz"))]


def _files(path: Path) -> list[Path]:
    files = _lists(path)
    if not files:
        if path.is_dir():
            fault = f"{path} has no *.jsonl or *.jsonl.gz file"
        else:
            fault = f"{path} is no *.jsonl or *.jsonl.gz" if path.exists() else f"{path} does not exist"
        raise SidecarError(
            "not_found",
            fault,
            field=str(path),
            hint="give an extraction, or JSON lines with `name` and `premises`",
        )
    return files


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _unreadable(file: Path, number: int, fault: str) -> SidecarError:
    return SidecarError(
        "bad_request",
        f"{file}:{number}: {fault}",
        field="proofs",
        hint='a row looks like {"name": "Nat.add_comm", "premises": ["Nat.add_succ"]};'
        " `lean-sidecar corpus check CORPUS --proofs FILE` names every row that is none",
    )
