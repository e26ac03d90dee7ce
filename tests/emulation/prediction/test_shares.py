"""The load of hosts' shares, by turns that were counted by hand."""

from __future__ import annotations

import pytest

from emulation.host.room import Host
from emulation.multi_host.self_test import SelfTest
from emulation.network.model import LinkDriver
from emulation.planning.calibration import Calibration, HostCosts
from emulation.planning.carrying import SITE_MEMORY
from emulation.planning.plan import VariantPlan, make_plan
from emulation.prediction.rehearsal import Rehearsal
from emulation.prediction.shares import Capacity, beyond, capacity, share_loads
from emulation.prediction.turns import Turn
from record.host_speed import LoopTimes
from scenario.loading import load_text

MS = 1_000_000
COSTS = Calibration(
    frame=2 * MS,
    work={"publish": 1 * MS},
    host=HostCosts(turn=1 * MS, relayed_frame=4 * MS, broker_second=10 * MS, second=100 * MS, link_second=1 * MS),
    loops=LoopTimes(interpreter=1_000),
)
SCENARIO = """
name: three
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload: {publications: {source: stocks, publishers: 1, rate: 1/s}}
timeline: {join: 1s, run: 1s}
"""
TURNS = (
    Turn("publishers", 0, 5 * MS),
    Turn("B1", 0, 3 * MS, cause=0),
    Turn("relay", 0, 4 * MS, cause=1),
    Turn("B2", 0, 3 * MS, cause=2),
    Turn("relay", 0, 4 * MS, cause=3),
    Turn("B3", 0, 3 * MS, cause=4),
    Turn("subscribers", 0, 6 * MS, cause=5),
)
"""A publication that goes from B1 over B2 to B3."""
PLACEMENT = {"B1": "left", "B2": "left", "B3": "right"}


def variant(more: str = "") -> VariantPlan:
    (planned,) = make_plan(load_text(SCENARIO + more, "three")).variants
    return planned


def able(**values: float) -> Capacity:
    usual = {"processors": 2.0, "memory": 8 * 10**9, "frames": 10_000.0, "speed": 1.0, "brokers": 1, "messages": 1}
    return Capacity(**(usual | values))  # type: ignore[arg-type]


def rehearsal(seconds: float) -> Rehearsal:
    return Rehearsal(seconds=seconds, turns=TURNS, ways=(), records=0, records_before=0)


def test_each_host_has_its_brokers_its_relay_and_its_clients() -> None:
    hosts = {"left": able(), "right": able(speed=2.0)}
    left, right = share_loads(variant(), rehearsal(0.1), COSTS, PLACEMENT, hosts)
    assert (left.host, left.brokers, right.host, right.brokers) == ("left", 2, "right", 1)
    # a publisher's turn, two of brokers, both messages in its relay; a second, two brokers and two links
    assert left.steady == pytest.approx(0.1 + 2 * 0.01 + 2 * 0.001)
    assert left.processors == pytest.approx((0.005 + 2 * (0.003 + 0.001) + 2 * 0.004) / 0.1 + left.steady)
    assert left.frames == pytest.approx(2 * 2 / 0.1)
    # half as fast: a broker's turn, the message from the other host in this one's relay as well, a subscriber's turn
    assert right.steady == pytest.approx(2 * (0.1 + 0.01 + 0.001))
    assert right.processors == pytest.approx(2 * (0.003 + 0.001 + 0.004 + 0.006) / 0.1 + right.steady)
    assert right.frames == pytest.approx(1 * 2 / 0.1)


def test_a_site_counts_for_the_host_of_its_broker() -> None:
    sites = "clients: {sites: {near: {broker: B1, delay: 1ms}, far: {broker: B3, delay: 1ms}, wide: {broker: B3}}}\n"
    hosts = {"left": able(), "right": able()}
    beside = share_loads(variant(), rehearsal(0.1), COSTS, PLACEMENT, hosts)
    for with_sites, without, count in zip(
        share_loads(variant(sites), rehearsal(0.1), COSTS, PLACEMENT, hosts), beside, (1, 2), strict=True
    ):
        assert (with_sites.sites, without.sites) == (count, 0)
        assert with_sites.steady == pytest.approx(without.steady + count * 0.001)
        assert with_sites.memory == without.memory + count * SITE_MEMORY
    (memory,) = beyond(with_sites, able(memory=10**8), 1.0)
    assert "right with 1 broker and 2 sites needs" in memory


def test_a_slower_run_has_less_of_everything_but_what_is_steady() -> None:
    hosts = {"left": able(), "right": able()}
    usual, _ = share_loads(variant(), rehearsal(0.1), COSTS, PLACEMENT, hosts)
    slower, _ = share_loads(variant("time_dilation: 4\n"), rehearsal(0.1), COSTS, PLACEMENT, hosts)
    assert slower.steady == usual.steady and slower.memory == usual.memory
    assert slower.processors - slower.steady == pytest.approx((usual.processors - usual.steady) / 4)
    assert slower.frames == pytest.approx(usual.frames / 4)


def test_what_a_host_does_not_carry_is_named_with_its_remedy() -> None:
    (left, _) = share_loads(variant(), rehearsal(0.1), COSTS, PLACEMENT, {"left": able(), "right": able()})
    assert not list(beyond(left, able(), 1.0))
    (memory,) = beyond(left, able(memory=10**8), 1.0)
    assert memory.startswith("base: left with 2 brokers needs 0.4 GB of memory and has 0.1 GB left: give it a smaller")
    (busy,) = beyond(left, able(processors=0.5), 1.0)
    assert "needs 0.33 processors, and carries 60% of 0.50: use --set time_dilation=1.2, give it" in busy
    (never,) = beyond(left, able(processors=0.1), 1.0)
    assert never.endswith("carries 60% of 0.10: give it a smaller brokerlab_weight, or use more hosts")
    (relay,) = beyond(left, able(frames=20.0), 2.0)
    assert "has 40 frames/s for its relay, and carries 60% of 20: use --set time_dilation=6.7, links of the" in relay
    assert not list(beyond(left, able(frames=None), 1.0))  # type: ignore[arg-type]


def test_the_dilation_of_a_refusal_is_carried() -> None:
    hosts = {"left": able(processors=0.5), "right": able()}
    (left, _) = share_loads(variant("time_dilation: 1.2\n"), rehearsal(0.1), COSTS, PLACEMENT, hosts)
    assert not list(beyond(left, hosts["left"], 1.2))


def test_a_host_carries_what_its_processors_its_memory_and_its_relay_do() -> None:
    room, loops = Host(4, 1_000_000_000), LoopTimes(interpreter=2_000)
    tested = SelfTest(processors=2.0, frames=100.0)
    found = capacity(room, loops, tested, LinkDriver.USERSPACE, COSTS)
    assert (found.processors, found.speed, found.frames) == (2.0, 2.0, 100.0)
    assert found.brokers == (1_000_000_000 - 350_000_000) // 32_000_000
    assert found.messages == 30  # 60% of the relay's frames, two for each message
    kernel = capacity(room, loops, tested, LinkDriver.NETEM, COSTS)
    assert kernel.frames is None
    assert kernel.messages == 62  # 1 s of processors for messages of 16 ms
    full = capacity(Host(1, 10**12), loops, tested, LinkDriver.USERSPACE, COSTS)
    assert (full.processors, full.brokers) == (1.0, 20)  # 0.4 s for brokers of 20 ms
