"""Where training examples come from: one folder, whatever its format, divided one way.

In: a folder and a split's name. Out: `ExampleSource`, which streams `train`, `valid` and `test`, no two of which share
a module (`module`) or a theorem (`random`).

Formats, told by what lies in the folder: pairs (`pairs-*.jsonl.gz`), LeanDojo's benchmark (`random/train.json`, …),
extractions (`*.jsonl`). Pairs come divided both ways. Extractions are divided here, by the hash of the module's or the
theorem's name: 90, 5 and 5 of a hundred.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sidecar.corpus.extraction import extraction_files
from sidecar.errors import SidecarError
from training.data.examples import PremiseExample
from training.data.extraction import read_extraction
from training.data.lean_dojo import SPLITS as LEAN_DOJO_SPLITS
from training.data.lean_dojo import benchmark_file, read_lean_dojo
from training.data.premise_pairs import SPLITS as PARTS
from training.data.premise_pairs import pair_files, read_pairs

SPLITS: Final = ("module", "random", "novel_premises")
"""Ways to divide theorems; `novel_premises` is LeanDojo's own, where every test theorem needs a premise never seen."""

_LAST_TRAINED, _LAST_VALID = 90, 95


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """Examples of one folder, divided one way.

    Attributes:
        folder: The folder.
        format: `pairs`, `lean_dojo` or `extraction`.
        split: Entry of `SPLITS`.
    """

    folder: Path
    format: str
    split: str

    @classmethod
    def open(cls, folder: Path, split: str) -> ExampleSource:
        """Tell the format of a folder.

        Raises:
            SidecarError: `not_found` when the folder holds no examples, `bad_request` for a split that it has not.
        """
        if any(folder.glob("pairs-*.jsonl.gz")):
            format_, splits = "pairs", SPLITS[:2]
        elif any((folder / name).is_dir() for name in LEAN_DOJO_SPLITS):
            format_, splits = "lean_dojo", LEAN_DOJO_SPLITS
        elif folder.is_dir() and extraction_files(folder):
            format_, splits = "extraction", SPLITS[:2]
        else:
            raise SidecarError(
                "not_found",
                f"no examples in {folder}",
                field="data",
                hint="give a folder of pairs-*.jsonl.gz, of LeanDojo's benchmark, or of an extraction",
            )
        if split not in splits:
            raise SidecarError(
                "bad_request",
                f"{folder} ({format_}) is not divided by {split!r}",
                field="split",
                hint=f"give {' or '.join(splits)}",
            )
        return cls(folder, format_, split)

    def files(self) -> list[Path]:
        """Every file that the examples are read from."""
        if self.format == "pairs":
            return [file for part in PARTS for file in pair_files(self.folder, part)]
        if self.format == "lean_dojo":
            return [benchmark_file(self.folder, self.split, part) for part in PARTS]
        return extraction_files(self.folder)

    def read(self, part: str) -> Iterator[PremiseExample]:
        """Stream one part: `train`, `valid` or `test`.

        Raises:
            SidecarError: What the format's reader raises.
        """
        if self.format == "lean_dojo":
            return read_lean_dojo(self.folder, self.split, part)
        if self.format == "extraction":
            return (example for example in read_extraction(self.folder) if self._part_of(example) == part)
        if self.split == "module":
            return read_pairs(self.folder, part)
        every = (example for file_part in PARTS for example in read_pairs(self.folder, file_part))
        return (example for example in every if example.random_split == part)

    def _part_of(self, example: PremiseExample) -> str:
        key = example.module if self.split == "module" else example.theorem
        place = int.from_bytes(hashlib.sha1(key.encode(), usedforsecurity=False).digest()[:8], "big") % 100
        return "train" if place < _LAST_TRAINED else "valid" if place < _LAST_VALID else "test"


def sample(examples: Iterable[PremiseExample], size: int, seed: int = 0) -> list[PremiseExample]:
    """A fixed sample of written (not generated) examples, in order of modules and lines.

    That order lets whoever asks about a file encode its texts once.
    """
    written = [example for example in examples if not example.generated]
    random.Random(seed).shuffle(written)
    return sorted(written[:size], key=lambda example: (example.module, example.line or 0))


def naive(example: PremiseExample) -> PremiseExample | None:
    """The example as a simpler extraction would have it: what a tactic proof names, and source text for the state.

    Returns:
        None when nothing is left: a term proof, or no premise that is named.
    """
    named = tuple(positive for positive in example.positives if "explicit" in positive.origins)
    if example.proof != "tactic" or not named:
        return None
    return replace(example, state=example.signature or example.state, positives=named)
