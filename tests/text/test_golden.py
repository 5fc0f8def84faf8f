"""The golden files are what the rules give, and what the rules give is what the files say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidecar.select.content_hash import content_hash
from sidecar.text.fingerprint import text_fingerprint
from sidecar.text.goal import cap_goal
from tests.golden import write_text

FINGERPRINT = "81331f05b788d7ea"
"""Changes with the text rules: indexes and models made before do not fit any more, so write the golden files anew, read
what changed, and say in the commit why it had to."""


def rows(name: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((write_text.FOLDER / name).read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize(("name", "content"), write_text.files().items())
def test_the_files_are_what_the_script_writes(name: str, content: list[dict[str, Any]]) -> None:
    assert (write_text.FOLDER / name).read_text(encoding="utf-8") == write_text.written(content)


def test_the_fingerprint_is_the_one_of_these_rules() -> None:
    assert text_fingerprint() == FINGERPRINT


def whole(text: str | list[Any]) -> str:
    return text if isinstance(text, str) else text[0] * text[1] + text[2]


@pytest.mark.parametrize("row", rows("caps.json"), ids=lambda row: row["name"])
def test_the_wire_cap_is_the_golden_one(row: dict[str, Any]) -> None:
    assert cap_goal(whole(row["goal"]), row["limit"]) == (whole(row["capped"]), row["dropped"])


@pytest.mark.parametrize("row", rows("hashes.json"), ids=lambda row: row["name"] or "nothing")
def test_content_hashes_are_the_golden_ones(row: dict[str, Any]) -> None:
    assert content_hash(row["name"], row["text"]) == row["hash"]
