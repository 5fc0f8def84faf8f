"""What a search asks and what it answers.

In: the fields of the wire method `search`, already typed. Out: the records that the engine takes and gives, and the
maps that go over the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ReasonMethod = Literal["formula", "name", "words", "meaning", "rerank", "penalty"]
"""Which part of the search a reason comes from."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search.

    Attributes:
        query: Natural language, LaTeX, a name or Lean text, in any mixture.
        k: Largest number of results, at least 1.
        modules: Prefixes of module names by whole components (`Mathlib.Order` holds `Mathlib.Order.Basic`, not
            `Mathlib.OrderX`); a result's module must begin with one of them. Empty: every module.
        kinds: Kinds of `sidecar.corpus.records.KINDS` (`lemma` reads as `theorem`). Empty: every kind.
        imports: Modules whose declarations, with those of everything they import, may be results. None: every module.
        rewrite: Whether the query may go through the rewriter, if there is one.
        rerank: Whether a reranker shall read the best results again. Off by default: see `docs/reranking.md`.
    """

    query: str
    k: int = 10
    modules: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    imports: tuple[str, ...] | None = None
    rewrite: bool = True
    rerank: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a result stands where it stands.

    Attributes:
        method: See `ReasonMethod`; a `penalty` says why the result ranks lower than it otherwise would.
        rank: 1-based rank of the result in that method's own ranking, or None where there is none.
        detail: The reason in words that a person understands.
    """

    method: ReasonMethod
    rank: int | None
    detail: str

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {"method": self.method, "rank": self.rank, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One declaration found.

    Attributes:
        name, kind, module: As in the corpus.
        signature: The statement as a person reads it.
        docstring: Light Markdown, `""` when there is none.
        link: Address of its place on the documentation page, or None where no documentation is known.
        score: Falls with the rank; comparable within one answer only.
        why: Reasons, the weightiest first.
        deprecated: False, or the name of the replacement, or None for a deprecated declaration without a known one.
    """

    name: str
    kind: str
    module: str
    signature: str
    docstring: str
    link: str | None
    score: float
    why: tuple[Reason, ...]
    deprecated: str | Literal[False] | None

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {
            "name": self.name,
            "kind": self.kind,
            "module": self.module,
            "signature": self.signature,
            "docstring": self.docstring,
            "link": self.link,
            "score": self.score,
            "why": [reason.as_wire() for reason in self.why],
            "deprecated": self.deprecated,
        }


@dataclass(frozen=True, slots=True)
class SearchWarning:
    """Something that the caller should know about an answer that is nevertheless complete.

    Attributes:
        code: Stable, for programs: `unknown_imports`, `no_such_module`, `nothing_visible`, `nothing_found`,
            `rewriter_slow`, `rewriter_failed`, `rewriter_note`, `no_reranker`, `reranker_slow`, `reranker_failed`.
        message: For people.
    """

    code: str
    message: str

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search found.

    Attributes:
        results: Best first, at most k.
        rewritten: What the rewriter made of the query when it was searched for too, else None.
        warnings: See `SearchWarning`.
        revision: Revision of the index that answered.
        timings: Milliseconds by stage, and `total`. Stages overlap, so they add up to more than the total.
    """

    results: tuple[SearchResult, ...]
    rewritten: str | None
    warnings: tuple[SearchWarning, ...]
    revision: str
    timings: dict[str, float]

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {
            "results": [result.as_wire() for result in self.results],
            "rewritten": self.rewritten,
            "warnings": [warning.as_wire() for warning in self.warnings],
            "revision": self.revision,
            "timings": self.timings,
        }
