"""Whether a model was trained on anything that it is evaluated on.

In: runs' records (`run.json`), and the data that they name. Out: faults, none when all is well.

A record alone shows that both evaluation parts were taken out of the training data before the run. With the data at
hand more is shown: its files and its evaluation parts are those of the record; taking them out again leaves as much as
the record says; and a second, plainer comparison finds no evaluation state and no (target, gold premise) pair in what
is left; weights of a fusion beside the model were fitted on the validation part. With the corpus as well, the very
pairs that were trained on are numbered again and their digest compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sidecar.errors import SidecarError
from sidecar.select.learned import FILE as FUSION
from sidecar.select.learned import read_fusion
from training.data.decontamination import Decontamination
from training.data.examples import PremiseExample
from training.data.sources import ExampleSource, sample
from training.premises import record as records

EVALUATED: Final = ("valid", "test")


def shipped_records() -> list[Path]:
    """Folders of the models in the package that have a record."""
    import sidecar

    package = Path(sidecar.__file__).parent
    return sorted(file.parent for file in package.rglob(records.FILE))


def check(folder: Path, data: Path | None = None, corpus: Path | None = None, cache: Path | None = None) -> list[str]:
    """Faults of one model's record.

    Args:
        folder: Folder with `run.json`.
        data: The folder of examples that the run was given; None to look at the record alone.
        corpus: The corpus that the run was given; None to trust the record about which examples became pairs.
        cache: Where texts of the corpus may lie already; needed with `corpus`.

    Raises:
        SidecarError: `not_found` when the folder has no record, and what reading the data raises.
    """
    record = records.read_record(folder)
    if record is None:
        raise SidecarError("not_found", f"{folder} has no {records.FILE}", field="folder", hint="give a model's folder")
    faults = list(_of_record(record))
    if faults or data is None:
        return faults
    source = ExampleSource.open(data, record["source"]["split"])
    hashes = records.input_hashes(source.folder, source.files())
    faults += _of_files(record, hashes)
    if faults:
        return faults
    found = _find(source, tuple(sorted(hashes.items())))
    faults += _of_parts(record, found)
    faults += _of_training(record, found)
    faults += _of_fusion(folder / FUSION, source)
    if corpus is not None and not faults:
        faults += _of_pairs(record, data, corpus, cache or folder / "cache")
    return faults


def _of_record(record: dict[str, Any]) -> Iterator[str]:
    for part in ("source", "inputs", "decontamination", "trained_on", "text_rules"):
        if not record.get(part):
            yield f"the record has no {part}"
            return
    against = record["decontamination"].get("against", {})
    for part in EVALUATED:
        if not against.get(part, {}).get("examples") or not against[part].get("digest"):
            yield f"nothing says that the {part} part was taken out of the training data"
    removed, trained = record["decontamination"].get("removed", {}), record["trained_on"]
    if trained["states"] > removed.get("kept", 0) or trained["pairs"] > removed.get("kept_pairs", 0):
        yield f"trained on {trained['pairs']} pairs, more than the {removed.get('kept_pairs', 0)} that were left"
    if not record["inputs"].get("data"):
        yield "no file of examples is named"
    if record["settings"].get("question_share") and not record["inputs"].get("evaluation_queries"):
        yield "it was trained on questions, and nothing says that those of an evaluation were left out"


def _of_files(record: dict[str, Any], found: dict[str, str]) -> Iterator[str]:
    named = record["inputs"]["data"]
    for name in sorted(named.keys() | found.keys()):
        if named.get(name) != found.get(name):
            yield f"{name} is not the file that the run read ({named.get(name)} then, {found.get(name)} now)"


@dataclass(frozen=True, slots=True)
class _Found:
    """What some data give when evaluation is taken out of training again.

    Attributes:
        digests: Of each evaluation part.
        removed: Counts of decontamination.
        overlaps: See `overlaps`.
    """

    digests: dict[str, str]
    removed: dict[str, int]
    overlaps: tuple[str, ...]


@lru_cache(maxsize=4)
def _find(source: ExampleSource, hashes: tuple[tuple[str, str], ...]) -> _Found:
    """Read the data once for all models that were trained on them; `hashes` are those of the files."""
    parts = {part: list(source.read(part)) for part in EVALUATED}
    evaluated = [example for examples in parts.values() for example in examples]
    filter_ = Decontamination(evaluated)
    kept = list(filter_.filter(source.read("train")))
    digests = {part: records.examples_digest(examples) for part, examples in parts.items()}
    return _Found(digests, asdict(filter_.removed), tuple(overlaps(kept, evaluated)))


def _of_parts(record: dict[str, Any], found: _Found) -> Iterator[str]:
    for part, digest in found.digests.items():
        if record["decontamination"]["against"][part]["digest"] != digest:
            yield f"the {part} part is not the one that was taken out of the training data"


def _of_training(record: dict[str, Any], found: _Found) -> Iterator[str]:
    for name, count in found.removed.items():
        said = record["decontamination"]["removed"].get(name)
        if said != count:
            yield f"decontamination: {name} is {said} in the record and {count} for these data"
    yield from found.overlaps


def overlaps(trained: Iterable[PremiseExample], evaluated: Iterable[PremiseExample]) -> Iterator[str]:
    """Training examples that an evaluation asks, by a plain comparison of texts without white space."""
    states: dict[str, str] = {}
    gold: dict[tuple[str, str], str] = {}
    theorems: dict[str, str] = {}
    for example in evaluated:
        states[_bare(example.state)] = example.theorem
        theorems[example.theorem] = example.theorem
        for premise in example.gold:
            gold[_bare(example.state.rpartition("⊢")[2]), premise] = example.theorem
    for example in trained:
        if example.theorem in theorems:
            yield f"{example.theorem} is trained on and evaluated on"
        asked = states.get(_bare(example.state))
        if asked is not None:
            yield f"the state of {example.theorem} is that of {asked}, which is evaluated on"
        target = _bare(example.state.rpartition("⊢")[2])
        for premise in example.gold:
            if (target, premise) in gold:
                yield f"{example.theorem} shows {premise} for the target of {gold[target, premise]}"


def _bare(text: str) -> str:
    return "".join(text.split())


def _of_fusion(file: Path, source: ExampleSource) -> Iterator[str]:
    """Learned weights beside the model must have been fitted on validation goals."""
    if not file.is_file():
        return
    fitted = read_fusion(file).record
    chosen = sample(source.read("valid"), int(fitted.get("goals", 0)))
    if fitted.get("digest") != records.examples_digest(chosen):
        yield f"the {fitted.get('goals')} goals that {file.name} was fitted on are not those of the validation part"


def _of_pairs(record: dict[str, Any], data: Path, corpus: Path, cache: Path) -> Iterator[str]:
    from training.premises.run import Places, TrainingData
    from training.premises.settings import RunSettings

    known = {field.name for field in fields(RunSettings)}
    settings = RunSettings(**{name: value for name, value in record["settings"].items() if name in known})
    # Which questions were asked is told by their digest and by the evaluation's files; the goals are looked at here.
    settings = replace(settings, question_share=0.0)
    loaded = TrainingData.load(settings, Places(corpus, data, cache, cache))
    digest = records.examples_digest(loaded.pairs.examples)
    if digest != record["trained_on"]["digest"]:
        yield f"the pairs of these data ({digest}) are not those that were trained on"
