"""The one error type that crosses rooms and the wire.

In: a code, what is wrong, which field, and the way out. Out: an exception that the server, the bridge and the command
line each render without knowing who raised it.
"""

from __future__ import annotations

import errno
from typing import Final, Literal

ErrorCode = Literal[
    "bad_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "conflict",
    "too_large",
    "unsupported_type",
    "overloaded",
    "cancelled",
    "deadline",
    "internal",
    "unreachable",
]

HTTP_STATUS: dict[ErrorCode, int] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unsupported_type": 415,
    "overloaded": 503,
    "cancelled": 499,
    "deadline": 504,
    "internal": 500,
    "unreachable": 502,
}

EXIT_STATUS: dict[ErrorCode, int] = {
    "bad_request": 2,
    "unauthorized": 3,
    "forbidden": 3,
    "not_found": 4,
    "conflict": 5,
    "too_large": 2,
    "unsupported_type": 2,
    "overloaded": 6,
    "cancelled": 130,
    "deadline": 7,
    "internal": 70,
    "unreachable": 6,
}
"""Exit status of the command line for each error code (0 is success; 1 means a check that ran and failed)."""


FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Why something cannot be written where there is no room for it."""


def room_or(error: OSError, elsewhere: str) -> str:
    """The way out where something cannot be written: what leads elsewhere, and room where it is room that is wanted."""
    return f"make room, or {elsewhere}" if error.errno in FULL else elsewhere


class SidecarError(Exception):
    """An error that a person or a client can act on.

    Args:
        code: The kind of error; decides the HTTP status and the exit status.
        message: What is wrong, naming the value.
        field: The request field or option that is at fault, if there is one (`"premises[3].text"`).
        hint: The way out: a command to run or a value to send.
        retry_after: Seconds after which the same call may succeed (only with `overloaded`).
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        field: str | None = None,
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.field = field
        self.hint = hint
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        """The HTTP status of this error."""
        return HTTP_STATUS[self.code]

    @property
    def exit_status(self) -> int:
        """The exit status of a command that ends with this error."""
        return EXIT_STATUS[self.code]

    def as_wire(self) -> dict[str, object]:
        """The map that stands under `error` in an answer."""
        wire: dict[str, object] = {"code": self.code, "message": self.message}
        if self.field is not None:
            wire["field"] = self.field
        if self.hint is not None:
            wire["hint"] = self.hint
        if self.retry_after is not None:
            wire["retry_after"] = self.retry_after
        return wire

    @classmethod
    def from_wire(cls, wire: dict[str, object]) -> SidecarError:
        """Read back what `as_wire` wrote; unknown codes become `internal`."""
        code = wire.get("code")
        known: ErrorCode = code if code in HTTP_STATUS else "internal"
        retry_after = wire.get("retry_after")
        field, hint = wire.get("field"), wire.get("hint")
        return cls(
            known,
            str(wire.get("message", "the server gave no message")),
            field=str(field) if field is not None else None,
            hint=str(hint) if hint is not None else None,
            retry_after=float(retry_after) if isinstance(retry_after, int | float) else None,
        )

    def __str__(self) -> str:
        told = self.field is None or self.message.startswith(self.field)
        parts = [self.message if told else f"{self.field}: {self.message}"]
        if self.hint:
            parts.append(self.hint)
        return " — ".join(parts)
