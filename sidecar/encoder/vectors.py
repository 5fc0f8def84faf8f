"""What every tier does with its vectors before it returns them.

In: raw vectors. Out: unit vectors, or an error that names the text whose vector is not finite.
"""

from __future__ import annotations

import numpy as np

from sidecar.encoder.base import FloatMatrix
from sidecar.errors import SidecarError


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """Scale each row to length 1; zero rows stay zero.

    Raises:
        SidecarError: `internal`, naming the first row that holds NaN or infinity as field `texts[i]`.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        position = int(np.argmin(np.isfinite(lengths[:, 0])))
        raise SidecarError(
            "internal",
            "the encoder gave a vector that is not finite",
            field=f"texts[{position}]",
            hint="the model's weights are damaged, or its number format overflows: check the encoder's folder",
        )
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
