"""Runtimes: hosts of a run's brokers in real time, as processes or in containers."""

from emulation.runtimes.container import ContainerRuntime
from emulation.runtimes.host_overlay import Hosting, HostOverlay, host_configs
from emulation.runtimes.interface import Ending, Launch, Resources, Runtime
from emulation.runtimes.process import ProcessRuntime

__all__ = [
    "ContainerRuntime",
    "Ending",
    "HostOverlay",
    "Hosting",
    "Launch",
    "ProcessRuntime",
    "Resources",
    "Runtime",
    "host_configs",
]
