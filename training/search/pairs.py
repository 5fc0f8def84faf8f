"""What the retriever is trained on: queries, each with the declaration that answers it.

In: an index, queries with known answers, folders of generated queries. Out: pairs, in which an evaluation's own are
still to be looked for (`training.data.questions.allowed`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sidecar.index.index import Index
from sidecar.text.query import query_text
from training.data.near import telling_stems, without_near
from training.data.queries import SearchExample
from training.data.questions import Pair, docstring_pairs
from training.search.arms import Arm
from training.search.reward import EASY_RANK
from training.search.samples import Sample, read_samples

logger = logging.getLogger(__name__)

MOST_ANSWERS: Final = 4
"""Declarations that may share one generated query, whatever the order and inflection of its words."""


def example_pairs(examples: Iterable[SearchExample], index: Index) -> Iterator[Pair]:
    """Given queries with their right answers, as far as the index has these."""
    for example in examples:
        for name in example.gold:
            if index.row(name) is not None:
                yield Pair(query_text(example.query), name)


def generated_pairs(folders: Iterable[Path], index: Index, *, judged: bool, hard: bool) -> Iterator[Pair]:
    """Generated queries of several rounds: of near duplicates about one declaration (`training.data.near`) the first
    alone, and none that more than `MOST_ANSWERS` declarations share: it does not say which of them is meant.

    Args:
        folders: Folders of samples of finished generators.
        index: The declarations.
        judged: Keep what the judge found consistent alone (off for the arm that looks at difficulty alone).
        hard: Keep what the retriever did not find among the first alone (off for the arm of consistency alone).
    """
    queries = [
        (sample.declaration, text)
        for folder in folders
        for sample in read_samples(folder)
        if sample.step < 0 and _kept(sample, judged, hard) and index.row(sample.declaration) is not None
        if (text := query_text(sample.query))
    ]
    own = list(without_near(queries))
    answers = Counter(telling_stems(text) for _, text in own)
    kept = [Pair(text, name) for name, text in own if answers[telling_stems(text)] <= MOST_ANSWERS]
    logger.info(
        "%d generated queries: %d near duplicates and %d that fit more than %d declarations were left out",
        len(queries),
        len(queries) - len(own),
        len(own) - len(kept),
        MOST_ANSWERS,
    )
    yield from kept


def first_pairs(index: Index, given: Iterable[SearchExample]) -> Iterator[Pair]:
    """The pairs of round 0: docstrings and given queries."""
    rows = [row for row in range(index.size) if index.target[row]]
    for start in range(0, len(rows), 8_192):
        yield from docstring_pairs(index.declarations(rows[start : start + 8_192]))
    yield from example_pairs(given, index)


def kept_pairs(generated: Iterable[Path], index: Index, arm: Arm) -> Iterator[Pair]:
    """The generated queries that an arm keeps."""
    yield from generated_pairs(generated, index, judged=arm is not Arm.DIFFICULTY, hard=arm is not Arm.CONSISTENCY)


def _kept(sample: Sample, judged: bool, hard: bool) -> bool:
    fits = sample.consistent is True or not judged
    # What is lost beyond rank 100 is still kept when it is consistent: the retriever has most to learn from it.
    return fits and (not hard or sample.rank is None or sample.rank > EASY_RANK)
