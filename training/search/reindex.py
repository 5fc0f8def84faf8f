"""An index of the same declarations for another encoder, in a fraction of a build's time.

In: an index, an encoder. Out: an index in a folder of its own. Declarations, words, names and imports do not depend on
the encoder, so their files are shared with the index that is there (hard links, copies where the disk has none); only
vectors are made anew.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from sidecar.encoder.base import Encoder
from sidecar.encoder.threads import usable_cores
from sidecar.errors import SidecarError
from sidecar.index.approximate import build_lists
from sidecar.index.codes import scan_order, write_codes
from sidecar.index.index import Index
from sidecar.index.layout import building_folder, located
from sidecar.index.manifest import ROLES, BuildFigures, VectorEntry, file_entry
from sidecar.index.publish import check_place, publish
from sidecar.progress import Progress
from sidecar.text.declaration import declaration_text
from sidecar.text.fingerprint import text_fingerprint

TEXTS_AT_ONCE: Final = 4_096
"""Texts between two steps of the progress; within these, those of one length go through the encoder together."""


def reindex(base: Path, folder: Path, encoder: Encoder, texts: Sequence[str] | None = None) -> None:
    """Make an index of the declarations of `base` with the vectors of another encoder.

    Args:
        base: An index; it stays as it is.
        folder: Where the new one shall be; an index that is there is replaced.
        encoder: Encoder for premise selection and for search.
        texts: What `canonical_texts` gave for `base`, where several indexes are made of it.

    Raises:
        SidecarError: `conflict` when `base` was made with other text rules: words and vectors would not agree.
    """
    began = time.monotonic()
    folder = located(folder)
    check_place(folder)
    building = building_folder(folder)
    name = f"vectors-{encoder.fingerprint[:12]}"
    with Index.open(base) as index:
        manifest = index.manifest
        if manifest.text_fingerprint != text_fingerprint():
            raise SidecarError(
                "conflict",
                f"{base} was made with the text rules of another version",
                field="base",
                hint=f"build it again: `lean-sidecar index build CORPUS --output {base}`",
            )
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        own = {file for entry in manifest.vectors.values() for file in entry.files}
        for file in manifest.files.keys() - own:
            _share(base / file, building / file)
        said = canonical_texts(index) if texts is None else texts
        vectors = np.zeros((index.size, encoder.dimension), dtype=np.float16)
        with Progress("declarations encoded", index.size) as progress:
            for start in range(0, index.size, TEXTS_AT_ONCE):
                batch = said[start : start + TEXTS_AT_ONCE]
                places = sorted(range(len(batch)), key=lambda place: len(batch[place]))
                vectors[np.array(places) + start] = encoder.encode([batch[place] for place in places], "declaration")
                progress.advance(len(batch))
        vectors.astype("<f2", copy=False).tofile(building / f"{name}.f16")
        approximate = codes = None
        if index.size > manifest.approximate_rows:
            approximate = f"{name}.ivf"
            build_lists(vectors, building / approximate, usable_cores())
        else:
            codes = write_codes(vectors, scan_order(index.premise), building, name)
        entry = VectorEntry(f"{name}.f16", encoder.name, encoder.fingerprint, encoder.dimension, approximate, codes)
        shared = {file: manifest.files[file] for file in manifest.files.keys() - own}
        seconds = time.monotonic() - began
        revised = hashlib.sha256(f"{manifest.key} {encoder.fingerprint}".encode()).hexdigest()
        replace(
            manifest,
            revision=revised[:12],
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            vectors={name: entry},
            roles=dict.fromkeys(ROLES, name),
            key=revised,
            build=BuildFigures(
                seconds=round(seconds, 2),
                declarations_per_second=round(index.size / seconds, 1),
                encoded=index.size,
                reused=0,
            ),
            files=shared | {file: file_entry(building / file) for file in entry.files},
        ).write(building)
    publish(building, folder)


def canonical_texts(index: Index) -> list[str]:
    """The text of each row that encoders get."""
    return [declaration_text(declaration) for declaration in index.all_declarations()]


def _share(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
