"""Every query that a generator wrote, with what became of it: Parquet.

In: rows. Out: files `part-000001-000.parquet`, … (number, rank of the process) in a folder, each written whole, and
read back in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.errors import SidecarError

if TYPE_CHECKING:
    import pyarrow

ROWS_A_FILE: Final = 50_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One query.

    Attributes:
        step: Training step in which it was sampled; −1 for a query of the finished generator.
        declaration: Name of the declaration that it is about.
        query: The query.
        tokens: Its length.
        rank: Rank of the declaration, None when it was not among those looked up.
        consistent: The verdict; None where it could not matter and the judge was not asked.
        reason: The judge's reason.
        missing: `refused` or `unreadable` where the judge gave no verdict, else empty.
        reward: The reward.
        choices: What the generator chose, if it is made of choices.
    """

    step: int
    declaration: str
    query: str
    tokens: int
    rank: int | None
    consistent: bool | None
    reason: str
    missing: str
    reward: float
    choices: str = ""


def _schema() -> pyarrow.Schema:
    import pyarrow

    kinds = {
        "step": pyarrow.int32(),
        "tokens": pyarrow.int32(),
        "rank": pyarrow.int32(),
        "consistent": pyarrow.bool_(),
        "reward": pyarrow.float64(),
    }
    return pyarrow.schema([(field.name, kinds.get(field.name, pyarrow.string())) for field in fields(Sample)])


class SampleWriter:
    """Writes samples. Use as a context manager.

    Args:
        folder: Where; files that lie there stay, and new ones are numbered after them.
        rank: Number of this process among those that write to the folder.
    """

    def __init__(self, folder: Path, rank: int = 0) -> None:
        self._folder = folder
        self._rank = rank
        self._waiting: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._number = max((int(file.stem.split("-")[1]) for file in sample_files(folder)), default=0)

    def add(self, samples: Iterable[Sample]) -> None:
        """Take samples; they are on disk after the next `flush`."""
        self._waiting += map(asdict, samples)
        if len(self._waiting) >= ROWS_A_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        import pyarrow
        from pyarrow import parquet

        self._number += 1
        path = self._folder / f"part-{self._number:06d}-{self._rank:03d}.parquet"
        beside = path.with_suffix(".writing")
        parquet.write_table(pyarrow.Table.from_pylist(self._waiting, _schema()), beside, compression="zstd")
        beside.replace(path)
        self._waiting = []

    @property
    def number(self) -> int:
        """Number of the newest file; a checkpoint that records it knows which samples it holds."""
        return self._number

    def set_aside_after(self, number: int) -> None:
        """Rename this rank's files that are newer than a checkpoint, so that they are no samples any more."""
        for file in sample_files(self._folder):
            _, found, rank = file.stem.split("-")
            if int(found) > number and int(rank) == self._rank:
                file.replace(file.with_name(f"{file.name}.unfinished"))
        self._number = min(self._number, number)

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What was sampled before an error says how the error came about.
        self.flush()


def sample_files(folder: Path) -> list[Path]:
    """The files of a folder, in the order in which they were written."""
    return sorted(folder.glob("part-*.parquet"))


def read_samples(folder: Path) -> Iterator[Sample]:
    """Samples of a folder, in the order in which they were written.

    Raises:
        SidecarError: `not_found` when the folder holds none, `bad_request` for a file that cannot be read.
    """
    from pyarrow import parquet

    files = sample_files(folder)
    if not files:
        raise SidecarError(
            "not_found",
            f"{folder} holds no generated queries",
            field="samples",
            hint="give a folder of part-*.parquet files that `python -m training search` wrote",
        )
    names = [field.name for field in fields(Sample)]
    for file in files:
        try:
            rows = parquet.read_table(file, columns=names).to_pylist()
        except Exception as error:
            raise SidecarError("bad_request", f"{file} cannot be read: {error}", field="samples") from error
        for row in rows:
            yield Sample(**row)
