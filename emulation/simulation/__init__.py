"""The simulator: the broker core in virtual time."""

from emulation.simulation.event_queue import Agenda, UnsettledError
from emulation.simulation.overlay import Settings, SimulatedOverlay
from emulation.simulation.sessions import SimulatedSession

__all__ = ["Agenda", "Settings", "SimulatedOverlay", "SimulatedSession", "UnsettledError"]
