"""A generator of short queries that is no language model: a few choices, learned with the same reward.

In: declarations. Out: queries, made from their names, conclusions and docstrings by one choice at each site: which part
speaks, how many words and which of them stay, whether the words of the name are hidden, whether terms are said in
everyday words, and the sentence around it. Each choice is drawn from a softmax over learned scores, one row of scores
for each kind of declaration (with or without docstring, theorem or not).

It shows on a laptop whether hard but consistent queries help a retriever; what it writes is poorer than what a model
writes, since it can only say what the declaration says.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sidecar.corpus.records import Declaration
from sidecar.errors import SidecarError
from sidecar.search.vocabulary import EVERYDAY, LEARNED, Vocabulary
from sidecar.text.names import components, name_words
from sidecar.text.stems import STOP_WORDS, stem
from training.search.words import DeclarationWords, declaration_words

FORMAT: Final = 1

SITES: Final[Mapping[str, tuple[str, ...]]] = {
    "speaks": ("name", "sentence", "conclusion", "name and conclusion", "sentence and name"),
    "length": ("3", "5", "8", "12", "20"),
    "stay": ("first", "rarest", "commonest", "any"),
    "name": ("stays", "last component hidden", "hidden"),
    "terms": ("as they are", "in everyday words"),
    "around": ("nothing", "how to prove", "lemma", "is it true that"),
}
"""Site → its options."""

KINDS: Final = 4
"""Rows of scores: 2 · (has a docstring) + (is a theorem)."""

_AROUND: Final = {
    "nothing": "{}",
    "how to prove": "how to prove {}",
    "lemma": "{} lemma",
    "is it true that": "is it true that {}",
}

FloatArray = npt.NDArray[np.float64]
Choices = dict[str, int]
"""Site → number of the chosen option."""


@dataclass(frozen=True, slots=True)
class Source:
    """A declaration with what queries about it are made from."""

    declaration: Declaration
    words: DeclarationWords

    @classmethod
    def of(cls, declaration: Declaration) -> Source:
        """Take a declaration apart."""
        return cls(declaration, declaration_words(declaration))

    @property
    def kind(self) -> int:
        """Which row of scores is its."""
        return 2 * bool(self.words.sentence) + (self.declaration.kind in ("theorem", "axiom"))


class Policy:
    """Learned scores of the choices.

    Args:
        scores: Site → scores, shape (KINDS, options).
    """

    def __init__(self, scores: Mapping[str, FloatArray]) -> None:
        for site, options in SITES.items():
            if site not in scores or scores[site].shape != (KINDS, len(options)):
                raise SidecarError("bad_request", f"no scores of shape ({KINDS}, {len(options)}) for {site!r}")
        self.scores = {site: np.array(scores[site], dtype=np.float64) for site in SITES}

    @classmethod
    def untrained(cls) -> Policy:
        """Every option is as likely as the others."""
        return cls({site: np.zeros((KINDS, len(options))) for site, options in SITES.items()})

    @classmethod
    def read(cls, file: Path) -> Policy:
        """Read what `write` wrote.

        Raises:
            SidecarError: When the file is none, or of another format.
        """
        try:
            body = json.loads(file.read_text(encoding="utf-8"))
            if body["format"] != FORMAT:
                raise ValueError(f"format {body['format']}")
            return cls({site: np.array(rows, dtype=np.float64) for site, rows in body["scores"].items()})
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise SidecarError(
                "bad_request", f"{file} is no stand-in generator: {error}", field="generator", hint="train it again"
            ) from error

    def write(self, file: Path, reached: Mapping[str, int] | None = None) -> None:
        """Write the scores, as one file that is whole at any time.

        Args:
            file: Where.
            reached: How far training has come, for a run that goes on from the file.
        """
        body = {
            "format": FORMAT,
            "options": SITES,
            "scores": {site: rows.tolist() for site, rows in self.scores.items()},
            **({} if reached is None else {"reached": dict(reached)}),
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".writing")
        beside.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        beside.replace(file)

    def likely(self, site: str, kind: int) -> FloatArray:
        """Probabilities of a site's options."""
        row = self.scores[site][kind]
        powers = np.exp(row - row.max())
        probabilities: FloatArray = powers / powers.sum()
        return probabilities

    def draw(self, kind: int, generator: np.random.Generator) -> Choices:
        """Choose at every site."""
        return {site: int(generator.choice(len(options), p=self.likely(site, kind))) for site, options in SITES.items()}

    def learn(
        self,
        kinds: Sequence[int],
        choices: Sequence[Choices],
        advantages: Sequence[float] | FloatArray,
        *,
        rate: float,
        entropy: float,
    ) -> None:
        """One step up the policy gradient (Williams 1992): rate · mean of advantage · ∇ log probability.

        Args:
            kinds, choices, advantages: One of each for a query.
            rate: Length of the step.
            entropy: How much the entropy of each choice counts, so that no option dies out early.
        """
        steps = {site: np.zeros_like(rows) for site, rows in self.scores.items()}
        counts = np.bincount(np.asarray(kinds), minlength=KINDS)
        likely = {(site, kind): self.likely(site, kind) for site in SITES for kind in range(KINDS)}
        for kind, chosen, advantage in zip(kinds, choices, advantages, strict=True):
            for site, option in chosen.items():
                step = steps[site][kind]
                step -= advantage * likely[site, kind]
                step[option] += advantage
        for (site, kind), probabilities in likely.items():
            if counts[kind]:
                logarithms = np.log(np.maximum(probabilities, 1e-12))
                surprise = -(logarithms + -(probabilities * logarithms).sum()) * probabilities
                self.scores[site][kind] += rate * (steps[site][kind] / counts[kind] + entropy * surprise)

    def entropies(self) -> dict[str, float]:
        """Mean entropy of each site's choice, by that of an even choice: 1 before training, 0 when decided."""
        return {
            site: float(
                np.mean(
                    [
                        -(row * np.log(np.maximum(row, 1e-12))).sum() / np.log(len(options))
                        for row in (self.likely(site, kind) for kind in range(KINDS))
                    ]
                )
            )
            for site, options in SITES.items()
        }


