"""Which premises closed which goals, for those who want to train on their own proofs.

In: a goal and the premises that a proof of it used. Out: one JSON line in `data_folder/feedback.jsonl`. Off unless the
user turns it on; nothing of it ever leaves the machine.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sidecar.errors import SidecarError, room_or

FILE_BYTES = 16 * 1024 * 1024
"""Size at which the file is set aside; with the one set aside before, at most twice this is kept."""


class FeedbackLog:
    """Appends to the file of one data folder; safe to call from several threads.

    Args:
        folder: Data folder of the user.
        enabled: Whether anything is written at all.
        file_bytes: See `FILE_BYTES`.
    """

    def __init__(self, folder: Path, enabled: bool, file_bytes: int = FILE_BYTES) -> None:
        self.file = folder / "feedback.jsonl"
        self.enabled = enabled
        self._file_bytes = file_bytes
        self._lock = threading.Lock()

    def record(self, goal: str, premises: Sequence[str], tactic: str | None) -> bool:
        """Keep one report.

        Returns:
            Whether it was stored (False while feedback is off).

        Raises:
            SidecarError: `internal` when the file cannot be written.
        """
        if not self.enabled:
            return False
        row = {"time": round(time.time(), 3), "goal": goal, "premises": list(premises), "tactic": tactic}
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            try:
                self._append(line)
            except OSError as error:
                raise SidecarError(
                    "internal",
                    f"{self.file} cannot be written: {error.strerror}",
                    hint=room_or(error, "choose another folder (LEAN_SIDECAR_DATA) or turn LEAN_SIDECAR_FEEDBACK off"),
                ) from None
        return True

    def _append(self, line: bytes) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists() and self.file.stat().st_size + len(line) > self._file_bytes:
            self.file.replace(self.file.with_suffix(".1.jsonl"))
        # One write of one line in append mode: a second server of the same user cannot split it.
        handle = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            written = os.write(handle, line)
            if written < len(line):
                # The disk became full within the line; half of one would spoil the next.
                os.ftruncate(handle, os.fstat(handle).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)
