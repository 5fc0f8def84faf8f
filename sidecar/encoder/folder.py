"""What an encoder's folder holds: the one description of the format, its reader and its writer.

In: a folder. Out: an `EncoderDescription`, and the hash of everything that decides the folder's vectors.

A folder of ours holds

- `encoder.json`, one object; every field but `format` and `type` may be left out:
  - `format`: 1
  - `type`: `"transformer"`, or `"static"` for a table of token vectors
  - `pooling`: `"mean"`, `"cls"`, `"last"` or `"max"`: how token vectors become one vector
  - `prompts`: {`"goal"`, `"question"`, `"declaration"`: text put before each text of that purpose; `"restatement"`: put
    before questions of more than 20 words, in place of that for questions}
  - `max_tokens`: longer texts are cut at the end, special tokens included
  - `special`: whether the tokenizer's special tokens are added
  - `lower`: whether texts are lower-cased first
  - `dimension`: number of leading dimensions that are kept, or null for all
  - `dense`: linear maps after pooling, in order: [{`"file"`: safetensors file with `linear.weight` and perhaps
    `linear.bias`, `"activation"`: `"identity"` or `"tanh"`}]
  - `tower`: for a query tower (`tower.py`), whose vectors are compared with those that another encoder makes of
    declarations: {`"documents"`: what loads that encoder; a folder's path begins at this folder, `"fingerprint"`: its
    fingerprint}
- `tokenizer.json`, a file of the `tokenizers` library
- for `static`: `model.safetensors` with `embedding` (tokens × dimension; float16, float32 or int8) and, if tokens weigh
  differently, `weight` (tokens, float32). The vector of a text is the weighted mean of its tokens' rows. Perhaps
  `phrases.txt`, pairs of words (`phrases.py`) whose rows follow those of the tokens; then each token of a text counts
  once
- for `transformer`: `config.json` and `*.safetensors` of a Hugging Face model. `config.json` is that library's file,
  which is why ours has another name.

Vectors are always scaled to length 1, so there is no field for that.

Plain Hugging Face and sentence-transformers folders have no `encoder.json`; the same description is then read from
`modules.json`, the modules it names, `sentence_bert_config.json` and `config_sentence_transformers.json`. Only
safetensors are read, and no code in a folder is ever run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from sidecar.encoder.base import Purpose
from sidecar.encoder.phrases import FILE as PHRASES
from sidecar.errors import SidecarError

FORMAT = 1
FILE = "encoder.json"

PromptName = Literal["goal", "question", "declaration", "restatement"]

LONG_WORDS = 20
"""A question of more words restates what is looked for, instead of naming it."""

Kind = Literal["transformer", "static"]
Pooling = Literal["mean", "cls", "last", "max"]
Activation = Literal["identity", "tanh"]

DEFAULT_MAX_TOKENS = 512
"""For folders that say nothing."""

LARGEST_DERIVED_MAX_TOKENS = 8_192
"""Models that could read a book are not given one: `max_tokens` in `encoder.json` may be larger, nothing else."""

_SENTENCE_TRANSFORMERS_POOLING: dict[str, Pooling] = {
    "cls": "cls",
    "mean": "mean",
    "max": "max",
    "lasttoken": "last",
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
}

_SENTENCE_TRANSFORMERS_PROMPTS: dict[PromptName, tuple[str, ...]] = {
    "goal": ("goal", "query"),
    "question": ("question", "query"),
    "declaration": ("declaration", "document", "passage", "corpus"),
}
"""Names under which sentence-transformers folders keep a prompt, best first."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear map after pooling: the safetensors file that holds it, and its activation."""

    file: str
    activation: Activation = "identity"


@dataclass(frozen=True, slots=True)
class Tower:
    """The encoder whose vectors of declarations a query tower's vectors are compared with.

    Attributes:
        documents: What loads it.
        fingerprint: Its fingerprint.
    """

    documents: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class EncoderDescription:
    """How a folder's weights turn a text into a vector. The fields are those of `encoder.json` (see the module)."""

    type: Kind
    pooling: Pooling = "mean"
    prompts: Mapping[PromptName, str] = field(default_factory=dict)
    max_tokens: int = DEFAULT_MAX_TOKENS
    special: bool = True
    lower: bool = False
    dimension: int | None = None
    dense: tuple[Dense, ...] = ()
    tower: Tower | None = None
    weights: str = ""
    """Subfolder of weights and tokenizer; only sentence-transformers folders have one."""

    def prompt(self, purpose: Purpose, text: str = "") -> str:
        """What is put before a text of this purpose."""
        if purpose == "question" and "restatement" in self.prompts and len(text.split()) > LONG_WORDS:
            return self.prompts["restatement"]
        return self.prompts.get(purpose, "")

    def prompts_of(self, texts: Sequence[str], purpose: Purpose) -> list[str]:
        """What is put before each of some texts of this purpose."""
        return [self.prompt(purpose, text) for text in texts]


