"""Renewal of the pictures of a run's page while the run goes on, from a simulated run of the quickstart.

    python -m tests.documentation.live_page

The run has the same seed each time, so that the pictures differ by the moment at which Chromium draws them alone.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.analysis.live.watched_run import SOURCE, watched_run
from tests.browser import Scheme, chromium, opened

SCENARIO = SOURCE / "scenarios" / "quickstart.yaml"
IMAGES = SOURCE / "docs" / "images"
LATE = 20
"""Seconds of the run phase after which links are busy and the courses have a shape."""
_UNTIL_LATE = """
const moment = document.querySelector(".replay .moment");
await new Promise(done => {
  const look = () => { if (parseFloat(moment.textContent) >= %d) { watcher.disconnect(); done(); } };
  const watcher = new MutationObserver(look);
  watcher.observe(moment, { childList: true, characterData: true, subtree: true });
  look();
});
await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
"""
PICTURES = (("live.png", 1280, 850, Scheme.LIGHT), ("live-dark.png", 390, 844, Scheme.DARK))
"""Files, widths and heights in pixels."""


async def main() -> None:
    options = ["--runtime", "simulated", "--speed", "5"]
    with tempfile.TemporaryDirectory() as kept, watched_run(SCENARIO, Path(kept), options) as run:
        async with chromium() as browser, opened(browser, run.address) as seen:
            for file, width, height, scheme in PICTURES:
                await seen.show(width, scheme, height)
                await seen.value(_UNTIL_LATE % LATE)
                await seen.page.screenshot(path=IMAGES / file)


if __name__ == "__main__":
    asyncio.run(main())
