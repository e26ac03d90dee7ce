"""Overlays that change on processes and containers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.console import Console

from emulation.multi_host.refusals import require_still
from emulation.network.model import LinkDriver
from emulation.planning.plan import Plan
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs, choose
from record.errors import HostError
from record.log import Event
from tests.contracts.on_hosts import brokers_know_the_protocols
from tests.emulation.moving import RING, SCRIPT, planned


def test_an_overlay_on_several_hosts_stays_as_it_is(tmp_path: Path) -> None:
    (variant,) = planned(tmp_path).variants
    with pytest.raises(HostError, match=r"^motion: an overlay that changes runs on one host or in the simulator"):
        require_still(variant)


def emulated(plan: Plan, runtime: str, out: Path) -> Path:
    rungs = choose(runtime, LinkDriver.USERSPACE, lambda _: None)
    assert isinstance(rungs, Rungs)
    return emulate(plan, rungs, out, Console(file=StringIO()), mock.Mock()).directory


def records(run: Path, node: str) -> Iterator[dict[str, Any]]:
    for line in (run / "logs" / f"{node}.jsonl").read_text().splitlines():
        yield json.loads(line)


@pytest.mark.proof
@pytest.mark.container
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
