"""Cost of a frame of the replay of a million records: `python -m benchmarks.replay`.

A tally of a million records, of 56 brokers over ten minutes, becomes the page that `brokerlab replay` shows. Chromium
draws the frames that it shows at ten times the run's speed, 60 a second, one after another however long each takes, so
that a busy host draws the same ones. The processor time of all its processes is divided by their number: a replay keeps
up 60 frames a second where that is less than 16.7 ms.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import sync_playwright

from analysis.live.frames import ShownPhase, State
from analysis.live.page import replay_page
from analysis.live.tally import VariantTally
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference
from emulation.planning.plan import make_plan
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND, SECOND
from scenario.loading import load_text
from topology.model import Overlay

FRAME = Target(
    "processor time of a frame of a million records' replay", Bound.AT_MOST, 16.7, "ms", Reference.INTERPRETER
)
RECORDS = 1_000_000
BROKERS, SECONDS = 56, 600
FRAMES = 1800
"""Half a minute of the replay."""
COPIES = 12
"""Messages that a broker sends in a second."""
_OVERLAY = f"""
name: replayed
topology: {{kind: cyclic, brokers: {BROKERS}, degree: 4}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 1, rate: 1/s}}
  subscriptions: {{subscribers: 1, selectivity: 100%}}
timeline: {{join: 1s, run: 1s, drain: 1s}}
"""
_PLAY = """async ([first, last]) => {
  const time = document.querySelector(".replay .time");
  for (let frame = first; frame < last; frame++) {
    time.value = Number(time.min) + frame / 6;
    time.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
  }
}"""
_WARM = 60
"""Frames before those that count."""


def run(arguments: Sequence[str]) -> list[Judgement]:
    if shutil.which("chromium") is None:
        raise SystemExit("needs Chromium, which draws the frames")
    frames = FRAMES // 6 if "--quick" in arguments else FRAMES
    overlay = make_plan(load_text(_OVERLAY, "replay.yaml")).variants[0].overlay
    with tempfile.TemporaryDirectory(prefix="replay-") as directory:
        page = Path(directory, "replay.html")
        page.write_text(replay_page(state_of(overlay)))
        processors = _play(page, frames)
        size = page.stat().st_size / 1e6
    print(f"{frames} frames took {processors:.2f} s of processors; the page has {size:.1f} MB", flush=True)
    return [FRAME.judge(1e3 * processors / frames)]


def state_of(overlay: Overlay) -> State:
    """The page of a run with a million records."""
    tally, taken = VariantTally("base", overlay, {}, 1.0, 1), 0
    for record in records_of(overlay):
        tally.add(record)
        taken += 1
    if taken < RECORDS:
        raise SystemExit(f"wrong: {taken} records")
    tally.settle(None, over=True)
    tally.phases = [ShownPhase("run", 0, SECONDS)]
    return State(run="a-run", scenario="replayed", version=1, over=True, variants=[tally.shown(0)])


def records_of(overlay: Overlay) -> Iterator[TraceRecord]:
    """Copies that leave brokers and arrive, clients that publish and are notified, and gauges of queues and loads."""
    neighbours: dict[str, list[str]] = {broker.id: [] for broker in overlay.brokers}
    for link in overlay.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    draw, publications = random.Random(1), 0
    for second in range(SECONDS):
        for number, (broker, near) in enumerate(neighbours.items()):
            time = second * SECOND + number * MILLISECOND
            yield TraceRecord(time, broker, "base", Event.LOAD, count=1, duration=second * SECOND // 5)
            for peer in near:
                yield TraceRecord(time, broker, "base", Event.QUEUE, peer=peer, queue=draw.randrange(120))
            for _ in range(COPIES):
                publications += 1
                name, peer = f"P:{publications}", draw.choice(near)
                yield TraceRecord(time, broker, "base", Event.SENT, "publish", name, peer=peer)
                yield TraceRecord(time, peer, "base", Event.RECEIVED, "publish", name, peer=broker)
            yield TraceRecord(time, "driver", "base", Event.PUBLISH, "publish", name, "P")
            yield TraceRecord(time, "driver", "base", Event.NOTIFIED, "publish", name, "S")


def _play(page: Path, frames: int) -> float:
    """Plays a page. Returns the seconds of processors that its frames took once it was warm."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu"])
        replay = browser.new_page(viewport={"width": 1280, "height": 900})
        replay.goto(page.as_uri())
        replay.wait_for_selector(".replay[data-ready]", state="attached")
        replay.evaluate(_PLAY, [0, _WARM])
        before = _processor_seconds(os.getpid())
        replay.evaluate(_PLAY, [_WARM, _WARM + frames])
        spent = _processor_seconds(os.getpid()) - before
        browser.close()
    return spent


def _processor_seconds(root: int) -> float:
    """Processor time of a process and of all that descend from it."""
    parents, ticks = dict[int, int](), dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # a process that has just ended
            fields = entry.read_text().rpartition(")")[2].split()
            number = int(entry.parent.name)
            parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    total, family = 0, [root]
    while family:
        found = family.pop()
        total += ticks.get(found, 0)
        family += [child for child, parent in parents.items() if parent == found]
    return total / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
