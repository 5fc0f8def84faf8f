"""The hook for a query rewriter.

In: the query as typed. Out: a second text to search for beside it. Nothing that a rewriter does can lose an answer: one
that fails, takes too long or has nothing to say leaves the typed query alone, with a warning.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from sidecar.search.request import SearchWarning
from sidecar.text.clean import one_line

logger = logging.getLogger(__name__)

REWRITE_SECONDS: Final = 5.0
"""How long a rewriter may take."""

REWRITE_CHARACTERS: Final = 4_096
"""Longest rewritten text that is used; a longer one is cut."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a rewriter made of a query.

    Attributes:
        text: What to search for beside the query; empty when there is nothing to add.
        note: Something to tell the person about it, or None.
    """

    text: str
    note: str | None = None


class Rewriter(Protocol):
    """Turns a query into a text that finds more."""

    async def rewrite(self, query: str) -> Rewrite:
        """Rewrite one query; cancelled when it takes too long or the caller has gone."""


async def rewrite_query(
    rewriter: Rewriter, query: str, seconds: float = REWRITE_SECONDS
) -> tuple[str | None, tuple[SearchWarning, ...]]:
    """Ask the rewriter, and carry on without it when it cannot answer.

    Returns:
        The rewritten text on one line, or None when there is none that differs from the query; and warnings.
    """
    try:
        async with asyncio.timeout(seconds):
            rewrite = await rewriter.rewrite(query)
            text, note = one_line(rewrite.text), rewrite.note
    except TimeoutError:
        return None, (
            SearchWarning("rewriter_slow", f"the rewriter took longer than {seconds:g} s; searched as typed"),
        )
    except Exception as error:
        logger.warning("the query rewriter failed", exc_info=True)
        return None, (
            SearchWarning(
                "rewriter_failed", f"the rewriter failed ({type(error).__name__}: {error}); searched as typed"
            ),
        )
    warnings = (SearchWarning("rewriter_note", note),) if note else ()
    text = text[:REWRITE_CHARACTERS].strip()
    return (text if text and text != one_line(query).strip() else None), warnings
