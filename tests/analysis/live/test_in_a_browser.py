"""The page of a run that goes on, in a browser: at three widths, light and dark, without an error, an overflow or a
request beyond its server."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from record.exit_codes import ExitCode
from tests.analysis.live.driven_browser import DrivenPage, Scheme, driven_page
from tests.analysis.live.watched_run import watched_run

WIDTHS = (1280, 820, 390)
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
const box = element => element.getBoundingClientRect(), map = root.querySelector(".map");
const outside = [...document.querySelectorAll("body *")].filter(element =>
  box(element).width && (box(element).right > innerWidth + 1 || box(element).left < -1));
const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
return {
  width: innerWidth, needed: document.documentElement.scrollWidth,
  outside: outside.map(element => element.outerHTML.slice(0, 80)),
  drawn: pixels.some(value => value > 0), play: told("play"), sentence: told("sentence"),
  ground: getComputedStyle(document.body).backgroundColor,
};
"""
"""A look at the page once it has shown a newer moment of the run than before."""


class Look(msgspec.Struct, frozen=True):
    """The page at one width and in one scheme, while the run went on."""

    width: int
    needed: int
    outside: list[str]
    """Elements that are not within the window."""
    drawn: bool
    """True where there is something on the map."""
    play: str
    """The words of the button."""
    sentence: str
    ground: str
    """The colour of the page."""


def look(page: DrivenPage, width: int, scheme: Scheme) -> Look:
    page.show(width, scheme)
    return msgspec.convert(page.value(_UNTIL + _LOOK), Look)


def looks_while_it_goes_on(page: DrivenPage, root: str) -> None:
    """Looks at a page at all widths and in both schemes, and asserts that each is whole."""
    page.value(_UNTIL + 'await until(() => told("sentence").startsWith("Arrived: "));')
    grounds = set()
    for scheme in Scheme:
        for width in WIDTHS:
            seen = look(page, width, scheme)
            assert (seen.outside, seen.width) == ([], width)
            assert seen.needed <= width
            assert seen.drawn
            assert seen.play == "Following"
            assert seen.sentence.startswith("Arrived: ")
            grounds.add((scheme, seen.ground))
    assert len(grounds) == len({ground for _, ground in grounds}) == len(Scheme)
    titles = page.value('return [document.title, document.querySelector("h1").textContent];')
    assert titles == ["watched: live", "watched"]
    assert page.errors == []
    assert page.requests
    assert [address for address in page.requests if not address.startswith(root)] == []


def sees_what_is_wrong(page: DrivenPage) -> None:
    """Asserts that a planted overflow and a planted error are seen as such."""
    page.value('document.querySelector(".sentence").style.width = "2000px"; console.error("planted");')
    seen = look(page, WIDTHS[0], Scheme.LIGHT)
    assert [element for element in seen.outside if "sentence" in element]
    assert seen.needed > seen.width
    assert [error for error in page.errors if "planted" in error]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--runtime", "simulated", "--speed", "2"], id="simulated"),
        pytest.param(["--runtime", "container"], id="container", marks=[pytest.mark.container, pytest.mark.proof]),
    ],
)
def test_a_page_is_whole_while_its_run_goes_on_and_says_when_it_is_over(tmp_path: Path, options: list[str]) -> None:
    scenario = tmp_path / "watched.yaml"
    scenario.write_text(SCENARIO)
    with driven_page(tmp_path / "profile") as page, watched_run(scenario, tmp_path / "runs", options) as run:
        page.open(run.address)
        looks_while_it_goes_on(page, run.root)
        sees_what_is_wrong(page)
        assert run.interrupt() in {ExitCode.INTERRUPTED, ExitCode.INVALID}  # invalid on a host that is too busy for it
        page.value(_UNTIL + 'await until(() => told("play") === "Play");')
        assert [error for error in page.errors if "planted" not in error] == []
