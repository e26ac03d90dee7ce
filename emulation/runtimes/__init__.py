"""Runtimes: hosts of a run's brokers in real time, as processes or in containers.

The container runtime is in `emulation.runtimes.container`, which loads Docker's client library: only runs in containers
import it.
"""

from emulation.runtimes.host_brokers import Hosting
from emulation.runtimes.host_overlay import HostOverlay, host_configs
from emulation.runtimes.interface import Ending, Launch, Resources, Runtime
from emulation.runtimes.process import ProcessRuntime

__all__ = [
    "Ending",
    "HostOverlay",
    "Hosting",
    "Launch",
    "ProcessRuntime",
    "Resources",
    "Runtime",
    "host_configs",
]
