"""A running overlay: the contracts that hosts and the simulator fulfil, its brokers' configuration, status and quiet.

    overlay.start()                               # every broker runs; links come up
    overlay.await_links(30.0)                     # UnsettledError names the broker that does not answer
    overlay.brokers.kill("B7"); overlay.links.cut(LinkDirection("B1", "B2"))
    overlay.settle(20.0)                          # nothing moves any more
    overlay.brokers.status()["B1"].links

`emulation.runtimes.host_overlay.HostOverlay` fulfils them with broker processes or containers on this host,
`emulation.simulation.overlay.SimulatedOverlay` in virtual time.
"""

from broker_service.grpc_shell.status import BrokerStatus, LinkEndStatus
from emulation.live_overlay.configuration import BrokerConfigs, BrokerFiles, BrokerSettings, LinkAddresses, MeshConfigs
from emulation.live_overlay.contract import (
    LiveBrokers,
    LiveLinks,
    LiveOverlay,
    QuietWatch,
    Tables,
    UnsettledError,
)
from emulation.live_overlay.quiet import ExpectedOverlay, QuietDetector

__all__ = [
    "BrokerConfigs",
    "BrokerFiles",
    "BrokerSettings",
    "BrokerStatus",
    "ExpectedOverlay",
    "LinkAddresses",
    "LinkEndStatus",
    "LiveBrokers",
    "LiveLinks",
    "LiveOverlay",
    "MeshConfigs",
    "QuietDetector",
    "QuietWatch",
    "Tables",
    "UnsettledError",
]
