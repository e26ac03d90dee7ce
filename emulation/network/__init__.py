"""The emulated network: Mininet nodes and the links between them.

    network = EmulatedNetwork(overlay, run_id, LinkDriver.USERSPACE, sandboxes, journal, seed=1)
    network.start()                      # builds, shapes, verifies; NetworkError names the link and the remedy
    network.ends(broker)                 # (LinkEnd, ...): addresses to listen on and to dial
    network.pid(broker)                  # a process in the broker's network namespace
    network.probe()                      # [LinkProbe, ...], one a direction, while links are idle
    network.probe_under_load(links)      # the same with a few packets each, while links carry messages
    network.change(a, b, properties)     # for frames that a sends to b from now on; cut, restore, corrupt likewise
    network.relay_statistics()           # RelayStatistics, or None without a relay
    network.punctuality()                # the relay's lateness so far, or None without a relay
    network.check()                      # NetworkError once the relay has ended
    network.stop()

`usable_drivers()` tries all link drivers on this host, best first.
"""

from emulation.network.drivers import DriverTrial, usable_drivers
from emulation.network.model import LinkDriver, NetworkError, NetworkLinkEnd
from emulation.network.network import EmulatedNetwork
from emulation.network.probing import LinkProbe
from emulation.network.relay_messages import Punctuality
from emulation.network.relay_statistics import DirectionStatistics, RelayStatistics, lateness_percentile

__all__ = [
    "DirectionStatistics",
    "DriverTrial",
    "EmulatedNetwork",
    "LinkDriver",
    "LinkProbe",
    "NetworkError",
    "NetworkLinkEnd",
    "Punctuality",
    "RelayStatistics",
    "lateness_percentile",
    "usable_drivers",
]
