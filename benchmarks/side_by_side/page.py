"""The page on which a person compares: one HTML file that needs no network.

In: comparisons. Out: the file. It names no system: what a person downloads from it says left and right alone, and
`verdicts.read_downloads` knows which was which.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.side_by_side.comparisons import Comparison, Shown
from sidecar.errors import SidecarError

TEMPLATE: Final = Path(__file__).with_name("page.html")
_PLACE: Final = "/*DATA*/"


def write_page(file: Path, comparisons: Sequence[Comparison], shuffle: str) -> int:
    """Write the page.

    Args:
        file: Where.
        comparisons: What is compared; what is alike is left out.
        shuffle: Decides which system stands on the left, and the order of the comparisons.

    Returns:
        How many comparisons it shows.

    Raises:
        SidecarError: `bad_request` when there is none to show.
    """
    shown = [comparison for comparison in comparisons if not comparison.alike]
    if not shown:
        raise SidecarError("bad_request", "all answers are alike: there is nothing to compare", field="folder")
    random.Random(shuffle).shuffle(shown)
    rows = [
        {
            "id": comparison.id,
            "query": comparison.query,
            "left": _plain(comparison.answers[comparison.left(shuffle)]),
            "right": _plain(comparison.answers[1 - comparison.left(shuffle)]),
        }
        for comparison in shown
    ]
    page = hashlib.sha256(json.dumps([shuffle, rows]).encode()).hexdigest()[:16]
    data = json.dumps({"page": page, "shuffle": shuffle, "comparisons": rows}, ensure_ascii=False)
    # No text of a declaration may end the element that holds the data.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    file.write_text(TEMPLATE.read_text(encoding="utf-8").replace(_PLACE, data), encoding="utf-8")
    return len(shown)


def _plain(answer: Sequence[Shown]) -> list[dict[str, str]]:
    return [{"statement": shown.statement, "docstring": shown.docstring} for shown in answer]
