"""The page of a run that goes on, in a browser: at three widths, light and dark, without an error, an overflow or a
request beyond its server."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from playwright.async_api import Browser

from record.exit_codes import ExitCode
from tests.analysis.live.watched_run import watched_run
from tests.browser import WIDTHS, Scheme, SeenPage, opened

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCENARIO = """
name: watched
topology: {kind: star, brokers: 6, link: {delay: 5ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 2, rate: 4/s}
  subscriptions: {subscribers: 4, selectivity: 60%}
clients:
  sites:
    berlin: {broker: B2, clients: [S1, S2], delay: 5ms}
    oslo: {broker: B3, delay: 10ms, reads: 1/s}
timeline: {join: 1s, run: 600s, drain: 2s}
"""
"""It goes on for longer than anybody looks."""
_UNTIL = """
const root = document.querySelector(".replay"), told = name => root.querySelector("." + name).textContent;
const until = holds => new Promise(done => {
  const look = () => { if (holds()) { watcher.disconnect(); done(); } }, watcher = new MutationObserver(look);
  watcher.observe(root, { childList: true, characterData: true, subtree: true, attributes: true });
  look();
});
"""
"""`await until(...)` returns when something holds, and looks whenever the page changes."""
_LOOK = """
const before = told("moment");
await until(() => told("moment") !== before);
const map = root.querySelector(".map");
const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
return {
  drawn: pixels.some(value => value > 0), play: told("play"), sentence: told("sentence"),
  ground: getComputedStyle(document.body).backgroundColor,
};
"""
"""A look at the page once it has shown a newer moment of the run than before."""


class Look(msgspec.Struct, frozen=True):
    """The page at one width and in one scheme, while the run went on."""

    drawn: bool
    """True where there is something on the map."""
    play: str
    """The words of the button."""
    sentence: str
    ground: str
    """The colour of the page."""


async def look(seen: SeenPage) -> Look:
    return msgspec.convert(await seen.value(_UNTIL + _LOOK), Look)


async def looks_while_it_goes_on(seen: SeenPage, root: str) -> None:
    """Looks at a page at all widths and in both schemes, and asserts that each is whole."""
    await seen.value(_UNTIL + 'await until(() => told("sentence").startsWith("Arrived: "));')
    grounds = set()
    for scheme in Scheme:
        for width in WIDTHS:
            await seen.show(width, scheme)
            found = await look(seen)
            assert await seen.cut_off() == [], (width, scheme)
            assert found.drawn
            assert found.play == "Following"
            assert found.sentence.startswith("Arrived: ")
            grounds.add((scheme, found.ground))
    assert len(grounds) == len({ground for _, ground in grounds}) == len(Scheme)
    assert [await seen.page.title(), await seen.page.text_content("h1")] == ["watched: live", "watched"]
    assert seen.errors == []
    assert seen.requests
    assert [address for address in seen.requests if not address.startswith(root)] == []


async def sees_what_is_wrong(seen: SeenPage) -> None:
    """Asserts that a planted overflow and a planted error are seen as such."""
    await seen.value('document.querySelector(".sentence").style.width = "2000px"; console.error("planted");')
    cut = await seen.cut_off()
    assert [element for element in cut if "sentence" in element]
    assert [element for element in cut if element.startswith("the page is wider")]
    assert [error for error in seen.errors if "planted" in error]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--runtime", "simulated", "--speed", "2"], id="simulated"),
        pytest.param(["--runtime", "container"], id="container", marks=[pytest.mark.container, pytest.mark.proof]),
    ],
)
async def test_a_page_is_whole_while_its_run_goes_on_and_says_when_it_is_over(
    tmp_path: Path, browser: Browser, options: list[str]
) -> None:
    scenario = tmp_path / "watched.yaml"
    scenario.write_text(SCENARIO)
    with watched_run(scenario, tmp_path / "runs", options) as run:
        async with opened(browser, run.address) as seen:
            await looks_while_it_goes_on(seen, run.root)
            await sees_what_is_wrong(seen)
            assert run.interrupt() in {ExitCode.INTERRUPTED, ExitCode.INVALID}  # invalid where the host is too busy
            await seen.value(_UNTIL + 'await until(() => told("play") === "Play");')
            assert [error for error in seen.errors if "planted" not in error] == []
