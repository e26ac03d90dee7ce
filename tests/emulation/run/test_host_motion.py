"""Overlays that change on processes and containers: the motion that a host bears."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.multi_host.run import require_still
from emulation.network import LinkDriver
from emulation.planning.plan import Plan, make_plan
from emulation.run import host_motion
from emulation.run.host_motion import MOST_CHANGES_A_SECOND, require_bearable
from record.errors import HostError
from scenario.loading import load
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
