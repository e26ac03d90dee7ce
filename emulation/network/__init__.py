"""The emulated network: Mininet nodes and the links between them.

    network = EmulatedNetwork(overlay, run_id, LinkDriver.USERSPACE, sandboxes, journal, seed=1)
    network.start()                      # builds, shapes, verifies; NetworkError names the link and the remedy
    network.ends(broker)                 # (LinkEnd, ...): addresses to listen on and to dial
    network.pid(broker)                  # a process in the broker's network namespace
    network.probe()                      # [LinkProbe, ...], one a direction, while links are idle
    network.probe_under_load(links)      # the same, a few packets each, while they are not
    network.change(a, b, properties)     # of what a sends to b from now on; cut, restore, corrupt likewise
    network.relay_statistics()           # RelayStatistics, or None without a relay
    network.punctuality()                # how the relay has kept time so far, or None without one
    network.check()                      # NetworkError once the relay is gone
    network.stop()

`usable_drivers()` tells which link drivers work here, best first.
"""

from emulation.network.drivers import DriverTrial, usable_drivers
from emulation.network.model import LinkDriver, LinkEnd, NetworkError
from emulation.network.network import EmulatedNetwork
from emulation.network.probing import LinkProbe
from emulation.network.relay_messages import Punctuality
from emulation.network.relay_statistics import DirectionStatistics, RelayStatistics, lateness_percentile

__all__ = [
    "DirectionStatistics",
    "DriverTrial",
    "EmulatedNetwork",
    "LinkDriver",
    "LinkEnd",
    "LinkProbe",
    "NetworkError",
    "Punctuality",
    "RelayStatistics",
    "lateness_percentile",
    "usable_drivers",
]