def read_description(folder: Path) -> EncoderDescription:
    """Read how an encoder's folder is to be used.

    Raises:
        SidecarError: `not_found` when the folder holds no encoder; `bad_request` when a field is wrong or asks for
            something that is not supported. The message names the file.
    """
    if (folder / FILE).is_file():
        return _read_ours(folder / FILE)
    if (folder / "modules.json").is_file():
        return _read_sentence_transformers(folder)
    if (folder / "config.json").is_file():
        return EncoderDescription(type="transformer", max_tokens=_limit(folder))
    raise SidecarError(
        "not_found",
        f"{folder} holds no encoder",
        field="encoder",
        hint=f"give a folder with {FILE}, modules.json or config.json, or one of the built-in names small, static",
    )


def write_description(folder: Path, description: EncoderDescription) -> None:
    """Write `encoder.json` into an encoder's folder, which must exist."""
    fields = asdict(description)
    del fields["weights"]
    if description.tower is None:
        del fields["tower"]
    text = json.dumps({"format": FORMAT, **fields}, ensure_ascii=False, indent=2)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def weight_files(folder: Path, description: EncoderDescription) -> list[Path]:
    """The safetensors files of the model itself, sorted by name.

    Raises:
        SidecarError: `not_found` when there is none (pickled weights are not read).
    """
    files = sorted((folder / description.weights).glob("*.safetensors"))
    extra = {(folder / dense.file).resolve() for dense in description.dense}
    files = [file for file in files if file.resolve() not in extra]
    if not files:
        raise SidecarError(
            "not_found",
            f"{folder / description.weights} holds no .safetensors file",
            field="encoder",
            hint="save the model again with safetensors; pickled weights are never read",
        )
    return files


def folder_hash(folder: Path, description: EncoderDescription) -> str:
    """Hash of everything in the folder that decides its vectors: weights, tokenizer and description (hex)."""
    whole = hashlib.sha256()
    inner = folder / description.weights
    files = [*weight_files(folder, description), *(folder / dense.file for dense in description.dense)]
    files += [inner / name for name in ("tokenizer.json", "vocab.txt") if (inner / name).is_file()][:1]
    files += [inner / "config.json"] if description.type == "transformer" else []
    files += [inner / PHRASES] if description.type == "static" and (inner / PHRASES).is_file() else []
    for file in files:
        with file.open("rb") as stream:
            whole.update(hashlib.file_digest(stream, "sha256").digest())
    fields = asdict(description)
    # Where the files lie does not decide what they say, nor what other vectors are compared with these.
    del fields["weights"], fields["tower"]
    fields["dense"] = [dense.activation for dense in description.dense]
    whole.update(json.dumps(fields, sort_keys=True).encode())
    return whole.hexdigest()


def fingerprint(source_hash: str) -> str:
    """Fingerprint of an encoder: its source's hash together with the text rules that every text goes through."""
    from sidecar.text.fingerprint import text_fingerprint

    return hashlib.sha256(f"{source_hash}\n{text_fingerprint()}".encode()).hexdigest()[:32]


def _wrong(file: Path, message: str, hint: str) -> SidecarError:
    return SidecarError("bad_request", f"{file}: {message}", field="encoder", hint=hint)


def _object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _wrong(file, f"not readable as JSON: {error}", "write the folder again") from error
    if not isinstance(value, dict):
        raise _wrong(file, "holds no JSON object", "write the folder again")
    return value


def _read_ours(file: Path) -> EncoderDescription:
    value = _object(file)
    if value.get("format") != FORMAT:
        raise _wrong(
            file,
            f"format is {value.get('format')!r}, this version reads format {FORMAT}",
            "use the version of lean-sidecar that wrote it, or write the folder again",
        )
    known = {"format", *EncoderDescription.__dataclass_fields__} - {"weights"}
    if unknown := sorted(set(value) - known):
        raise _wrong(file, f"unknown fields {', '.join(unknown)}", f"known are {', '.join(sorted(known))}")

    def check(name: str, good: bool, wanted: str) -> None:
        if not good:
            raise _wrong(file, f"{name} is {value.get(name)!r}", f"{name} must be {wanted}")

    def whole(name: str) -> bool:
        number = value.get(name)
        return isinstance(number, int) and not isinstance(number, bool) and number > 0

    check("type", value.get("type") in get_args(Kind), f"one of {', '.join(get_args(Kind))}")
    check("pooling", value.get("pooling", "mean") in get_args(Pooling), f"one of {', '.join(get_args(Pooling))}")
    prompts = value.get("prompts", {})
    check(
        "prompts",
        isinstance(prompts, dict)
        and all(key in get_args(PromptName) and isinstance(text, str) for key, text in prompts.items()),
        f"a map from {', '.join(get_args(PromptName))} to texts",
    )
    check("max_tokens", "max_tokens" not in value or whole("max_tokens"), "a whole number of at least 1")
    check("dimension", value.get("dimension") is None or whole("dimension"), "null or a whole number of at least 1")
    for name in ("special", "lower"):
        check(name, isinstance(value.get(name, True), bool), "true or false")
    dense = value.get("dense", [])
    check(
        "dense",
        isinstance(dense, list)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("file"), str)
            and (file.parent / entry["file"]).is_file()
            and entry.get("activation", "identity") in get_args(Activation)
            for entry in dense
        ),
        "a list of {file, activation}, each file being in the folder",
    )
    tower = value.get("tower")
    check(
        "tower",
        tower is None
        or (
            isinstance(tower, dict)
            and tower.keys() == {"documents", "fingerprint"}
            and all(isinstance(text, str) and text for text in tower.values())
        ),
        "{documents, fingerprint}, both texts",
    )
    fields = {name: value[name] for name in known - {"format", "dense", "tower"} if name in value}
    return EncoderDescription(
        **fields,
        tower=None if tower is None else Tower(**tower),
        dense=tuple(Dense(entry["file"], entry.get("activation", "identity")) for entry in dense),
    )


