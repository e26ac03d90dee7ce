"""The page: its sentence follows from the state, it asks for nothing, and fits narrow screens."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from playwright.async_api import Browser

from analysis.live.follower import Follower
from analysis.live.frames import Frame, ShownBroker, ShownOverlay, ShownPhase, ShownVariant, State
from analysis.live.page import live_page, replay_page
from analysis.script_data import in_script
from tests.browser import opened

READY = ".replay[data-ready]"
STATE = State(
    run="a-run", scenario="</script><b>pair", version=3, over=True,
    variants=[
        ShownVariant(
            name="base",
            overlay=ShownOverlay([ShownBroker("B1", 0, 0), ShownBroker("B2", 1, 1)], [(0, 1), (1, 0)]),
            phases=[ShownPhase("run", 10, 13)],
            frames=[
                Frame(at=11, published=2, due=1200, sent=[(0, 2)], queues=[(0, 1)]),
                Frame(at=13, notified=900, arrived=900, median_ms=4.0, most_ms=9.0, queues=[(0, 0)]),
            ],
        )
    ],
)  # fmt: skip


async def told(browser: Browser, page: str, directory: Path) -> str:
    """The words of a page."""
    file = directory / "page.html"
    file.write_text(page)
    async with opened(browser, file.as_uri()) as seen:
        await seen.until(READY)
        return await seen.page.inner_text("body")


@pytest.mark.asyncio(loop_scope="session")
class TestInABrowser:
    async def test_the_sentence_follows_from_the_state_and_nothing_is_cut_off(
        self, browser: Browser, tmp_path: Path
    ) -> None:
        file = tmp_path / "page.html"
        file.write_text(replay_page(STATE))
        async with opened(browser, file.as_uri()) as seen:
            await seen.until(READY)
            text = await seen.page.inner_text("body")
            assert "Arrived: 900 of 1,200 notifications that were due by then; never arrived: 300 (the verdict" in text
            assert await seen.page.text_content(".moment") == "4.0 s, drain"
            await seen.is_whole()
            assert (seen.errors, seen.requests) == ([], [file.as_uri()])

    async def test_a_run_that_has_not_begun_says_so(self, browser: Browser, tmp_path: Path) -> None:
        page = live_page(Follower(tmp_path).state())
        assert "Nothing has been logged yet" in await told(browser, page, tmp_path)

    async def test_hosts_whose_logs_are_missing_are_named(self, browser: Browser, tmp_path: Path) -> None:
        """A reader must not take the part that is shown for the whole."""
        page = replay_page(msgspec.structs.replace(STATE, awaited_hosts=["left", "right"]))
        assert "Without the logs of left, right, which are not there" in await told(browser, page, tmp_path)


def test_no_name_ends_the_script_that_holds_it() -> None:
    assert "<" not in in_script(msgspec.json.encode(STATE).decode())
    assert "<b>" not in replay_page(STATE)
