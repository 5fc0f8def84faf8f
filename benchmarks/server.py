"""How the server behaves under load, and what the way to it costs.

Usage: `python -m benchmarks.server [--index FOLDER] [--requests 400] [--record]`; without an index the example library
is served. Prints figures; `--record` also appends them to benchmarks/results/server.jsonl.

Measured, with a server and clients that are processes of their own on this machine: starting a bridge; a `status` and a
premise request over HTTP and through a bridge with 1, 8 and 64 clients; `/health` while the server is idle and while it
encodes 2,000 texts; decoding a request with 2,048 premises beside msgpack's own decoder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgpack
import numpy as np

from benchmarks.record import record
from sidecar import wire
from sidecar.client import BridgeClient, Client
from sidecar.launch import read_address
from sidecar.settings import Limits, Settings

CLIENTS = (1, 8, 64)
EMBEDDED_TEXTS = 2_000
LOCAL_PREMISES = 2_048
STARTS = 10

Figures = list[tuple[str, str, float, int]]
"""What was measured, metric, value, number of samples."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, help="index to serve")
    parser.add_argument("--requests", type=int, default=400, help="requests of each load")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/server.jsonl")
    options = parser.parse_args()
    figures = _show(_decoding())
    with tempfile.TemporaryDirectory() as name:
        settings = replace(Settings(), index=options.index or Settings().index, runtime_folder=Path(name), url=None)
        environment = {**os.environ, "LEAN_SIDECAR_RUNTIME": name}
        if settings.index is not None:
            environment["LEAN_SIDECAR_INDEX"] = str(settings.index.absolute())
        with _server(settings, environment) as url, Client(url) as client:
            status = client.status()
            on = f"{status['index']['declarations']} declarations, {status['encoder']['name']}"
            goals = [f"n m : Nat\nh{i} : n + {i} = m\n⊢ m * {i} + n = n + m * {i}" for i in range(options.requests)]
            figures += _show(_starting(environment))
            for count in CLIENTS:
                figures += _show(_load(url, count, "status", lambda one, goal: one.status(), goals))
                figures += _show(_load(url, count, "premises", lambda one, goal: one.premises(goal, 32), goals))
            with BridgeClient(environment, errors=subprocess.DEVNULL) as bridge:
                bridge.status()
                times = [_seconds(partial(bridge.premises, goal, 32)) for goal in goals]
            figures += _show(_quantiles("premises through a bridge, 1 client", times))
            figures += _show(_health(url))
    if options.record:
        for what, metric, value, count in figures:
            record("server", on, what, metric, value, count)


def _show(figures: Figures) -> Figures:
    for what, metric, value, count in figures:
        print(f"{what:<44} {metric:<22} {value:>12,.3f}   n={count}", flush=True)
    return figures


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _quantiles(what: str, times: list[float]) -> Figures:
    return [
        (what, f"p{quantile}_ms", 1e3 * float(np.quantile(times, quantile / 100)), len(times))
        for quantile in (50, 95, 99)
    ]


@contextmanager
def _server(settings: Settings, environment: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar.server"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while (address := read_address(settings)) is None:
            if process.poll() is not None:
                raise SystemExit("the server ended: run `python -m sidecar.server` to see why")
            time.sleep(0.05)
        with Client(address.url) as client:
            while client.exchange("GET", "/health")[0] != 200:
                time.sleep(0.05)
        yield address.url
    finally:
        process.terminate()
        process.wait()


def _starting(environment: dict[str, str]) -> Figures:
    def bridge() -> object:
        return subprocess.run(
            [sys.executable, "-m", "sidecar", "bridge"], env=environment, stdin=subprocess.DEVNULL, check=True
        )

    def bare() -> object:
        return subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)

    bridge()
    figures = _quantiles("a bridge starts and ends", [_seconds(bridge) for _ in range(STARTS)])[:1]
    return figures + _quantiles("a bare Python starts and ends", [_seconds(bare) for _ in range(STARTS)])[:1]


def _load(url: str, clients: int, what: str, call: Callable[[Client, str], object], goals: list[str]) -> Figures:
    """The same requests, shared among a number of clients that send one after another each."""
    times: list[float] = []
    lock = threading.Lock()
    waiting = iter(goals)

    def work() -> None:
        with Client(url) as client:
            client.exchange("GET", "/health")
            while True:
                with lock:
                    goal = next(waiting, None)
                if goal is None:
                    return
                seconds = _seconds(partial(call, client, goal))
                with lock:
                    times.append(seconds)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    label = f"{what}, {clients} client{'s' * (clients > 1)}"
    rate = len(times) / (time.perf_counter() - began)
    return [(label, "requests_per_second", rate, len(times)), *_quantiles(label, times)]


def _health(url: str) -> Figures:
    texts = [f"theorem a{i} (n m : Nat) : n + {i} = m + {i} " + "x " * 60 for i in range(EMBEDDED_TEXTS)]
    with Client(url) as busy, Client(url) as watcher:

        def ask() -> float:
            time.sleep(0.005)
            return _seconds(lambda: watcher.exchange("GET", "/health"))

        idle = [ask() for _ in range(200)]
        worker = threading.Thread(target=lambda: busy.embed(texts, "declaration"))
        worker.start()
        under_load = [ask()]
        while worker.is_alive():
            under_load.append(ask())
        worker.join()
    return _quantiles("/health, idle", idle) + _quantiles(f"/health, {EMBEDDED_TEXTS} texts in work", under_load)


def _decoding() -> Figures:
    premises = [
        {"name": f"Local.p{i}", "text": f"theorem Local.p{i} (n : Nat) : n + {i} = {i} + n", "constants": ["Eq", "Nat"]}
        for i in range(LOCAL_PREMISES)
    ]
    body = wire.encode({"goal": "⊢ True", "premises": premises})
    ours = [_seconds(lambda: wire.decode(body, Limits())) for _ in range(20)]
    plain = [_seconds(lambda: msgpack.unpackb(body)) for _ in range(20)]
    what = f"decode {LOCAL_PREMISES} premises"
    return _quantiles(what, ours)[:1] + _quantiles(f"{what}, msgpack alone", plain)[:1]


if __name__ == "__main__":
    main()