def _read_sentence_transformers(folder: Path) -> EncoderDescription:
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        named = [(str(module["type"]).rsplit(".", 1)[-1], str(module["path"])) for module in modules]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _wrong(folder / "modules.json", f"not readable: {error!r}", "save the model again") from error
    first, weights = named[0] if named else ("nothing", "")
    prompts = _sentence_transformers_prompts(folder)
    if first == "StaticEmbedding":
        return EncoderDescription(
            type="static", prompts=prompts, weights=weights, special=False, max_tokens=STATIC_MAX_TOKENS
        )
    if first != "Transformer":
        raise _wrong(folder / "modules.json", f"first module is {first}", "supported are Transformer, StaticEmbedding")
    pooling: Pooling = "mean"
    dense: list[Dense] = []
    for kind, path in named[1:]:
        file = folder / path / "config.json"
        if kind == "Pooling":
            pooling = _sentence_transformers_pooling(file)
        elif kind == "Dense":
            dense.append(_sentence_transformers_dense(folder, path))
        elif kind != "Normalize":
            raise _wrong(
                folder / "modules.json", f"module {kind} is not supported", "supported are Pooling, Dense, Normalize"
            )
    settings_file = folder / weights / "sentence_bert_config.json"
    settings = _object(settings_file) if settings_file.is_file() else {}
    return EncoderDescription(
        type="transformer",
        pooling=pooling,
        prompts=prompts,
        max_tokens=_limit(folder / weights),
        lower=bool(settings.get("do_lower_case", False)),
        dense=tuple(dense),
        weights=weights,
    )


STATIC_MAX_TOKENS = 4096
"""A mean over token vectors has no length of its own; this only bounds the work for one text."""


def _sentence_transformers_pooling(file: Path) -> Pooling:
    value = _object(file)
    modes = value.get("pooling_mode")
    if modes is None:
        chosen = [key.removeprefix("pooling_mode_") for key in value if key.startswith("pooling_mode_") and value[key]]
    else:
        chosen = [modes] if isinstance(modes, str) else list(modes)
    if len(chosen) != 1 or chosen[0] not in _SENTENCE_TRANSFORMERS_POOLING:
        raise _wrong(file, f"pooling {', '.join(map(str, chosen)) or 'none'}", "supported are mean, cls, last, max")
    if not value.get("include_prompt", True):
        raise _wrong(file, "include_prompt is false", "models that pool without their prompt are not supported")
    return _SENTENCE_TRANSFORMERS_POOLING[chosen[0]]


def _sentence_transformers_dense(folder: Path, path: str) -> Dense:
    file = folder / path / "config.json"
    value = _object(file)
    activation = str(value.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1].lower()
    if activation not in get_args(Activation) or value.get("use_residual"):
        raise _wrong(file, f"a dense layer with {activation} and residual {value.get('use_residual', False)}",
                     "supported are identity and tanh without residual")  # fmt: skip
    weights = f"{path}/model.safetensors"
    if not (folder / weights).is_file():
        raise _wrong(file, "its weights are not in model.safetensors", "save the model again with safetensors")
    return Dense(weights, cast(Activation, activation))


def _sentence_transformers_prompts(folder: Path) -> dict[PromptName, str]:
    file = folder / "config_sentence_transformers.json"
    value = _object(file) if file.is_file() else {}
    prompts = value.get("prompts") or {}
    default = prompts.get(value.get("default_prompt_name"), "")
    found: dict[PromptName, str] = {}
    for purpose, names in _SENTENCE_TRANSFORMERS_PROMPTS.items():
        text = next((prompts[name] for name in names if isinstance(prompts.get(name), str)), default)
        if text:
            found[purpose] = text
    return found


def _limit(folder: Path) -> int:
    """The limit that a folder of another library states, no larger than its model's positions."""
    values = [DEFAULT_MAX_TOKENS]
    for name, key in (("tokenizer_config.json", "model_max_length"), ("sentence_bert_config.json", "max_seq_length")):
        value = _object(folder / name).get(key) if (folder / name).is_file() else None
        if isinstance(value, int) and value > 0:
            values.append(value)
    positions = _object(folder / "config.json").get("max_position_embeddings")
    if isinstance(positions, int) and positions > 0:
        return min(values[-1], positions, LARGEST_DERIVED_MAX_TOKENS)
    return min(values[-1], LARGEST_DERIVED_MAX_TOKENS)
