"""How surely a name is found by its spelling.

Usage: `python -m benchmarks.names --index FOLDER [--names N] [--seed S] [--record]`.

N names are drawn from what search may find, deprecated declarations aside. Each is searched for as it is, with what
people put around a name, by its last components, spelled loosely, and with one slip; the figure is the share of
searches whose first result is right. Right is the name itself; for an end of a name, loose spellings and slips, which
many names may share, any name that ends in what was asked, or, for a slip, in what was meant (`loose_name`).
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.record import record
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.search.engine import SearchEngine
from sidecar.search.request import SearchRequest
from sidecar.text.names import components, loose_name

AROUND = (
    "`{}`",
    "@{}",
    "{}.",
    "{}?",
    "#check {}",
    "#check @{}",
    "theorem {}",
    "lemma {}",
    "exact {}",
    "rw [{}]",
    "_root_.{}",
    "({})",
)
"""What stands around a name; one of them each time."""


@dataclass(frozen=True, slots=True)
class Case:
    """One search.

    Attributes:
        system: How the name was spelled.
        query: What is asked.
        right: Whether the name of the first result is right.
    """

    system: str
    query: str
    right: Callable[[str], bool]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--names", type=int, default=300, help="how many names are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/names.jsonl")
    options = parser.parse_args()
    with Index.open(options.index) as index:
        drawn = np.random.default_rng(options.seed).permutation(np.flatnonzero(index.target & ~index.deprecated))
        cases = list(make_cases(index.names(drawn[: options.names].tolist()), random.Random(options.seed)))
        outcomes = asyncio.run(_outcomes(index, cases))
    for system, found in outcomes.items():
        share = sum(found) / len(found)
        print(f"{system:<24} rank-1 share {share:>8.4f}   n={len(found)}")
        if options.record:
            record("names", "names", system, "rank-1 share", share, len(found))


def make_cases(names: Sequence[str], chance: random.Random) -> Iterator[Case]:
    """The searches for some names."""
    for name in names:
        yield Case("exact name", name, name.__eq__)
        yield Case("name in other signs", chance.choice(AROUND).format(name), name.__eq__)
        parts = components(name)
        if len(parts) > 1 and "«" not in name:
            end = ".".join(parts[chance.randrange(1, len(parts)) :])
            yield Case("end of a name", end, _ends_in(end))
        yield Case("loose spelling", _loosely(name, chance), _ends_in(name))
        slipped = _slipped(name, chance)
        if slipped is not None:
            yield Case("one slip", slipped, _ends_in(name))


def _ends_in(name: str) -> Callable[[str], bool]:
    """Whether the last components of another name are these, in some spelling."""
    key = loose_name(name)

    def right(other: str) -> bool:
        parts = components(other)
        return any(loose_name(".".join(parts[start:])) == key for start in range(len(parts)))

    return right


def _loosely(name: str, chance: random.Random) -> str:
    """Another spelling: other case, no dots, no underscores, or spaces for both."""
    return chance.choice(
        [
            name.lower(),
            name.replace(".", ""),
            name.replace("_", ""),
            name.replace(".", " ").replace("_", " "),
            name.replace(".", "_"),
        ]
    )


def _slipped(name: str, chance: random.Random) -> str | None:
    """A letter left out, doubled, exchanged with its neighbour, or another one in its place; None for a short name."""
    places = [place for place, character in enumerate(name) if "a" <= character.lower() <= "z"]
    if len(places) < 6 or "«" in name:
        return None
    place = chance.choice(places)
    before, letter, after = name[:place], name[place], name[place + 1 :]
    return chance.choice(
        [
            before + after,
            before + letter + letter + after,
            before + after[:1] + letter + after[1:],
            before + chance.choice("abcdefghijklmnopqrstuvwxyz") + after,
        ]
    )


async def _outcomes(index: Index, cases: list[Case]) -> dict[str, list[bool]]:
    encoder = load_encoder(index.manifest.encoder_name)
    index.require_encoder(encoder, "search")
    batcher = MicroBatcher(encoder)
    outcomes: dict[str, list[bool]] = {}
    try:
        engine = SearchEngine(index, batcher)
        with Progress("searches", len(cases)) as progress:
            for case in cases:
                answer = await engine.search(SearchRequest(case.query, k=1))
                first = answer.results[0].name if answer.results else None
                progress.advance()
                right = first is not None and case.right(first)
                outcomes.setdefault(case.system, []).append(right)
                if not right:
                    print(f"{case.system}: {case.query!r} gives {first!r}")
    finally:
        await batcher.close()
    return outcomes


if __name__ == "__main__":
    main()
