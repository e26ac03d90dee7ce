"""The page of a search as a browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from studies.saturation.page import build_page
from tests.browser import opened
from tests.studies.saturation.test_search import made_up, pretending, search, summary_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_every_plot_is_drawn_and_nothing_is_cut_off(tmp_path: Path, browser: Browser) -> None:
    page = build_page(summary_of(search(tmp_path).run(pretending(made_up))), tmp_path)
    async with opened(browser, page.as_uri()) as shown:
        await shown.until("html[data-plots]")
        plots = "return [...document.querySelectorAll('.plot')].map(plot => !!plot.querySelector('.main-svg'));"
        assert await shown.value(plots) == [True] * 4
        await shown.is_whole()
        assert (shown.errors, shown.requests) == ([], [page.as_uri()])
