"""Both of our codecs read the golden bytes alike; this is the Python side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sidecar import wire
from sidecar.settings import Limits
from tests.golden import write_msgpack
from tests.wire.vectors import DOCUMENT, FILE, bytes_of, value_of

LIMITS = replace(Limits(), depth=DOCUMENT["limits"]["depth"])


def same(left: Any, right: Any) -> bool:
    """Equal in type as well as in value, map order included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right) if isinstance(left, float) else left == right


def test_the_file_is_what_its_script_writes() -> None:
    assert FILE.read_text(encoding="utf-8") == write_msgpack.document()


@pytest.mark.parametrize("vector", DOCUMENT["values"], ids=lambda vector: vector["name"])
def test_values_are_read_and_written(vector: dict[str, Any]) -> None:
    value, octets = value_of(vector["value"]), bytes_of(vector["bytes"])
    assert same(wire.decode_value(octets, LIMITS), value)
    assert (wire.encode(value) == octets) == vector["shortest"]


@pytest.mark.parametrize("vector", DOCUMENT["malformed"], ids=lambda vector: vector["name"])
def test_malformed_input_is_refused_where_it_is_wrong(vector: dict[str, Any]) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.decode_value(bytes_of(vector["bytes"]), LIMITS)
    error = caught.value
    assert (error.kind, error.offset, error.field) == (vector["kind"], vector["offset"], vector["field"])
    assert f"byte {vector['offset']}" in error.message
    assert error.status == 400
