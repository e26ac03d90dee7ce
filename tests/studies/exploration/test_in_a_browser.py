"""The page of an exploration as a browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from scenario.loading import load_text
from studies.exploration.exploration import Account
from studies.exploration.findings import Cause, Finding
from studies.exploration.judged_run import Defect
from studies.exploration.report import build_page
from tests.browser import opened

SCENARIO = """
name: explored
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload:
  operations:
    - at: 2961666732ns
      client: C1
      broker: B1
      id: c
      composite: "{[class,eq,'B'],[x,>=,0],[x,<=,5],[x,eq,$I$X]} & {[class,eq,'B'],[x,>=,0],[x,<=,3],[x,eq,$I$X]}"
timeline: {join: 5s, run: 13021667755ns}
faults:
  - {at: run+1s, kill: [B1], for: 179644515ns}
"""

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_nothing_is_cut_off_and_times_are_in_seconds(tmp_path: Path, browser: Browser) -> None:
    scenario, cause = load_text(SCENARIO, "explored"), Cause("lost", ("kill",), ())
    defect = Defect("lost", "P2:1 for S1: it arrived at 2 brokers")
    found = Finding(name="finding-1", cause=cause, number=0, scenario=scenario, found=scenario, defects=(defect,))
    page = build_page("around this", Account(runs=1, findings={cause: found}), tmp_path)
    async with opened(browser, page.as_uri()) as shown:
        rows = await shown.value(
            "return [...document.querySelectorAll('.schedule tbody tr')].map(row => row.innerText);"
        )
        assert rows[1] == "6 s\tB1\tkill (for 0.179644515 s)"
        assert rows[0].startswith("2.961666732 s\tC1 at B1\tcomposite ")
        await shown.is_whole()
        assert (shown.errors, shown.requests) == ([], [page.as_uri()])
