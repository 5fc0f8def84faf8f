"""Learns which everyday phrases stand for which words of Mathlib's names: the table of the local rewriter.

In: declarations with docstrings, and questions with known answers. Out: pairs phrase → term in the format of
`sidecar/search/vocabulary.txt`, after a record of what they were learned from.

What a text says about a declaration is compared with what the declaration is called. A phrase (up to four words of a
docstring's first sentence or of a question, without stop words, by their stems) and a term (up to three words that
stand together in a component of a name) are a pair when names hold the term far more often where texts hold the phrase:
by the likelihood ratio of Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence" (1993), and by the
share of each in the other. A text that says the term itself, and a name that says the phrase, do not count: what is
learned are other words for the same, not words that go together. A pair that few modules know, or that a shorter phrase
implies, is left out.

Nothing is learned from what an evaluation asks or wants.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from math import log
from pathlib import Path
from typing import Any, Final

from sidecar.corpus.policy import META_LIBRARIES, TACTIC_MODULES, deprecation, role
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import Corpus
from sidecar.progress import Progress
from sidecar.search.vocabulary import IGNORED
from sidecar.text.names import components, name_words
from sidecar.text.query import query_text
from sidecar.text.stems import stem
from training.data.queries import SearchExample
from training.data.questions import Forbidden
from training.search.stages import file_hash
from training.search.words import first_sentence

_META: Final = tuple(f"{root}." for root in (*META_LIBRARIES, *TACTIC_MODULES, "Std"))
"""How modules and names begin that are about programs and proofs."""

_ALIAS: Final = "alias"
"""How the docstring of an alias begins: it speaks of another declaration."""

_JOINING: Final = frozenset({"of", "iff", "is", "to", "eq", "the"})
"""Words of names that join others; a term neither begins nor ends with one."""

Stems = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VocabularySettings:
    """What counts as a pair.

    Attributes:
        longest_phrase, longest_term: Words of a phrase, of a term.
        together: Least number of texts that hold the phrase while the name holds the term.
        modules: Least number of modules that these come from.
        term_share: Least share of the texts with the phrase whose names hold the term.
        phrase_share: Least share of the names with the term whose texts hold the phrase.
        likelihood: Least likelihood ratio (−2 log λ).
    """

    longest_phrase: int = 4
    longest_term: int = 3
    together: int = 6
    modules: int = 3
    term_share: float = 0.5
    phrase_share: float = 0.2
    likelihood: float = 50.0


@dataclass(frozen=True, slots=True)
class Text:
    """What is said about one declaration: words, its name, its module."""

    words: tuple[str, ...]
    name: str
    module: str


@dataclass(frozen=True, slots=True)
class Learned:
    """A phrase and the term for it.

    Attributes:
        phrase, term: As they are written.
        together: Texts with the phrase whose names hold the term.
        phrase_count, term_count: Texts with the phrase, names with the term.
        likelihood: −2 log λ.
    """

    phrase: str
    term: str
    together: int
    phrase_count: int
    term_count: int
    likelihood: float


@dataclass(frozen=True, slots=True)
class Texts:
    """What there is to learn from, and how much an evaluation forbids."""

    texts: list[Text]
    forbidden: int


def collect(corpus: Corpus, examples: Iterable[SearchExample], forbidden: Forbidden) -> Texts:
    """Texts about the mathematical declarations of a corpus: their docstrings, and questions that they answer."""
    texts: list[Text] = []
    modules: dict[str, str] = {}
    left_out = 0
    with Progress("declarations read", None) as progress:
        for declaration in corpus.declarations():
            progress.advance()
            if not _usable(declaration):
                continue
            modules[declaration.name] = declaration.module
            words = first_sentence(declaration.docstring)
            if not words or words[0] == _ALIAS:
                continue
            if declaration.name in forbidden.names or forbidden.asked(" ".join(words)):
                left_out += 1
            else:
                texts.append(Text(words, declaration.name, declaration.module))
    for example in examples:
        text = query_text(example.query)
        forbids = forbidden.forbids_example(example)
        for name in example.gold:
            if name not in modules:
                continue
            if forbids:
                left_out += 1
            else:
                texts.append(Text(tuple(text.split()), name, modules[name]))
    return Texts(texts, left_out)


def learn(texts: Sequence[Text], settings: VocabularySettings) -> list[Learned]:
    """The pairs that some texts teach, the surest first."""
    phrases, terms = _Spelled(), _Spelled()
    of_texts = [
        (
            phrases.numbers(_phrases(text.words, settings.longest_phrase)),
            terms.numbers(_terms(text.name, settings.longest_term)),
        )
        for text in texts
    ]
    phrase_counts = Counter(number for held, _ in of_texts for number in held)
    term_counts = Counter(number for _, held in of_texts for number in held)
    together: Counter[tuple[int, int]] = Counter()
    seen_in: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    with Progress("texts compared", len(texts)) as progress:
        for text, (held, named) in zip(texts, of_texts, strict=True):
            progress.advance()
            said = frozenset(map(stem, text.words))
            called = frozenset(key for number in named for key in terms.stems[number])
            new = [t for t in named if term_counts[t] >= settings.together and said.isdisjoint(terms.stems[t])]
            known = [p for p in held if phrase_counts[p] >= settings.together and called.isdisjoint(phrases.stems[p])]
            for pair in product(known, new):
                together[pair] += 1
                if len(seen_in[pair]) < settings.modules:
                    seen_in[pair].add(text.module)
    best: dict[int, tuple[float, int]] = {}
    for (phrase, term), count in together.items():
        of_phrase, of_term = phrase_counts[phrase], term_counts[term]
        if (
            count < settings.together
            or count < settings.term_share * of_phrase
            or count < settings.phrase_share * of_term
            or len(seen_in[phrase, term]) < settings.modules
        ):
            continue
        ratio = likelihood_ratio(count, of_phrase, of_term, len(texts))
        if ratio >= settings.likelihood and (phrase not in best or best[phrase][0] < ratio):
            best[phrase] = (ratio, term)
    terms_of = {phrases.stems[phrase]: term for phrase, (_, term) in best.items()}
    pairs = [
        Learned(
            phrases.spelled(phrase),
            terms.spelled(term),
            together[phrase, term],
            phrase_counts[phrase],
            term_counts[term],
            round(ratio, 1),
        )
        for phrase, (ratio, term) in best.items()
        if all(terms_of.get(shorter) != term for shorter in _within(phrases.stems[phrase]))
    ]
    return sorted(pairs, key=lambda pair: (-pair.likelihood, pair.phrase))


def likelihood_ratio(together: int, first: int, second: int, total: int) -> float:
    """−2 log λ of two events: how much likelier what was counted is when they depend on each other than when not.

    Args:
        together: How often both happened.
        first, second: How often each happened.
        total: Number of trials.
    """
    table = ((together, first - together), (second - together, total - first - second + together))
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]

    def information(counts: Iterable[int]) -> float:
        return sum(count * log(count) for count in counts if count > 0)

    return 2 * (
        information([total]) + information(count for row in table for count in row) - information(rows + columns)
    )


def table(pairs: Iterable[Learned], record: dict[str, Any]) -> str:
    """The file: the record as comments, then one line for each term."""
    phrases: dict[str, list[str]] = {}
    for pair in pairs:
        phrases.setdefault(pair.term, []).append(pair.phrase)
    lines = [f"# {line}" for line in json.dumps(record, indent=1, ensure_ascii=False).splitlines()]
    lines = [
        "# Everyday words for the words of Mathlib's names, learned from docstrings and names; the format of",
        "# vocabulary.txt. Made by `python -m training search vocabulary`; not to be edited by hand.",
        *lines,
        "",
        *(f"{term} : {' | '.join(said)}" for term, said in phrases.items()),
    ]
    return "\n".join(lines) + "\n"


def made_from(
    corpus: Corpus, texts: Texts, pairs: Sequence[Learned], settings: VocabularySettings, evaluation: Sequence[Path]
) -> dict[str, Any]:
    """The record of a table: what it was learned from, how, and which files of queries were kept out of it."""
    return {
        "corpus": corpus.fingerprint(),
        "revisions": corpus.revisions(),
        "settings": asdict(settings),
        "texts": len(texts.texts),
        "left out for evaluation": texts.forbidden,
        "evaluation": {file.name: file_hash(file) for file in evaluation},
        "pairs": len(pairs),
    }


class _Spelled:
    """Numbers for sequences of stems, and how each is mostly written."""

    def __init__(self) -> None:
        self._number: dict[Stems, int] = {}
        self.stems: list[Stems] = []
        self._written: list[Counter[str]] = []

    def numbers(self, spelled: Iterable[tuple[Stems, str]]) -> list[int]:
        """Numbers of what one text holds, without repeats."""
        found: dict[int, None] = {}
        for key, written in spelled:
            number = self._number.setdefault(key, len(self.stems))
            if number == len(self.stems):
                self.stems.append(key)
                self._written.append(Counter())
            self._written[number][written] += 1
            found[number] = None
        return list(found)

    def spelled(self, number: int) -> str:
        """The way in which it is written most often."""
        return min(self._written[number].items(), key=lambda item: (-item[1], item[0]))[0]


def _usable(declaration: Declaration) -> bool:
    """Whether it is mathematics that is searched for."""
    if f"{declaration.module}.".startswith(_META) or declaration.name.startswith(_META):
        return False
    return role(declaration, ()).target and deprecation(declaration) is None


def _phrases(words: Sequence[str], longest: int) -> Iterator[tuple[Stems, str]]:
    """Phrases of a text: words in a row, once those that never count are gone."""
    kept = [word for word in words if word not in IGNORED]
    for start in range(len(kept)):
        for end in range(start + 1, min(start + longest, len(kept)) + 1):
            said = kept[start:end]
            # One letter is a variable.
            if all(len(word) > 2 and word.isalpha() for word in said):
                yield tuple(map(stem, said)), " ".join(said)


@lru_cache(maxsize=1 << 16)
def _component_terms(component: str, longest: int) -> tuple[tuple[Stems, str], ...]:
    """Terms of a component that can be searched for: a question that holds one is read as just these words."""
    words = name_words(component)
    found = []
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            said = words[start:end]
            term = " ".join(said)
            if _JOINING.isdisjoint((said[0], said[-1])) and len(max(said, key=len)) > 1 and query_text(term) == term:
                found.append((tuple(map(stem, said)), term))
    return tuple(found)


def _terms(name: str, longest: int) -> Iterator[tuple[Stems, str]]:
    for component in components(name):
        yield from _component_terms(component, longest)


def _within(phrase: Stems) -> Iterator[Stems]:
    """The shorter phrases that a phrase holds."""
    for start in range(len(phrase)):
        for end in range(start + 1, len(phrase) + 1):
            if end - start < len(phrase):
                yield phrase[start:end]
