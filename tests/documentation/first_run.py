"""Renewal of the README's first run, its sentence and its picture, and of the picture of its replay, from a run of
`make emulate` in containers.

    make emulate && python -m tests.documentation.first_run runs/RUN

A run that was simulated, that is not correct or whose figures do not all hold is refused, because a newcomer compares
the sentence with that of a run in containers. Chromium draws the picture.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from analysis.live.page import replay_page
from analysis.report.data import ReportData, read_report_data
from analysis.report.replayed import replay_of
from analysis.report.sentences.headline import headline
from analysis.tables.summary import CORRECT
from record.fidelity import FidelityVerdict
from record.files import REPORT
from tests.browser import chromium, opened

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
REPORT_SIZE, REPLAY_SIZE = (1180, 700), (1180, 850)
_LATE = """
const time = document.querySelector(".replay .time");
time.value = Number(time.min) + 0.6 * (time.max - time.min);
time.dispatchEvent(new Event("input"));
"""
"""Goes to a moment of the replay at which links are busy."""
_SHOWN = re.compile(r"(a sentence such as this:\n\n)    .*\n    report: runs/.*\n")


def objection(data: ReportData) -> str | None:
    """The reason why the README must not show a run; None where it may."""
    if (runtime := data.run.runtime.name) != "container":
        return f"its runtime is {runtime}, and `make emulate` runs containers"
    if data.summary.fidelity != FidelityVerdict.VALID:
        return f"its fidelity is {data.summary.fidelity}"
    wrong = [variant.name for variant in data.summary.variants if variant.delivery.verdicts != [CORRECT]]
    return f"{', '.join(wrong)}: not correct" if wrong else None


def renewed(readme: str, finding: str, run: str) -> str:
    """The README with another run's sentence. Raises `ValueError` where the place for it is not found once."""
    shown = f"    {finding}\n    report: runs/{run}/{REPORT}\n"
    text, places = _SHOWN.subn(lambda found: found[1] + shown, readme)
    if places != 1:
        raise ValueError(f"README.md has {places} places for the sentence of the first run, and must have one")
    return text


def main(run: Path) -> None:
    data = read_report_data(run)
    if (problem := objection(data)) is not None:
        sys.exit(f"{run}: the README does not show this run: {problem}")
    readme = ROOT / "README.md"
    readme.write_text(renewed(readme.read_text(), headline(data).lead, data.run.run_id))
    asyncio.run(draw(run))


async def draw(run: Path) -> None:
    """Draws the head of a run's report, and its replay at a moment late in it."""
    async with chromium() as browser:
        async with opened(browser, (run / REPORT).absolute().as_uri(), *REPORT_SIZE) as seen:
            await seen.until("html[data-plots]")
            await seen.page.screenshot(path=IMAGES / "report.png")
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "replay.html"
            page.write_text(replay_page(replay_of(run)))
            async with opened(browser, page.as_uri(), *REPLAY_SIZE) as seen:
                await seen.until(".replay[data-ready]")
                await seen.value(_LATE)
                await seen.page.screenshot(path=IMAGES / "replay.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
