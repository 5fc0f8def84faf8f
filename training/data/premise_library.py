"""The premises of a corpus as training and evaluation see them: texts, what says the same, and what is visible.

In: a corpus. Out: a `PremiseLibrary`, one row a premise, which tells for any place of the corpus what can be seen from
there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.imports import BoolArray, ImportGraph
from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import Corpus
from sidecar.progress import Progress
from sidecar.text.clean import one_line
from sidecar.text.declaration import declaration_text
from sidecar.text.fingerprint import text_fingerprint

logger = logging.getLogger(__name__)

FORMAT: Final = 1
"""Raised when what a saved library holds changes."""

_STATED: Final = frozenset({"theorem", "axiom", "field", "ctor"})
"""Kinds whose statement is the whole content; two definitions of one type are two things."""

_LAST_LINE: Final = 1 << 31
"""Stands for an unknown line when rows are put in order."""

IntArray = npt.NDArray[np.int32]


class PremiseLibrary:
    """All premises of a corpus: modules in corpus order, the rows of a module in order of lines, unknown lines last.

    Attributes:
        names: Name of each row.
        texts: Canonical text of each row, what an encoder reads.
        group: Row → number of its group, shape (rows,): rows of one group have one statement or one text, so a model
            cannot and need not tell them apart.
        module: Row → number of its module in `graph`.
        line: Row → first source line, 0 when unknown.
        graph: The modules.
        fingerprint: Hash of the corpus and the text rules.
    """

    def __init__(
        self,
        names: Sequence[str],
        texts: Sequence[str],
        group: IntArray,
        module: IntArray,
        line: IntArray,
        graph: ImportGraph,
        fingerprint: str,
    ) -> None:
        self.names = tuple(names)
        self.texts = tuple(texts)
        self.group = group
        self.module = module
        self.line = line
        self.graph = graph
        self.fingerprint = fingerprint
        self._rows = {name: row for row, name in enumerate(self.names)}
        counts = np.bincount(module, minlength=len(graph.names))
        self.counts: npt.NDArray[np.int64] = counts.astype(np.int64)
        """Premises of each module."""
        ends = np.cumsum(self.counts)
        self.starts: npt.NDArray[np.int64] = ends - self.counts
        """First row of each module."""
        if len(module) and not np.array_equal(module, np.repeat(np.arange(len(counts)), counts)):
            raise ValueError("the rows of a module must stand together, in the graph's order")

    @classmethod
    def build(cls, corpus: Corpus, *, source_text: bool = False) -> PremiseLibrary:
        """Read a corpus (twice) and spell every premise.

        Args:
            corpus: The corpus.
            source_text: Take statements as a person reads them instead of canonical texts; only for an ablation.
        """
        graph = ImportGraph(corpus.modules())
        propositional = propositional_constants(corpus.declarations())
        found: list[tuple[int, Declaration]] = []
        with Progress("premises", None) as progress:
            for declaration in corpus.declarations():
                number = graph.number(declaration.module)
                if number is not None and role(declaration, propositional).premise:
                    found.append((number, declaration))
                    progress.advance()
        found.sort(key=lambda entry: (entry[0], entry[1].line or _LAST_LINE))
        declarations = [declaration for _, declaration in found]
        spell = _source_text if source_text else declaration_text
        texts = [spell(declaration) for declaration in declarations]
        return cls(
            [declaration.name for declaration in declarations],
            texts,
            _groups(declarations, texts),
            np.array([number for number, _ in found], dtype=np.int32),
            np.array([declaration.line or 0 for declaration in declarations], dtype=np.int32),
            graph,
            library_fingerprint(corpus, source_text=source_text),
        )

    @classmethod
    def open(cls, corpus: Corpus, cache: Path, *, source_text: bool = False) -> PremiseLibrary:
        """Build the library, or load it from a folder where an earlier run left it; see `build`."""
        fingerprint = library_fingerprint(corpus, source_text=source_text)
        file = cache / f"library-{fingerprint[:16]}.npz"
        graph_file = file.with_suffix(".graph")
        if file.is_file() and graph_file.is_file():
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    names, texts = (json.loads(arrays[key].tobytes()) for key in ("names", "texts"))
                    group, module, line = (arrays[key] for key in ("group", "module", "line"))
                return cls(names, texts, group, module, line, ImportGraph.load(graph_file), fingerprint)
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
                logger.warning("%s is damaged (%s); it is made again", file, error)
        library = cls.build(corpus, source_text=source_text)
        cache.mkdir(parents=True, exist_ok=True)
        library.graph.save(graph_file)
        temporary = file.with_suffix(".tmp.npz")
        strings: dict[str, Any] = {
            key: np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
            for key, value in (("names", library.names), ("texts", library.texts))
        }
        np.savez(temporary, **strings, group=library.group, module=library.module, line=library.line)
        temporary.replace(file)
        return library

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> int | None:
        """Row of a premise, or None when the library has none of that name."""
        return self._rows.get(name)

    def visible_counts(self, module: int, line: int | None) -> npt.NDArray[np.int64]:
        """How many premises of each module, counted from its first, can be seen from a place.

        Args:
            module: Number of the module that holds the place.
            line: Source line of the place; None sees nothing of its own module.

        Returns:
            Shape (modules,). Other modules are seen whole or not at all; of the place's own module those premises that
            begin on an earlier line.
        """
        counts = np.where(self.graph.visible([self.graph.names[module]])[0], self.counts, 0)
        start, count = self.starts[module], self.counts[module]
        own = self.line[start : start + count]
        before = (own > 0) & (own < (line or 0))
        counts[module] = count if before.all() else int(np.argmin(before))
        return counts

    def visible(self, module: int, line: int | None) -> BoolArray:
        """Which rows can be seen from a place: shape (rows,). See `visible_counts`."""
        counts = self.visible_counts(module, line)
        place = np.arange(len(self)) - np.repeat(self.starts, self.counts)
        seen: BoolArray = place < np.repeat(counts, self.counts)
        return seen


def library_fingerprint(corpus: Corpus, *, source_text: bool = False) -> str:
    """Hash of what a library is made from: the corpus's files, the text rules, the format."""
    spelling = "source" if source_text else text_fingerprint()
    return hashlib.sha256(f"{FORMAT} {corpus.fingerprint()} {spelling}".encode()).hexdigest()


def _source_text(declaration: Declaration) -> str:
    return one_line(declaration.shown)


def _groups(declarations: Sequence[Declaration], texts: Sequence[str]) -> IntArray:
    """Number rows so that equal statements, and equal texts, share a number."""
    parent = np.arange(len(texts), dtype=np.int32)

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = int(parent[row])
        return row

    seen: dict[str, int] = {}
    for row, (declaration, text) in enumerate(zip(declarations, texts, strict=True)):
        keys = ["text " + text]
        head = f"{declaration.kind} {declaration.name}"
        if declaration.kind in _STATED and declaration.signature.startswith(head):
            keys.append("statement" + declaration.signature[len(head) :])
        for key in keys:
            first = seen.setdefault(key, row)
            one, other = root(first), root(row)
            parent[max(one, other)] = min(one, other)
    return np.array([root(row) for row in range(len(texts))], dtype=np.int32)
