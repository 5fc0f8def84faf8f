"""A real HTTP server that speaks the part of the OpenAI protocol that we use, with whatever answers a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass
class Said:
    """One answer of the server."""

    text: str | None = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None
    finish: str = "stop"
    raw: bytes | None = None
    wait: float = 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Many ask at the same moment; a connection for which there is no place waits for many seconds.
    request_queue_size = 256


class Endpoint:
    """The server.

    Args:
        answer: Gives the answer to a request's body.
        token: The token that it wants.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Said], token: str | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._leave = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with endpoint._lock:
                    endpoint.requests.append(body)
                    endpoint._now += 1
                    endpoint.most_at_once = max(endpoint.most_at_once, endpoint._now)
                if token is not None and self.headers["authorization"] != f"Bearer {token}":
                    said = Said(status=401, raw=b'{"error": {"message": "no such key"}}')
                elif self.path != "/v1/chat/completions":
                    said = Said(status=404, raw=b"not here")
                else:
                    said = answer(body)
                endpoint._leave.wait(said.wait)
                with endpoint._lock:
                    endpoint._now -= 1
                message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
                choice = {"index": 0, "message": message, "finish_reason": said.finish}
                raw = said.raw if said.raw is not None else json.dumps({"choices": [choice]}).encode()
                self.send_response(said.status)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
