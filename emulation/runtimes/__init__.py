"""What hosts the brokers of a run in real time."""

from emulation.runtimes.container import ContainerRuntime
from emulation.runtimes.interface import Ending, Launch, Paths, Resources, Runtime
from emulation.runtimes.process import ProcessRuntime

__all__ = [
    "ContainerRuntime",
    "Ending",
    "Launch",
    "Paths",
    "ProcessRuntime",
    "Resources",
    "Runtime",
]
