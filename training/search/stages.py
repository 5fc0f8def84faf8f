"""Long work in stages, each of which is done once.

In: a stage's name, its inputs, the work. Out: the stage's folder. A stage that is done with the same inputs is skipped;
one that was interrupted goes on in its folder; one whose inputs have changed is done anew, and what it made before is
set aside, not deleted.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

logger = logging.getLogger(__name__)

INPUTS: Final = "inputs.json"
DONE: Final = "done.json"


class Stages:
    """The stages of one run.

    Args:
        output: Folder of the run; every stage has a folder below it.
    """

    def __init__(self, output: Path) -> None:
        self._output = output

    def run(self, name: str, inputs: Mapping[str, Any], work: Callable[[Path], None]) -> Path:
        """Do a stage, unless it is done.

        Args:
            name: Its folder below the run's (`round-1/generator`).
            inputs: Everything that decides its outcome, as plain values; settings, hashes of files, `digest` of the
                stages before it.
            work: Does it in the folder that it is given; must be able to go on with what an interrupted call left.

        Returns:
            The folder.
        """
        folder = self._output / name
        plain = json.loads(json.dumps(dict(inputs), sort_keys=True))
        digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
        before = _read(folder / INPUTS)
        if folder.is_dir() and (before is None or before["digest"] != digest):
            self._set_aside(folder, before)
        if _read(folder / DONE) is not None:
            logger.info("%s: done already", name)
            return folder
        logger.info("%s: %s", name, "going on" if folder.is_dir() else "beginning")
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / INPUTS, {"digest": digest, "inputs": plain})
        work(folder)
        _write(folder / DONE, {"digest": digest})
        logger.info("%s: done", name)
        return folder

    def _set_aside(self, folder: Path, before: Mapping[str, Any] | None) -> None:
        mark = "unknown" if before is None else before["digest"][:8]
        aside = folder.with_name(f"{folder.name}.{mark}")
        number = 1
        while aside.exists():
            number += 1
            aside = folder.with_name(f"{folder.name}.{mark}-{number}")
        folder.rename(aside)
        logger.warning("%s: its inputs have changed; what it made before is in %s", folder.name, aside)


def digest(folder: Path) -> str:
    """What names the outcome of a finished stage among the inputs of later ones."""
    found = _read(folder / DONE)
    if found is None:
        raise ValueError(f"{folder} is not done")
    return str(found["digest"])


def file_hash(path: Path) -> str:
    """Hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found


def _write(file: Path, body: Mapping[str, Any]) -> None:
    beside = file.with_suffix(".writing")
    beside.write_text(json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(file)
