"""The settings whose proof rates are compared.

In: nothing. Out: for each setting the text of the tactic, as `lake exe proof_rate` runs it, and the environment
variables by which Mathlib's hook learns of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEASURES: Final[tuple[str, ...]] = ("statements", "steps")
"""Where the tactic is tried: at the statement of each theorem, or at each step of each proof."""

PREMISES: Final[tuple[str, ...]] = ("none", "symbolic", "neural", "fused", "truth")
"""Where premises come from: nowhere, the sidecar by one of its methods, or the proof that the library has."""

ENGINES: Final[tuple[str, ...]] = ("aesop", "auto", "aesop+auto", "full", "union")
"""Modes of `hammer`; `union` runs the other four."""

COUNT: Final = 64
"""How many premises are selected."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to call `hammer`.

    Attributes:
        premises: One of `PREMISES`.
        engine: One of `ENGINES`.
        seconds: Time limit of one call.
    """

    premises: str
    engine: str
    seconds: int = 30

    @property
    def name(self) -> str:
        """Name in tables and folders; safe as a folder."""
        return f"{self.premises}-{self.engine}"

    @property
    def tactic(self) -> str:
        """The tactic; `{known}` stands for the premises that are known to close the theorem."""
        selected = self.premises not in ("none", "truth")
        count = COUNT if selected else 0
        known = " {known}" if self.premises == "truth" else ""
        options = f'(mode := "{self.engine}") (premises := {count}) (timeout := {self.seconds}) -minimise'
        call = f"hammer {options}{known}"
        if selected:
            # Without the fallback a sidecar that is missing shows as a failure instead of as other premises.
            call = f'set_option hammer.method "{self.premises}" in set_option hammer.fallback false in {call}'
        return f"intros; {call}"

    def hook(self, known: Path | None) -> dict[str, str]:
        """The environment variables for Mathlib's hook, which tries a tactic at each step of a proof.

        Args:
            known: File with the premises of each theorem, for `{known}`.
        """
        # A JSON text without escapes for letters is a Lean text, too.
        call = f"proof_rate_trial {json.dumps(self.tactic, ensure_ascii=False)}"
        if known is not None:
            call += f" with {json.dumps(str(known), ensure_ascii=False)}"
        return {"TRY_AT_EACH_STEP_TACTIC": call, "TRY_AT_EACH_STEP_LABEL": self.name}


def all_settings(seconds: int = 30) -> list[Setting]:
    """Every combination, in the order of the tables."""
    return [Setting(premises, engine, seconds) for premises in PREMISES for engine in ENGINES]


def setting_named(name: str, seconds: int = 30) -> Setting:
    """The setting with this name.

    Raises:
        KeyError: When there is none.
    """
    return {setting.name: setting for setting in all_settings(seconds)}[name]
