"""A real Chromium without a window, driven over its debugging protocol (https://chromedevtools.github.io).

It is Debian's `chromium`, or the one that `CHROMIUM` names. Where there is none the tests are skipped and say so,
unless `REQUIRE_CHROMIUM` is set, as CI does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PATIENCE_SECONDS = 60.0


def chromium() -> str:
    """The program; skips the test that asks where there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is not None:
        return found
    message = "no chromium on PATH: install Debian's package `chromium`, or name a program in CHROMIUM"
    if os.environ.get("REQUIRE_CHROMIUM"):
        pytest.fail(message)
    pytest.skip(message)


class Page:
    """One page of a browser.

    Attributes:
        requested: Addresses of everything that it asked for.
        errors: Exceptions that its scripts threw, and what its policy refused.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.requested: list[str] = []
        self.errors: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                self._waiting.pop(said["id"]).set_result(said)
            elif said["method"] == "Network.requestWillBeSent":
                self.requested.append(said["params"]["request"]["url"])
            elif said["method"] == "Runtime.exceptionThrown":
                self.errors.append(str(said["params"]["exceptionDetails"]))
            elif said["method"] == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.errors.append(said["params"]["entry"]["text"])
            elif said["method"] == "Page.loadEventFired":
                self._loaded.set()

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its result."""
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE_SECONDS):
            said = await answer
        assert "error" not in said, said
        result: dict[str, Any] = said["result"]
        return result

    async def open(self, address: str) -> None:
        """Go to an address and wait until it is loaded."""
        self._loaded.clear()
        await self.send("Page.navigate", url=address)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._loaded.wait()

    async def run(self, script: str) -> Any:
        """The value of an expression."""
        said = await self.send("Runtime.evaluate", expression=script, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            await self.send("Input.dispatchKeyEvent", type=kind, key=key, **text)

    async def click(self, selector: str) -> None:
        """Click in the middle of an element, as a person does."""
        box = f"document.querySelector({selector!r})"
        await self.run(f"{box}.scrollIntoView({{block: 'center'}})")
        corner = await self.run(
            f"(() => {{ const b = {box}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.send(
                "Input.dispatchMouseEvent", type=kind, x=corner[0], y=corner[1], button="left", clickCount=1
            )

    async def close(self) -> None:
        """Stop listening."""
        await self._socket.close()
        await self._reading


@contextlib.asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[Page]:
    """A browser with one empty page; what it downloads lands in `folder/downloads`."""
    program = chromium()
    profile = folder / "profile"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            [program, *options, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        port_file = profile / "DevToolsActivePort"
        await eventually(lambda: port_file.is_file() and len(port_file.read_text().split("\n")) > 1, "it listens")
        port = port_file.read_text().split("\n")[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                for domain in ("Page", "Runtime", "Network", "Log"):
                    await page.send(f"{domain}.enable")
                downloads = folder / "downloads"
                downloads.mkdir(exist_ok=True)
                await page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
                yield page
                await page.close()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.sleep(0.05)
    assert holds(), what
