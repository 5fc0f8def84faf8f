"""Work in many equal pieces, on this machine or on a Ray cluster.

In: a function of a module, what all pieces share, the pieces. Out: the results in the order of the pieces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from sidecar.errors import SidecarError

Result = TypeVar("Result")

_IN_FLIGHT_A_CORE = 2
"""Pieces that wait or run for each core of a cluster: enough to keep it busy, few enough to fit its memory."""


class Spread(Protocol):
    """Where pieces are worked on."""

    def share(self, value: Any) -> Any:
        """Hand out once what every piece needs; give what this returns to `map`."""

    def map(self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Result]:
        """`function(value of shared, *piece)` for every piece, in order."""


class Here:
    """This process."""

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def map(self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Result]:
        """One piece after the other."""
        return (function(shared, *piece) for piece in pieces)


class OnRay:
    """A Ray cluster whose machines have this package installed.

    Args:
        address: As Ray takes it: `auto`, `HOST:PORT`, `ray://HOST:10001`, or `local` for a cluster of this machine's
            own that ends with this process.

    Raises:
        SidecarError: `not_found` without Ray, `unreachable` when there is no cluster at the address.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError as error:
            raise SidecarError(
                "not_found",
                "Ray is not installed",
                field="ray",
                hint="install the extra: `pip install '.[ray]'` in a checkout",
            ) from error
        self._ray = ray
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False if address == "local" else None)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise SidecarError(
                    "unreachable",
                    f"no Ray cluster at {address}: {error}",
                    field="ray",
                    hint="start one with `ray start --head`, or give local",
                ) from error

    def share(self, value: Any) -> Any:
        """A reference to the value in the cluster's object store."""
        return self._ray.put(value)

    def map(self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], shared: Any) -> Iterator[Result]:
        """Pieces on whichever core is free; a machine that fails has its pieces worked on elsewhere."""
        remote = self._ray.remote(function)
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        waiting: deque[Any] = deque()
        for piece in pieces:
            waiting.append(remote.remote(shared, *piece))
            if len(waiting) >= _IN_FLIGHT_A_CORE * cores:
                yield self._ray.get(waiting.popleft())
        while waiting:
            yield self._ray.get(waiting.popleft())


def spread_over(address: str | None) -> Spread:
    """A Ray cluster where an address is given, else this process."""
    return Here() if address is None else OnRay(address)
