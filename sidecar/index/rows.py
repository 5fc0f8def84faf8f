"""From declarations of the corpus to rows of the index.

In: declarations, in corpus order. Out: batches of rows with everything that is kept about them: roles, canonical texts,
constants, words and hashes. Nothing here touches a disk or a model.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from sidecar.corpus.policy import deprecation, role
from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from sidecar.index.formulas import formula_keys
from sidecar.index.layout import DEPRECATED, HASH_BYTES, PREMISE, TARGET
from sidecar.index.lexical import weigh_words
from sidecar.index.store import KIND_NUMBERS
from sidecar.text.declaration import Statement, parse_premise, statement_text, wire_text
from sidecar.text.formula import statement_formulas
from sidecar.text.formula_tokens import PROPOSITION
from sidecar.text.names import name_words


class Numbering(dict[str, int]):
    """Gives each string that is asked for a number, in order of first use."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        super().__init__((string, number) for number, string in enumerate(strings))
        self._fresh: list[str] = []

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        self._fresh.append(string)
        return number

    def take_fresh(self) -> list[str]:
        """The strings numbered since this was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh


@dataclass(slots=True)
class Batch:
    """Rows that belong together on their way to disk.

    Attributes:
        position: Declarations of the corpus that are done when this batch is.
        hidden: How many of them got no row.
        records: Declaration, number of its module, replacement.
        texts: Canonical texts.
        content_hashes, text_hashes: `HASH_BYTES` a row.
        kinds: Places in `KINDS`.
        flags: Sum of `PREMISE`, `TARGET`, `DEPRECATED`.
        constants, constant_lengths, conclusion_counts: Numbers of constants, rows one after another.
        words, word_counts, word_lengths: Numbers of distinct words and how often each counts, rows one after another.
        text_lengths: Words of each text.
        formulas, formula_lengths: Keys of spellings of the statements as formulas, rows one after another.
        fresh_modules, fresh_constants, fresh_words: What was numbered for the first time in this batch.
    """

    position: int
    hidden: int = 0
    records: list[tuple[Declaration, int, str | None]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    content_hashes: list[bytes] = field(default_factory=list)
    text_hashes: list[bytes] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    constant_lengths: list[int] = field(default_factory=list)
    conclusion_counts: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    word_counts: list[int] = field(default_factory=list)
    word_lengths: list[int] = field(default_factory=list)
    text_lengths: list[int] = field(default_factory=list)
    formulas: list[int] = field(default_factory=list)
    formula_lengths: list[int] = field(default_factory=list)
    fresh_modules: list[str] = field(default_factory=list)
    fresh_constants: list[str] = field(default_factory=list)
    fresh_words: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.records)


class RowMaker:
    """Makes batches, and remembers what must be remembered between them.

    Args:
        propositional: Result of `policy.propositional_constants` for the corpus.
        instances: Whether instances count as premises.
        modules, constants, words: What an earlier run numbered.
    """

    def __init__(
        self,
        propositional: Container[str],
        *,
        instances: bool,
        modules: Iterable[str],
        constants: Iterable[str],
        words: Iterable[str],
    ) -> None:
        self._propositional = propositional
        self._instances = instances
        self.modules = Numbering(modules)
        self.constants = Numbering(constants)
        self.words = Numbering(words)

    def batch(self, declarations: Iterable[Declaration], position: int) -> Batch:
        """Make the rows of some declarations, of which the first is number `position` of the corpus.

        Raises:
            SidecarError: `bad_request` for a declaration that no file can hold.
        """
        batch = Batch(position)
        for declaration in declarations:
            batch.position += 1
            self._add(batch, declaration)
        batch.fresh_modules = self.modules.take_fresh()
        batch.fresh_constants = self.constants.take_fresh()
        batch.fresh_words = self.words.take_fresh()
        return batch

    def _add(self, batch: Batch, declaration: Declaration) -> None:
        chosen = role(declaration, self._propositional, instances=self._instances)
        if chosen.hidden:
            batch.hidden += 1
            return
        try:
            content = content_hash(declaration)
        except UnicodeEncodeError as error:
            raise SidecarError(
                "bad_request",
                f"declaration {declaration.name!r} of module {declaration.module!r} holds half a character"
                f" ({error.object[error.start : error.end]!r})",
                field="corpus",
                hint="write the corpus again: text must be valid Unicode",
            ) from None
        statement = parse_premise(wire_text(declaration))
        text = statement_text(statement)
        text_words = list(map(self.words.__getitem__, text.split()))
        counts = weigh_words(map(self.words.__getitem__, name_words(declaration.name)), text_words)
        constants = dict.fromkeys(map(self.constants.__getitem__, declaration.constants))
        outdated = deprecation(declaration)
        batch.records.append(
            (declaration, self.modules[declaration.module], outdated.replacement if outdated else None)
        )
        batch.texts.append(text)
        batch.content_hashes.append(content)
        batch.text_hashes.append(hash_bytes(text))
        batch.kinds.append(KIND_NUMBERS[declaration.kind])
        batch.flags.append(PREMISE * chosen.premise | TARGET * chosen.target | DEPRECATED * (outdated is not None))
        batch.constants += constants
        batch.constant_lengths.append(len(constants))
        batch.conclusion_counts.append(min(declaration.conclusion_count, len(constants)))
        batch.words += counts
        batch.word_counts += [min(count, 255) for count in counts.values()]
        batch.word_lengths.append(len(counts))
        batch.text_lengths.append(len(text_words))
        formulas = _formula_keys(declaration, statement) if chosen.target else []
        batch.formulas += formulas
        batch.formula_lengths.append(len(formulas))


def _formula_keys(declaration: Declaration, statement: Statement) -> list[int]:
    """Keys of the formulas that it states; the type of a definition states nothing.

    Args:
        declaration: The declaration.
        statement: Its signature taken apart.
    """
    if declaration.kind not in ("theorem", "axiom", "field"):
        return []
    # People write what they read.
    read = statement if declaration.display == declaration.signature else parse_premise(declaration.display)
    if declaration.kind == "field" and PROPOSITION.search(read.type) is None:
        return []
    return formula_keys(statement_formulas(read))


def content_hash(declaration: Declaration) -> bytes:
    """Hash of everything that the corpus says about a declaration, and that the index keeps."""
    constants = tuple(dict.fromkeys(declaration.constants))
    parts = (
        declaration.name,
        declaration.kind,
        declaration.module,
        declaration.signature,
        declaration.display,
        declaration.docstring,
        "\1".join(constants),
        "\1".join(declaration.attributes),
        str(min(declaration.conclusion_count, len(constants))),
        f"{declaration.line} {declaration.end_line} {declaration.has_equations}",
        declaration.parent or "",
    )
    return hash_bytes("\0".join(parts))


def hash_bytes(text: str) -> bytes:
    """Hash of a text, `HASH_BYTES` long, the same on every machine."""
    return blake2b(text.encode(), digest_size=HASH_BYTES).digest()
