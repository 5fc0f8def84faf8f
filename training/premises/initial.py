"""The table of token vectors that training of the `static` tier begins with.

In: the word vectors at the bottom of a BERT model. Out: a table of token vectors, and a weight a token.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sidecar.encoder.base import FloatMatrix

ORDINARY = 995
"""Tokens before this number are padding, unused or marks; from here on the vocabulary is in order of frequency."""

WHITENING = 0.25
"""Power of the variance that is divided away along each direction: 0 leaves the vectors, 0.5 whitens them fully."""

RARITY = 3.0
"""Power of a token's logarithmic rank in its weight."""


def initial_table(word_vectors: FloatMatrix) -> tuple[FloatMatrix, npt.NDArray[np.float32]]:
    """Token vectors and token weights from a BERT model's word vectors.

    The vectors are centred and their strongest directions damped, which say how frequent a word is rather than what it
    means (Mu and Viswanath 2018, "All-but-the-top", take the first of these directions away altogether). A token of
    rank r in the vocabulary, whose frequency is about 1/r by Zipf's law, weighs log(1 + r)^`RARITY`, in the manner of
    smooth inverse frequency (Arora et al. 2017). Both powers were chosen by recall of premises and of search answers.

    Args:
        word_vectors: Shape (tokens, dimension), in the order of BERT's vocabulary.

    Returns:
        The vectors, shape (tokens, dimension), and the weights, shape (tokens); both float32.
    """
    centred = word_vectors - word_vectors.mean(axis=0)
    variances, directions = np.linalg.eigh(np.cov(centred[ORDINARY:].T.astype(np.float64)))
    # Scaled along the directions and turned back: unlike coordinates along them, the result does not depend on the
    # sign that a linear algebra library happens to give a direction.
    damping = (directions * np.maximum(variances, 1e-9) ** -WHITENING) @ directions.T
    rank = np.maximum(np.arange(len(centred)) - ORDINARY, 0)
    weights = (np.log1p(rank) / np.log1p(len(centred))) ** RARITY
    return (centred @ damping.astype(np.float32)).astype(np.float32), weights.astype(np.float32)