def described(choices: Choices) -> str:
    """Choices in words, for the record."""
    return "; ".join(f"{site}: {SITES[site][option]}" for site, option in choices.items())


def write_query(source: Source, choices: Choices, rarity: Callable[[str], float], generator: random.Random) -> str:
    """The query that choices make of a declaration; empty when they leave no word.

    Args:
        source: The declaration.
        choices: See `SITES`.
        rarity: How rare a word is.
        generator: Decides what the choices leave open.
    """
    chosen = {site: SITES[site][option] for site, option in choices.items()}
    words = list(_spoken(source.words, chosen["speaks"]))
    hidden = _hidden(source, chosen["name"])
    words = [word for word in words if stem(word) not in hidden]
    words = _shortened(words, int(chosen["length"]), chosen["stay"], rarity, generator)
    text = " ".join(words)
    if chosen["terms"] == "in everyday words" and text:
        text = generator.choice(_everyday()).rewrite(text) or text
    return _AROUND[chosen["around"]].format(text) if text else ""


def _spoken(words: DeclarationWords, part: str) -> tuple[str, ...]:
    sentence = words.sentence or words.name
    said = {
        "name": words.name,
        "sentence": sentence,
        "conclusion": words.conclusion or words.name,
        "name and conclusion": (*words.name, *words.conclusion),
        "sentence and name": (*sentence, *words.name),
    }[part]
    return tuple(dict.fromkeys(said))


def _hidden(source: Source, what: str) -> frozenset[str]:
    if what == "stays":
        return frozenset()
    if what == "hidden":
        return frozenset(map(stem, source.words.name))
    last = components(source.declaration.name)[-1:]
    return frozenset(stem(word) for part in last for word in name_words(part))


def _shortened(
    words: Sequence[str], most: int, stay: str, rarity: Callable[[str], float], generator: random.Random
) -> list[str]:
    telling = [place for place, word in enumerate(words) if word not in STOP_WORDS]
    if len(telling) <= most:
        return list(words)
    if stay == "any":
        kept = generator.sample(telling, most)
    elif stay == "first":
        kept = telling[:most]
    else:
        sign = -1.0 if stay == "rarest" else 1.0
        kept = sorted(telling, key=lambda place: sign * rarity(words[place]))[:most]
    return [words[place] for place in sorted(kept)]


@cache
def _everyday() -> tuple[Vocabulary, ...]:
    """The rewriter's tables turned around: tables that say each term in one of its everyday phrases."""
    lines = (line for file in (EVERYDAY, LEARNED) for line in file.read_text(encoding="utf-8").splitlines())
    phrases = Vocabulary(lines).phrases
    return tuple(
        Vocabulary(f"{options[turn % len(options)]} : {term}" for term, options in phrases.items()) for turn in range(3)
    )
