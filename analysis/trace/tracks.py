"""The processes and tracks of a trace: the emulator, then each broker with its clients, in the overlay's order."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.trace.drawing import Process, Track
from topology.link_properties import BrokerId

EMULATOR = "emulator"
_TURNS, _ROUTER, _HANDLING, _EVENTS, _LINKS = range(5)


class Tracks:
    """Names the processes and tracks of the trace viewer, one process for each broker and one for its clients."""

    def __init__(self, brokers: Sequence[BrokerId]) -> None:
        self._places = {broker: number for number, broker in enumerate(brokers)}
        self.emulator = Process(1, EMULATOR)

    def broker(self, broker: BrokerId) -> Process:
        """The trace viewer's process that shows a broker."""
        return Process(2 + 2 * self._place(broker), f"broker {broker}")

    def clients(self, broker: BrokerId) -> Process:
        """The trace viewer's process that shows a broker's clients."""
        return Process(3 + 2 * self._place(broker), f"clients of {broker}")

    def publisher(self, broker: BrokerId, client: str) -> Track:
        """The track of publications that wait at a publisher or are on their way to its broker."""
        return Track(self.clients(broker), 0, f"{client} publishes")

    def client(self, broker: BrokerId, client: str) -> Track:
        """The track of notifications on their way to a client."""
        return Track(self.clients(broker), 1, f"{client} is notified")

    def turn(self, broker: BrokerId) -> Track:
        """Waiting for the broker's earlier work, for modelled service, or for a processor."""
        return Track(self.broker(broker), _TURNS, "waiting")

    def router(self, broker: BrokerId) -> Track:
        """The router's work."""
        return Track(self.broker(broker), _ROUTER, "router")

    def handling(self, broker: BrokerId) -> Track:
        """From a publication's turn until a copy is in a queue or leaves for a client."""
        return Track(self.broker(broker), _HANDLING, "handling")

    def detections(self, broker: BrokerId) -> Track:
        """Moments at which a set of publications was complete, for a composite subscription."""
        return Track(self.broker(broker), _HANDLING, "sets of composites")

    def queue(self, broker: BrokerId, neighbour: BrokerId) -> Track:
        """The output queue for a neighbour."""
        return Track(self.broker(broker), _LINKS + 2 * self._place(neighbour), f"queue → {neighbour}")

    def link(self, broker: BrokerId, neighbour: BrokerId) -> Track:
        """The link to a neighbour."""
        return Track(self.broker(broker), _LINKS + 2 * self._place(neighbour) + 1, f"link → {neighbour}")

    def node(self, node: str) -> Track:
        """Moments at a broker, or at a driver, which the emulator's process has."""
        if node in self._places:
            return Track(self.broker(node), _EVENTS, "events")
        return Track(self.emulator, _EVENTS, node)

    @property
    def phases(self) -> Track:
        return Track(self.emulator, 0, "phases")

    @property
    def faults(self) -> Track:
        return Track(self.emulator, 1, "faults")

    def _place(self, broker: BrokerId) -> int:
        """The place of a broker; the next one of a broker that the overlay does not have."""
        return self._places.setdefault(broker, len(self._places))
