"""Work of a frame of the replay, counted in a browser: it does not grow with the run that is shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from playwright.async_api import Browser

from analysis.live.frames import Frame, ShownBroker, ShownOverlay, ShownPhase, ShownVariant, State
from analysis.live.page import replay_page
from tests.analysis.live.test_page import READY
from tests.browser import opened

BROKERS, LINKS, SECONDS = 12, 24, 300
CHARTS, LINES = 4, 6
PER_SECOND = 1 / 6
"""Seconds of the run between two frames of a replay at ten times its speed, at 60 frames a second."""

_COUNT = """
<script>
  const counted = { calls: 0, texts: 0, frames: 0 };
  for (const name of ["clearRect", "fillRect", "fillText", "lineTo", "moveTo", "arc", "stroke", "fill"]) {
    const own = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) { counted.calls++; return own.apply(this, given); };
  }
  const seen = { get: (frame, name) => { if (name === "at") counted.frames++; return frame[name]; } };
  const parse = JSON.parse;
  JSON.parse = text => {
    const state = parse(text);
    for (const variant of state.variants ?? []) variant.frames = variant.frames.map(frame => new Proxy(frame, seen));
    return state;
  };
  const text = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
  Object.defineProperty(Node.prototype, "textContent", {
    ...text, set(given) { counted.texts++; text.set.call(this, given); },
  });
</script>
"""
_PLAY = """
  const root = document.querySelector(".replay"), time = root.querySelector(".time"), found = [];
  const go = to => { time.value = to; time.dispatchEvent(new Event("input")); };
  for (const begin of [20, 270]) {
    go(begin + 0.01);
    for (let step = 1; step <= 12; step++) {
      Object.assign(counted, { calls: 0, texts: 0, frames: 0 });
      go(begin + 0.01 + step / 6);
      found.push({ ...counted, turned: Math.floor(0.01 + step / 6) > Math.floor(0.01 + (step - 1) / 6) });
    }
  }
  return found;
"""


class Work(msgspec.Struct):
    """Counts of one frame."""

    calls: int
    """Calls of canvases."""
    texts: int
    """Texts that were set."""
    frames: int
    """Times that a second of the run was looked at."""
    turned: bool
    """True where the frame is the first one in another second of the run."""


def state() -> State:
    brokers = [ShownBroker(f"B{number}", number / BROKERS, number % 2) for number in range(BROKERS)]
    links = [(link % BROKERS, (link + 1 + link // BROKERS) % BROKERS) for link in range(LINKS)]
    busy = [(link, 40) for link in range(LINKS)]
    frames = [
        Frame(at=at, published=9, notified=9, due=9, arrived=9, median_ms=2.0, most_ms=4.0, sent=busy, queues=busy)
        for at in range(SECONDS)
    ]
    shown = ShownVariant(
        name="base", overlay=ShownOverlay(brokers, links), phases=[ShownPhase("run", 0, SECONDS)], frames=frames
    )
    return State(run="long", scenario="long", version=1, over=True, variants=[shown])


@pytest.mark.asyncio(loop_scope="session")
async def test_a_frame_draws_only_what_changed(browser: Browser, tmp_path: Path) -> None:
    """Between two seconds of the run nothing is drawn; the first frame of a second draws the map and the charts once,
    late in the run as early in it, and looks at the seconds that are new."""
    page = tmp_path / "page.html"
    page.write_text(replay_page(state()).replace("<head>", "<head>" + _COUNT, 1), "utf-8")
    async with opened(browser, page.as_uri()) as seen:
        await seen.until(READY)
        works = msgspec.convert(await seen.value(_PLAY), list[Work])
        assert seen.errors == []
    assert len(works) == 24 and sum(work.turned for work in works) == 4
    of_map = 4 * (LINKS + BROKERS) + 10
    of_charts = LINES * (SECONDS + 4) + CHARTS * 10
    for work in works:
        assert work.calls <= (of_map + of_charts if work.turned else 0), work
        assert work.frames <= 16 and work.texts <= 2, work
    early, late = works[:12], works[12:]
    assert sum(work.calls for work in late) == pytest.approx(sum(work.calls for work in early), rel=0.01)
    assert sum(work.calls for work in works) > 4 * LINKS
