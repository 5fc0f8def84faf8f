"""The hook for a reranker: the optional last stage of a search.

In: the query and the texts of the best candidates. Out: a score for each. A reranker reads query and text together,
which tells near neighbours apart and costs a pass of a model for each candidate. Nothing that it does can lose an
answer: where it fails or takes too long, the order before it stays, with a warning.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from typing import Final, Protocol

from sidecar.corpus.records import Declaration
from sidecar.search.request import SearchWarning
from sidecar.text.clean import clean, one_line

logger = logging.getLogger(__name__)

CANDIDATES: Final = 50
"""How many of the best results are read again."""

RERANK_SECONDS: Final = 10.0
"""How long a reranker may take."""

MARGIN_SECONDS: Final = 0.2
"""What is left of a deadline for the rest of the answer; at most a tenth of what there is."""

TEXT_CHARACTERS: Final = 1_500
"""A longer statement with its docstring is cut."""


class Reranker(Protocol):
    """Scores candidates for a query."""

    @property
    def name(self) -> str:
        """What it is called."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score for each text, the higher the better; cancelled when it takes too long or the caller has gone."""


def candidate_text(declaration: Declaration) -> str:
    """A declaration as a reranker reads it: its statement and its docstring as people write them.

    Rerankers are made by others, of ordinary text: the canonical texts of our encoders would be foreign to them.
    """
    text = one_line(declaration.shown)
    if declaration.docstring:
        text += f"\n{clean(declaration.docstring).strip()}"
    return text[:TEXT_CHARACTERS]


async def rerank_scores(
    reranker: Reranker, query: str, texts: Sequence[str], until: float | None
) -> tuple[list[float] | None, tuple[SearchWarning, ...]]:
    """Ask the reranker, and carry on without it when it cannot answer.

    Args:
        reranker: The reranker.
        query: The query as typed, on one line.
        texts: The candidates.
        until: The event loop's time at which nobody waits any more; None when somebody always does.

    Returns:
        The scores, or None when there are none to go by; and warnings.
    """
    seconds = RERANK_SECONDS
    if until is not None:
        left = until - asyncio.get_running_loop().time()
        seconds = min(seconds, left - min(MARGIN_SECONDS, left / 10))
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            scores = await reranker.scores(query, texts)
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise ValueError(f"{len(scores)} scores for {len(texts)} candidates, or not all of them finite")
    except TimeoutError:
        message = f"the reranker {reranker.name} took longer than {seconds:.1f} s; the order is that without it"
        return None, (SearchWarning("reranker_slow", message),)
    except Exception as error:
        logger.warning("the reranker failed", exc_info=True)
        message = f"the reranker {reranker.name} failed ({type(error).__name__}: {error}); the order is that without it"
        return None, (SearchWarning("reranker_failed", message),)
    return scores, ()
