"""The control arms.

In: nothing. Out: the names of what is varied.
"""

from __future__ import annotations

from enum import StrEnum


class Arm(StrEnum):
    """What a reward looks at: both terms, or one of them alone (the control arms)."""

    BOTH = "both"
    DIFFICULTY = "difficulty"
    CONSISTENCY = "consistency"


class Start(StrEnum):
    """Where the generator of a later round comes from."""

    PREVIOUS = "previous"
    BASE = "base"
    SFT = "sft"
    FROZEN = "frozen"
