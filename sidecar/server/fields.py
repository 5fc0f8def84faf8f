"""Typed reading of a request's fields.

In: a decoded map. Out: values of the right type within the stated limits, or a `bad_request` that names the field, what
was expected, and what came. A field that is nil counts as left out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from sidecar.errors import SidecarError
from sidecar.wire import Value, kind_of

SHOWN_CHARACTERS = 60

Word = TypeVar("Word", bound=str)
"""One of a few words: the `Literal` type of what may be chosen."""


class Fields:
    """The fields of one map.

    Args:
        values: The decoded map.
        known: Every field that may be there.
        where: Path of the map within the request, `""` for the request itself.

    Raises:
        SidecarError: `bad_request` for a field that is not known, with the nearest known one.
    """

    def __init__(self, values: Mapping[str, Value], known: Collection[str], where: str = "") -> None:
        self._values = values
        self._where = where
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known fields: {', '.join(known)}"
                raise SidecarError("bad_request", "unknown field", field=self.path(name[:SHOWN_CHARACTERS]), hint=hint)

    def path(self, name: str) -> str:
        """Full path of a field of this map, for messages."""
        return f"{self._where}.{name}" if self._where else name

    def given(self, name: str) -> bool:
        """Whether a field is there and not nil."""
        return self._values.get(name) is not None

    def text(self, name: str, largest: int, limit: str) -> str:
        """A text that must be there, of at most `largest` bytes of UTF-8 (limit `limit`)."""
        value = self._values.get(name)
        if value is None:
            raise SidecarError("bad_request", "missing", field=self.path(name))
        return checked_text(value, self.path(name), largest, limit)

    def optional_text(self, name: str, largest: int, limit: str) -> str | None:
        """A text that may be left out."""
        return self.text(name, largest, limit) if self.given(name) else None

    def texts(self, name: str, most: int, most_limit: str, largest: int, limit: str) -> tuple[str, ...] | None:
        """A list of at most `most` texts; None when it is left out."""
        if not self.given(name):
            return None
        path = self.path(name)
        return tuple(
            [
                checked_text(value, f"{path}[{number}]", largest, limit)
                for number, value in enumerate(self._array(name, most, most_limit))
            ]
        )

    def integer(self, name: str, least: int, largest: int, limit: str, default: int) -> int:
        """A whole number from `least` to `largest` (limit `limit`)."""
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= largest:
            raise SidecarError(
                "bad_request",
                f"must be a whole number from {least} to {largest}, got {shown(value)}",
                field=self.path(name),
                hint=f"the largest is limit `{limit}`, see `status`",
            )
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise SidecarError("bad_request", f"must be true or false, got {shown(value)}", field=self.path(name))
        return value

    def choice(self, name: str, options: Sequence[Word], default: Word | None = None) -> Word:
        """One of a few words; it must be there when there is no default."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        for option in options:
            if value == option:
                return option
        got = "nothing" if value is None else shown(value)
        raise SidecarError("bad_request", f"must be one of {', '.join(options)}, got {got}", field=self.path(name))

    def maps(self, name: str, most: int, most_limit: str, known: Collection[str]) -> Iterator[Fields]:
        """A list of at most `most` maps with these fields; none when it is left out."""
        for number, value in enumerate(self.array(name, most, most_limit)):
            yield self.map_at(name, number, value, known)

    def map_at(self, name: str, number: int, value: Value, known: Collection[str]) -> Fields:
        """An entry of a list that must be a map with these fields."""
        where = f"{self.path(name)}[{number}]"
        if not isinstance(value, dict):
            raise SidecarError("bad_request", f"must be a map, got {shown(value)}", field=where)
        return Fields(value, known, where)

    def array(self, name: str, most: int, most_limit: str) -> list[Value]:
        """A list of at most `most` values; an empty one when it is left out."""
        return self._array(name, most, most_limit) if self.given(name) else []

    def _array(self, name: str, most: int, most_limit: str) -> list[Value]:
        value = self._values[name]
        if not isinstance(value, list):
            raise SidecarError("bad_request", f"must be an array, got {shown(value)}", field=self.path(name))
        if len(value) > most:
            raise SidecarError(
                "bad_request",
                f"{len(value)} entries; at most {most} are accepted (limit `{most_limit}`)",
                field=self.path(name),
                hint="send them in several requests",
            )
        return value


def checked_text(value: Value, path: str, largest: int, limit: str) -> str:
    """A value that must be a text of at most `largest` bytes."""
    if not isinstance(value, str):
        hint = "send text as a MessagePack str, not bin" if isinstance(value, bytes) else None
        raise SidecarError("bad_request", f"must be text, got {shown(value)}", field=path, hint=hint)
    # A character takes at most four bytes: most texts need no second look.
    if 4 * len(value) > largest and (size := len(value.encode())) > largest:
        raise SidecarError("bad_request", f"{size} bytes; at most {largest} are accepted (limit `{limit}`)", field=path)
    return value


def shown(value: Value) -> str:
    """A value as a message shows it: numbers and short words in full, of all others only what they are."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value} ({kind_of(value)})" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= SHOWN_CHARACTERS else f"a text of {len(value)} characters"
    return kind_of(value)
