"""Time until an overlay of containers is up, shaped and connected: `python -m benchmarks.startup [--runtime R]`.

`brokerlab emulate` runs two overlays of 56 brokers: OctopiA's S_e, a SCOT of 14 x 4 brokers with 136 links, and a full
mesh of 1,540 links with delays measured between PlanetLab sites. The times of the steps come from the run's own log.
Links are probed before load as a check, which is shown but does not count as starting up.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rich.table import Table

from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.reference_loops import Reference

UP = Target("start of 56 brokers over 136 shaped links", Bound.AT_MOST, 12, "s", Reference.INTERPRETER)
MESH_UP = Target("start of 56 brokers over 1,540 shaped links", Bound.AT_MOST, 25, "s", Reference.INTERPRETER)

PROBING = "probing"
STEPS = {
    "making network namespaces": "sandbox containers",
    "wiring and shaping links": "links wired and shaped",
    PROBING: "links probed (not counted)",
    "starting brokers": "broker containers started",
    "waiting for brokers to connect": "brokers listening and connected",
}
SCENARIO = """
name: startup
{sections}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 2, rate: 1/s}}
  subscriptions: {{subscribers: 2, selectivity: 5%}}
timeline: {{join: 2s, run: 2s, drain: 2s}}
seed: 1
"""
_LINE = re.compile(r'^timestamp=(\S+) .*?(?:activity="([^"]*)"|event="phase ends" variant=base phase=(start))')


@dataclass(frozen=True)
class Overlay:
    """An overlay to be started."""

    title: str
    sections: str
    """The scenario's sections that are the overlay's own."""
    up: Target


SCOT = Overlay(
    "56 brokers, 136 links",
    "topology: {kind: paper, name: octopia-s-e, link: {delay: 2ms..10ms, bandwidth: 10mbit}}",
    UP,
)
MESH = Overlay(
    "56 brokers, 1,540 links",
    """topology: {kind: planetlab, data: measured, draw: 1, overlay: full}
brokers: {limits: {heartbeat: 5s}}""",
    MESH_UP,
)


@dataclass(frozen=True)
class Step:
    name: str
    seconds: float


def read_steps(lines: Iterable[str]) -> list[Step]:
    """Steps of the start phase, from the lines of `emulator.log`; each lasts until the next begins."""
    marks: list[tuple[datetime.datetime, str]] = []
    for line in lines:
        if (found := _LINE.match(line)) is None:
            continue
        time, activity, ended = found.groups()
        marks.append((datetime.datetime.fromisoformat(time), "" if ended else activity))
        if ended:
            break
    return [
        Step(label, (after[0] - begin[0]).total_seconds())
        for begin, after in pairwise(marks)
        for prefix, label in STEPS.items()
        if begin[1].startswith(prefix)
    ]


def measure(overlay: Overlay, runtime: str) -> list[Step]:
    """Runs a scenario with the overlay and returns its steps.

    Raises `SystemExit` with the run's own output when it fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        scenario = Path(directory, "startup.yaml")
        scenario.write_text(SCENARIO.format(sections=overlay.sections))
        command = [sys.executable, "-m", "command_line", "emulate", str(scenario)]
        command += ["--runtime", runtime, "--out", directory, "--no-report"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        logs = list(Path(directory).glob("*/emulator.log"))
        steps = read_steps(logs[0].read_text().splitlines()) if logs else []
        if len(steps) < len(STEPS):
            raise SystemExit(f"the overlay did not start (exit code {done.returncode}):\n{done.stdout}{done.stderr}")
        return steps


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    parser.add_argument("--quick", action="store_true", help="the overlay of 136 links alone")
    parsed = parser.parse_args(arguments)
    overlays = (SCOT,) if parsed.quick else (SCOT, MESH)
    return [start(overlay, parsed.runtime) for overlay in overlays]


def start(overlay: Overlay, runtime: str) -> Judgement:
    """Starts an overlay and prints the times of its steps."""
    steps = measure(overlay, runtime)
    table = Table("step", "seconds", title=f"{overlay.title}, runtime {runtime}")
    for step in steps:
        table.add_row(step.name, f"{step.seconds:.1f}")
    counted = sum(step.seconds for step in steps if step.name != STEPS[PROBING])
    table.add_section()
    table.add_row("up, shaped and connected", f"{counted:.1f}")
    console().print(table)
    return overlay.up.judge(counted)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
