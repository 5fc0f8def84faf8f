"""What both readers of published documentation have to agree on.

In: what a doc-gen4 page shows of a declaration. Out: the facts that the page shows only in part.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from sidecar.corpus.records import KINDS

logger = logging.getLogger(__name__)

MODIFIERS: Final = frozenset({"noncomputable", "partial", "private", "protected", "unsafe"})
"""Words that doc-gen4 puts in front of a kind."""

_SOURCE: Final = re.compile(r"https?://[^/]+/(?P<repository>[^/]+/[^/]+)/(?:-/)?(?:blob|raw|src)/(?P<revision>[^/]+)/")


def source_revisions(sources: Iterable[str | None]) -> dict[str, str]:
    """Revision of each `owner/repository` that addresses of source files name.

    Args:
        sources: Addresses such as `https://github.com/owner/repository/blob/<revision>/Folder/File.lean`.
    """
    revisions: dict[str, str] = {}
    for source in sources:
        found = _SOURCE.match(source) if source is not None else None
        if found:
            revisions.setdefault(found["repository"], found["revision"])
    return revisions


@lru_cache(maxsize=64)
def known_kind(kind: str) -> str:
    """A displayed kind as one of `KINDS`: `lemma` is `theorem`, and what a newer Lean may add counts as `opaque`."""
    if kind in KINDS:
        return kind
    if kind == "lemma":
        return "theorem"
    logger.warning("kind %r is not known here: such declarations are search targets, never premises", kind)
    return "opaque"


def has_equations(kind: str, modifiers: frozenset[str], displayed: bool) -> bool:
    """Whether Lean has equation lemmas for a declaration.

    Args:
        kind: Its kind.
        modifiers: Those of `MODIFIERS` that it is shown with.
        displayed: Whether the documentation shows an equation.

    Returns:
        True when one is displayed. doc-gen4 leaves out equations that are too large to render, so definitions and
        abbreviations that are not partial count as having equations all the same (wrong only where a definition
        matches on nothing, as `PEmpty.elim` does).
    """
    return displayed or (kind in ("def", "abbrev") and "partial" not in modifiers)
