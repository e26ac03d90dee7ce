"""Configurations of an overlay's brokers."""

from __future__ import annotations

from broker_service.config import Limits
from broker_service.service_time import ServiceTime
from emulation.live_overlay import BrokerConfigs, BrokerFiles, BrokerSettings
from emulation.runtimes.host_overlay import host_configs
from topology import Broker, Link, Overlay

RING = Overlay(
    "ring",
    tuple(Broker(f"B{number}", {"level": number}) for number in range(1, 5)),
    (Link("B1", "B2"), Link("B2", "B3"), Link("B3", "B4"), Link("B4", "B1")),
)
SETTINGS = BrokerSettings(
    options={"publications": "dynamic"},
    seed=11,
    limits=Limits(heartbeat=0.5),
    service_time=ServiceTime(mean=0.001),
    variant="one",
)


def files(broker: str) -> BrokerFiles:
    return BrokerFiles(socket=f"/sockets/{broker}", log=f"/logs/{broker}")


def test_each_link_has_one_end_that_dials_and_both_know_each_others_address() -> None:
    configs = host_configs(RING, SETTINGS, "run-1", files)
    ends = {(broker.id, link.neighbour): link for broker in RING.brokers for link in configs.of(broker.id).links}
    assert len(ends) == 8
    for (broker, neighbour), link in ends.items():
        opposite = ends[neighbour, broker]
        assert link.local == opposite.remote
        assert link.dial is not opposite.dial
        assert link.attributes == RING.broker(neighbour).attributes
    assert len({link.local for link in ends.values()}) == 8


def test_settings_and_files_reach_every_broker() -> None:
    config = BrokerConfigs(RING, SETTINGS, files=files).of("B3", 2)
    assert (config.id, config.incarnation, config.protocol) == ("B3", 2, "tid")
    assert (config.options, config.attributes) == ({"publications": "dynamic"}, {"level": 3})
    assert (config.listen, config.log) == (("unix:/sockets/B3",), "/logs/B3")
    assert (config.seed, config.variant) == (11, "one")
    assert (config.limits.heartbeat, config.service_time.mean) == (0.5, 0.001)


def test_brokers_in_this_process_have_neither_files_nor_addresses() -> None:
    config = BrokerConfigs(RING, SETTINGS).of("B1")
    assert (config.incarnation, config.listen, config.log) == (1, (), "")
    assert [(link.neighbour, link.local) for link in config.links] == [("B2", ""), ("B4", "")]
