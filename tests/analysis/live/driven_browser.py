"""A page in Chromium that is driven while it goes on: over the DevTools protocol, on two pipes and without a network.

Messages are JSON objects that end with a zero byte. Chromium reads them on its descriptor 3 and writes on 4.
"""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

_DESCRIPTORS = 'exec "${@:3}" 3<&"$1" 4>&"$2"'
_BEYOND_THESE = 10
"""The lowest descriptor of a pipe here, so that none is 3 or 4."""
_HEIGHT = 900
_ENDS_WITHIN = 20.0
_ERRORS = {"error", "assert"}


class Scheme(StrEnum):
    """The colours that a reader prefers."""

    LIGHT = "light"
    DARK = "dark"


class _Answer(msgspec.Struct):
    """An answer or an event."""

    id: int | None = None
    method: str = ""
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] | None = None


@dataclass
class DrivenPage:
    """One page. What it complains of and asks for is collected while its answers are read."""

    asks: IO[bytes]
    answers: IO[bytes]
    session: str = ""
    errors: list[str] = field(default_factory=list)
    """Errors of scripts, of the console and of what the page loads."""
    requests: list[str] = field(default_factory=list)
    """Addresses that the page asked for."""
    _asked: int = 0

    def attach(self) -> None:
        """Opens an empty page, whose events come from then on."""
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Goes to an address, and returns when the page is loaded."""
        problem = self.ask("Page.navigate", {"url": address}).get("errorText")
        assert problem is None, f"{address}: {problem}"
        self.value('if (document.readyState !== "complete") await new Promise(done => addEventListener("load", done));')

    def show(self, width: int, scheme: Scheme, height: int = _HEIGHT) -> None:
        """Gives the window a size, and the reader a preference."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", size)
        self.ask("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme.value}]})

    def value(self, script: str) -> Any:
        """The value that the body of an asynchronous function returns in the page."""
        asked = {"expression": f"(async () => {{ {script} }})()", "awaitPromise": True, "returnByValue": True}
        found = self.ask("Runtime.evaluate", asked)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, file: Path) -> None:
        """Writes the window's content as PNG."""
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", {"format": "png"})["data"]))

    def ask(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a command. Events that come before it are taken note of."""
        self._asked += 1
        command = {"id": self._asked, "method": method, "params": parameters or {}}
        if self.session:
            command["sessionId"] = self.session
        self.asks.write(msgspec.json.encode(command) + b"\0")
        self.asks.flush()
        for answer in self._read():
            if answer.id == self._asked:
                assert answer.error is None, f"{method}: {answer.error}"
                return answer.result
            self._note(answer)
        raise AssertionError(f"Chromium ended before it answered {method}")

    def _read(self) -> Iterator[_Answer]:
        text = bytearray()
        while byte := self.answers.read(1):
            if byte != b"\0":
                text += byte
                continue
            yield msgspec.json.decode(bytes(text), type=_Answer)
            text.clear()

    def _note(self, event: _Answer) -> None:
        given = event.params
        match event.method:
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(str(given["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if given["type"] in _ERRORS:
                self.errors.append(str(given["args"]))
            case "Log.entryAdded" if given["entry"]["level"] in _ERRORS:
                self.errors.append(str(given["entry"]))


@contextmanager
def driven_page(profile: Path) -> Iterator[DrivenPage]:
    """A page of a Chromium of its own, which keeps its files in a directory and ends with the block."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
        "--disable-background-networking", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}",
    ]  # fmt: skip
    its_input, our_output = _pipe()
    our_input, its_output = _pipe()
    browser = subprocess.Popen(
        ["bash", "-c", _DESCRIPTORS, "bash", str(its_input), str(its_output), *command],
        pass_fds=(its_input, its_output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(its_input)
    os.close(its_output)
    with browser, os.fdopen(our_output, "wb") as asks, os.fdopen(our_input, "rb") as answers:
        page = DrivenPage(asks, answers)
        try:
            page.attach()
            yield page
        finally:
            page.session = ""
            with suppress(AssertionError, BrokenPipeError):
                page.ask("Browser.close")
            try:
                browser.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                browser.kill()


def _pipe() -> tuple[int, int]:
    """The two ends of a pipe, which reads and writes by descriptors that are neither 3 nor 4."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _BEYOND_THESE))
        os.close(end)
    return ends[0], ends[1]
