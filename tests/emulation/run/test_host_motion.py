"""Overlays that change on processes and containers: the motion that a host bears, and runs that carry one out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.console import Console

from emulation.multi_host.run import require_still
from emulation.network.model import LinkDriver
from emulation.planning.plan import Plan, make_plan
from emulation.run import emulate, host_motion
from emulation.run.host_motion import MOST_CHANGES_A_SECOND, require_bearable
from emulation.runtimes.ladder import Rungs, choose
from record.errors import HostError
from record.log import Event
from scenario.loading import load
from tests.contracts.on_hosts import brokers_know_the_protocols
from tests.contracts.protocols import registered

SCENARIO = """
name: moving
topology: %s
motion: %s
routing: {protocol: gossip}
workload:
  publications: {source: stocks, publishers: 2, rate: 5/s, placement: [B1]}
  subscriptions: {subscribers: 4, selectivity: 100%%}
timeline: {join: 2s, run: 6s, drain: 2s}
%s
seed: 4
"""
REGULAR = "{kind: random-regular, brokers: 20, degree: 4, link: {delay: 1ms}}"
REWIRE = "{kind: rewire, every: %s, repaired_after: 100ms, degree: 4}"
RING = "{kind: ring, brokers: 4, link: {delay: 2ms}}"
SCRIPT = (
    "{kind: script, changes: [{at: 1s, vanish: [B1, B2]}, {at: 2s, appear: [B1, B3]}, {at: 3s, vanish: [B3, B4]}, "
    "{at: 4s, appear: [B2, B1]}]}"
)


def planned(directory: Path, topology: str = REGULAR, motion: str = REWIRE % "50ms", more: str = "") -> Plan:
    path = directory / "moving.yaml"
    path.write_text(SCENARIO % (topology, motion, more))
    with registered():
        return make_plan(load(path))


def blinking(times: int) -> str:
    """A link that vanishes and appears so often in the second second of the run phase, in equal steps of time."""
    changes = (
        f"{{at: {1 + number / times:.9f}s, {'appear' if number % 2 else 'vanish'}: [B1, B2]}}"
        for number in range(times)
    )
    return f"{{kind: script, changes: [{', '.join(changes)}]}}"


def test_motion_above_the_rate_that_a_host_bears_is_refused(tmp_path: Path) -> None:
    require_bearable(planned(tmp_path, RING, blinking(100)), LinkDriver.USERSPACE)
    with pytest.raises(HostError) as raised:
        require_bearable(planned(tmp_path, RING, blinking(200)), LinkDriver.USERSPACE)
    assert str(raised.value) == (
        "motion: 200 changes of links within 1 s, from 3 s after the start of the join phase on; brokers on a host "
        "bear 100 within a second: use --runtime simulated, fewer changes, or a time_dilation of 2"
    )


def test_a_time_dilation_lowers_the_rate(tmp_path: Path) -> None:
    require_bearable(planned(tmp_path, RING, blinking(200), "time_dilation: 2"), LinkDriver.USERSPACE)
    with pytest.raises(HostError, match=r"bear 100 within a second: .* a time_dilation of 4$"):
        require_bearable(planned(tmp_path, RING, blinking(400), "time_dilation: 2"), LinkDriver.USERSPACE)


def test_only_the_relay_lets_links_vanish(tmp_path: Path) -> None:
    with pytest.raises(
        HostError, match=r"^motion: links of the driver netem do not appear and vanish; use --links use"
    ):
        require_bearable(planned(tmp_path), LinkDriver.NETEM)


def test_too_many_paths_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_motion, "MOST_PATHS", 100)
    with pytest.raises(HostError, match=r"^motion: \d+ pairs of brokers are linked at some time; 100 is the most"):
        require_bearable(planned(tmp_path), LinkDriver.USERSPACE)


def test_an_overlay_on_several_hosts_stays_as_it_is(tmp_path: Path) -> None:
    (variant,) = planned(tmp_path).variants
    with pytest.raises(HostError, match=r"^motion: an overlay that changes runs on one host or in the simulator"):
        require_still(variant)
    assert MOST_CHANGES_A_SECOND == 100, "stated in docs/topologies.md"


def emulated(plan: Plan, runtime: str, out: Path) -> Path:
    rungs = choose(runtime, LinkDriver.USERSPACE, lambda _: None)
    assert isinstance(rungs, Rungs)
    return emulate(plan, rungs, out, Console(file=StringIO()), mock.Mock()).directory


def records(run: Path, node: str) -> Iterator[dict[str, Any]]:
    for line in (run / "logs" / f"{node}.jsonl").read_text().splitlines():
        yield json.loads(line)


@pytest.mark.container
@pytest.mark.timeout(240)
@pytest.mark.parametrize("runtime", ["process", "container"])
def test_links_of_brokers_on_a_host_appear_and_vanish(tmp_path: Path, runtime: str) -> None:
    plan = planned(tmp_path, RING, SCRIPT, "faults: [{at: run+500ms, link_down: B1-B3, for: 100ms}]")
    with brokers_know_the_protocols():
        run = emulated(plan, runtime, tmp_path / "runs")
    changes = [record for record in records(run, "emulator") if "peer" in record]
    logged = [(record["event"], record["peer"]) for record in changes]
    assert logged == [
        (Event.WITHOUT_EFFECT, "B1-B3"), (Event.VANISHED, "B1-B2"), (Event.APPEARED, "B1-B3"),
        (Event.VANISHED, "B3-B4"), (Event.APPEARED, "B1-B2"),
    ]  # fmt: skip
    ups = {(record["peer"], record["count"]) for record in records(run, "B3") if record["event"] == Event.LINK_UP}
    assert ups >= {("B1", 1), ("B2", 1), ("B4", 1)}, "a link that was not there at the start comes up"
    added = [
        (record["event"], record["peer"], record["count"])
        for record in records(run, "B1")
        if record["event"] in (Event.LINK_ADDED, Event.LINK_REMOVED)
    ]
    assert added == [("link_removed", "B2", 1), ("link_added", "B3", 1), ("link_added", "B2", 2)]
    appeared = next(record["time"] for record in records(run, "emulator") if record["event"] == Event.APPEARED)
    crossed = [record for record in records(run, "B3") if record["event"] == "received" and record.get("peer") == "B1"]
    assert crossed, "messages cross it"
    assert all(record["time"] > appeared for record in crossed)
