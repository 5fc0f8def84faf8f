"""What the proofs of the training part use, so that an index can be judged on the other parts.

In: a source of examples. Out: a list of proofs (`sidecar.corpus.proofs`) of the training part, less what an evaluation
asks, by the rules for training (`decontamination.py`).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from sidecar.errors import SidecarError
from training.data.decontamination import Decontamination, Removed
from training.data.sources import ExampleSource


def write_proofs(source: ExampleSource, file: Path) -> Removed:
    """Write the proofs of `train`, less what `valid` and `test` ask.

    Args:
        source: Where the examples come from.
        file: A `.jsonl.gz` to write; the same examples give the same bytes.

    Returns:
        What was kept and what was taken out.

    Raises:
        SidecarError: What the readers raise; `bad_request` for a place where no such file can be.
    """
    if not file.name.endswith(".jsonl.gz"):
        raise SidecarError("bad_request", f"{file} is packed: its name must end so", field="output", hint="*.jsonl.gz")
    if file.exists() and not file.is_file():
        raise SidecarError("bad_request", f"{file} is no file", field="output", hint="choose another name")
    filter_ = Decontamination(example for part in ("valid", "test") for example in source.read(part))
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.part")
    with unfinished.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
        for example in filter_.filter(source.read("train")):
            row = {"name": example.theorem, "premises": list(example.gold)}
            stream.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())
    unfinished.replace(file)
    return filter_.removed
