"""Query towers: small encoders of goals and questions whose vectors lie in the space of another encoder's documents.

In: a tower's folder, which names the encoder of the documents and its fingerprint. Out: an `Encoder` that encodes goals
and questions itself and leaves declarations to the encoder of the documents. That one is loaded when the first
declaration comes: an index has the vectors of its own, so only premises that it does not know need it.

An index and an encoder fit together when the fingerprint of the index's vectors is that of the encoder's documents:
`documents_of` gives them, for a tower and for any other encoder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property

from sidecar.encoder.base import Encoder, FloatMatrix, Purpose
from sidecar.encoder.folder import fingerprint
from sidecar.errors import SidecarError


class DocumentEncoder:
    """The encoder of a tower's documents, loaded when it is first needed. Safe to share between threads.

    Args:
        tower: Name of the tower, for errors.
        name: What loads the encoder.
        expected: The fingerprint that it must have.
        dimension: Length of the tower's vectors, which are compared with its own.
        load: Loads it.
    """

    def __init__(self, tower: str, name: str, expected: str, dimension: int, load: Callable[[], Encoder]) -> None:
        self._tower = tower
        self._name = name
        self._expected = expected
        self._dimension = dimension
        self._load = load
        self._lock = threading.Lock()
        self._loaded: Encoder | None = None

    @property
    def name(self) -> str:
        """See `Encoder.name`."""
        return self._name

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        return self._expected

    @property
    def max_tokens(self) -> int:
        """See `Encoder.max_tokens`."""
        return self.encoder().max_tokens

    @property
    def backend(self) -> str:
        """See `Encoder.backend`."""
        return self.encoder().backend

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """See `Encoder.encode`."""
        return self.encoder().encode(texts, purpose)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `Encoder.count_tokens`."""
        return self.encoder().count_tokens(texts)

    def encoder(self) -> Encoder:
        """The encoder itself.

        Raises:
            SidecarError: `not_found` when it is not here; `conflict` when it is not the one that the tower was trained
                for.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._checked(self._load())
            return self._loaded

    def _checked(self, encoder: Encoder) -> Encoder:
        if (encoder.fingerprint, encoder.dimension) == (self._expected, self._dimension):
            return encoder
        raise SidecarError(
            "conflict",
            f"the query tower {self._tower} was trained for documents of encoder {self._expected}, {self._dimension}"
            f" numbers each; {self._name!r} is encoder {encoder.fingerprint} with {encoder.dimension}",
            field="encoder",
            hint="let `documents` in the tower's encoder.json name the encoder it was trained for, or train it again:"
            " python -m training tower",
        )


class TowerEncoder:
    """An `Encoder` of goals and questions for vectors that another encoder made of declarations.

    Args:
        queries: Encodes goals and questions.
        documents: Encodes declarations.
    """

    def __init__(self, queries: Encoder, documents: DocumentEncoder) -> None:
        self._queries = queries
        self.documents = documents

    @property
    def name(self) -> str:
        """See `Encoder.name`."""
        return self._queries.name

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return self._queries.dimension

    @property
    def max_tokens(self) -> int:
        """See `Encoder.max_tokens`; of goals and questions."""
        return self._queries.max_tokens

    @property
    def backend(self) -> str:
        """See `Encoder.backend`."""
        return f"{self._queries.backend}, query tower of {self.documents.name}"

    @cached_property
    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`: of the tower. What it may be compared with is told by that of `documents`."""
        return fingerprint(f"{self._queries.fingerprint} {self.documents.fingerprint}")

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """See `Encoder.encode`; declarations are encoded by `documents`."""
        return (self.documents if purpose == "declaration" else self._queries).encode(texts, purpose)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `Encoder.count_tokens`; of goals and questions."""
        return self._queries.count_tokens(texts)


def documents_of(encoder: Encoder) -> Encoder:
    """What encodes declarations for the queries of an encoder: itself, unless it is a tower."""
    return encoder.documents if isinstance(encoder, TowerEncoder) else encoder


def require_whole(encoder: Encoder) -> None:
    """Refuse a tower where declarations are encoded on purpose: an index names what encodes its documents.

    Raises:
        SidecarError: `bad_request`.
    """
    if isinstance(encoder, TowerEncoder):
        raise SidecarError(
            "bad_request",
            f"{encoder.name} is a query tower: it encodes goals and questions, not declarations",
            field="encoder",
            hint=f"build the index with --encoder {encoder.documents.name}, and serve it with --encoder {encoder.name}",
        )
