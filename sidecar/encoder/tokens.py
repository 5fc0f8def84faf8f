"""Texts to token numbers, without state that a second thread could spoil.

In: texts. Out: token numbers, cut at a limit. The `tokenizers` library may be called from several threads as long as
nobody changes its truncation and padding; here both are switched off at load, and cutting is done on the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.encoder.phrases import Phrase, numbered
from sidecar.errors import SidecarError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED_WORDS = 1 << 16
"""Most words whose tokens are remembered; beyond this the memory starts afresh."""

LONGEST_WORD = 48
"""Characters of the longest word that is remembered; bounds the memory that hostile texts can fill."""


class TextTokenizer:
    """A tokenizer whose settings never change after it is made; safe to share between threads.

    Canonical texts are words between single spaces and repeat a few ten thousand words, so for BERT's tokenizers, which
    never join what a space separates, the tokens of each word are remembered: several times faster than the library.

    Args:
        tokenizer: A `tokenizers.Tokenizer` that nobody else uses.
        max_tokens: Longer texts are cut at the end to this many tokens, special tokens included.
        special: Whether the model's special tokens are added ([CLS] … [SEP]).
        lower: Whether texts are lower-cased first (an old sentence-transformers option).
        phrases: Numbers of pairs of neighbouring words (see `phrases.py`); each follows its second word's tokens. None
            for a tokenizer of single words. With phrases, each number stands once in a text, where it comes first.

    Raises:
        SidecarError: `bad_request` when the limit leaves no room for a text, or there are phrases and the tokenizer's
            tokens may span several words.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_tokens: int,
        *,
        special: bool,
        lower: bool = False,
        phrases: Mapping[Phrase, int] | None = None,
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # A text that spells a special token is an ordinary text.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._lower = lower
        self._words: dict[str, tuple[int, ...]] | None = {} if _splits_at_spaces(tokenizer) else None
        self._phrases = phrases
        if phrases is not None and self._words is None:
            raise SidecarError(
                "bad_request",
                "the tokenizer may join what a space separates, so there can be no phrases",
                field="encoder",
                hint="phrases want a BERT tokenizer (WordPiece)",
            )
        plain = tokenizer.encode("a", add_special_tokens=False).ids
        framed = tokenizer.encode("a", add_special_tokens=True).ids if special else plain
        at = next(i for i in range(len(framed)) if framed[i : i + len(plain)] == plain)
        self._prefix: list[int] = framed[:at]
        self._suffix: list[int] = framed[at + len(plain) :]
        self._max_tokens = max_tokens
        self._room = max_tokens - len(self._prefix) - len(self._suffix)
        self.room_behind([])

    @classmethod
    def from_folder(cls, folder: Path, max_tokens: int, *, special: bool, lower: bool = False) -> TextTokenizer:
        """Read `tokenizer.json`, or convert what older folders hold (`vocab.txt`, …).

        Raises:
            SidecarError: `bad_request` when the folder holds no tokenizer that can be read.
        """
        from tokenizers import Tokenizer

        file = folder / "tokenizer.json"
        try:
            if file.is_file():
                tokenizer = Tokenizer.from_file(str(file))
            else:
                from transformers import AutoTokenizer

                tokenizer = AutoTokenizer.from_pretrained(
                    folder, local_files_only=True, trust_remote_code=False
                ).backend_tokenizer
        except Exception as error:
            raise SidecarError(
                "bad_request",
                f"no readable tokenizer in {folder}: {error}",
                field="encoder",
                hint="the folder must hold tokenizer.json",
            ) from error
        return cls(tokenizer, max_tokens, special=special, lower=lower)

    def with_phrases(self, phrases: Sequence[Phrase]) -> TextTokenizer:
        """The same tokenizer with phrases, numbered after its tokens."""
        return TextTokenizer(
            self._tokenizer,
            self._max_tokens,
            special=bool(self._prefix or self._suffix),
            lower=self._lower,
            phrases=numbered(phrases, self.vocabulary),
        )

    @property
    def vocabulary(self) -> int:
        """Number of tokens, added ones included."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def room_behind(self, prompts: Iterable[str]) -> int:
        """Tokens of the longest text that is not cut behind any of the prompts, special tokens included.

        Raises:
            SidecarError: `bad_request` when the limit leaves no room for a text.
        """
        longest = max((len(row) for row in self._encode(list(prompts))), default=0)
        if self._room - longest < 1:
            raise SidecarError(
                "bad_request",
                f"{self._max_tokens} tokens leave no room for a text beside special tokens and a prompt, "
                f"{self._max_tokens - self._room + longest} tokens",
                field="max_tokens",
                hint="raise max_tokens in the encoder's folder",
            )
        return self._max_tokens - longest

    def rows(self, texts: Sequence[str], prompt: str = "") -> list[list[int]]:
        """Token numbers of each text behind the prompt, cut at the limit, with special tokens.

        A text that adds no token to the prompt (empty, or nothing but invisible characters) gives the empty list.
        """
        bare, *rows = self._encode([prompt, *(prompt + text for text in texts)])
        return [[*self._prefix, *row[: self._room], *self._suffix] if row and row != bare else [] for row in rows]

    def rows_behind(self, texts: Sequence[str], prompts: Sequence[str]) -> list[list[int]]:
        """The same, each text behind its own prompt."""
        rows: list[list[int]] = [[] for _ in texts]
        for prompt in dict.fromkeys(prompts):
            places = [place for place, own in enumerate(prompts) if own == prompt]
            for place, row in zip(places, self.rows([texts[place] for place in places], prompt), strict=True):
                rows[place] = row
        return rows

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, special tokens included, before any cut."""
        extra = len(self._prefix) + len(self._suffix)
        return [len(row) + extra for row in self._encode(texts)]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        # Rust cannot take a lone surrogate; what came over the wire has none, a caller in Python may.
        plain = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
        if self._lower:
            plain = [text.lower() for text in plain]
        if self._words is None:
            return self._library(plain)
        return self._by_words(plain) if self._phrases is None else self._with_phrases(plain, self._phrases)

    def _with_phrases(self, texts: Sequence[str], phrases: Mapping[Phrase, int]) -> list[list[int]]:
        split = [[word for word in text.split(" ") if word] for text in texts]
        distinct = list(dict.fromkeys(chain.from_iterable(split)))
        tokens = dict(zip(distinct, self._by_words(distinct), strict=True))
        rows = []
        for words in split:
            row = list(tokens[words[0]]) if words else []
            for pair in pairwise(words):
                row += tokens[pair[1]]
                number = phrases.get(pair)
                if number is not None:
                    row.append(number)
            rows.append(list(dict.fromkeys(row)))
        return rows

    def _by_words(self, texts: Sequence[str]) -> list[list[int]]:
        words = self._words
        if words is None or len(words) > REMEMBERED_WORDS:
            # Threads that still read the old memory keep it; nobody ever removes from it.
            words = self._words = {}
        split = [text.split(" ") for text in texts]
        found = set(chain.from_iterable(split)) - words.keys()
        long = {word for word in found if len(word) > LONGEST_WORD}
        found -= long
        if found:
            words.update(zip(found, map(tuple, self._library(list(found))), strict=True))
        # Texts with a word too long to remember are rare: the library takes them whole.
        whole = [i for i, chunks in enumerate(split) if long and not long.isdisjoint(chunks)]
        for i in whole:
            split[i] = []
        rows = [list(chain.from_iterable(map(words.__getitem__, chunks))) for chunks in split]
        if whole:
            for i, row in zip(whole, self._library([texts[i] for i in whole]), strict=True):
                rows[i] = row
        return rows

    def _library(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def _splits_at_spaces(tokenizer: Tokenizer) -> bool:
    """Whether the tokens of a text are those of its parts between spaces: so for BERT's rules and no others here."""
    rules = json.loads(tokenizer.to_str())
    kinds = tuple((rules[part] or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model"))
    return kinds == ("BertNormalizer", "BertPreTokenizer", "WordPiece") and all(
        token["special"] for token in rules["added_tokens"]
    )
