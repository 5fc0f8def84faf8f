"""The bounded decoder, maps taken apart, and frames."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar import wire
from sidecar.settings import Limits

LIMITS = Limits()

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


@given(values)
def test_what_is_written_is_read_back(value: wire.Value) -> None:
    assert wire.decode_value(wire.encode(value), LIMITS) == value


def outcome(body: bytes, limits: Limits) -> object:
    try:
        return repr(wire._read_carefully(body, limits))
    except wire.WireError as error:
        return (error.kind, error.offset, error.field)


@given(st.binary(max_size=60))
@example(b"\x81\xc4\x01a\xc0")
@example(b"\x82\xa1a\x01\xa1a\x02")
@example(b"\x91" * 600)
def test_the_quick_reader_accepts_only_what_the_careful_one_accepts(body: bytes) -> None:
    try:
        read: object = repr(wire.decode_value(body, LIMITS))
    except wire.WireError as error:
        read = (error.kind, error.offset, error.field)
    assert read == outcome(body, LIMITS)


@given(values, st.data())
def test_one_changed_byte_never_does_anything_but_answer_or_refuse(value: wire.Value, data: st.DataObject) -> None:
    body = bytearray(wire.encode({"value": value}))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(wire.decode(bytes(body), LIMITS), dict)
    except wire.WireError as error:
        assert 0 <= error.offset <= len(body)


@given(values)
def test_a_body_cut_anywhere_is_refused(value: wire.Value) -> None:
    body = wire.encode({"value": value})
    for end in range(0, len(body), max(1, len(body) // 20)):
        with pytest.raises(wire.WireError):
            wire.decode(body[:end], LIMITS)


def test_the_body_must_be_a_map() -> None:
    with pytest.raises(wire.WireError, match="the body must be a map, got array") as caught:
        wire.decode(b"\x90", LIMITS)
    assert caught.value.kind == "root"


def test_the_number_of_items_is_bounded_before_they_are_built() -> None:
    limits = replace(LIMITS, items=1000)
    assert wire.decode_value(wire.encode([0] * 1000), limits) == [0] * 1000
    with pytest.raises(wire.WireError, match="limit `items`") as caught:
        wire.decode_value(wire.encode([[0] * 500, [0] * 500]), limits)
    assert caught.value.kind == "many"
    assert caught.value.field == "[1]"


@pytest.mark.parametrize(
    "body",
    [
        b"\x81\xa5texts\xdd\x00\x98\x96\x80" + b"\x90" * 10_000_000,
        b"\x81\xa5texts\xdd\xff\xff\xff\xff" + b"\xc0" * 1_000_000,
        b"\x91" * 1_000_000,
        b"\x81\xa4goal\xdb\xff\xff\xff\xff",
    ],
    ids=["ten million empty arrays", "four billion items", "a million nested arrays", "a text of 4 GiB"],
)
def test_hostile_bodies_take_no_memory(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(wire.WireError):
            wire.decode(body, LIMITS)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_name_is_never_read_as_another() -> None:
    names = ["quot.sound", "«quot.sound»", "Std.«term_...*»", "Lean.«term∃__,_»", "inv₀", "𝒰S", "map₂'", "é", "e\u0301"]
    assert wire.decode(wire.encode({name: name for name in names}), LIMITS) == {name: name for name in names}


@given(st.dictionaries(st.text(max_size=8), values, max_size=6))
def test_a_map_taken_apart_and_joined_is_the_same_bytes(value: dict[str, wire.Value]) -> None:
    body = wire.encode(value)
    parts = wire.split_map(body, LIMITS)
    assert {key: wire.decode_value(raw, LIMITS) for key, raw in parts} == value
    assert wire.join_map(parts) == body


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty"),
        (b"\x90", "root"),
        (b"\xc1", "reserved"),
        (b"\x81\x01\x01", "key"),
        (b"\x81\x90\x01", "key"),
        (b"\x82\xa1a\x01\xa1a\x02", "duplicate"),
        (b"\x80\x80", "trailing"),
        (b"\x81\xa1a\xa5b", "cut"),
        (b"\xdf\xff\xff\xff\xff", "cut"),
    ],
)
def test_a_map_that_cannot_be_taken_apart_says_why(body: bytes, kind: str) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.split_map(body, LIMITS)
    assert caught.value.kind == kind


def test_a_frame_is_its_length_then_its_bytes() -> None:
    assert wire.frame(b"abc") == b"\x00\x00\x00\x03abc"
    assert wire.frame(msgpack.packb({"id": 1})) == b"\x00\x00\x00\x05\x81\xa2id\x01"
