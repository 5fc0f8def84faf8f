"""What a run was made from and what it gave: `run.json`, beside the weights.

In: settings, files, examples. Out: the record; the refusal of a folder whose run was another one.

A record has `settings`; `source` (format and split of the examples); `inputs`, SHA-256 of every file by its kind and
name; `text_rules`; `decontamination` (each evaluation set with its size and digest, and what was removed);
`trained_on` (counts and digest of the pairs); `versions`, `machine`, `ranks`; and, once it has ended, `result`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sidecar.encoder.threads import training_threads
from sidecar.errors import SidecarError
from training.data.examples import PremiseExample

FILE: Final = "run.json"
FORMAT: Final = 1

_DECIDES: Final = ("settings", "source", "inputs", "text_rules", "trained_on", "ranks")
"""Parts that must agree for a run to be gone on with; versions and machine may change."""

_PACKAGES: Final = ("torch", "transformers", "sentence-transformers", "accelerate", "tokenizers", "numpy")


def file_hash(file: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def input_hashes(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of some files by their paths below a folder."""
    return {file.relative_to(folder).as_posix(): file_hash(file) for file in sorted(files)}


def examples_digest(examples: Iterable[PremiseExample]) -> str:
    """SHA-256 over theorems, states and positives, whatever their order."""
    rows = sorted(
        json.dumps([example.theorem, example.state, sorted(example.gold)], ensure_ascii=True) for example in examples
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def machine() -> str:
    """The device that computes, in words."""
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.device_count()} × {torch.cuda.get_device_name(0)}"
    return f"{platform.machine()} CPU, {training_threads()} threads"


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record of a run's folder, or None when the folder holds none.

    Raises:
        SidecarError: `bad_request` when the file is no record.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(record, dict) or not isinstance(record.get("settings"), dict):
            raise ValueError("not a run's record")
    except ValueError as error:
        raise SidecarError(
            "bad_request", f"{file}: {error}", field="output", hint="give another folder for the run"
        ) from error
    return record


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{FILE}.tmp"
    temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    temporary.replace(folder / FILE)


def require_free(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds a run, unless it is to be gone on with; before anything is read for it.

    Raises:
        SidecarError: `conflict`.
    """
    if not resume and read_record(folder) is not None:
        raise SidecarError(
            "conflict", f"{folder} holds a run already", field="output", hint="add --resume, or give another folder"
        )


def require_fit(folder: Path, record: Mapping[str, Any]) -> None:
    """Refuse a folder whose run cannot be gone on with.

    Raises:
        SidecarError: `conflict` naming what differs.
    """
    earlier = read_record(folder)
    if earlier is None:
        return
    found = differences(earlier, record)
    if found:
        raise SidecarError(
            "conflict",
            f"{folder} holds another run: {'; '.join(found)}",
            field="resume",
            hint="give the run's own options, or another folder",
        )


def differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What decides a run and differs, as `settings.batch is 64 there and 32 here`.

    A part that the earlier record lacks, because it was written before there was such a part, is no difference.
    """
    found: list[str] = []
    for part in _DECIDES:
        if part in earlier:
            found += _differences(part, earlier[part], _plain(now.get(part)))
    return found


def _differences(path: str, earlier: Any, now: Any) -> list[str]:
    if isinstance(earlier, dict) and isinstance(now, dict):
        names: Sequence[str] = list(earlier)
        return [one for name in names for one in _differences(f"{path}.{name}", earlier[name], now.get(name))]
    return [] if earlier == now else [f"{path} is {earlier!r} there and {now!r} here"]


def _plain(value: Any) -> Any:
    """The value as JSON gives it back."""
    return json.loads(json.dumps(value))
