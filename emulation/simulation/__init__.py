"""The simulator: the broker core in virtual time."""

from emulation.simulation.event_queue import EventQueue
from emulation.simulation.overlay import SimulatedOverlay
from emulation.simulation.sessions import SimulatedSession

__all__ = ["EventQueue", "SimulatedOverlay", "SimulatedSession"]
