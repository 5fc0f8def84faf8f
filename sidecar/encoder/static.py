"""The static tier: a weighted mean of token and phrase vectors, microseconds a text, without torch.

In: texts, a table of vectors and a weight for each. Out: unit vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import FloatMatrix, Purpose
from sidecar.encoder.folder import EncoderDescription, fingerprint, folder_hash, weight_files, write_description
from sidecar.encoder.phrases import FILE as PHRASES
from sidecar.encoder.phrases import Phrase, phrases_text, read_phrases
from sidecar.encoder.vectors import unit_rows
from sidecar.errors import SidecarError

if TYPE_CHECKING:
    from sidecar.encoder.tokens import TextTokenizer

Table = npt.NDArray[np.float32] | npt.NDArray[np.float16] | npt.NDArray[np.int8]


class StaticEncoder:
    """An `Encoder` over a table of token vectors.

    Args:
        name: What loads it again.
        tokenizer: Tokenizer whose token numbers are rows of the table.
        table: Token vectors: shape (tokens, dimension), float32, float16 or int8.
        weight: What each is multiplied by: shape (tokens).
        description: Prompts and limits.
        source_hash: Hash of what the table was made from.
    """

    def __init__(
        self,
        name: str,
        tokenizer: TextTokenizer,
        table: Table,
        weight: npt.NDArray[np.float32],
        description: EncoderDescription,
        source_hash: str,
    ) -> None:
        self._name = name
        self._tokenizer = tokenizer
        self._table = np.ascontiguousarray(table[:, : description.dimension])
        self._weight = weight
        self._description = description
        self._max_tokens = tokenizer.room_behind(description.prompts.values())
        self._source_hash = source_hash

    @classmethod
    def from_folder(cls, name: str, folder: Path, description: EncoderDescription) -> StaticEncoder:
        """Read the table of a folder (see `folder.py`).

        Raises:
            SidecarError: `bad_request` when the tensors are missing or do not fit together.
        """
        from safetensors.numpy import load_file

        from sidecar.encoder.tokens import TextTokenizer

        file = weight_files(folder, description)[0]
        try:
            tensors = load_file(file)
        except Exception as error:
            raise SidecarError(
                "bad_request", f"{file} cannot be read: {error}", field="encoder", hint="write the folder again"
            ) from error
        table = next((tensors[key] for key in ("embedding", "embedding.weight") if key in tensors), None)
        if table is None or table.ndim != 2 or table.dtype not in (np.int8, np.float16, np.float32):
            raise SidecarError(
                "bad_request",
                f"{file} has no float16, float32 or int8 matrix `embedding`: it holds {', '.join(sorted(tensors))}",
                field="encoder",
                hint="see sidecar/encoder/folder.py for the format",
            )
        if table.dtype == np.float16:
            table = table.astype(np.float32)  # numbers that numpy would turn over and over again, and slowly
        weight = tensors.get("weight")
        if weight is None:
            weight = np.ones(len(table), dtype=np.float32)
        elif weight.shape != table.shape[:1]:
            raise SidecarError(
                "bad_request",
                f"{file}: `weight` has shape {weight.shape}, `embedding` {table.shape}",
                field="encoder",
                hint="one weight a token",
            )
        tokenizer = TextTokenizer.from_folder(
            folder / description.weights,
            description.max_tokens,
            special=description.special,
            lower=description.lower,
        )
        rows = tokenizer.vocabulary
        phrases_file = folder / description.weights / PHRASES
        if phrases_file.is_file():
            phrases = read_phrases(phrases_file)
            tokenizer = tokenizer.with_phrases(phrases)
            rows += len(phrases)
        if rows > len(table):
            raise SidecarError(
                "bad_request",
                f"{file} has {len(table)} rows, its tokenizer and phrases have {rows} numbers",
                field="encoder",
                hint=f"tokenizer.json, {PHRASES} and model.safetensors must be of one model",
            )
        return cls(name, tokenizer, table, weight.astype(np.float32), description, folder_hash(folder, description))

    @property
    def name(self) -> str:
        """See `Encoder.name`."""
        return self._name

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return int(self._table.shape[1])

    @property
    def max_tokens(self) -> int:
        """See `Encoder.max_tokens`."""
        return self._max_tokens

    @property
    def backend(self) -> str:
        """See `Encoder.backend`."""
        return "cpu, token table"

    @cached_property
    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        return fingerprint(self._source_hash)

    def encode(self, texts: Sequence[str], purpose: Purpose) -> FloatMatrix:
        """See `Encoder.encode`."""
        rows = self._tokenizer.rows_behind(texts, self._description.prompts_of(texts, purpose))
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        for row, numbers in enumerate(rows):
            if numbers:
                # Text by text the gathered vectors stay in the cache; np.add.reduceat over many texts is slower by far.
                np.dot(self._weight[numbers], self._table[numbers].astype(np.float32), out=vectors[row])
        # The length of the sum is divided away, so the mean needs no division of its own.
        return unit_rows(vectors)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `Encoder.count_tokens`."""
        return self._tokenizer.count(texts)


def in_bytes(
    embedding: npt.NDArray[np.float32], weight: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """The same table in a quarter of the size: each row scaled so that its largest entry is ±127, and rounded."""
    largest = np.abs(embedding).max(axis=1, initial=0.0)
    step = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(127)
    return np.rint(embedding / step[:, None]).astype(np.int8), weight * step


def write_static(
    folder: Path,
    embedding: Table,
    weight: npt.NDArray[np.float32] | None,
    tokenizer_json: str,
    description: EncoderDescription,
    phrases: Sequence[Phrase] | None = None,
) -> None:
    """Write a folder that `load_encoder` reads; files that are there are replaced.

    Args:
        folder: The folder; made when it is not there.
        embedding: Token vectors and then those of the phrases, shape (tokens, dimension).
        weight: A weight a token, or None.
        tokenizer_json: Text of the tokenizer's file.
        description: Of type `static`.
        phrases: Phrases, or None for a table of single words.
    """
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, npt.NDArray[Any]] = {"embedding": embedding}
    if weight is not None:
        tensors["weight"] = weight
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
    if phrases is None:
        (folder / PHRASES).unlink(missing_ok=True)
    else:
        (folder / PHRASES).write_text(phrases_text(phrases), encoding="utf-8")
    # Last: a folder that was cut off in the middle is no encoder.
    write_description(folder, description)
