"""The page in a browser: its sentence follows from the state, it asks for nothing, and fits narrow screens."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from analysis.live.follower import Follower
from analysis.live.frames import Frame, ShownBroker, ShownOverlay, ShownPhase, ShownVariant, State
from analysis.live.page import live_page, replay_page
from analysis.script_data import in_script

CHROMIUM = shutil.which("chromium")
WITHIN = 60
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


def shown(page: str, directory: Path, width: int) -> str:
    """The document after its script has run, with the width that it takes in place of its title."""
    file = directory / "page.html"
    measured = "<script>document.title = document.documentElement.scrollWidth;</script></body>"
    file.write_text(page.replace("</body>", measured))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},800", "--dump-dom"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=2000", file.as_uri()], capture_output=True, timeout=WITHIN, check=True
    )
    return done.stdout.decode()


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [1280, 820, 500])
def test_the_sentence_follows_from_the_state_and_nothing_is_cut_off(tmp_path: Path, width: int) -> None:
    text = shown(replay_page(STATE), tmp_path, width)
    assert "Arrived: 900 of 1,200 notifications that were due by then; never arrived: 300 (the verdict" in text
    assert re.search(r'<output class="moment">4.0 s, drain</output>', text)
    (taken,) = re.findall(r"<title>(\d+)</title>", text)
    assert int(taken) <= width


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_run_that_has_not_begun_says_so(tmp_path: Path) -> None:
    assert "Nothing has been logged yet" in shown(live_page(Follower(tmp_path).state()), tmp_path, 1280)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_hosts_whose_logs_are_missing_are_named(tmp_path: Path) -> None:
    """A reader must not take the part that is shown for the whole."""
    text = shown(replay_page(msgspec.structs.replace(STATE, awaited_hosts=["left", "right"])), tmp_path, 1280)
    assert "Without the logs of left, right, which are not there" in text


def test_no_name_ends_the_script_that_holds_it() -> None:
    assert "<" not in in_script(msgspec.json.encode(STATE).decode())
    assert "<b>" not in replay_page(STATE)
