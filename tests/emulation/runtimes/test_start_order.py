"""The order in which the brokers of an overlay are started."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import pytest

from emulation.live_overlay import BrokerConfigs, BrokerSettings
from emulation.runtimes.host_brokers import Hosting
from emulation.runtimes.host_overlay import HostOverlay
from topology.link_properties import Link
from topology.model import Broker, Overlay

MESH = tuple(Link(a, b) for a, b in combinations("ABCD", 2))
STAR = tuple(Link("C", outer) for outer in "ABD")


@pytest.mark.parametrize(("links", "order"), [(MESH, "DCBA"), (STAR, "ABDC")], ids=["mesh", "star"])
def test_brokers_start_after_those_that_they_dial(tmp_path: Path, links: tuple[Link, ...], order: str) -> None:
    overlay = Overlay("overlay", tuple(Broker(broker) for broker in "ABCD"), links)
    runtime = Mock()
    hosting = Hosting(
        runtime=runtime,
        network=Mock(),
        namespace=Mock(),
        sockets=lambda broker: tmp_path / broker,
        directory=tmp_path,
    )
    HostOverlay(overlay, BrokerConfigs(overlay, BrokerSettings(protocol="tid")), hosting).start()
    launches, _ = runtime.start.call_args.args
    assert [launch.broker for launch in launches] == list(order)
