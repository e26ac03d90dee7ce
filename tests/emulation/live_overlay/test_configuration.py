"""Configurations of an overlay's brokers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_service.config import Limits
from emulation.live_overlay import BrokerConfigs, BrokerFiles, BrokerSettings
from emulation.network.model import name_links
from emulation.runtimes.host_overlay import host_configs
from record.errors import HostError
from record.service_time import ServiceTime
from tests.contracts.protocols import GOSSIP, registered
from topology.link_properties import Link
from topology.model import Broker, Overlay

RING = Overlay(
    "ring",
    tuple(Broker(f"B{number}", {"level": number}) for number in range(1, 5)),
    (Link("B1", "B2"), Link("B2", "B3"), Link("B3", "B4"), Link("B4", "B1")),
)
SETTINGS = BrokerSettings(
    protocol="tid",
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


def test_brokers_listen_on_access_links_and_where_sites_arrive_that_nobody_foresaw() -> None:
    access = [Link("berlin", "B3"), Link("berlin", "B4")]
    wired = replace(RING, brokers=(*RING.brokers, Broker("berlin")), links=(*RING.links, *access))
    configs = host_configs(RING, SETTINGS, "run-1", files, wired=wired, access=access, everywhere=["0.0.0.0:7001"])
    ends = {(names.link.a, names.link.b): names.addresses[1] for names in name_links(wired.links, "run-1")}
    assert [configs.of(broker.id).listen[1:] for broker in RING.brokers] == [
        ("0.0.0.0:7001",),
        ("0.0.0.0:7001",),
        ("0.0.0.0:7001", f"{ends['berlin', 'B3']}:7000"),
        ("0.0.0.0:7001", f"{ends['berlin', 'B4']}:7000"),
    ]


def test_brokers_in_this_process_have_neither_files_nor_addresses() -> None:
    config = BrokerConfigs(RING, SETTINGS).of("B1")
    assert (config.incarnation, config.listen, config.log) == (1, (), "")
    assert [(link.neighbour, link.local) for link in config.links] == [("B2", ""), ("B4", "")]


def test_a_link_that_was_not_there_uses_the_path_between_its_brokers_in_either_order() -> None:
    wired = replace(RING, links=(*RING.links, Link("B1", "B3")))
    with registered():
        configs = host_configs(RING, BrokerSettings(protocol=GOSSIP), "run-1", files, wired=wired)
        assert "B3" not in {link.neighbour for link in configs.of("B1").links}
        configs.add_link(Link("B1", "B3"))
        first = configs.link("B1", "B3"), configs.link("B3", "B1")
        configs.remove_link("B3", "B1")
        configs.add_link(Link("B3", "B1"))
        again = configs.link("B1", "B3"), configs.link("B3", "B1")
        with pytest.raises(HostError, match="the emulated network has no path for a link B2 - B4"):
            configs.add_link(Link("B2", "B4"))
    assert [(end.local, end.remote) for end in first] == [(end.local, end.remote) for end in again]
    assert first[0].local == first[1].remote and first[1].local == first[0].remote
    assert [end.dial for end in first] == [True, False]
    assert [end.dial for end in again] == [False, True]
    assert [end.appearance for end in (*first, *again)] == [1, 1, 2, 2]
