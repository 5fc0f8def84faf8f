"""What an operator can watch.

In: requests that began and ended, and the state of the server when somebody looks. Out: the Prometheus text of
`/metrics`, from a registry of its own, so that a process that embeds the server keeps its own metrics apart.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters and gauges of one server; all names begin with `lean_sidecar_`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(namespace="lean_sidecar", registry=self.registry)
        self.requests = Counter(
            "lean_sidecar_requests",
            "Requests that ended, by method and HTTP status (499: the client left)",
            ("method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "lean_sidecar_request_seconds",
            "Time from the first byte of a request to its answer",
            ("method",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "lean_sidecar_requests_in_flight", "Requests that are being answered", registry=self.registry
        )
        self.shed = Counter(
            "lean_sidecar_requests_shed", "Requests refused because too many wait", registry=self.registry
        )
        self.texts = Counter(
            "lean_sidecar_texts",
            "Texts that clients sent to be encoded, by method",
            ("method",),
            registry=self.registry,
        )
        self.reloads = Counter(
            "lean_sidecar_index_reloads", "Times that an index took the place of another", registry=self.registry
        )

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read when somebody looks."""
        Gauge(f"lean_sidecar_{name}", help, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """The metrics in Prometheus's text format."""
        return generate_latest(self.registry)
