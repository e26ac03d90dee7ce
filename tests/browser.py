"""Pages in Debian's Chromium, driven by Playwright: with what they complain of and what they ask for."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Error, Page, Request, async_playwright

CHROMIUM = shutil.which("chromium")
"""Playwright would download a browser of its own, which set-up does not do."""
WIDTHS = (1280, 820, 390)
_HEIGHT = 900
_COMPLAINTS = {"error", "assert"}
_LOCAL = ("data:", "blob:", "about:")
"""Beginnings of addresses that are no requests."""
_OPTIONS = [
    "--disable-gpu",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
_CUT_OFF = """
const box = element => element.getBoundingClientRect(), plot = text => text.closest(".plot");
const beyond = element => box(element).width && (box(element).right > innerWidth + 1 || box(element).left < -1) &&
  !element.closest(".scroll, pre, svg");
const cut = (own, plot) =>
  own.width && (own.right > plot.right + 2 || own.left < plot.left - 2 || own.bottom > plot.bottom + 2);
const look = () => [
  ...[...document.querySelectorAll("body *")].filter(beyond).map(element => element.outerHTML.slice(0, 80)),
  ...[...document.querySelectorAll(".plot svg text")].filter(text => cut(box(text), box(plot(text))))
    .map(text => plot(text).id + ": " + text.textContent),
  ...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the window"] : []),
];
for (let frame = 0; frame < 30 && look().length; frame++) await new Promise(requestAnimationFrame);
return look();
"""
"""Looks again while the page may still adapt to its window."""
_GROUND = "return getComputedStyle(document.body).backgroundColor;"


class Scheme(StrEnum):
    """The colours that a reader prefers."""

    LIGHT = "light"
    DARK = "dark"


@dataclass
class SeenPage:
    """A page in a window of its own."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """Errors of scripts, of the console and of what the page loads."""
    requests: list[str] = field(default_factory=list)
    """Addresses that the page asked for, its own among them."""

    async def show(self, width: int, scheme: Scheme, height: int = _HEIGHT) -> None:
        """Gives the window another size, and the reader another preference."""
        await self.page.set_viewport_size({"width": width, "height": height})
        await self.page.emulate_media(color_scheme=scheme.value)

    async def value(self, script: str) -> Any:
        """The value that the body of an asynchronous function returns in the page."""
        return await self.page.evaluate(f"async () => {{ {script} }}")

    async def until(self, selector: str) -> None:
        """Returns once the page has an element that a selector finds, seen or not."""
        await self.page.wait_for_selector(selector, state="attached")

    async def cut_off(self) -> list[str]:
        """Elements that the window does not hold and that no scroll bar reaches, and texts beyond their plot."""
        found: list[str] = await self.value(_CUT_OFF)
        return found

    async def is_whole(self) -> None:
        """Asserts that nothing is cut off at any width, in both schemes, whose grounds differ."""
        cut, grounds = dict[tuple[int, Scheme], list[str]](), dict[Scheme, set[str]]()
        for scheme in Scheme:
            for width in WIDTHS:
                await self.show(width, scheme)
                cut[width, scheme] = await self.cut_off()
                grounds.setdefault(scheme, set()).add(await self.value(_GROUND))
        assert {shown: found for shown, found in cut.items() if found} == {}
        assert [len(found) for found in grounds.values()] == [1, 1]
        assert grounds[Scheme.LIGHT] != grounds[Scheme.DARK]

    def _complained(self, message: ConsoleMessage) -> None:
        if message.type in _COMPLAINTS:
            self.errors.append(message.text)

    def _failed(self, error: Error) -> None:
        self.errors.append(str(error))

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(_LOCAL):
            self.requests.append(request.url)

    def note(self) -> None:
        """Takes note of errors and requests from now on."""
        self.page.on("console", self._complained)
        self.page.on("pageerror", self._failed)
        self.page.on("request", self._asked)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without windows, which ends with the block."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened(
    browser: Browser, address: str, width: int = 1280, height: int = _HEIGHT, scheme: Scheme = Scheme.LIGHT
) -> AsyncIterator[SeenPage]:
    """A page that is loaded. Its window shares nothing with others, and is closed with the block."""
    context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme.value)
    try:
        seen = SeenPage(await context.new_page())
        seen.note()
        await seen.page.goto(address)
        yield seen
    finally:
        await context.close()
