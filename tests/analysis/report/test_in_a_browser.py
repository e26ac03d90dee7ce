"""The page as a browser shows it: plots without a network, nothing cut off, and exports."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from record.log import Event
from tests.analysis.history import write_run
from tests.analysis.live.driven_browser import Scheme
from tests.analysis.report.browser import look
from tests.analysis.trace.handmade import half_a_journey, whole_journey

LARGEST = 1_500_000
"""Bytes of a page of a small run."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lost, whole = half_a_journey("fast"), whole_journey("a variant with quite a long name")
    for second in range(101, 130):
        whole.add("B1", Event.LOAD, second, count=1, duration=second * 10_000_000)
        lost.add("B1", Event.LOAD, second, count=1, duration=second * 20_000_000)
    run = write_run(tmp_path_factory.mktemp("runs") / "run", [lost, whole])
    analyze(run, PlainEngine())
    return build_report(run)


def test_every_plot_is_drawn_without_a_request_beyond_the_file(page: Path) -> None:
    seen = look(
        page, "return [...document.querySelectorAll('.plot')].map(plot => [plot.id, !!plot.querySelector('.main-svg')])"
    )
    assert (seen.errors, seen.requests) == ([], [])
    drawn = dict(seen.value)
    assert {"client-rates", "delay-distribution", "delays", "load-0"} <= set(drawn)
    assert all(drawn.values()), drawn
    assert page.stat().st_size <= LARGEST


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_nothing_is_cut_off(page: Path, width: int) -> None:
    """Wider than the page is only what has a scroll bar of its own, all unfolded; texts are inside of their plots."""
    seen = look(
        page,
        """
        document.querySelectorAll('details').forEach(details => details.open = true);
        await new Promise(done => setTimeout(done, 300));
        const outside = [...document.querySelectorAll('body *')].filter(element =>
          element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.scroll, pre, svg'));
        const cut = [...document.querySelectorAll('.plot svg text')].filter(text => {
          const own = text.getBoundingClientRect(), plot = text.closest('.plot').getBoundingClientRect();
          return own.width && (own.right > plot.right + 2 || own.left < plot.left - 2 || own.bottom > plot.bottom + 2);
        }).map(text => text.closest('.plot').id + ': ' + text.textContent);
        const needed = document.documentElement.scrollWidth;
        return [innerWidth, needed, [...outside.map(element => element.outerHTML.slice(0, 80)), ...cut]];
        """,
        width,
    )
    shown, needed, outside = seen.value
    assert shown == width
    assert outside == []
    assert needed <= width


@pytest.mark.parametrize("width", [1280, 1700])
def test_contents_are_beside_the_page(page: Path, width: int) -> None:
    script = """
    const [contents, section] = ['nav', 'section'].map(name => document.querySelector(name).getBoundingClientRect());
    return [section.right, contents.left, contents.right];
    """
    end_of_page, begin, end = look(page, script, width).value
    assert end_of_page <= begin
    assert end <= width


def test_data_of_plots_are_tables(page: Path) -> None:
    seen = look(
        page,
        "return ['client-rates', 'load-0'].map(id => csvOf(document.getElementById(id)))",
    )
    rates, load = (list(csv.reader(io.StringIO(text))) for text in seen.value)
    assert rates[0] == ["series", "seconds since the start of the run phase", "a second"]
    assert ["fast, published", "10", "1"] in rates
    assert load[0][:4] == ["series", "seconds since the start of the run phase", "y", "z"]
    assert {row[2] for row in load[1:]} == {"B1"}
    assert len(load) > 20


def test_plots_are_pictures_of_their_size_and_colours_follow_the_page(page: Path) -> None:
    script = """
    const plot = document.getElementById('delays');
    const size = { width: 700, height: 300 };
    const address = await Plotly.toImage({ data: plot.data, layout: plot.layout }, { format: 'svg', ...size });
    const buttons = [...plot.nextElementSibling.querySelectorAll('button')].map(button => button.textContent);
    return [decodeURIComponent(address).slice(0, 200), buttons, plot.layout.font.color];
    """
    light, dark = (look(page, script, scheme=scheme).value for scheme in Scheme)
    assert 'width="700" height="300"' in light[0]
    assert light[1] == ["SVG", "PNG", "CSV"]
    assert light[2] != dark[2]
