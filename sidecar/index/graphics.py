"""Exact inner-product search over a float16 matrix that lies in the memory of a torch device.

In and out: as in `exact.py`. Blocks of rows are widened to float32, multiplied and merged, so that scores are as exact
as on the CPU and the extra memory is that of one block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sidecar.index.exact import BoolArray, FloatArray, HalfMatrix, RowArray, padded

if TYPE_CHECKING:
    import torch

BLOCK_ROWS = 1 << 17
"""Rows that are widened together."""


class TorchSearch:
    """Searches a matrix.

    Args:
        matrix: float16, shape (rows, dimension); copied to the device.
        device: A torch device (`cuda`, `cuda:1`, `cpu`).
    """

    def __init__(self, matrix: HalfMatrix, device: str) -> None:
        import torch

        self._device = torch.device(device)
        self._matrix = torch.empty(matrix.shape, dtype=torch.float16, device=self._device)
        for start in range(0, len(matrix), BLOCK_ROWS):
            block = torch.from_numpy(np.array(matrix[start : start + BLOCK_ROWS]))
            self._matrix[start : start + BLOCK_ROWS].copy_(block)

    def search(self, queries: FloatArray, k: int, mask: BoolArray | None) -> tuple[FloatArray, RowArray]:
        """As `ExactSearch.search`."""
        import torch

        rows = len(self._matrix)
        fitting = min(k, rows)
        if not fitting or not len(queries):
            empty = np.zeros((len(queries), 0))
            return padded(empty.astype(np.float32), empty.astype(np.int64), k)
        with torch.inference_mode():
            columns = torch.from_numpy(queries).to(self._device).T.contiguous()
            visible = None if mask is None else torch.from_numpy(mask).to(self._device)
            best_scores: list[torch.Tensor] = []
            best_rows: list[torch.Tensor] = []
            for start in range(0, rows, BLOCK_ROWS):
                scores = (self._matrix[start : start + BLOCK_ROWS].float() @ columns).T
                if visible is not None:
                    scores.masked_fill_(~visible[start : start + BLOCK_ROWS], -torch.inf)
                top = torch.topk(scores, min(fitting, scores.shape[1]), dim=1)
                best_scores.append(top.values)
                best_rows.append(top.indices + start)
            every, numbers = torch.cat(best_scores, dim=1), torch.cat(best_rows, dim=1)
            top = torch.topk(every, fitting, dim=1)
            found_scores = top.values.cpu().numpy()
            found_rows = torch.gather(numbers, 1, top.indices).cpu().numpy()
        found_rows[np.isneginf(found_scores)] = -1
        order = np.lexsort((found_rows, -found_scores), axis=1)
        return padded(np.take_along_axis(found_scores, order, axis=1), np.take_along_axis(found_rows, order, axis=1), k)
