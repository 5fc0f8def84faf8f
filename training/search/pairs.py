"""What the retriever is trained on: queries, each with the declaration that answers it.

In: a corpus, files of queries, folders of generated queries, evaluation queries. Out: pairs without anything that an
evaluation asks: neither its texts nor its right answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.corpus.records import Declaration
from sidecar.index.index import Index
from sidecar.text.query import query_text
from training.data.queries import SearchExample
from training.search.arms import Arm
from training.search.reward import EASY_RANK
from training.search.samples import Sample, read_samples

LEAST_WORDS: Final = 2
"""A docstring of fewer words is no query."""

_SENTENCE_END: Final = re.compile(r"(?<=[.;:])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Pair:
    """One training pair.

    Attributes:
        query: Canonical text of the query.
        name: Name of the declaration that answers it.
        bare: Whether the declaration is to be shown without its docstring, because the query was taken from there.
    """

    query: str
    name: str
    bare: bool = False


class Forbidden:
    """What evaluations ask, and what they want.

    Args:
        evaluation: Every query that will be evaluated on.
    """

    def __init__(self, evaluation: Iterable[SearchExample]) -> None:
        self._texts: set[str] = set()
        self.names: set[str] = set()
        for example in evaluation:
            self._texts.add(query_text(example.query))
            self.names.update(example.gold)

    def forbids(self, pair: Pair) -> bool:
        """Whether a pair must not be trained on."""
        return pair.name in self.names or pair.query in self._texts


def docstring_pairs(declarations: Iterable[Declaration]) -> Iterator[Pair]:
    """Docstrings, first sentence and whole, as questions about their declarations."""
    for declaration in declarations:
        if not declaration.docstring:
            continue
        sentence = _SENTENCE_END.split(declaration.docstring.strip(), maxsplit=1)[0]
        for text in dict.fromkeys((query_text(sentence), query_text(declaration.docstring))):
            if len(text.split()) >= LEAST_WORDS:
                yield Pair(text, declaration.name, bare=True)


def example_pairs(examples: Iterable[SearchExample], index: Index) -> Iterator[Pair]:
    """Given queries with their right answers, as far as the index has these."""
    for example in examples:
        for name in example.gold:
            if index.row(name) is not None:
                yield Pair(query_text(example.query), name)


def generated_pairs(folders: Iterable[Path], index: Index, *, judged: bool, hard: bool) -> Iterator[Pair]:
    """Generated queries of several rounds, each text once.

    Args:
        folders: Folders of samples of finished generators.
        index: The declarations.
        judged: Keep what the judge found consistent alone (off for the arm that looks at difficulty alone).
        hard: Keep what the retriever did not find among the first alone (off for the arm of consistency alone).
    """
    seen: set[tuple[str, str]] = set()
    for folder in folders:
        for sample in read_samples(folder):
            if sample.step >= 0 or not _kept(sample, judged, hard) or index.row(sample.declaration) is None:
                continue
            pair = Pair(query_text(sample.query), sample.declaration)
            key = (pair.query, pair.name)
            if pair.query and key not in seen:
                seen.add(key)
                yield pair


def round_pairs(index: Index, given: Iterable[SearchExample], generated: Iterable[Path], arm: Arm) -> Iterator[Pair]:
    """All pairs of a round: docstrings, given queries, and generated ones as the arm keeps them."""
    rows = [row for row in range(index.size) if index.target[row]]
    for start in range(0, len(rows), 8_192):
        yield from docstring_pairs(index.declarations(rows[start : start + 8_192]))
    yield from example_pairs(given, index)
    yield from generated_pairs(generated, index, judged=arm is not Arm.DIFFICULTY, hard=arm is not Arm.CONSISTENCY)


def _kept(sample: Sample, judged: bool, hard: bool) -> bool:
    fits = sample.consistent is True or not judged
    # What is lost beyond rank 100 is still kept when it is consistent: the retriever has most to learn from it.
    return fits and (not hard or sample.rank is None or sample.rank > EASY_RANK)


def allowed(pairs: Iterable[Pair], forbidden: Forbidden) -> tuple[list[Pair], int]:
    """The pairs that may be trained on, and how many may not."""
    kept, dropped = [], 0
    for pair in pairs:
        if forbidden.forbids(pair):
            dropped += 1
        else:
            kept.append(pair)
    return kept, dropped
