"""The log of the server: one line for each request and each thing that happens.

In: what ended and how. Out: lines on stderr, for people or as JSON for programs. What a request asked is not in them:
goals and queries may be private, so a line names the error's code and field, never its text.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Literal

LogStyle = Literal["text", "json"]

access = logging.getLogger("sidecar.server.access")


def log_request(
    *,
    method: str,
    path: str,
    status: int,
    seconds: float,
    received: int,
    sent: int,
    id: str,
    error: str | None,
) -> None:
    """Log one request that ended; those that only look whether we live are of interest to debuggers alone."""
    access.log(
        logging.INFO if path.startswith("/v1/") or (status >= 500 and path != "/health") else logging.DEBUG,
        "%s %s %d %.1f ms, %d bytes in, %d out%s [%s]",
        method,
        path,
        status,
        1000 * seconds,
        received,
        sent,
        f", {error}" if error else "",
        id,
        extra={
            "fields": {
                "event": "request",
                "method": method,
                "path": path,
                "status": status,
                "milliseconds": round(1000 * seconds, 1),
                "received": received,
                "sent": sent,
                "id": id,
                "error": error,
            }
        },
    )


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level and logger of a record, with its fields or its message."""
        row: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            row.update(fields)
        else:
            row["message"] = record.getMessage()
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(row, ensure_ascii=False)


class NoHttp(logging.Filter):
    """One line for what is not HTTP, without its bytes: whoever reaches the port can send it, as often as they like."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the record of a request that the HTTP library could not read."""
        from aiohttp.http_exceptions import HttpProcessingError

        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            record.msg, record.args = "refused a request that is not HTTP: %s", (type(error).__name__,)
            record.exc_info = record.exc_text = None
        return True


def configure_logging(style: LogStyle) -> None:
    """Send the log to stderr in this style, instead of what was configured before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("aiohttp.server").addFilter(NoHttp())
    for chatty in ("faiss", "transformers", "sentence_transformers"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
