"""Texts to token numbers, without state that a second thread could see.

In: texts. Out: token numbers, cut at a limit. The `tokenizers` library is safe to call from several threads as long as
nobody changes its truncation and padding; here both are switched off at load, and cutting is done on the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.errors import SidecarError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TextTokenizer:
    """A tokenizer whose settings never change after it is made.

    Args:
        tokenizer: A `tokenizers.Tokenizer` that nobody else uses.
        max_tokens: Longer texts are cut at the end to this many tokens, special tokens included.
        special: Whether the model's special tokens are added ([CLS] … [SEP]).
        lower: Whether texts are lower-cased first (an old sentence-transformers option).
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, *, special: bool, lower: bool = False) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # A text that spells a special token is an ordinary text.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._lower = lower
        plain = tokenizer.encode("a", add_special_tokens=False).ids
        framed = tokenizer.encode("a", add_special_tokens=True).ids if special else plain
        at = next(i for i in range(len(framed)) if framed[i : i + len(plain)] == plain)
        self.prefix: list[int] = framed[:at]
        self.suffix: list[int] = framed[at + len(plain) :]
        self.max_tokens = max_tokens
        self._room = max_tokens - len(self.prefix) - len(self.suffix)
        if self._room < 1:
            raise SidecarError(
                "bad_request",
                f"{max_tokens} tokens leave no room for a text beside "
                f"{len(self.prefix) + len(self.suffix)} special tokens",
                field="max_tokens",
                hint="raise max_tokens in the encoder's folder",
            )

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

    @property
    def vocabulary(self) -> int:
        """Number of tokens, added ones included."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def raw(self, texts: Sequence[str], prompt: str = "") -> list[list[int]]:
        """Token numbers of each text behind the prompt, without special tokens and before any cut.

        A text that adds no token to the prompt gives the empty list.
        """
        if not prompt:
            return self._encode(texts)
        bare, *rows = self._encode([prompt, *(prompt + text for text in texts)])
        return [[] if row == bare else row for row in rows]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        # Rust cannot take a lone surrogate; what came over the wire has none, a caller in Python may.
        plain = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
        if self._lower:
            plain = [text.lower() for text in plain]
        encodings = self._tokenizer.encode_batch_fast(plain, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def framed(self, numbers: list[int]) -> list[int]:
        """Cut token numbers at the limit and put the special tokens around them."""
        return [*self.prefix, *numbers[: self._room], *self.suffix]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, special tokens included, before any cut."""
        extra = len(self.prefix) + len(self.suffix)
        return [len(numbers) + extra for numbers in self._encode(texts)]
