"""The page as a browser shows it: plots without a network, nothing cut off, and exports."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from record.log import Event
from tests.analysis.history import write_run
from tests.analysis.trace.handmade import half_a_journey, whole_journey
from tests.browser import Scheme, SeenPage, opened

LARGEST = 1_500_000
"""Bytes of a page of a small run."""
LONG = "a variant with quite a long name"
DRAWN = "html[data-plots]"

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lost, whole = half_a_journey("fast"), whole_journey(LONG)
    for second in range(101, 130):
        whole.add("B1", Event.LOAD, second, count=1, duration=second * 10_000_000)
        lost.add("B1", Event.LOAD, second, count=1, duration=second * 20_000_000)
    run = write_run(tmp_path_factory.mktemp("runs") / "run", [lost, whole])
    analyze(run, PlainEngine())
    report = build_report(run)
    assert report.stat().st_size <= LARGEST
    return report


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def seen(page: Path, browser: Browser) -> AsyncIterator[SeenPage]:
    """The page at 1,280 pixels, with its plots."""
    async with opened(browser, page.as_uri()) as shown:
        await shown.until(DRAWN)
        yield shown


async def test_every_plot_is_drawn_without_a_request_beyond_the_file(page: Path, seen: SeenPage) -> None:
    plots = "return [...document.querySelectorAll('.plot')].map(plot => [plot.id, !!plot.querySelector('.main-svg')]);"
    drawn = dict(await seen.value(plots))
    assert {"client-rates", "delay-distribution", "delays", "load-0"} <= set(drawn)
    assert all(drawn.values()), drawn
    assert (seen.errors, seen.requests) == ([], [page.as_uri()])


@pytest.mark.parametrize("width", [1280, 820, 390])
async def test_nothing_is_cut_off(page: Path, browser: Browser, width: int) -> None:
    """Unfolded, and in both schemes."""
    async with opened(browser, page.as_uri(), width) as shown:
        await shown.until(DRAWN)
        await shown.value("document.querySelectorAll('details').forEach(details => details.open = true);")
        await shown.until("details[data-unpacked]")
        for scheme in Scheme:
            await shown.show(width, scheme)
            assert await shown.cut_off() == []
        assert shown.errors == []


async def test_a_slow_notification_opens_its_journey(page: Path, browser: Browser) -> None:
    async with opened(browser, page.as_uri()) as shown:
        await shown.page.click("text=The 1 slowest under")
        await shown.until("details[data-unpacked]")
        await shown.page.click(".slow .journey summary")
        assert "broker B2: queue → B3" in await shown.page.inner_text(".slow .journey pre")
        link = shown.page.locator("a[download]").last
        assert await link.get_attribute("href") == f"worst-{LONG}.pftrace"
        assert shown.errors == []


@pytest.mark.parametrize("width", [1700, 1280])
async def test_contents_are_beside_the_page(seen: SeenPage, width: int) -> None:
    await seen.show(width, Scheme.LIGHT)
    end_of_page, begin, end = await seen.value("""
        const box = name => document.querySelector(name).getBoundingClientRect();
        const [contents, section] = ['nav', 'section'].map(box);
        return [section.right, contents.left, contents.right];
    """)
    assert end_of_page <= begin
    assert end <= width


async def test_data_of_plots_are_tables(seen: SeenPage) -> None:
    texts = await seen.value("return ['client-rates', 'load-0'].map(id => csvOf(document.getElementById(id)));")
    rates, load = (list(csv.reader(io.StringIO(text))) for text in texts)
    assert rates[0] == ["series", "seconds since the start of the run phase", "a second"]
    assert ["fast, published", "10", "1"] in rates
    assert load[0][:4] == ["series", "seconds since the start of the run phase", "y", "z"]
    assert {row[2] for row in load[1:]} == {"B1"}
    assert len(load) > 20


async def test_plots_are_pictures_of_their_size_and_colours_follow_the_page(page: Path, browser: Browser) -> None:
    script = """
    const plot = document.getElementById('delays');
    const size = { width: 700, height: 300 };
    const address = await Plotly.toImage({ data: plot.data, layout: plot.layout }, { format: 'svg', ...size });
    const buttons = [...plot.nextElementSibling.querySelectorAll('button')].map(button => button.textContent);
    return [decodeURIComponent(address).slice(0, 200), buttons, plot.layout.font.color];
    """
    found = []
    for scheme in Scheme:
        async with opened(browser, page.as_uri(), scheme=scheme) as shown:
            await shown.until(DRAWN)
            found.append(await shown.value(script))
    light, dark = found
    assert 'width="700" height="300"' in light[0]
    assert light[1] == ["SVG", "PNG", "CSV"]
    assert light[2] != dark[2]
